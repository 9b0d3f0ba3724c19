"""What an observer was given of the metadata log, below its high watermark, is never taken back
(Raft: leader completeness; KIP-595).

While a run goes on, the harness fetches the metadata log from each controller, as anybody may, and
keeps of each record the leader epoch and a checksum. What was committed then is committed for good:
whoever leads later gives the same, and the disks of all who could lead in the end have the same. An
observer and the disks are each the judge of the other.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from checkers.folds.history.values import log_part
from checkers.folds.metadata_log.disk_logs import LOG_KINDS, CommittedOnDisks, committed_on_disks
from checkers.folds.metadata_log.node_log import Entry
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.kinds import disk_of
from framework.evidence.quorum import LogOnDisk
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation
from framework.plugins.capabilities import NODE_ANSWERS, WATCHED_LOG
from framework.plugins.checker import DISKS, LEDGER, Clause, Count, Finding

ASKED: Final = "metadata-log"

GIVEN_KEPT: Final = Clause(
    name="given-kept",
    says="What a controller gave below its high watermark is on the disks of all who could lead in "
    "the end",
    compares="records that controllers gave, held against the disks",
    floor=10,
    because="a cluster's start writes more, before any client asks for anything",
    sources=(LEDGER, DISKS),
    blind="what was committed after the last answer; what a snapshot had taken the place of before "
    "it was asked for, or has on all disks",
)
ONE_LOG: Final = Clause(
    name="one-log",
    says="Whoever leads gives the same records at the same offsets, and says that no log which was "
    "given before goes another way",
    compares="answers that give records, or say that there are no new ones",
    floor=2,
    because="what one controller says once is no state; a run may have one leader",
    sources=(LEDGER,),
    blind="a controller that leads for less time than lies between two questions",
)


@dataclass(frozen=True, slots=True)
class Given:
    """A record that a controller gave, and in which answer."""

    entry: Entry
    answer: Operation

    def __str__(self) -> str:
        epoch, crc = self.entry
        where = f"{self.answer.node} in operation {self.answer.index}"
        return f"a record of epoch {epoch} with checksum {crc:08x} by {where}"


def observed_log(events: RunEvents) -> Outcome:
    answers = [each for each in events.observations if each.f == ASKED and each.ok]
    given, findings = _given(answers)
    left = committed_on_disks(events)
    lost, held = _held(given, left)
    going_on = bool((events.plan.get("options") or {}).get("keep"))
    counts: dict[str, Count] = {
        GIVEN_KEPT.name: left.why if going_on else held,
        ONE_LOG.name: len(answers),
    }
    return weighed(counts, [*findings, *lost], {"records": len(given)})


def _given(answers: Iterable[Operation]) -> tuple[Mapping[int, Given], list[Finding]]:
    """Of each offset what was given first, and what was given otherwise since."""
    first: dict[int, Given] = {}
    findings: list[Finding] = []
    for answer in answers:
        if log_part(answer).get("diverging") is not None:
            findings.append(_diverges(answer))
        for offset, given in _records(answer):
            before = first.setdefault(offset, given)
            if before.entry != given.entry:
                findings.append(
                    finding(
                        f"offset {offset} of the metadata log was committed twice: {before}; "
                        f"{given}",
                        [before.answer, answer],
                        clause=ONE_LOG.name,
                    )
                )
                break
    return first, findings


def _records(answer: Operation) -> Iterator[tuple[int, Given]]:
    part = log_part(answer)
    entries = zip(part["epochs"], part["crcs"], strict=True)
    for offset, (epoch, crc) in enumerate(entries, part["begin"]):
        yield offset, Given((epoch, crc), answer)


def _diverges(answer: Operation) -> Finding:
    part = log_part(answer)
    return finding(
        f"by {answer.node} in operation {answer.index}, leader in epoch {part['leader_epoch']}, "
        "the log that it had given below its high watermark is none of its own from offset "
        f"{part['diverging']} on",
        [answer],
        clause=ONE_LOG.name,
    )


def _held(given: Mapping[int, Given], left: CommittedOnDisks) -> tuple[list[Finding], int]:
    """The first offset that is lost, and how many were compared."""
    if left.why:
        return [], 0
    compared = 0
    for offset, each in sorted(given.items()):
        on_disk = left.entries.get(offset)
        if on_disk is None and offset < left.end:
            continue  # snapshots have it
        if on_disk == each.entry:
            compared += 1
            continue
        lost = f"is on no disk of those who could lead in the end, whose log ends at {left.end}"
        if on_disk is not None:
            lost = f"is another one on disks, of epoch {on_disk[0]}, checksum {on_disk[1]:08x}"
        return [
            finding(
                f"offset {offset} of the metadata log had been committed, and {lost}: {each}",
                [each.answer],
                by=[DISKS],
                clause=GIVEN_KEPT.name,
            )
        ], compared
    return [], compared


class ObservedLog(RunChecker):
    name = "observed-log"
    summary = (
        "What controllers gave of the metadata log to an observer, below the high watermark, is "
        "one log, and on the disks in the end"
    )
    requires = frozenset({NODE_ANSWERS, WATCHED_LOG}) | disk_of(LogOnDisk)
    clauses = (GIVEN_KEPT, ONE_LOG)
    check_run = RunCheck(observed_log, disk=LOG_KINDS, observations=True)
