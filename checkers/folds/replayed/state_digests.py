"""Digests of nodes' states, which they told or a snapshot of theirs has, beside the replay's."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from checkers.folds.metadata_log.committed_log import CommittedLog
from checkers.folds.replayed.metadata_digest import Digest
from checkers.folds.replayed.replay import states
from framework.checking.findings import finding
from framework.evidence.kinds import Evidence
from framework.evidence.quorum import ImageDigest, ImageShown, SnapshotFile
from framework.evidence.run_events import RunEvents
from framework.evidence.systems import ImageForm
from framework.plugins.checker import Finding


@dataclass(frozen=True, slots=True)
class State:
    """A node's state below an offset has this digest."""

    offset: int
    digest: str
    by: Evidence


def states_told(events: RunEvents) -> Iterator[State]:
    reported: Iterable[ImageDigest | ImageShown] = events.of(ImageDigest, ImageShown)
    for each in reported:
        yield State(each.offset, each.digest, each)
    for file in events.of(SnapshotFile):
        if file.digest is not None:
            yield State(file.end_offset, file.digest, file)


def wrong_digests(
    reported: Iterable[State], log: CommittedLog, form: ImageForm
) -> tuple[int, list[Finding]]:
    """A node's state below an offset is what the records below it make: what a removed topic
    was configured to is gone, and nothing that is in no record is there."""
    by_offset: dict[int, dict[str, Evidence]] = defaultdict(dict)
    for state_reported in reported:
        by_offset[state_reported.offset].setdefault(state_reported.digest, state_reported.by)
    digest = Digest(form)
    compared, findings = 0, []
    for offset, state in states(log, by_offset, form):
        right = digest.of(state)
        compared += len(by_offset[offset])
        findings += [
            finding(
                f"{each.node}'s state below offset {offset} has digest {wrong[:16]}; the "
                f"replay of the log has {right[:16]}",
                evidence=[each],
            )
            for wrong, each in sorted(by_offset[offset].items())
            if wrong != right
        ]
    return compared, findings
