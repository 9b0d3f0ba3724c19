"""Snapshots say what the log below them says (D.16)."""

import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from contract import Plants
from controller_cores import decided_log
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import clause_of, judged, silent
from planted_disks import Disks
from planted_logs import LogStory
from planted_runs import NODES, TOPIC, assert_invalid, assert_valid

from checkers.folds.metadata_log.committed_log import committed_log
from checkers.folds.replayed.metadata_digest import Digest, digest
from checkers.folds.replayed.replay import Replay
from checkers.snapshot_equivalence import SnapshotEquivalence, snapshot_equivalence
from framework.evidence.changes import Change
from framework.evidence.quorum import SnapshotFile
from framework.evidence.run_events import RunEvents
from framework.verdict import Verdict
from nodes.kraft.adapter.disk import left_on_disk
from nodes.kraft.adapter.image_form import IMAGE_FORM
from nodes.kraft.metadata.records import encode_record
from nodes.kraft.wire import records as wire
from nodes.kraft.wire.snapshots import encode_snapshot


def replayed(story: LogStory, end: int) -> Replay:
    state = Replay(form=IMAGE_FORM)
    for event in committed_log(story.run_events().of(Change)).records[:end]:
        state.feed(event)
    return state


def written(story: LogStory, node: str = "c1", **wrong: Any) -> Any:
    """A snapshot of all that was applied, but for what is wrong with it."""
    end = wrong.get("end_offset", story.offset)
    made = Digest(IMAGE_FORM)
    reported = made.of(replayed(story, end))
    fields = {
        "end_offset": end,
        "epoch": story.epoch,
        "bytes": 100,
        "records": made.entities,
        "digest": reported,
        "high_watermark": end,
    }
    return story.event(node, "snap_write", **{**fields, **wrong})


def on_disk(story: LogStory, node: str, **wrong: Any) -> None:
    """The file of such a snapshot."""
    made = Digest(IMAGE_FORM)
    reported = made.of(replayed(story, story.offset))
    fields = {"records": made.entities, "digest": reported, "epoch": 1, **wrong}
    story.disks.snapshot(node, story.offset, **fields)


def loaded(story: LogStory, node: str, end: int, **wrong: Any) -> Any:
    fields = {"end_offset": end, "epoch": 1, "digest": digest(replayed(story, end), IMAGE_FORM)}
    return story.event(node, "snap_load", **{**fields, "source": "fetched", **wrong})


def clean() -> LogStory:
    story = LogStory()
    for node in ("c1", "b1"):
        story.boot(node)
    story.brokers(4, 5)
    story.topic()
    story.new_partition([4, 5])
    for node in ("c1", "b1"):
        story.hw(node, story.offset, 1)
    written(story)
    written(story, "b1")
    for node in ("c1", "b1"):
        on_disk(story, node)
    story.event("c1", "log_start", offset=story.offset)
    story.boot("b2")
    loaded(story, "b2", story.offset)
    story.event("b2", "log_start", offset=story.offset)
    story.isr([4], 4)
    return story


def test_clean_run_is_accepted() -> None:
    outcome = snapshot_equivalence(clean().run_events())
    assert_valid(outcome)
    assert outcome.figures == {"written": 2, "loaded": 1, "files": 2, "max_bytes": 100}
    assert outcome.clauses == {"replayed": 5, "committed": 5, "files": 2, "log-starts": 2}


def test_largest_snapshot_is_a_figure() -> None:
    story = clean()
    story.hw("c1", story.offset, 1)
    written(story, bytes=70)
    figures = snapshot_equivalence(story.run_events()).figures
    assert (figures["max_bytes"], figures["written"]) == (100, 3)
    assert "max_bytes" not in snapshot_equivalence(LogStory().run_events()).figures
    story = LogStory()
    loaded(story, "b2", 0, epoch=0)
    assert snapshot_equivalence(story.run_events()).figures["max_bytes"] == 0


@pytest.mark.parametrize(
    ("files", "found"),
    [(1, ["on the disks of all nodes lay 1 snapshots"] * 1), (2, [2])],
)
def test_few_files_where_all_disks_were_read_are_all_that_there_are(
    files: int, found: list[int | str]
) -> None:
    story = LogStory()
    story.brokers(4)
    for node in NODES:
        story.disks.write(node, 1)
    for node in list(NODES)[:files]:
        on_disk(story, node)
    counts = snapshot_equivalence(story.run_events()).clauses or {}
    assert [counts["files"]] == found
    assert (counts["replayed"], counts["committed"]) == (files, files)


def process_that_has_reported_no_watermark_yet(story: LogStory) -> None:
    """What the one before it had reported is no matter."""
    story.boot("c1", log_end=8)
    written(story)


def log_that_begins_on_disk_where_a_snapshot_ends(story: LogStory) -> None:
    """No process told of it."""
    story.disks.write("b1", 1, base=5)
    story.disks.begin("b1", 6)


def damaged_log_whose_beginning_is_unknown(story: LogStory) -> None:
    """That it is damaged is for others to say."""
    story.disks.begin("a1", 4, dropped=True)
    story.disks.wrong["a1"] = "nothing from 4 to 5"


def snapshot_above_what_was_reported_was_loaded(story: LogStory) -> None:
    story.hw("b2", 3, 1)
    loaded(story, "b2", 7)
    written(story, "b2")


def log_that_was_dropped_twice(story: LogStory) -> None:
    end = fetching(story)
    story.event("b3", "log_start", offset=7, dropped=True)
    loaded(story, "b3", 7)
    story.apply("b3", 7, "NoOpRecord")
    assert end < 7


@pytest.mark.parametrize(
    "plant",
    [
        process_that_has_reported_no_watermark_yet,
        log_that_begins_on_disk_where_a_snapshot_ends,
        damaged_log_whose_beginning_is_unknown,
        snapshot_above_what_was_reported_was_loaded,
    ],
)
def test_look_alike_is_accepted(plant: Callable[[LogStory], None]) -> None:
    story = clean()
    plant(story)
    assert_valid(snapshot_equivalence(story.run_events()))


def test_log_that_is_dropped_for_a_newer_snapshot_before_the_one_is_loaded() -> None:
    story = clean()
    story.readers = ("c1", "b1", "b3")
    log_that_was_dropped_twice(story)
    assert not _of_beginnings(story)


def _of_beginnings(story: LogStory) -> list[str]:
    found = snapshot_equivalence(story.run_events()).findings
    return [each.message for each in found if each.clause == "log-starts"]


@pytest.mark.parametrize("end", [5, 7])
def test_snapshot_that_is_written_shows_that_the_process_went_on(end: int) -> None:
    story = clean()
    story.event("b3", "boot", log_start=5, log_end=5)
    written(story, "b3", end_offset=end)
    assert _of_beginnings(story) == ["the log of b3 begins at 5, where no snapshot of it ends"]


def test_older_snapshot_that_is_loaded_is_not_the_one_below_the_log() -> None:
    story = clean()
    story.event("b3", "boot", log_start=5, log_end=5)
    loaded(story, "b3", 3)
    story.apply("b3", 7, "NoOpRecord")
    assert _of_beginnings(story) == ["the log of b3 begins at 5, where no snapshot of it ends"]


def test_damaged_file_is_found_once() -> None:
    story = clean()
    on_disk(story, "c1", wrong=("has no footer",), records=1)
    assert len(snapshot_equivalence(story.run_events()).findings) == 1


def test_snapshot_of_an_older_end_does_not() -> None:
    story = clean()
    story.event("b3", "boot", log_start=5, log_end=5)
    written(story, "b3", end_offset=4)
    assert not _of_beginnings(story)


def test_no_snapshot_is_unknown() -> None:
    story = LogStory()
    story.brokers(4)
    assert snapshot_equivalence(story.run_events()).verdict is Verdict.UNKNOWN


def test_snapshot_above_all_that_is_reported_is_unknown() -> None:
    story = clean()
    story.event("c2", "snap_load", end_offset=99, epoch=1, digest="d", source="fetched")
    outcome = snapshot_equivalence(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert "1 snapshots end above" in outcome.note


def test_one_that_ends_above_what_is_known_excuses_no_other() -> None:
    story = clean()
    loaded(story, "b2", 6, digest="bb")
    story.event("c2", "snap_load", end_offset=99, epoch=1, digest="d", source="fetched")
    assert_invalid(snapshot_equivalence(story.run_events()), "b2 loaded snapshot 6-1")


def test_those_that_end_where_the_log_ends_are_held_against_it() -> None:
    story = clean()
    story.hw("c1", story.offset, 1)
    written(story)
    on_disk(story, "c1")
    outcome = snapshot_equivalence(story.run_events())
    assert_valid(outcome)
    clauses = outcome.clauses or {}
    assert (clauses["replayed"], clauses["committed"], clauses["files"]) == (7, 7, 3)


def test_file_that_ends_above_the_log_is_not_held_against_it() -> None:
    story = clean()
    story.disks.snapshot("c1", 99, 1, records=4, digest="aa")
    outcome = snapshot_equivalence(story.run_events())
    clauses = outcome.clauses or {}
    assert not outcome.findings
    assert (clauses["replayed"], clauses["committed"], clauses["files"]) == (5, 5, 3)


def test_file_of_which_no_digest_was_made() -> None:
    """It may be of the same state as another of its end; its size is held against the log alone."""
    story = clean()
    on_disk(story, "b3", digest=None)
    on_disk(story, "c2")
    outcome = snapshot_equivalence(story.run_events())
    assert_valid(outcome)
    clauses = outcome.clauses or {}
    assert (clauses["replayed"], clauses["committed"]) == (5 + 1, 5 + 2)


@pytest.mark.parametrize(("more", "is_minimal"), [(2, True), (3, False)])
def test_header_and_footer_are_no_entities(more: int, is_minimal: bool) -> None:
    story = clean()
    story.hw("c1", story.offset, 1)
    made = Digest(IMAGE_FORM)
    made.of(replayed(story, story.offset))
    written(story, records=made.entities + more)
    assert (not snapshot_equivalence(story.run_events()).findings) == is_minimal


def test_snapshot_that_ends_with_the_first_record_of_an_epoch_is_of_that_one() -> None:
    story = clean()
    story.epoch = 2
    story.record("NoOpRecord")
    story.hw("c1", story.offset, 2)
    written(story)
    assert_valid(snapshot_equivalence(story.run_events()))


def test_snapshots_that_nodes_tell_of_are_held_against_the_log_where_no_file_is_left() -> None:
    """They may have removed it; whether its file was whole nobody can say."""
    story = clean()
    story.disks = Disks()
    for node in NODES:
        story.disks.write(node, 1)
    clauses = snapshot_equivalence(story.run_events()).clauses or {}
    assert (clauses["replayed"], clauses["committed"]) == (3, 3)
    assert clauses["files"] == "on the disks of all nodes lay 0 snapshots"


def test_logs_that_begin_at_the_beginning_show_nothing_of_where_logs_begin() -> None:
    """Where the disks of all were read, that is no occasion; else nobody knows."""
    story = LogStory()
    story.disks.fill(1, 3, "c1", "c2")
    assert (snapshot_equivalence(story.run_events()).clauses or {})["log-starts"] == 0
    story.disks.fill(1, 3, *(set(story.plan["nodes"]) - {"c1", "c2"}))
    few = (snapshot_equivalence(story.run_events()).clauses or {})["log-starts"]
    assert few == "hardly a log begins above 0"


def test_log_that_begins_just_above_its_first_record_lacks_that() -> None:
    """As the node tells, and as it lies on its disk. A boot that does not tell says nothing."""
    for start, compared in ((None, 2), (0, 2), (1, 3)):
        story = clean()
        begins_without(story, "b3", "boot", log_start=start)
        outcome = snapshot_equivalence(story.run_events())
        assert len(outcome.findings) == compared - 2
        assert (outcome.clauses or {})["log-starts"] == compared
    story = clean()
    story.disks.begin("b2", 1, dropped=True)
    assert _of_beginnings(story) == ["the log of b2 begins at 1, where no snapshot of it ends"]
    assert (snapshot_equivalence(story.run_events()).clauses or {})["log-starts"] == 3


def test_log_that_is_cut_once_more_was_in_use_and_is_not_dropped() -> None:
    story = clean()
    story.event("b3", "boot", log_start=5, log_end=7)
    story.event("b3", "log_start", offset=6)
    story.apply("b3", 7, "NoOpRecord")
    assert _of_beginnings(story) == [
        f"the log of b3 begins at {start}, where no snapshot of it ends" for start in (5, 6)
    ]


def test_digests_are_told_by_their_first_digits() -> None:
    story = clean()
    for node in ("b1", "c1"):
        story.hw(node, story.offset, 1)
        written(story, node, digest=node[0] * 20)
    right = digest(replayed(story, story.offset), IMAGE_FORM)
    replay = f"the replay of the log below it has {right[:16]}"
    found = snapshot_equivalence(story.run_events()).findings
    assert {each.message for each in found} == {
        f"snapshot 7-1 is not one state: b1 {'b' * 16}, c1 {'c' * 16}",
        f"b1 wrote snapshot 7-1 with digest {'b' * 16}; {replay}",
        f"c1 wrote snapshot 7-1 with digest {'c' * 16}; {replay}",
    }


@pytest.mark.parametrize("nodes", [None, {}, {"c1": {}, "b1": {}}])
def test_disks_of_no_node_are_not_those_of_all(nodes: dict[str, Any] | None) -> None:
    """Where the plan names none, nobody knows whether a snapshot is missing."""
    story = LogStory()
    story.plan = {**story.plan, "nodes": nodes}
    story.brokers(4)
    for node in ("b1", "c1", "b2"):
        story.disks.write(node, 1)
    counts = snapshot_equivalence(story.run_events()).clauses or {}
    assert isinstance(counts["files"], str) == bool(nodes)


PLANTED = Plants.of(
    clean,
    {
        "b1 wrote snapshot 7-1 with digest aa": lambda story: written(story, "b1", digest="aa"),
        "b2 loaded snapshot 6-1 with digest bb": lambda story: loaded(story, "b2", 6, digest="bb"),
        "is not one state": lambda story: written(story, "b1", end_offset=6, digest="cc"),
        "the record below its end is of epoch 1": lambda story: written(story, epoch=2),
        "its state has": lambda story: written(story, records=9),
        "above the high watermark 6": lambda story: written(story, high_watermark=6),
        "having reported no high watermark above 6": lambda story: written(story),
        "snapshot nodes/c1/data:2 has no footer": lambda story: on_disk(
            story, "c1", wrong=("has no footer",)
        ),
        "on c1's disk is snapshot 7-2; the record below": lambda story: on_disk(
            story, "c1", epoch=2
        ),
        "the log of b2 begins at 4": lambda story: (
            story.disks.begin("b2", 4, dropped=True),
            story.disks.snapshot("b2", 3, 1, digest=digest(replayed(story, 3), IMAGE_FORM)),
        ),
        "having reported no high watermark above 0": lambda story: (
            story.hw("b3", 0, 1),
            written(story, "b3", end_offset=1),
        ),
        "the log of c1 begins at 3": lambda story: story.event("c1", "log_start", offset=3),
        "the log of b3 begins at 5": lambda story: begins_without(story, "b3", "boot", log_start=5),
        "the log of b3 begins at 6": lambda story: begins_without(
            story, "b3", "log_start", offset=6, dropped=True
        ),
    },
)


CHECKER = SnapshotEquivalence()


def test_nodes_that_tell_of_no_snapshot_are_not_believed() -> None:
    story = silent(clean(), "snap_write", "snap_load", "log_start")
    story.disks = Disks()
    assert judged(CHECKER, story).verdict is Verdict.UNKNOWN


def test_files_are_enough() -> None:
    """A snapshot of which no node told."""
    for wrong, verdict in (({}, Verdict.VALID), ({"digest": "aa"}, Verdict.INVALID)):
        story = silent(clean(), "snap_write", "snap_load", "log_start")
        on_disk(story, "b2", **wrong)
        result = judged(CHECKER, story)
        assert clause_of(result, "replayed").verdict is verdict, result.findings
        assert clause_of(result, "files").verdict is Verdict.VALID


def test_disks_on_which_no_snapshot_lies_gave_no_occasion() -> None:
    """Only where the disks of all nodes were read: the nodes' silence shows nothing."""
    for nodes, verdict in ((["c1", "c2", "c3", "b1", "b2", "b3"], None), (["c1"], Verdict.UNKNOWN)):
        story = LogStory()
        story.disks = Disks()
        for node in nodes:
            story.disks.write(node, 1, "TopicRecord", name="t", topic_id=TOPIC, deleting=False)
        result = judged(CHECKER, story)
        assert not result.findings
        for clause in ("replayed", "committed", "files"):
            assert clause_of(result, clause).verdict is verdict


UNKNOWN_FORM = {
    "digest": lambda story: written(story, digest="bb"),
    "size": lambda story: written(story, records=99),
}


@pytest.mark.parametrize("name", UNKNOWN_FORM)
def test_what_is_in_a_snapshot_is_the_systems_to_say(name: str) -> None:
    story = clean()
    story.hw("c1", story.offset, 1)
    UNKNOWN_FORM[name](story)
    assert snapshot_equivalence(story.run_events()).verdict is Verdict.INVALID
    story.system = ()
    outcome = snapshot_equivalence(story.run_events())
    assert_valid(outcome)
    unsaid = "the system does not say what stands in a snapshot"
    assert (outcome.clauses or {})["replayed"] == unsaid


def begins_without(story: LogStory, node: str, type: str, **fields: Any) -> None:
    """A log that begins above 0, and a process that goes on without the snapshot below it."""
    story.event(node, type, **fields)
    story.apply(node, 7, "NoOpRecord")


def test_node_that_restarts_on_a_snapshot_is_no_false_alarm() -> None:
    story = clean()
    end = story.offset - 1
    story.event("b2", "boot", log_start=end, log_end=end)
    loaded(story, "b2", end, source="local")
    assert_valid(snapshot_equivalence(story.run_events()))


def fetching(story: LogStory) -> int:
    """b3 drops its log for a snapshot that ends there."""
    story.event("b3", "log_start", offset=6, dropped=True)
    story.hw("b3", 6, 1, "follower")
    return 6


def test_node_killed_between_dropping_its_log_and_loading_the_snapshot() -> None:
    story = clean()
    end = fetching(story)
    assert_valid(snapshot_equivalence(story.run_events()))
    story.event("b3", "boot", log_start=end, log_end=end)
    assert_valid(snapshot_equivalence(story.run_events()))  # killed again, before it said more
    story.event("b3", "boot", log_start=end, log_end=end)
    loaded(story, "b3", end, source="local")
    story.apply("b3", end, "NoOpRecord")
    assert_valid(snapshot_equivalence(story.run_events()))


@PLANTED.violation("the log of b3 begins at 6")
def node_killed_while_it_loads_that_comes_back_without_the_snapshot(story: LogStory) -> None:
    end = fetching(story)
    story.event("b3", "boot", log_start=end, log_end=end)
    story.apply("b3", end, "NoOpRecord")


def test_newer_snapshot_comes_while_one_is_loaded() -> None:
    story = clean()
    fetching(story)
    story.event("b3", "log_start", offset=7, dropped=True)
    loaded(story, "b3", 7)
    assert_valid(snapshot_equivalence(story.run_events()))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
def test_agrees_with_the_states_of_the_real_controller(seed: int) -> None:
    """A snapshot with the digest of another offset is refused wherever the states differ."""
    draw = random.Random(seed)
    story = decided_log(draw)
    digests = {
        event.fields["offset"]: event.fields["digest"]
        for event in story.events
        if event.type == "state"
    }
    end, reported = draw.choice(sorted(digests)), draw.choice(sorted(digests))
    story.hw("c1", end, 1)
    written(story, end_offset=end, digest=digests[reported])
    judged = snapshot_equivalence(story.run_events()).verdict is Verdict.VALID
    assert judged == (digests[end] == digests[reported])


# --- files --------------------------------------------------------------------------------


def stored(
    folder: Path, epoch: int, records: list[Any], *, cut: int = 0, without_footer: bool = False
) -> None:
    """A snapshot of the node's own making in a run's folder, `cut` bytes short."""
    pieces = list(encode_snapshot(epoch, map(encode_record, records), timestamp_ms=1))
    data = b"".join(piece for _, piece in pieces[: -1 if without_footer else None])
    place = folder / "nodes" / "c1" / "data" / "__kafka_metadata-0"
    place.mkdir(parents=True, exist_ok=True)
    (place / "00000000000000000007-0000000001.checkpoint").write_bytes(data[: len(data) - cut])


def entities() -> list[Any]:
    topic_id = uuid.UUID(TOPIC)
    return [
        wire.FeatureLevelRecord(name="f", feature_level=1),
        *(
            wire.BrokerRecord(broker_id=each, broker_epoch=1, end_points=(), rack=None)
            for each in (4, 5)
        ),
        wire.TopicRecord(name="t", topic_id=topic_id, deleting=False),
        *(
            wire.PartitionRecord(partition_id=each, topic_id=topic_id, replicas=(4,), isr=(4,))
            for each in (0, 1)
        ),
        wire.ConfigRecord(resource_type=2, resource_name="t", name="a", value="1"),
        wire.ConfigRecord(resource_type=2, resource_name="t", name="b", value="1"),
        wire.ProducerIdsRecord(broker_id=4, broker_epoch=1, next_producer_id=1000),
        wire.RequestRecord(request_id=topic_id, answer=b"x"),
    ]


def with_files(story: LogStory, folder: Path) -> RunEvents:
    events = story.run_events()
    return replace(events, evidence=[*events.evidence, *snapshot_files(folder)])


def snapshot_files(folder: Path) -> Iterator[SnapshotFile]:
    return (each for each in left_on_disk(folder) if isinstance(each, SnapshotFile))


def test_files_are_read_apart_from_the_node(tmp_path: Path) -> None:
    stored(tmp_path, 1, entities())
    (reported,) = map(asdict, snapshot_files(tmp_path))
    assert reported["wrong"] == ()
    assert (reported["node"], reported["end_offset"], reported["epoch"]) == ("c1", 7, 1)
    assert reported["records"] == len(entities())


@pytest.mark.parametrize("number", range(len(entities())))
def test_entity_with_two_records(tmp_path: Path, number: int) -> None:
    """A.1.38"""
    stored(tmp_path, 1, [*entities(), entities()[number]])
    story = LogStory()
    evidence = with_files(story, tmp_path)
    assert_invalid(snapshot_equivalence(evidence), "two records of type", "for one entity")


def test_files_that_are_no_snapshots(tmp_path: Path) -> None:
    other = wire.NoOpRecord()
    for words, arguments in {
        "has no footer": {"epoch": 1, "records": entities(), "without_footer": True},
        "cannot be read": {"epoch": 1, "records": entities(), "cut": 5},
        "has a batch of epoch 2": {"epoch": 2, "records": entities()},
        "a record of type 20, which is no entity": {"epoch": 1, "records": [other]},
    }.items():
        stored(tmp_path, **arguments)  # type: ignore[arg-type]
        evidence = with_files(LogStory(), tmp_path)
        assert_invalid(snapshot_equivalence(evidence), words)


def test_file_that_is_not_minimal_or_not_all(tmp_path: Path) -> None:
    story = clean()
    stored(tmp_path, 1, entities())
    evidence = with_files(story, tmp_path)
    assert_invalid(snapshot_equivalence(evidence), "has 10 records; the state below 7 has 4")
    stored(tmp_path, 1, [each for each in entities() if type(each) in KINDS][:4])
    evidence = with_files(story, tmp_path)
    assert_invalid(snapshot_equivalence(evidence), "on c1's disk is snapshot 7-1 with digest")


KINDS = (wire.BrokerRecord, wire.TopicRecord, wire.PartitionRecord)
