"""Three replicas and a controller, under any order of events: what was committed stays."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hypothesis import example, given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from nodes.kraft.metadata.image import Partition
from nodes.kraft.partition import core, follower, leader, steps
from nodes.kraft.partition.batches import Batch
from nodes.kraft.partition.producers import Producers, remember
from nodes.kraft.partition.state import (
    NO_LOG,
    Following,
    Leading,
    PartitionState,
    Proposal,
    ReplicaConfig,
    recovered,
)
from tests.cases import cases
from tests.nodes.kraft.partition.batch_making import batch

IDS = (4, 5, 6)
LOST = (3, 7)
"""Numbers with which an answer is lost."""
Event: TypeAlias = tuple[str, int, int]


@dataclass
class Node:
    """A replica, its disk, and what is on its way to it."""

    broker_id: int
    state: PartitionState = field(default_factory=PartitionState)
    disk: list[Batch] = field(default_factory=list)
    checkpoint: int = 0
    up: bool = True
    epoch: int = 0
    proposals: list[Proposal] = field(default_factory=list)


class World:
    """Commits are what a leader's high watermark has passed; they must never change."""

    def __init__(self) -> None:
        self.nodes = {each: Node(each) for each in IDS}
        self.metadata = Partition(IDS, IDS, IDS[0], 0, 0)
        self.committed: list[Batch] = []
        self.now_ms = 0
        self.sent = 0
        self.acknowledged: list[tuple[int, int]] = []  # (crc, base offset)
        self.waiting: dict[int, int] = {}
        for node in self.nodes.values():
            self.feed(node, steps.Assigned(self.metadata))

    # --- running --------------------------------------------------------------------------

    def feed(self, node: Node, event: steps.Input) -> None:
        config = ReplicaConfig(node.broker_id, lag_max_ms=10)
        node.state, effects = core.step(config, node.state, event, self.now_ms)
        for effect in effects:
            match effect:
                case steps.Append(appended):
                    node.disk.append(appended)
                case steps.Truncate(end_offset):
                    assert all(
                        each.base_offset >= end_offset or each.end_offset <= end_offset
                        for each in node.disk
                    ), "inside a batch"
                    node.disk = [each for each in node.disk if each.base_offset < end_offset]
                    self.feed(node, steps.Reread(producers_of(node.disk)))
                case steps.Answer(token, code, base_offset):
                    crc = self.waiting.pop(token, None)
                    if code == ErrorCode.none and crc is not None:
                        self.acknowledged.append((crc, base_offset))
                case steps.Propose(proposal):
                    node.proposals.append(proposal)
        self.look_at(node)

    def look_at(self, node: Node) -> None:
        end = node.disk[-1].end_offset if node.disk else 0
        assert node.state.log.end_offset == end
        assert node.state.high_watermark <= end
        if isinstance(node.state.role, Leading):
            below = [each for each in node.disk if each.end_offset <= node.state.high_watermark]
            known = self.committed[: len(below)]
            assert [each.data for each in below[: len(known)]] == [each.data for each in known]
            if len(below) > len(self.committed):
                self.committed = below

    def play(self, event: Event) -> None:
        name, which, number = event
        node = self.nodes[IDS[which]]
        self.now_ms += number
        if name in ("restart", "join") or node.up:
            getattr(self, name)(node, number)

    # --- events ---------------------------------------------------------------------------

    def produce(self, node: Node, number: int) -> None:
        self.sent += 1
        made = batch(1 + number % 3, producer=(7, 0, self.sent))
        made = replace(made, producer_id=-1, base_sequence=-1) if number % 2 else made
        self.waiting[self.sent] = made.crc
        self.feed(node, steps.Produce(self.sent, made, -1, 1, self.now_ms + 1000))

    def learn(self, node: Node, _: int) -> None:
        self.feed(node, steps.Assigned(self.metadata))

    def tick(self, node: Node, _: int) -> None:
        active = {each.broker_id: each.epoch for each in self.nodes.values() if each.up}
        self.feed(node, steps.Tick(active))

    def fetch(self, node: Node, number: int) -> None:
        """A round of a follower; its answer may be lost."""
        role = node.state.role
        if not isinstance(role, Following) or role.leader_id < 0:
            return
        source = self.nodes[role.leader_id]
        if not source.up:
            return
        offset, last_epoch = follower.fetch_position(node.state)
        judged = leader.judge(source.state, role.leader_epoch, offset, last_epoch)
        if judged == leader.VALID:
            self.feed(source, steps.Fetched(node.broker_id, node.epoch, offset, node.epoch, True))
        if number in LOST or judged.code != ErrorCode.none:
            return
        if judged.diverging is not None:
            self.feed(node, steps.Diverged(role.leader_epoch, offset, *judged.diverging))
            return
        sent = tuple(each for each in source.disk if each.base_offset >= offset)[: 1 + number % 4]
        self.feed(
            node, steps.Replicated(role.leader_epoch, offset, sent, source.state.high_watermark)
        )

    def decide(self, node: Node, number: int) -> None:
        """The controller hears a proposal; its answer may be lost."""
        if not node.proposals:
            return
        proposal, now = node.proposals.pop(0), self.metadata
        known = (proposal.leader_epoch, proposal.partition_epoch)
        if known != (now.leader_epoch, now.partition_epoch) or now.leader != node.broker_id:
            self.feed(node, steps.IsrAnswered(proposal, ErrorCode.invalid_update_version))
            return
        joins = set(proposal.isr) - set(now.isr)
        if not all(self.nodes[each].up for each in joins):
            self.feed(node, steps.IsrAnswered(proposal, ErrorCode.ineligible_replica))
            return
        self.metadata = replace(now, isr=proposal.isr, partition_epoch=now.partition_epoch + 1)
        if number not in LOST:
            epoch = self.metadata.partition_epoch
            self.feed(node, steps.IsrAnswered(proposal, ErrorCode.none, proposal.isr, epoch))

    def move(self, node: Node, _: int) -> None:
        """The controller moves the leadership to a member of the ISR."""
        if node.broker_id in self.metadata.isr and node.broker_id != self.metadata.leader:
            self.metadata = replace(
                self.metadata,
                leader=node.broker_id,
                leader_epoch=self.metadata.leader_epoch + 1,
                partition_epoch=self.metadata.partition_epoch + 1,
            )

    def kill(self, node: Node, _: int) -> None:
        """kill -9: memory is lost, and some of what was not in the checkpoint yet."""
        node.up, node.proposals = False, []
        now = self.metadata
        isr = tuple(each for each in now.isr if each != node.broker_id) or now.isr
        new_leader = now.leader
        if now.leader == node.broker_id:
            new_leader = next((each for each in isr if self.nodes[each].up), -1)
        if (isr, new_leader) != (now.isr, now.leader):
            self.metadata = replace(
                now,
                isr=isr,
                leader=new_leader,
                leader_epoch=now.leader_epoch + (new_leader != now.leader),
                partition_epoch=now.partition_epoch + 1,
            )

    def restart(self, node: Node, _: int) -> None:
        if node.up:
            node.checkpoint = node.state.high_watermark
            return
        log = NO_LOG
        for each in node.disk:
            log = log.append(each)
        node.state, node.up = recovered(log, node.checkpoint), True
        node.epoch += 1
        now = self.metadata
        if now.leader < 0 and node.broker_id in now.isr:
            self.metadata = replace(
                now,
                leader=node.broker_id,
                leader_epoch=now.leader_epoch + 1,
                partition_epoch=now.partition_epoch + 1,
            )
        self.learn(node, 0)

    # --- many at once ---------------------------------------------------------------------

    def round(self, _: Node, number: int) -> None:
        """Those who are up fetch, twice."""
        for _ in range(2):
            for each in self.nodes.values():
                if each.up:
                    self.fetch(each, number)

    def hear(self, _: Node, __: int) -> None:
        for each in self.nodes.values():
            if each.up:
                self.learn(each, 0)

    def join(self, node: Node, number: int) -> None:
        """Come back, and catch up."""
        self.restart(node, 0)
        for _ in range(3):
            self.fetch(node, number)

    # --- the end --------------------------------------------------------------------------

    def heal(self) -> None:
        """Everybody is up and hears everything until nothing changes."""
        for node in self.nodes.values():
            self.restart(node, 0)
        for _ in range(60):
            for node in self.nodes.values():
                for name in ("learn", "fetch", "decide", "tick"):
                    getattr(self, name)(node, 0)


def producers_of(disk: list[Batch]) -> Producers:
    producers = NO_LOG.producers
    for each in disk:
        producers = remember(producers, each)
    return producers


WEIGHTS = {
    "produce": 4,
    "fetch": 8,
    "learn": 3,
    "decide": 3,
    "move": 2,
    "kill": 1,
    "restart": 2,
    "tick": 1,
    "round": 4,
    "hear": 2,
    "join": 2,
}
NAMES = [name for name, weight in WEIGHTS.items() for _ in range(weight)]
EVENTS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.integers(0, 2), st.integers(0, 7)),
    min_size=40,
    max_size=150,
)


ANSWER_OF_THE_CONTROLLER_LOST: list[Event] = [
    ("kill", 2, 0),
    ("learn", 0, 0),
    ("learn", 1, 0),
    ("restart", 2, 0),
    ("fetch", 2, 0),
    ("decide", 0, LOST[0]),
    ("produce", 0, 1),
    ("fetch", 1, 0),
    ("fetch", 1, 0),
    ("move", 2, 0),
]
"""The leader does not know that 6 is in the ISR; what 6 lacks must not be committed."""
HIGH_WATERMARK_NOT_HEARD: list[Event] = [
    ("produce", 0, 1),
    ("produce", 0, 1),
    ("fetch", 1, 0),
    ("fetch", 1, 0),
    ("fetch", 2, 0),
    ("fetch", 2, LOST[0]),
    ("move", 2, 0),
    ("hear", 0, 0),
    ("fetch", 1, 0),
    ("kill", 0, 0),
    ("kill", 2, 0),
    ("hear", 0, 0),
]
"""5 has to truncate, knows of no commit, and is the next leader: KIP-101's first scenario."""


@settings(max_examples=cases(150), deadline=None)
@given(EVENTS)
@example(ANSWER_OF_THE_CONTROLLER_LOST)
@example(HIGH_WATERMARK_NOT_HEARD)
def test_logs_converge_and_what_was_committed_is_never_lost(events: list[Event]) -> None:
    """A.5.4, D.5, D.10, D.18: after any history of leader changes, crashes, lost answers and
    ISR changes all replicas are the same, and hold what any leader ever called committed and
    every batch that acks=all acknowledged, where it was."""
    world = World()
    for event in events:
        world.play(event)
        check_log_matching(world)
    world.heal()
    logs = [[each.data for each in node.disk] for node in world.nodes.values()]
    assert logs[0] == logs[1] == logs[2]
    assert set(world.metadata.isr) == set(IDS)
    head = world.nodes[world.metadata.leader]
    assert head.state.high_watermark == head.state.log.end_offset
    assert [each.data for each in head.disk[: len(world.committed)]] == [
        each.data for each in world.committed
    ]
    where = {(each.crc, each.base_offset) for each in head.disk}
    assert set(world.acknowledged) <= where
    assert head.state.log.producers == producers_of(head.disk)


def check_log_matching(world: World) -> None:
    """D.5 (a): one batch at an epoch and offset."""
    seen: dict[tuple[int, int], bytes] = {}
    for node in world.nodes.values():
        for each in node.disk:
            assert seen.setdefault((each.epoch, each.base_offset), each.data) == each.data
