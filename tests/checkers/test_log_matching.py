"""Log matching (D.5)."""

from itertools import combinations

from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_replicas import behind, clean
from planted_runs import Story, assert_invalid, assert_valid

from checkers.log_matching import log_matching
from framework.verdict import Verdict


def test_clean_logs_are_accepted() -> None:
    assert_valid(log_matching(clean().run_events()))


def test_a_log_that_is_dropped_for_a_snapshot_is_accepted() -> None:
    evidence = behind(dropped=True).run_events()
    assert_valid(log_matching(evidence))


def test_a_log_that_only_begins_later_keeps_what_it_has() -> None:
    evidence = behind(dropped=False).run_events()
    assert_invalid(log_matching(evidence), "below")


def test_nothing_seen_is_unknown() -> None:
    assert log_matching(Story().run_events()).verdict is Verdict.UNKNOWN


def test_two_records_at_one_epoch_and_offset() -> None:
    story = clean()
    story.append("c3", 4, 2, 24)
    story.append("c2", 4, 2, 25, leader=True)
    outcome = log_matching(story.run_events())
    assert_invalid(outcome, "epoch 2, offset 4", "CRC 24", "CRC 25")
    assert {event["node"] for event in outcome.findings[0].events} == {"c2", "c3"}


PLANTED = Plants(clean)


@PLANTED.violation("epoch 2, offset 4")
def two_records_one_of_them_truncated(story: Story) -> None:
    story.append("c3", 4, 2, 24)
    story.event("c3", "truncate", end_offset=4)
    story.append("b1", 4, 2, 25)


@PLANTED.violation("agree at epoch 3, offset 5", "offset 4")
def agreement_above_a_difference(story: Story) -> None:
    """Each record is unique, but the prefixes below (3, 5) are not the same."""
    story.append("c3", 4, 2, 24)
    story.append("c3", 5, 3, 35)
    story.append("c2", 4, 3, 34, leader=True)
    story.append("c2", 5, 3, 35, leader=True)


def test_unknown_tail_of_a_killed_node_is_no_difference() -> None:
    story = clean()
    story.boot("c3", (2, 2, 2), log_end=6, last_epoch=2)
    story.append("c2", 4, 2, 24, 25, 26, leader=True)
    story.append("c3", 6, 2, 26)
    assert_valid(log_matching(story.run_events()))


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["c1", "c2", "c3"]),
            st.integers(0, 3),
            st.integers(1, 2),
            st.lists(st.integers(1, 2), min_size=1, max_size=2),
        ),
        max_size=8,
    )
)
def test_log_matching_is_what_it_says(
    writes: list[tuple[str, int, int, list[int]]],
) -> None:
    """Against whole prefixes, compared entry by entry."""
    story = Story()
    logs: dict[str, list[tuple[int, int]]] = {}
    held: list[tuple[tuple[int, int], ...]] = []
    for node, base, epoch, crcs in writes:
        log = logs.setdefault(node, [])
        base = min(base, len(log))
        if base < len(log):
            story.event(node, "truncate", end_offset=base)
            del log[base:]
        story.append(node, base, epoch, *crcs)
        for crc in crcs:
            log.append((epoch, crc))
            held.append(tuple(log))
    right = not any(
        len(a) == len(b) and a[-1][0] == b[-1][0] and a != b for a, b in combinations(held, 2)
    )
    outcome = log_matching(story.run_events())
    assert (outcome.verdict is not Verdict.INVALID) == right
