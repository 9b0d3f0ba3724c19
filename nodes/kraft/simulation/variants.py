"""The control plane with one thing broken, to show that the simulation sees it.

Each variant patches the healthy code from outside while it runs, as nodes/kraft/defects/ does,
and names the rules whose breach shows it. `profile` is where it shows soon.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Final
from unittest.mock import patch
from uuid import UUID

from immutables import Map
from kio.static.primitive import i32, i64
from kio.static.protocol import ResponsePayload

from nodes.kraft.broker import lifecycle
from nodes.kraft.controller import core, membership, partitions
from nodes.kraft.controller.members import Members
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.controller.steps import Commit, ControllerRequest, Effect, Input, Propose
from nodes.kraft.ids import BrokerEpoch, BrokerId, Offset
from nodes.kraft.metadata import snapshot
from nodes.kraft.metadata.image import Broker, Image, Partition
from nodes.kraft.partition import leader
from nodes.kraft.partition.state import Leading, PartitionState
from nodes.kraft.partition.steps import Effect as PartitionEffect
from nodes.kraft.raft import barrier, replication
from nodes.kraft.raft import core as raft
from nodes.kraft.raft.config import RaftConfig
from nodes.kraft.raft.log_index import LogIndex
from nodes.kraft.raft.messages import SnapshotId
from nodes.kraft.raft.state import NO_VOTE, QuorumState, RaftState
from nodes.kraft.raft.steps import Append
from nodes.kraft.raft.steps import Effect as RaftEffect
from nodes.kraft.simulation import replica
from nodes.kraft.simulation.disk import Snapshot
from nodes.kraft.simulation.raft_variants import advance_over_older_epochs, counts_itself_unflushed
from nodes.kraft.simulation.replica import Replica
from nodes.kraft.simulation.schedule import Profile
from nodes.kraft.wire.heartbeats import BrokerHeartbeatRequest
from nodes.kraft.wire.records import EndPoint, FenceBrokerRecord

HARSH: Final = Profile(
    voters=3,
    brokers=3,
    delay_ms=40,
    late=0.05,
    lost=0.03,
    sync_ms=50,
    lease_ms=1200,
    prevote=False,
    faults=16,
    operations=40,
    snapshots=6,
)
"""Elections, crashes and leases that end, all the time."""
CALM: Final = replace(HARSH, faults=4, late=0.0, lost=0.0)
DATA: Final = replace(HARSH, data=True, operations=60, lost=0.0)
QUICK: Final = replace(HARSH, delay_ms=3, sync_ms=1, late=0.0, lost=0.0, faults=10, snapshots=0)
"""A new leader has committed before the old one has heard of it."""


@dataclass(frozen=True)
class Variant:
    """`rules`: any of them shows the defect."""

    name: str
    rules: frozenset[str]
    broken: Callable[[], AbstractContextManager[object]]
    profile: Profile = HARSH


# --- Raft ---------------------------------------------------------------------------------


def _forget_vote() -> AbstractContextManager[object]:
    """A restart finds the epoch, and not whom it voted for."""
    healthy = raft.initial

    def initial(
        config: RaftConfig, quorum: QuorumState | None, log: LogIndex, now_ms: int
    ) -> RaftState:
        forgotten = None if quorum is None else replace(quorum, voted_id=NO_VOTE)
        return healthy(config, forgotten, log, now_ms)

    return patch.object(raft, "initial", initial)


# --- the controller -----------------------------------------------------------------------


def _answer_before_commit() -> AbstractContextManager[object]:
    """What is appended counts as committed."""
    healthy = core.step

    def step(
        state: core.ControllerState, event: Input, now_ms: int
    ) -> tuple[core.ControllerState, list[Effect]]:
        after, effects = healthy(state, event, now_ms)
        if after.leadership is not None and any(isinstance(each, Propose) for each in effects):
            appended = Commit(after.leadership.end_offset, after.leadership.speculative)
            after, answers = healthy(after, appended, now_ms)
            effects = [*effects, *answers]
        return after, effects

    return patch.object(core, "step", step)


def _ignore_leader_epoch() -> AbstractContextManager[object]:
    healthy = partitions.check_epochs

    def check_epochs(
        partition: Partition, broker_id: BrokerId, asked: partitions.PartitionChange
    ) -> None:
        healthy(partition, broker_id, replace(asked, leader_epoch=i32(partition.leader_epoch)))

    return patch.object(partitions, "check_epochs", check_epochs)


def _ignore_broker_epoch() -> AbstractContextManager[object]:
    healthy = core._decide

    def decide(
        state: core.ControllerState,
        leadership: core.Leadership,
        builder: RecordBatchBuilder,
        asked: ControllerRequest,
        now_ms: int,
    ) -> tuple[core.Leadership, ResponsePayload | None]:
        request = asked.request
        if isinstance(request, partitions.AlterPartitionRequest | BrokerHeartbeatRequest):
            broker = builder.image.brokers.get(request.broker_id)
            if broker is None or request.broker_epoch < 0:
                pass
            elif isinstance(request, BrokerHeartbeatRequest):
                request = replace(request, broker_epoch=broker.epoch)
            else:
                request = replace(request, broker_epoch=i64(broker.epoch))
        return healthy(state, leadership, builder, replace(asked, request=request), now_ms)

    return patch.object(core, "_decide", decide)


def _short_leases(image: Image, now_ms: int, lease_ms: int) -> Members:
    return _fresh_leases(image, now_ms, lease_ms // 8)


_fresh_leases = membership.fresh_leases


def _fence_alone(builder: RecordBatchBuilder, members: Members, broker: Broker) -> None:
    builder.add(FenceBrokerRecord(broker_id=broker.broker_id, broker_epoch=broker.epoch))


def _epochs_of_committed_state() -> AbstractContextManager[object]:
    """The next epoch is one above the newest that is *committed*: what is on its way, or was
    truncated, is not counted."""

    healthy = membership._Decision._record

    def record(
        self: membership._Decision,
        incarnation_id: UUID,
        rack: str | None,
        end_points: tuple[EndPoint, ...],
    ) -> BrokerEpoch:
        epochs = (broker.epoch for broker in self.committed.image.brokers.values())
        epoch = BrokerEpoch(max(epochs, default=-1) + 1)
        add = self.builder.add
        with patch.object(
            self.builder, "add", lambda made: add(replace(made, broker_epoch=i64(epoch)))
        ):
            healthy(self, incarnation_id, rack, end_points)
        return epoch

    return patch.object(membership._Decision, "_record", record)


# --- the broker ---------------------------------------------------------------------------


@contextmanager
def _apply_uncommitted() -> Iterator[None]:
    """A broker serves from whatever it has fetched."""
    healthy = Replica.carry_out

    def carry_out(self: Replica, effect: RaftEffect) -> None:
        healthy(self, effect)
        if isinstance(effect, Append) and self.machine.controller_id is None:
            self._advance(effect.batch.end_offset)

    with patch.object(Replica, "carry_out", carry_out):
        yield


def _serves_for_good(state: lifecycle.LifecycleState, now_ms: int) -> bool:
    return state.epoch >= 0


# --- snapshots ----------------------------------------------------------------------------


@contextmanager
def _snapshot_of_the_log() -> Iterator[None]:
    """A snapshot of all that the log holds, committed or not."""
    healthy = Replica.write_snapshot

    def write(self: Replica, done: Callable[[], None]) -> None:
        committed, self.states = self.states, copy(self.states)
        self.states._unapplied = self.states._unapplied.copy()
        self.states.advance(Offset(self.disk.end))
        healthy(self, done)
        self.states = committed

    with patch.object(Replica, "write_snapshot", write):
        yield


def _twice_in_a_snapshot() -> AbstractContextManager[object]:
    """The first entity stands in it two times."""
    healthy = Snapshot.of.__func__  # type: ignore[attr-defined]

    def of(id: SnapshotId, digest: int, records: Iterable[bytes]) -> Snapshot:
        values = list(records)
        return healthy(Snapshot, id, digest, [*values, *values[:1]])  # type: ignore[no-any-return]

    return patch.object(Snapshot, "of", of)


def _snapshot_without_requests() -> AbstractContextManager[object]:
    """Remembered requests are not in it: a retry would be done again."""
    healthy = snapshot.records_of

    def records_of(image: Image) -> Iterator[bytes]:
        return healthy(replace(image, requests=Map(), request_order=Map()))

    return patch.object(replica, "records_of", records_of)


# --- partitions ---------------------------------------------------------------------------


def _advance_alone(state: PartitionState) -> tuple[PartitionState, list[PartitionEffect]]:
    """A leader takes its own log for replicated."""
    role = state.role
    assert isinstance(role, Leading)
    after, effects = _advance(replace(state, role=replace(role, followers=Map())))
    assert isinstance(after.role, Leading)
    return replace(after, role=replace(after.role, followers=role.followers)), effects


_advance = leader.advance


def _proposed_isr(role: Leading) -> tuple[int, ...]:
    """A leader acts on an ISR that the controller has not agreed to."""
    return role.isr if role.pending is None else role.pending.isr


VARIANTS: Final = (
    Variant("forgets-its-vote", frozenset({"one-vote", "one-leader", "monotonic"}), _forget_vote),
    Variant(
        "counts-older-epochs",
        frozenset({"uncommitted", "committed-lost", "fatal"}),
        lambda: patch.object(replication, "advance", advance_over_older_epochs),
    ),
    Variant(
        "counts-itself-unflushed",
        frozenset({"uncommitted"}),
        lambda: patch.object(replication, "majority_offset", counts_itself_unflushed),
    ),
    Variant(
        "confirms-without-a-round",
        frozenset({"stale-read", "linearizability"}),
        lambda: patch.object(barrier, "needs", lambda barrier, peer: False),
        replace(QUICK, brokers=1, operations=200, reads=0.8),
    ),
    Variant("answers-before-commit", frozenset({"uncommitted"}), _answer_before_commit),
    Variant("ignores-leader-epoch", frozenset({"fencing"}), _ignore_leader_epoch, CALM),
    Variant("ignores-broker-epoch", frozenset({"fencing"}), _ignore_broker_epoch, CALM),
    Variant(
        "new-controller-shortens-leases",
        frozenset({"lease"}),
        lambda: patch.object(membership, "fresh_leases", _short_leases),
        replace(HARSH, lease_ms=2000),
    ),
    Variant(
        "fenced-broker-stays-in-isr",
        frozenset({"replay"}),
        lambda: patch.object(membership, "fence", _fence_alone),
    ),
    Variant(
        "reuses-broker-epochs", frozenset({"identity", "monotonic"}), _epochs_of_committed_state
    ),
    Variant("broker-applies-uncommitted", frozenset({"uncommitted"}), _apply_uncommitted),
    Variant(
        "broker-serves-after-lease",
        frozenset({"lease"}),
        lambda: patch.object(lifecycle, "serving", _serves_for_good),
    ),
    Variant(
        "leader-acknowledges-alone",
        frozenset({"partition-lost"}),
        lambda: patch.object(leader, "advance", _advance_alone),
        DATA,
    ),
    Variant(
        "leader-anticipates-its-isr",
        frozenset({"partition-lost"}),
        lambda: patch.object(Leading, "maximal_isr", property(_proposed_isr)),
        replace(DATA, voters=1, delay_ms=3, late=0.0, faults=8, operations=100, duration_ms=6000),
    ),
    Variant("snapshot-above-high-watermark", frozenset({"snapshot"}), _snapshot_of_the_log),
    Variant("snapshot-not-minimal", frozenset({"snapshot"}), _twice_in_a_snapshot, CALM),
    Variant("snapshot-incomplete", frozenset({"snapshot"}), _snapshot_without_requests, CALM),
)
