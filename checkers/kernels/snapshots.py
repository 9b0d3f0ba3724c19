"""A snapshot says what the log below it says (D.16; KIP-630, KIP-631's "Snapshots").

For every snapshot (end offset, epoch) that a node wrote or loaded: its state is the replay of
the records below its end; its epoch is that of the last of them; it has no more records than
the state has entities, in its file as well, where no entity has two, and header and footer are
there; it was not above the high watermark when it was written. One id is one
state, on all nodes. A log that begins above 0 begins where a snapshot of that node ends.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from checkers.kernels.evidence import Evidence, NodeEvent, concluded, finding, incarnations
from checkers.kernels.metadata_digest import Digest
from checkers.kernels.replay import Log, committed_log
from framework.checking.keyed import Outcome
from framework.plugins.checker import Finding
from framework.verdict import Verdict

EVENTS: Final = ("apply", "snap_write", "snap_load", "log_start", "boot", "hw")
FRAME: Final = 2
"""Header and footer, where a node counts them among a snapshot's records."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What the log says of the state at an end offset."""

    digest: str
    entities: int


def snapshot_equivalence(evidence: Evidence) -> Outcome:
    snapshots = list(evidence.of("snap_write", "snap_load"))
    log = committed_log(evidence.of("apply"))
    findings = [
        *_one_state(snapshots),
        *_states(snapshots, log),
        *_epochs(snapshots, log),
        *_above_watermark(evidence),
        *_log_starts(evidence),
        *_files(evidence, log),
    ]
    written = sum(event.type == "snap_write" for event in snapshots)
    judged = sum(event.fields["end_offset"] <= len(log.records) for event in snapshots)
    figures: dict[str, float] = {
        "written": written,
        "loaded": len(snapshots) - written,
        "files": len(evidence.snapshots),
    }
    if snapshots:
        figures["max_bytes"] = max(event.fields.get("bytes", 0) for event in snapshots)
    if judged < len(snapshots) and not findings:
        note = (
            f"{len(snapshots) - judged} snapshots end above what the events tell of the log: "
            f"not held against it"
        )
        return Outcome(verdict=Verdict.UNKNOWN, seen=judged, figures=figures, note=note)
    return concluded(judged + len(evidence.snapshots), findings, figures)


def _id(event: NodeEvent) -> tuple[int, int]:
    return (event.fields["end_offset"], event.fields["epoch"])


def _name(event: NodeEvent) -> str:
    deed = "wrote" if event.type == "snap_write" else "loaded"
    return f"{event.node} {deed} snapshot {event.fields['end_offset']}-{event.fields['epoch']}"


def _one_state(snapshots: Iterable[NodeEvent]) -> Iterator[Finding]:
    by_id: dict[tuple[int, int], dict[str, NodeEvent]] = defaultdict(dict)
    for event in snapshots:
        by_id[_id(event)].setdefault(event.fields["digest"], event)
    for (end, epoch), digests in sorted(by_id.items()):
        if len(digests) > 1:
            who = ", ".join(f"{event.node} {told[:16]}" for told, event in sorted(digests.items()))
            yield finding(
                f"snapshot {end}-{epoch} is not one state: {who}", events=list(digests.values())
            )


def _states(snapshots: Iterable[NodeEvent], log: Log) -> Iterator[Finding]:
    by_end: dict[int, list[NodeEvent]] = defaultdict(list)
    for event in snapshots:
        by_end[event.fields["end_offset"]].append(event)
    digest = Digest()
    for end, state in log.states(by_end):
        expected = Expected(digest.of(state), state.entities())
        for event in by_end[end]:
            yield from _state(event, expected)


def _state(event: NodeEvent, expected: Expected) -> Iterator[Finding]:
    told = event.fields["digest"]
    if told != expected.digest:
        yield finding(
            f"{_name(event)} with digest {told[:16]}; the replay of the log below it has "
            f"{expected.digest[:16]}",
            events=[event],
        )
    records = event.fields.get("records")
    if records is not None and records > expected.entities + FRAME:
        yield finding(
            f"{_name(event)} with {records} records; its state has {expected.entities} entities",
            events=[event],
        )


def _epochs(snapshots: Iterable[NodeEvent], log: Log) -> Iterator[Finding]:
    for event in snapshots:
        last = log.at(event.fields["end_offset"] - 1)
        if last is not None and last.fields["epoch"] != event.fields["epoch"]:
            yield finding(
                f"{_name(event)}; the record below its end is of epoch {last.fields['epoch']}",
                events=[last, event],
            )


def _above_watermark(evidence: Evidence) -> Iterator[Finding]:
    """By the watermark that the node names, and by the last one that it reported."""
    for lives in incarnations(evidence.of("snap_write", "snap_load", "hw")).values():
        for life in lives:
            reported: NodeEvent | None = None
            loaded = 0
            for event in life:
                if event.type == "hw":
                    reported = event
                    continue
                end = event.fields["end_offset"]
                if event.type == "snap_load":
                    loaded = max(loaded, end)
                    continue
                named = event.fields["high_watermark"]
                highest = max(reported.fields["offset"] if reported else 0, loaded)
                if end > named:
                    yield finding(
                        f"{_name(event)} above the high watermark {named}", events=[event]
                    )
                elif end > highest and reported is not None:
                    yield finding(
                        f"{_name(event)}, having reported no high watermark above {highest}",
                        events=[reported, event],
                    )


def _log_starts(evidence: Evidence) -> Iterator[Finding]:
    """Over all incarnations of a node: its snapshots are on its disk."""
    events = evidence.of("snap_write", "snap_load", "log_start", "boot", "apply")
    for lives in incarnations(events).values():
        ends: set[int] = set()
        for life in lives:
            for at, event in enumerate(life):
                if event.type in ("snap_write", "snap_load"):
                    ends.add(event.fields["end_offset"])
                    continue
                start = _start(event)
                if start > 0 and start not in ends and _goes_on(event, start, life[at + 1 :]):
                    yield finding(
                        f"the log of {event.node} begins at {start}, where no snapshot of it ends",
                        events=[event],
                    )


def _start(event: NodeEvent) -> int:
    """Where the log begins from this event on; 0: it tells nothing of that."""
    names = {"log_start": "offset", "boot": "log_start"}
    return int(event.fields.get(names.get(event.type, ""), 0) or 0)


def _goes_on(event: NodeEvent, start: int, rest: Iterable[NodeEvent]) -> bool:
    """Whether the process went on without the snapshot. A boot tells where the log begins before
    the snapshot below it is loaded, and so does a log that was dropped for another node's, which
    a newer one may replace meanwhile. A process that ended between shows nothing."""
    if event.type == "log_start" and not event.fields.get("dropped"):
        return True
    for each in rest:
        if each.type == "snap_load" and each.fields["end_offset"] == start:
            return False
        if each.type == "log_start" and each.fields.get("dropped"):
            return False
        if each.type == "apply" and each.fields["offset"] >= start:
            return True
        if each.type == "snap_write" and each.fields["end_offset"] >= start:
            return True
    return False


def _files(evidence: Evidence, log: Log) -> Iterator[Finding]:
    """The files that the run left, against themselves and the log."""
    by_end: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for told in evidence.snapshots:
        by_end[told["end_offset"]].append(told)
        for wrong in told["wrong"]:
            yield Finding(message=f"snapshot {told['file']} {wrong}", events=(told,))
    for end, state in log.states(by_end):
        for told in by_end[end]:
            if told["records"] != state.entities() and not told["wrong"]:
                yield Finding(
                    message=f"snapshot {told['file']} has {told['records']} records; the state "
                    f"below {end} has {state.entities()} entities",
                    events=(told,),
                )
