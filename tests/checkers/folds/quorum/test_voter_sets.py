"""Who votes at which offset, by records and snapshots (`folds/quorum/voter_sets.py`)."""

from collections.abc import Sequence
from typing import Any

import pytest
from planted_runs import Story

from checkers.folds.metadata_log.disk_logs import CommittedOnDisks
from checkers.folds.quorum.voter_sets import VoterSets, changes, text, voter_sets
from framework.evidence.changes import Change, FeatureSet, VotersNamed
from framework.evidence.quorum import SnapshotFile, Voter


def named(*ids: int) -> tuple[Voter, ...]:
    return tuple(Voter(id=each, directory=f"d{each}") for each in ids)


def log(*records: tuple[int, ...] | None) -> CommittedOnDisks:
    """Records that name voters, or something else."""
    found: list[Change] = []
    for offset, ids in enumerate(records):
        at: dict[str, Any] = {"node": "c1", "offset": offset, "epoch": 1}
        found.append(
            FeatureSet(**at, name="metadata.version", level=1)
            if ids is None
            else VotersNamed(**at, voters=named(*ids))
        )
    return CommittedOnDisks(end=len(found), records=found)


def sets(left: CommittedOnDisks, *snapshots: tuple[int, Sequence[int] | None]) -> VoterSets:
    """`snapshots`: their ends, and who votes by them."""
    story = Story()
    for end, ids in snapshots:
        story.disks.tell(
            SnapshotFile,
            "c1",
            end_offset=end,
            epoch=1,
            records=1,
            wrong=(),
            voters=None if ids is None else named(*ids),
        )
    return voter_sets(story.run_events(), left)


def test_a_record_holds_for_logs_that_have_it() -> None:
    found = sets(log(None, (1, 2, 3), None, (1, 2), (1, 2, 4)))
    at = [sorted(each.id for each in found.at(end)) for end in range(6)]
    assert at == [[1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2], [1, 2, 4]]


@pytest.mark.parametrize(
    ("low", "high", "steps"),
    [(1, 1, [0]), (1, 2, [0]), (1, 3, [0]), (1, 4, [0, 1]), (3, 5, [0, 1, 2]), (4, 5, [1, 2])],
)
def test_those_in_force_between_two_ends(low: int, high: int, steps: list[int]) -> None:
    found = sets(log(None, (1, 2, 3), None, (1, 2), (1, 2, 4)))
    assert found.between(low, high) == {found.steps[each].after for each in steps}


def test_who_votes_below_all_records_a_snapshot_says_or_else_the_first_of_them() -> None:
    records = log((1, 2, 3), (1, 2))
    assert sets(records).first == frozenset(named(1, 2, 3))
    assert sets(records, (0, (1, 2, 3, 4))).first == frozenset(named(1, 2, 3, 4))
    assert sets(records, (0, None), (1, (5,))).first == frozenset(named(1, 2, 3))
    assert sets(log(None), (0, (1,)), (0, (2,))).first == frozenset(named(1)), "the first says it"


def test_steps_tell_what_changed() -> None:
    found = sets(log((1, 2, 3), (1, 2), (1, 2), (2, 4)), (0, (1, 2, 3)))
    told = [[(does, each.id) for does, each in step.changes] for step in found.steps]
    assert told == [[], [("remove", 3)], [], [("remove", 1), ("add", 4)]]
    again = (Voter(id=3, directory="other"),)
    assert changes(frozenset(named(3)), frozenset(again)) == [
        ("remove", *named(3)),
        ("add", *again),
    ]
    assert text(frozenset(named(3, 1))) == "[1, 3]"


def test_where_not_all_is_known_nothing_is_told() -> None:
    assert sets(CommittedOnDisks(why="c2 was not read"), (0, (1,))).why == "c2 was not read"
    short = CommittedOnDisks(end=3, records=log((1,), (1, 2)).records)
    assert sets(short).why == "not all records of the committed log are on disks"
    assert sets(log(None)).why == "neither the log nor a snapshot says who votes"
    assert sets(log(None), (7, (1,))).why == "neither the log nor a snapshot says who votes"
    assert sets(log((1,))).why == ""
