"""A node's log, folded from what it says of its storage (`folds/metadata_log/node_log.py`)."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from planted_runs import Story

from checkers.folds.metadata_log.node_log import KINDS, LogFold, accounts, log_at
from framework.evidence.kinds import Evidence

A, B, C = (1, 10), (1, 11), (2, 12)
"""Entries: (epoch, CRC)."""


def folded(story: Story, *, hashing: bool = False) -> LogFold:
    """What c1 told of its log."""
    log = LogFold(hashing=hashing)
    for each in reported(story):
        log.feed(each)
    return log


def reported(story: Story) -> Sequence[Evidence]:
    (account,) = (each for each in accounts(story.run_events()) if each.node == "c1")
    return account.history


def appended() -> Story:
    story = Story()
    story.boot("c1")
    story.append("c1", 0, 1, 10, 11)
    story.append("c1", 2, 2, 12)
    return story


def test_log_of_nothing_ends_at_nothing() -> None:
    assert (LogFold().end, LogFold().last) == (0, (0, 0))


def test_entries_follow_each_other() -> None:
    log = folded(appended())
    assert (log.start, log.entries, log.end, log.last) == (0, [A, B, C], 3, (2, 3))
    assert LogFold().start == 0


def test_append_takes_the_place_of_what_was_there() -> None:
    story = appended()
    story.append("c1", 1, 3, 13)
    assert folded(story).entries == [A, (3, 13)]


@pytest.mark.parametrize(
    ("end", "entries", "last"),
    [(3, [A, B, C], (2, 3)), (4, [A, B, C], (2, 3)), (2, [A, B], (1, 2)), (0, [], (0, 0))],
)
def test_truncated(end: int, entries: list[tuple[int, int]], last: tuple[int, int]) -> None:
    story = appended()
    story.event("c1", "truncate", end_offset=end)
    log = folded(story)
    assert (log.entries, log.last) == (entries, last)


def test_what_is_skipped_is_not_known() -> None:
    story = appended()
    story.append("c1", 5, 2, 15)
    log = folded(story)
    assert (log.entries, log.last) == ([A, B, C, None, None, (2, 15)], (2, 6))
    story.event("c1", "truncate", end_offset=4)
    log = folded(story)
    assert (log.end, log.last) == (4, None), "of which epoch the last one is, nobody knows"
    story.boot("c1", log_end=5, last_epoch=2)
    story.event("c1", "truncate", end_offset=5)
    assert folded(story).last == (2, 5), "it was told by the boot, and nothing was cut off"


# --- restarts -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "epoch", "entries", "last"),
    [
        (3, 2, [A, B, C], (2, 3)),
        (2, 1, [A, B], (1, 2)),
        (4, 2, [A, B, C, None], (2, 4)),  # it wrote one more, and did not tell
        (3, 3, [None, None, None], (3, 3)),  # cut back and written over, and neither was told
        (0, 0, [], (0, 0)),
    ],
)
def test_what_a_boot_finds_counts(
    end: int, epoch: int, entries: list[object], last: tuple[int, int]
) -> None:
    story = appended()
    story.boot("c1", log_end=end, last_epoch=epoch)
    log = folded(story)
    assert (log.entries, log.last) == (entries, last)


def test_boot_that_does_not_tell_of_its_log_changes_nothing() -> None:
    story = appended()
    story.event("c1", "boot", replica_id=1, log_end=None, last_epoch=None)
    assert folded(story).entries == [A, B, C]
    story.event("c1", "boot", replica_id=1, log_end=3, last_epoch=None)
    log = folded(story)
    assert (log.entries, log.last) == ([A, B, C], None)
    story.event("c1", "boot", replica_id=1, log_end=0, last_epoch=None)
    assert folded(story).last == (0, 0), "of nothing there is no epoch to be told"


# --- snapshots ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dropped", "entries", "last"),
    [(False, [A, B, C], (2, 3)), (True, [None, None], None)],
)
def test_log_begins_at_a_snapshot(
    dropped: bool, entries: list[object], last: tuple[int, int] | None
) -> None:
    story = appended()
    story.event("c1", "log_start", offset=2, dropped=dropped)
    log = folded(story)
    assert (log.start, log.entries, log.last) == (2, entries, last)


@pytest.mark.parametrize(
    ("start", "entries"), [(0, [A, B, C]), (2, [None, None, None]), (3, [None, None, None])]
)
def test_boot_whose_log_begins_later_than_was_reported_had_dropped_it(
    start: int, entries: list[object]
) -> None:
    story = appended()
    story.boot("c1", log_start=start, log_end=3, last_epoch=2)
    assert folded(story).entries == entries


def test_boot_whose_log_begins_where_it_was_reported_to_keeps_it() -> None:
    story = appended()
    story.event("c1", "log_start", offset=2, dropped=False)
    story.boot("c1", log_start=2, log_end=3, last_epoch=2)
    assert folded(story).entries == [A, B, C]


# --- hashes -------------------------------------------------------------------------------


def test_hashes_stand_for_all_below() -> None:
    one, other = appended(), appended()
    other.event("c1", "truncate", end_offset=0)
    other.append("c1", 0, 1, 10, 11)
    other.append("c1", 2, 2, 12)
    first = folded(one, hashing=True).prefixes
    assert first == folded(other, hashing=True).prefixes
    assert len(set(first)) == 3 and None not in first
    assert not folded(one).prefixes, "they are not asked for"


@pytest.mark.parametrize(("epoch", "crc"), [(1, 99), (3, 11)])
def test_hashes_differ_from_the_first_entry_that_does(epoch: int, crc: int) -> None:
    other = Story()
    other.boot("c1")
    other.append("c1", 0, 1, 10)
    other.append("c1", 1, epoch, crc)
    other.append("c1", 2, 2, 12)
    pairs = zip(
        folded(appended(), hashing=True).prefixes,
        folded(other, hashing=True).prefixes,
        strict=True,
    )
    assert [one == two for one, two in pairs] == [True, False, False]


def test_above_what_is_not_known_no_hash_is() -> None:
    story = appended()
    story.append("c1", 4, 2, 14, 15)
    prefixes = folded(story, hashing=True).prefixes
    assert [each is None for each in prefixes] == [False] * 3 + [True] * 3
    story.boot("c1", log_end=6, last_epoch=9)
    assert folded(story, hashing=True).prefixes == [None] * 6
    story.event("c1", "truncate", end_offset=0)
    story.append("c1", 0, 1, 10)
    assert folded(story, hashing=True).prefixes == folded(appended(), hashing=True).prefixes[:1]


# --- whose --------------------------------------------------------------------------------


def test_accounts_are_of_disks_first_and_then_of_what_was_reported() -> None:
    story = appended()
    story.boot("b1")
    story.boot("c1", log_end=3, last_epoch=2)
    story.disks.write("c2", 1)
    story.disks.write("b2", 1)
    story.disks.restart("b2")
    story.disks.write("b2", 1)
    found = accounts(story.run_events())
    assert [(each.node, each.on_disk) for each in found if each.node] == [
        ("b2", True),
        ("c2", True),
        ("b1", False),
        ("c1", False),
    ]
    for account in found:
        places = [(each.incarnation, each.seq) for each in account.history]
        assert places == sorted(places), account.node


def test_what_was_left_goes_on_from_one_process_to_the_next() -> None:
    story = Story()
    for _ in range(3):
        story.disks.write("c1", 1)
        story.disks.restart("c1")
    events = story.run_events()
    (account,) = (each for each in accounts(events) if each.node == "c1")
    backwards = replace(events, evidence=list(reversed(events.evidence)))
    (again,) = (each for each in accounts(backwards) if each.node == "c1")
    assert [each.seq for each in again.history] == [each.seq for each in account.history]


def test_log_at_a_moment() -> None:
    story = appended()
    story.event("c1", "truncate", end_offset=1)
    history = [each for each in reported(story) if isinstance(each, KINDS)]
    assert [log_at(history, each).end for each in history] == [0, 2, 3, 1]
