"""When offsets of the metadata log were committed (`folds/metadata_log/commit_times.py`)."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_runs import MS, Story
from test_uncommitted_never_visible import VOTERS, booted, held

from checkers.folds.metadata_log.commit_times import CommitTimes, commit_times
from tests.cases import cases


def test_entries_of_an_old_epoch_are_not_committed_by_their_number() -> None:
    """Raft, section 5.4.2: an entry of the leader's own epoch has to be on a majority."""
    story = Story()
    booted(story)
    held(story, "c1", 0, 1, epoch=1)
    held(story, "c2", 0, 1, epoch=2)
    times = commit_times(story.run_events())
    assert times is not None and times.end_at(story.now_ns) == 0
    story.event("c2", "truncate", end_offset=0)
    held(story, "c2", 0, 1, epoch=1)
    times = commit_times(story.run_events())
    assert times is not None and times.end_at(story.now_ns) == 1


def test_disks_count_after_a_restart_and_a_fetched_snapshot() -> None:
    story = Story()
    booted(story)
    held(story, "c1", 0, 3)
    story.append("c2", 0, 1, 1, 2)
    story.event("c2", "boot", replica_id=2, voters=[1, 2, 3], log_end=2, last_epoch=1)
    at_boot = story.now_ns
    story.event("c3", "snap_load", end_offset=3, epoch=1, digest="d", source="fetched")
    times = commit_times(story.run_events())
    assert times is not None
    assert times.of(1) == at_boot
    assert times.of(2) == story.now_ns
    assert times.of(3) is None


def end_at(story: Story) -> int:
    """By all that was told."""
    times = commit_times(story.run_events())
    assert times is not None
    return times.end_at(story.now_ns)


def test_steps_are_between_times_and_offsets() -> None:
    times = CommitTimes([(10, 0), (20, 3), (30, 5)])
    assert [times.end_at(at) for at in (9, 10, 19, 20, 29, 30, 99)] == [0, 0, 0, 3, 3, 5, 5]
    assert [times.of(offset) for offset in (0, 2, 3, 4, 5)] == [20, 20, 30, 30, None]


def test_nobody_reported_who_votes() -> None:
    story = Story()
    held(story, "c1", 0, 1)
    assert commit_times(story.run_events()) is None


def test_voters_are_those_of_whom_somebody_reported_first() -> None:
    """And no broker counts, however much it has."""
    story = Story()
    story.event("b1", "boot", replica_id=None, broker_id=4, log_end=0, last_epoch=0, voters=[])
    booted(story)
    held(story, "c1", 0, 2)
    held(story, "b1", 0, 2)
    assert end_at(story) == 0
    held(story, "c3", 0, 1)
    assert end_at(story) == 1


@pytest.mark.parametrize(("voters", "needed"), [([1], 1), ([1, 2], 2), ([1, 2, 3], 2)])
def test_more_than_half_of_the_voters(voters: list[int], needed: int) -> None:
    story = Story()
    nodes = list(VOTERS)[: len(voters)]
    for node in nodes:
        boot = {"log_end": 0, "last_epoch": 0}
        story.event(node, "boot", replica_id=VOTERS[node], voters=voters, **boot)
    for number, node in enumerate(nodes, 1):
        held(story, node, 0, 1)
        assert end_at(story) == (number >= needed)


def test_what_is_not_flushed_is_not_durable() -> None:
    story = Story()
    booted(story)
    held(story, "c1", 0, 3)
    story.append("c2", 0, 1, 0, 1, 2)
    assert end_at(story) == 0
    story.event("c2", "flush", end_offset=2)
    assert end_at(story) == 2
    story.event("c2", "flush", end_offset=1)
    assert end_at(story) == 2
    story.event("c2", "flush", end_offset=9)
    assert end_at(story) == 3
    held(story, "c1", 3, 4)
    story.append("c2", 3, 1, 3)
    assert end_at(story) == 3, "there was nothing more when it was flushed"


def test_what_was_committed_stays_so() -> None:
    story = Story()
    booted(story)
    held(story, "c1", 0, 2)
    held(story, "c2", 0, 2)
    for node in ("c1", "c2"):
        story.event(node, "truncate", end_offset=0)
    assert end_at(story) == 2
    held(story, "c1", 0, 1, epoch=2)
    held(story, "c3", 0, 1, epoch=2)
    assert end_at(story) == 2


def test_log_that_was_written_over_is_durable_up_to_there() -> None:
    story = Story()
    booted(story)
    held(story, "c2", 0, 3, epoch=2)
    held(story, "c1", 0, 3, epoch=1)
    story.append("c1", 1, 2, 1, 2)
    story.event("c1", "snap_load", end_offset=1, epoch=1, digest="d", source="fetched")
    assert end_at(story) == 0, "none of that epoch is"
    story.event("c1", "flush", end_offset=3)
    assert end_at(story) == 3


def test_snapshot_that_covers_less_than_the_log_changes_nothing() -> None:
    story = Story()
    booted(story)
    held(story, "c1", 0, 3)
    story.append("c2", 0, 1, 0, 1, 2)
    loaded = {"epoch": 1, "digest": "d", "source": "fetched"}
    story.event("c2", "snap_load", end_offset=3, **loaded)
    assert end_at(story) == 0, "it has all that, and has not flushed it"
    story.event("c2", "snap_load", end_offset=4, **loaded)
    assert end_at(story) == 3


def test_boot_that_finds_less_has_lost_the_rest() -> None:
    story = Story()
    booted(story)
    held(story, "c1", 0, 2, epoch=1)
    held(story, "c1", 2, 3, epoch=2)
    story.event("c1", "boot", replica_id=1, voters=[1, 2, 3], log_end=2, last_epoch=1)
    held(story, "c2", 0, 1, epoch=1)
    assert end_at(story) == 1
    story.event("c2", "boot", replica_id=2, voters=[1, 2, 3], log_end=None, last_epoch=None)
    held(story, "c3", 0, 2, epoch=1)
    assert end_at(story) == 2


def test_boot_that_finds_more_finds_what_it_had_not_reported() -> None:
    """Its last record is of a later epoch."""
    story = Story()
    booted(story)
    held(story, "c1", 0, 2, epoch=1)
    held(story, "c2", 0, 3, epoch=2)
    story.event("c1", "boot", replica_id=1, voters=[1, 2, 3], log_end=3, last_epoch=1)
    assert end_at(story) == 0
    story.event("c1", "boot", replica_id=1, voters=[1, 2, 3], log_end=3, last_epoch=2)
    assert end_at(story) == 3


def test_what_a_boot_finds_is_of_the_epoch_before_but_for_its_last_record() -> None:
    """Where nobody knows: so that nothing is committed too late."""
    story = Story()
    booted(story)
    held(story, "c1", 0, 2, epoch=1)
    story.event("c1", "boot", replica_id=1, voters=[1, 2, 3], log_end=5, last_epoch=2)
    held(story, "c3", 0, 5, epoch=1)
    assert end_at(story) == 4


def test_epoch_that_a_boot_does_not_find_is_gone() -> None:
    story = Story()
    booted(story)
    for base, epoch in ((0, 1), (1, 2), (3, 3)):
        held(story, "c1", base, base + 2, epoch)
    story.event("c1", "boot", replica_id=1, voters=[1, 2, 3], log_end=2, last_epoch=2)
    held(story, "c1", 2, 4, epoch=5)
    held(story, "c2", 0, 1, epoch=3)
    assert end_at(story) == 0


def test_log_that_was_cut_off_is_flushed_up_to_there() -> None:
    story = Story()
    booted(story)
    held(story, "c1", 0, 3)
    story.event("c1", "truncate", end_offset=1)
    story.event("c1", "flush", end_offset=3)
    held(story, "c2", 0, 3)
    assert end_at(story) == 1


def test_entries_of_an_epoch_end_where_the_next_one_begins() -> None:
    story = Story()
    booted(story)
    held(story, "c1", 0, 2, epoch=1)
    held(story, "c1", 2, 4, epoch=2)
    held(story, "c2", 0, 3, epoch=1)
    assert end_at(story) == 2


@pytest.mark.parametrize("end", [1, 2])
def test_what_was_cut_off_is_of_no_epoch_any_more(end: int) -> None:
    """c1 had entries of epoch 2 from offset 2 on, and has others there now."""
    story = Story()
    booted(story)
    held(story, "c1", 0, 2, epoch=1)
    held(story, "c1", 2, 4, epoch=2)
    story.event("c1", "truncate", end_offset=end)
    story.event("c1", "flush", end_offset=9)
    held(story, "c2", 0, end, epoch=2)
    assert end_at(story) == 0
    held(story, "c1", end, 5, epoch=3)
    assert end_at(story) == 0
    held(story, "c3", 0, 5, epoch=1)
    assert end_at(story) == end


def test_boot_that_finds_all_has_what_it_had() -> None:
    story = Story()
    booted(story)
    held(story, "c1", 0, 2, epoch=1)
    held(story, "c1", 2, 3, epoch=2)
    story.event("c1", "boot", replica_id=1, voters=[1, 2, 3], log_end=3, last_epoch=2)
    held(story, "c2", 0, 2, epoch=1)
    assert end_at(story) == 2


def test_clock_that_may_be_off_counts_from_the_earliest_time_on() -> None:
    story = Story()
    sample = {"at_ns": 0, "offset_ns": 0, "within_ns": 3 * MS}
    story.plan = {
        **story.plan,
        "hosts": "ssh",
        "clocks": {node: {"samples": [sample]} for node in VOTERS},
    }
    booted(story)
    held(story, "c1", 0, 1)
    held(story, "c2", 0, 1)
    times = commit_times(story.run_events())
    assert times is not None and times.of(0) == story.now_ns - 3 * MS


# --- brute force --------------------------------------------------------------------------


@settings(max_examples=cases(80), deadline=None)
@given(st.integers(0, 2**32))
def test_commit_times_agree_with_brute_force(seed: int) -> None:
    """Three logs that grow, are cut and flushed at random; at each moment, every offset is
    counted on every log as the definition says."""
    draw = random.Random(seed)
    story = Story()
    booted(story)
    logs: dict[str, list[int]] = {node: [] for node in VOTERS}
    durable = dict.fromkeys(VOTERS, 0)
    committed = 0
    epoch = 1
    for _ in range(draw.randint(1, 20)):
        node = draw.choice(list(VOTERS))
        log = logs[node]
        match draw.randrange(4):
            case 0:
                epoch += draw.randrange(2)
                story.append(node, len(log), epoch, 7)
                log.append(epoch)
            case 1 if len(log) < max(map(len, logs.values())):
                longest = max(logs.values(), key=len)
                if longest[: len(log)] == log:
                    story.append(node, len(log), longest[len(log)], 7)
                    log.append(longest[len(log)])
            case 2 if log:
                end = draw.randrange(len(log))
                story.event(node, "truncate", end_offset=end)
                del log[end:]
                durable[node] = min(durable[node], end)
            case 3:
                story.event(node, "flush", end_offset=len(log))
                durable[node] = len(log)
        committed = max(committed, _committed(logs, durable))
        times = commit_times(story.run_events())
        assert times is not None and times.end_at(story.now_ns) == committed
        ends = [end for _, end in times.steps]
        assert ends == sorted(set(ends))


def _committed(logs: dict[str, list[int]], durable: dict[str, int]) -> int:
    best = 0
    for epoch in {each for log in logs.values() for each in log}:
        for offset in range(max(map(len, logs.values()))):
            holders = 0
            for node, log in logs.items():
                own = [at for at in range(durable[node]) if log[at] == epoch and at >= offset]
                holders += bool(own)
            if holders >= 2:
                best = max(best, offset + 1)
    return best
