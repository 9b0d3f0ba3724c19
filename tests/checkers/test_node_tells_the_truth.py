"""What nodes tell, held against their disks."""

from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_runs import NodeEvent, Story, assert_invalid, assert_valid

from checkers.node_tells_the_truth import node_tells_the_truth
from framework.evidence import kinds
from framework.evidence.clocks import UNKNOWN_NS
from framework.evidence.kinds import Evidence
from framework.evidence.run_events import RunEvents
from framework.verdict import Verdict

Entry = tuple[int, int]
"""Epoch and CRC."""


@dataclass
class DiskStory(Story):
    """With disks beside the events: what happens to a log there, whether it is told or not."""

    logs: dict[str, list[list[Any]]] = field(default_factory=dict)
    """Node -> batches: [base offset, epoch, CRCs]."""
    starts: dict[str, int] = field(default_factory=dict)
    snapshots: dict[str, int] = field(default_factory=dict)
    torn: set[str] = field(default_factory=set)
    wrong: dict[str, str] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    """Nodes whose disk was not collected."""
    copies: dict[str, list[tuple[int, list[list[Any]]]]] = field(default_factory=dict)
    """Node -> where the log began and what it held whenever a process had ended."""

    # --- what is on disk ------------------------------------------------------------------

    def write(self, node: str, base: int, epoch: int, *crcs: int) -> None:
        self.logs.setdefault(node, []).append([base, epoch, list(crcs)])

    def cut(self, node: str, end: int) -> None:
        self.logs[node] = [each for each in self.logs[node] if each[0] < end]

    def begin(self, node: str, start: int) -> None:
        """A snapshot takes the place of the segments below."""
        self.snapshots[node] = self.starts[node] = start
        self.logs[node] = [each for each in self.logs[node] if each[0] >= start]

    def end(self, node: str) -> int:
        log = self.logs.get(node)
        return log[-1][0] + len(log[-1][2]) if log else self.starts.get(node, 0)

    # --- both -----------------------------------------------------------------------------

    def append(
        self, node: str, base: int, epoch: int, *crcs: int, leader: bool = False
    ) -> NodeEvent:
        """As an honest node does it: written, then told."""
        self.write(node, base, epoch, *crcs)
        return super().append(node, base, epoch, *crcs, leader=leader)

    def tell_append(self, node: str, base: int, epoch: int, *crcs: int) -> NodeEvent:
        return super().append(node, base, epoch, *crcs)

    def truncate(self, node: str, end: int) -> None:
        self.cut(node, end)
        self.event(node, "truncate", end_offset=end)

    def boot(self, node: str, *given: Any, **more: Any) -> NodeEvent:
        """Finds what is on disk."""
        log = self.logs.get(node)
        if log is not None:
            self.copies.setdefault(node, []).append((self.starts.get(node, 0), deepcopy(log)))
        told = {
            "log_end": self.end(node),
            "last_epoch": log[-1][1] if log else 0,
            "log_start": self.starts.get(node, 0),
        }
        return super().boot(node, *given, **{**told, **more})

    def exit(self, node: str, reason: str = "asked to") -> None:
        self.event(node, "exit", reason=reason)

    def run_events(self) -> RunEvents:
        events = super().run_events()
        found = [each for node in sorted(self.logs) for each in self._disk(node)]
        return replace(events, evidence=[*events.evidence, *found])

    def _disk(self, node: str) -> list[Evidence]:
        if node in self.lost:
            return []
        common = {"node": node, "source": "disk", "within_ns": UNKNOWN_NS, "ref": f"{node}/log"}
        found: list[Evidence] = []
        start, held = 0, list[list[Any]]()
        for begin, log in (*self.copies.get(node, ()), (self.starts.get(node, 0), self.logs[node])):
            left = [each for each in held if each[0] >= begin]
            if begin != start:
                found.append(kinds.LogBegan(**common, offset=begin, dropped=not left))
            same = sum(
                1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, log, strict=False))
            )
            if same < len(left):
                found.append(kinds.Truncated(**common, end_offset=left[same][0]))
            found += [
                kinds.Appended(
                    **common,
                    base_offset=base,
                    end_offset=base + len(crcs),
                    epoch=epoch,
                    control=False,
                    crcs=tuple(crcs),
                    leading=None,
                )
                for base, epoch, crcs in log[same:]
            ]
            start, held = begin, log
        found.append(
            kinds.LogOnDisk(
                **common,
                start_offset=self.starts.get(node, 0),
                end_offset=self.end(node),
                torn=node in self.torn,
                wrong=(self.wrong[node],) if node in self.wrong else (),
            )
        )
        if node in self.snapshots:
            end = self.snapshots[node]
            found.append(kinds.SnapshotFile(**common, end_offset=end, epoch=1, records=0, wrong=()))
        return found


def running() -> DiskStory:
    """Three records each on three nodes; the third one is committed."""
    story = DiskStory()
    for node in ("c1", "c2", "c3"):
        story.boot(node)
        story.append(node, 0, 1, 10)
        story.append(node, 1, 1, 11, 12)
        story.hw(node, 3, 1)
    return story


def clean() -> DiskStory:
    """And all end in good order."""
    story = running()
    for node in ("c1", "c2", "c3"):
        story.exit(node)
    return story


def judged(story: DiskStory) -> Any:
    return node_tells_the_truth(story.run_events())


# --- what looks alarming, and is right ----------------------------------------------------


def test_batch_that_a_killed_process_did_not_get_to_tell_of() -> None:
    story = running()
    story.write("c1", 3, 1, 13, 14)
    assert_valid(judged(story))


def test_batch_that_was_not_told_of_before_a_restart() -> None:
    story = running()
    story.write("c1", 3, 1, 13)
    story.boot("c1", (1, 1, 1))
    story.append("c1", 4, 1, 14)
    story.exit("c1")
    assert_valid(judged(story))


def test_batch_that_was_not_told_of_and_was_cut_off_later() -> None:
    story = running()
    story.write("c1", 3, 1, 13)
    story.boot("c1", (1, 1, 1))
    story.truncate("c1", 3)
    story.append("c1", 3, 2, 23)
    story.exit("c1")
    assert_valid(judged(story))


def test_half_a_batch_behind_the_last_of_a_killed_process() -> None:
    story = running()
    story.torn.add("c1")
    assert_valid(judged(story))


def test_process_that_gave_up_over_its_disk() -> None:
    story = running()
    story.write("c1", 3, 1, 13)
    story.torn.add("c1")
    story.exit("c1", "fatal: No space left on device")
    assert_valid(judged(story))


def test_log_that_a_new_leader_truncated() -> None:
    story = running()
    story.append("c1", 3, 1, 13, leader=True)
    story.append("c1", 4, 1, 14, leader=True)
    story.truncate("c1", 3)
    story.append("c1", 3, 2, 23)
    story.exit("c1")
    assert_valid(judged(story))


def test_truncation_that_a_killed_process_did_not_get_to_tell_of() -> None:
    story = running()
    story.append("c1", 3, 1, 13, leader=True)
    story.cut("c1", 3)
    assert_valid(judged(story))


def test_truncation_that_was_not_told_of_before_a_restart() -> None:
    story = running()
    story.append("c1", 3, 1, 13, leader=True)
    story.cut("c1", 3)
    story.boot("c1", (1, 1, 1))
    story.append("c1", 3, 2, 23)
    story.exit("c1")
    assert_valid(judged(story))


def test_log_that_begins_behind_a_snapshot() -> None:
    story = running()
    story.begin("c1", 3)
    story.event("c1", "log_start", offset=3, dropped=False)
    story.append("c1", 3, 1, 13)
    story.exit("c1")
    assert_valid(judged(story))


def test_snapshot_whose_place_in_the_log_was_not_told_of() -> None:
    story = running()
    story.begin("c1", 1)
    assert_valid(judged(story))


def test_log_that_was_dropped_for_a_snapshot_of_another_node() -> None:
    story = running()
    story.append("c1", 3, 1, 13, leader=True)
    story.begin("c1", 9)
    story.event("c1", "log_start", offset=9, dropped=True)
    story.append("c1", 9, 2, 29)
    story.exit("c1")
    assert_valid(judged(story))


def test_log_that_was_dropped_when_the_process_was_killed_over_it() -> None:
    story = running()
    story.append("c1", 3, 1, 13, leader=True)
    story.begin("c1", 9)
    assert_valid(judged(story))


def test_disk_that_was_wiped() -> None:
    story = running()
    story.logs["c1"] = []
    story.boot("c1", None)
    story.append("c1", 0, 1, 10)
    story.exit("c1")
    assert_valid(judged(story))


def test_log_that_was_there_before_the_run() -> None:
    story = running()
    story.write("b1", 0, 1, 10, 11)
    story.boot("b1")
    story.append("b1", 2, 1, 12)
    story.exit("b1")
    assert_valid(judged(story))


def test_process_of_a_workload_goes_on_while_its_disk_is_read() -> None:
    """Its events may be read before its log, or after."""
    for node, told in (("g301a", True), ("g301b", False)):
        story = clean()
        story.event(node, "boot", replica_id=301, broker_id=301, log_start=0, log_end=0)
        story.append(node, 0, 1, 10)
        for offset in (1, 2, 3):
            if told:
                story.tell_append(node, offset, 1, 10 + offset)
                story.hw(node, offset, 1)
            else:
                story.write(node, offset, 1, 10 + offset)
        assert_valid(judged(story))


def test_cluster_that_was_kept_goes_on_while_its_disks_are_read() -> None:
    story = running()
    story.plan["options"] = {"keep": True}
    story.tell_append("c1", 3, 1, 13)
    story.hw("c1", 4, 1)
    story.write("c2", 3, 1, 13)
    story.write("c2", 4, 1, 14)
    assert_valid(judged(story))


def test_nodes_that_tell_nothing_are_not_held_against_anything() -> None:
    story = clean()
    story.events = []
    assert judged(story).verdict is Verdict.UNKNOWN


def test_disk_that_was_not_collected_is_said() -> None:
    story = clean()
    story.lost.add("c2")
    outcome = judged(story)
    assert outcome.verdict is Verdict.UNKNOWN and "c2" in outcome.note


# --- violations ---------------------------------------------------------------------------

PLANTED = Plants(clean)


@PLANTED.violation("c1 told", "CRC 13 at offset 3", "ends at 3", on=running)
def record_that_was_told_and_is_not_there(story: DiskStory) -> None:
    story.tell_append("c1", 3, 1, 13)
    story.exit("c1")


@PLANTED.violation("c1 told", "CRC 13 at offset 3", "ends at 3", on=running)
def committed_record_that_a_killed_process_told_and_is_not_there(story: DiskStory) -> None:
    story.tell_append("c1", 3, 1, 13)
    story.hw("c1", 4, 1)


@PLANTED.violation("c1 told", "CRC 11 at offset 1", "is epoch 1, CRC 99")
def other_record_than_was_told(story: DiskStory) -> None:
    story.logs["c1"][1][2][0] = 99


@PLANTED.violation("c1 told", "epoch 1, CRC 10 at offset 0", "is epoch 2, CRC 10")
def other_epoch_than_was_told(story: DiskStory) -> None:
    story.logs["c1"][0][1] = 2


@PLANTED.violation("c1", "CRC 13 at offset 3", "never told")
def record_that_was_never_told(story: DiskStory) -> None:
    story.write("c1", 3, 1, 13)


@PLANTED.violation("c1", "CRC 14 at offset 4", "never told", on=running)
def two_batches_that_a_killed_process_never_told(story: DiskStory) -> None:
    story.write("c1", 3, 1, 13)
    story.write("c1", 4, 1, 14)


@PLANTED.violation("c1", "CRC 13 at offset 3", "never told", on=running)
def two_batches_that_were_never_told_before_a_restart(story: DiskStory) -> None:
    story.write("c1", 3, 1, 13)
    story.write("c1", 4, 1, 14)
    story.boot("c1", (1, 1, 1))
    story.exit("c1")


@PLANTED.violation("b2", "at offset 0", "never told")
def node_that_never_told_anything(story: DiskStory) -> None:
    story.write("b2", 0, 1, 10)


@PLANTED.violation("c1 told that it cut its log back to 3", "at offset 3", on=running)
def truncation_that_was_told_and_not_done(story: DiskStory) -> None:
    story.append("c1", 3, 1, 13)
    story.event("c1", "truncate", end_offset=3)
    story.exit("c1")


@PLANTED.violation("c1 begins at 3", "no snapshot reaches")
def log_that_begins_where_no_snapshot_reaches(story: DiskStory) -> None:
    story.begin("c1", 3)
    story.snapshots["c1"] = 2


@PLANTED.violation("c1", "damaged at byte 7")
def damaged_log(story: DiskStory) -> None:
    story.wrong["c1"] = "0.log is damaged at byte 7"


@PLANTED.violation("c1 ends with half a batch")
def half_a_batch_though_the_process_ended_in_good_order(story: DiskStory) -> None:
    story.torn.add("c1")


@PLANTED.violation("g301a", "CRC 99 at offset 0", "CRC 10")
def guest_that_tells_of_another_record(story: DiskStory) -> None:
    story.event("g301a", "boot", replica_id=301, broker_id=301, log_start=0, log_end=0)
    story.tell_append("g301a", 0, 1, 99)
    story.write("g301a", 0, 1, 10)


def test_one_finding_of_a_kind_and_node() -> None:
    story = clean()
    for offset in (3, 4, 5):
        story.write("c1", offset, 1, offset)
        story.write("c2", offset, 1, offset)
    outcome = judged(story)
    assert_invalid(outcome, "c1")
    assert len(outcome.findings) == 2


# --- against brute force ------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["append", "truncate", "kill in append", "kill in truncate", "exit"]),
            st.integers(0, 3),
            st.integers(1, 2),
        ),
        max_size=10,
    ),
    st.sampled_from(["", "drop", "change", "add", "hide"]),
    st.data(),
)
def test_honest_nodes_are_valid_and_liars_are_not(
    steps: list[tuple[str, int, int]], lie: str, data: st.DataObject
) -> None:
    """A node does this with its log, and is killed in the midst of it, or not; then its disk
    is changed behind its back."""
    story = DiskStory()
    story.boot("c1")
    story.append("c1", 0, 1, 1)
    crc = 1
    for what, number, count in steps:
        end = story.end("c1")
        crcs = range(crc + 1, crc + 1 + count)
        crc += count
        if what == "append":
            story.append("c1", end, 1, *crcs)
        elif what == "truncate":
            bases = [each[0] for each in story.logs["c1"][1:]]
            if bases:
                story.truncate("c1", bases[number % len(bases)])
        elif what == "kill in append":
            story.write("c1", end, 1, *crcs)
            story.boot("c1", (1, 1, 1))
        elif what == "kill in truncate":
            bases = [each[0] for each in story.logs["c1"][1:]]
            if bases:
                story.cut("c1", bases[number % len(bases)])
            story.boot("c1", (1, 1, 1))
        else:
            story.exit("c1")
            story.boot("c1", (1, 1, 1))
    story.append("c1", story.end("c1"), 1, 1000)
    story.exit("c1")
    told = {tuple(crcs) for crcs in _told(story)}
    log = story.logs["c1"]
    if lie == "drop":
        log.pop()
    elif lie == "change":
        known = [each for each in log if tuple(each[2]) in told]
        data.draw(st.sampled_from(known))[2][0] = 5000
    elif lie == "add":
        story.write("c1", story.end("c1"), 1, 5000)
    elif lie == "hide":  # an event, of the last append
        story.events = [each for each in story.events if each.fields.get("crcs") != [1000]]
    outcome = judged(story)
    assert outcome.verdict is (Verdict.INVALID if lie else Verdict.VALID), outcome.findings


def _told(story: DiskStory) -> list[list[int]]:
    return [each.fields["crcs"] for each in story.events if each.type == "append"]
