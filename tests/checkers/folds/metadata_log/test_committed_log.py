"""The committed metadata log, of what nodes told and of what lies on disks."""

from dataclasses import replace
from typing import Any

from planted_logs import LogStory
from planted_runs import MS, Story

from checkers.folds.metadata_log.committed_log import (
    CommittedLog,
    committed_log,
    known_log,
    once_each,
)
from framework.evidence.changes import Change, TopicCreated
from framework.evidence.clocks import UNKNOWN_NS
from framework.evidence.ids import LeaderEpoch, Offset
from framework.evidence.kinds import DISK

VOTERS = ("c1", "c2", "c3")


def reported(story: Story) -> CommittedLog:
    """By nodes alone."""
    return committed_log(story.run_events().of(Change))


# --- what nodes told ----------------------------------------------------------------------


def test_records_are_in_order_whoever_tells_of_them_first() -> None:
    story = LogStory(readers=("b1",))
    story.brokers(4, 5)
    story.events.reverse()
    for number, event in enumerate(story.events):
        object.__setattr__(event, "time_ns", number * MS)
    log = reported(story)
    assert [each.offset for each in log.records] == [0, 1, 2, 3]
    assert (log.gap, log.conflicts, log.on_disk) == (None, [], 0)


def test_nothing_was_reported() -> None:
    assert reported(Story()) == CommittedLog([], [], [], None, [])


def test_record_is_at_its_offset_and_of_its_epoch() -> None:
    story = LogStory(readers=("b1",))
    story.brokers(4, 5)
    log = reported(story)
    assert [log.at(offset) for offset in (0, 3)] == [log.records[0], log.records[3]]
    assert log.at(-1) is None and log.at(4) is None
    assert log.of_epoch(2, 1) is log.records[2]
    assert log.of_epoch(2, 2) is None and log.of_epoch(4, 1) is None


def test_log_ends_where_nobody_tells_of_an_offset_and_later_ones_are_reported() -> None:
    story = LogStory()
    story.brokers(4, 5)
    story.events = [each for each in story.events if each.fields["offset"] != 2]
    log = reported(story)
    assert (len(log.records), log.gap) == (2, 2)


def test_log_whose_first_offset_nobody_tells_of() -> None:
    story = LogStory(offset=1)
    story.brokers(4)
    assert (reported(story).records, reported(story).gap) == ([], 0)


def test_first_that_any_node_can_have_applied_a_record_and_by_when_some_had() -> None:
    """c1 is the first of them, by a clock of which much less is known than of that of b1."""
    story = LogStory(readers=("c1", "b1"))
    story.brokers(4)
    early, late = (each for each in story.run_events().of(Change) if each.offset == 0)
    early, late = replace(early, within_ns=10 * MS), replace(late, within_ns=2 * MS)
    assert early.at_ns < late.at_ns
    for changes in ((early, late), (late, early)):
        log = committed_log(changes)
        assert log.not_before_ns == [early.at_ns - 10 * MS]
        assert log.by_ns == [late.at_ns + 2 * MS]


def test_each_offset_of_which_nodes_tell_otherwise_is_reported_of_once() -> None:
    """The first one's word counts."""
    story = LogStory(readers=())
    for offset in (1, 0):
        for value, node in (("1", "c1"), ("2", "b1"), ("3", "b2")):
            story.apply(
                *(node, offset, "ConfigRecord", 1 + (node == "b2")),
                resource_type=2,
                resource_name="t",
                name="n",
                value=value,
            )
    log = reported(story)
    assert [each.message for each in log.conflicts] == [
        f"c1 and b1 applied different records at offset {offset}: config-set of epoch 1 and "
        "config-set of epoch 1"
        for offset in (0, 1)
    ]
    assert {each.node for each in log.records} == {"c1"}


# --- with what lies on disks --------------------------------------------------------------


def both() -> LogStory:
    story = LogStory(keepers=VOTERS)
    story.brokers(4, 5)
    story.topic()
    story.new_partition([4, 5])
    return story


def test_disks_and_nodes_say_the_same() -> None:
    log = known_log(both().run_events())
    assert (len(log.records), log.on_disk, log.gap, log.conflicts) == (6, 6, None, [])
    assert all(each.source == "disk" for each in log.records)
    assert all(0 < by_ns < UNKNOWN_NS for by_ns in log.by_ns), "when, only nodes tell"


def test_disks_alone() -> None:
    story = LogStory(keepers=VOTERS, readers=())
    story.brokers(4, 5)
    log = known_log(story.run_events())
    assert len(log.records) == 4 and log.by_ns == [UNKNOWN_NS] * 4


def test_nodes_alone() -> None:
    story = LogStory()
    story.brokers(4, 5)
    log = known_log(story.run_events())
    assert (len(log.records), log.on_disk) == (4, 0)


def test_record_that_nobody_reported_of() -> None:
    story = both()
    story.events = [each for each in story.events if each.fields.get("offset") != 3]
    log = known_log(story.run_events())
    assert (len(log.records), log.gap) == (6, None)
    assert [each < 0 for each in log.not_before_ns] == [False] * 3 + [True] * 3


def test_gap_that_begins_where_disks_end() -> None:
    """They hold what nodes told of, and not what nobody told of."""
    story = both()
    story.offset += 1
    story.keepers = ()
    story.config("retention.ms", "1")
    log = known_log(story.run_events())
    assert (len(log.records), log.gap) == (6, 6)


def test_gap_on_disks_as_well() -> None:
    """Of a record below a snapshot no copy was kept, and nobody told of it."""
    story = LogStory(readers=())
    story.disks.fill(1, 2, *VOTERS)
    for node in VOTERS:
        story.disks.snapshot(node, 3, 1)
        story.disks.begin(node, 3, dropped=False)
        story.disks.write(node, 1, base=3)
    log = known_log(story.run_events())
    assert (len(log.records), log.gap) == (2, 2)


def test_nodes_applied_something_else() -> None:
    story = both()
    story.readers = ("b1",)
    story.keepers = ()
    story.config("retention.ms", "1")
    story.offset -= 1
    story.readers, story.keepers = (), VOTERS
    story.config("retention.ms", "2")
    (found,) = known_log(story.run_events()).conflicts
    assert "b1 applied config-set of epoch 1 at offset 6" in found.message
    assert {each["node"] for each in found.events} == {"b1", "c1"}


def test_nodes_applied_what_is_on_no_disk() -> None:
    story = both()
    story.keepers = ()
    story.config("retention.ms", "1")
    story.config("retention.ms", "2")
    (found,) = known_log(story.run_events()).conflicts
    assert "applied config-set of epoch 1 at offset 6; the log" in found.message
    assert "ends at 6" in found.message and set(found.contracts) == {"disks", "events"}
    story.disks.lost.add("c3")
    assert not known_log(story.run_events()).conflicts, "its log may go on"


def test_who_voted_need_not_be_reported() -> None:
    story = Story()
    story.apply("c1", 0, "LeaderChange", leader_id=1)
    story.disks.lead(1, 1, *VOTERS, votes=(1, 3))
    log = known_log(story.run_events())
    assert not log.conflicts and log.on_disk == 1


def test_node_applied_a_leader_where_disks_have_another_record_or_the_reverse() -> None:
    story = LogStory(readers=("c1",), keepers=VOTERS)
    story.record("LeaderChange", leader_id=1, granting_voters=[1, 2], voters=[1, 2, 3])
    story.topic()
    leader, topic = (event.fields for event in story.events)
    first = story.events[0]
    for lie, offset in ((topic, 0), (leader, 1)):
        story.events = [first] if offset else []
        story.events.append(replace(first, seq=offset, fields={**lie, "offset": offset}))
        (found,) = known_log(story.run_events()).conflicts
        assert f"at offset {offset}, where the disks of all who could lead have" in found.message


# --- records one by one -------------------------------------------------------------------


def told(offset: int, name: str, **more: Any) -> TopicCreated:
    """By a node; the name is what tells it from others."""
    return TopicCreated(
        node="c1", offset=Offset(offset), epoch=LeaderEpoch(1), name=name, topic_id="T", **more
    )


def test_each_offset_is_there_once_in_the_order_of_the_log() -> None:
    applied = [told(7, "seven"), told(2, "two"), told(7, "seven"), told(2, "two")]
    left = [told(4, "four"), told(1, "one"), told(2, "two")]
    assert [each.name for each in once_each(left, applied)] == ["one", "two", "four", "seven"]
    assert [each.name for each in once_each((), applied)] == ["two", "seven"]
    assert [each.name for each in once_each(left, ())] == ["one", "two", "four"]
    assert once_each((), ()) == []


def test_disks_have_the_last_word_and_of_nodes_the_first() -> None:
    applied = [told(2, "first"), told(2, "then"), told(3, "first"), told(3, "then")]
    left = [told(2, "left", source=DISK)]
    assert once_each(left, applied) == [left[0], applied[2]]
