"""Broker membership: registration, leases, fencing and controlled shutdown by heartbeat.

KIP-631's draft, "Broker Registration and Heartbeats" and "The Broker State Machine". What the
draft leaves open is decided here:

- A process that never had an answer (epoch -1, no previous one) takes the id at once, and its
  epoch fences the process that had it. With deferred takeover it waits, fenced, while the other
  may still serve: until that one's lease is over, or it has shown that it knows of its loss.
- A process that had the id and lost it (epoch -1, a previous one) gets it back only where
  nobody else holds a lease of it.
- A broker that was fenced becomes active again under a new epoch only (A.1.68); one that
  fenced itself says so with target FENCED before it asks for ACTIVE.
- Leases are soft state: they run on this controller's clock from the receipt of the heartbeat,
  which is later than the broker's own start, so this end is never before the broker's.
"""

import uuid
from dataclasses import replace
from typing import Final

from immutables import Map
from kio.schema.errors import ErrorCode
from kio.static.primitive import i8, i16, i32, i64

from nodes.kraft.controller import features
from nodes.kraft.controller.config import ControllerConfig
from nodes.kraft.controller.elections import broker_leaves, broker_returns
from nodes.kraft.controller.members import Committed, Members
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.ids import NO_EPOCH, BrokerEpoch, BrokerId
from nodes.kraft.metadata.image import Broker, Image
from nodes.kraft.wire.heartbeats import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerState,
)
from nodes.kraft.wire.records import (
    BrokerRecord,
    EndPoint,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
)

MAX_TIME_MS: Final = 2**62
MOVED_AT_ONCE: Final = 1000
"""Partitions that are moved off a broker in one step."""
TARGETS: Final = frozenset({BrokerState.ACTIVE, BrokerState.FENCED, BrokerState.SHUTDOWN})


def fresh_leases(image: Image, now_ms: int, lease_ms: int) -> Members:
    """A new active controller grants all registered brokers a full lease (A.7.6)."""
    return Members(leases=Map(dict.fromkeys(image.brokers, now_ms + lease_ms)))


def expired(members: Members, now_ms: int) -> list[BrokerId]:
    """The brokers whose lease is over."""
    return sorted(broker_id for broker_id, end in members.leases.items() if end <= now_ms)


def expire(builder: RecordBatchBuilder, members: Members, broker_id: BrokerId) -> Members:
    """End a broker's lease: fence it, where it is active."""
    members = members.without_lease(broker_id)
    broker = builder.image.brokers[broker_id]
    if not broker.fenced:
        fence(builder, members, broker)
    return members


def fence(builder: RecordBatchBuilder, members: Members, broker: Broker) -> None:
    """Fence an active broker and move what it leads, in one batch."""
    builder.add(FenceBrokerRecord(broker_id=broker.broker_id, broker_epoch=broker.epoch))
    broker_leaves(builder, broker.broker_id, members.can_lead)


def move_off(builder: RecordBatchBuilder, members: Members, broker_id: BrokerId) -> Members:
    """Move a part of what a broker leads, or is in sync of, off it: it is shutting down. One
    batch of all that would keep followers and heartbeats waiting for as long as it takes."""
    broker = builder.image.brokers[broker_id]
    shutdown = members.shutting_down[broker_id]
    if broker.epoch != shutdown.epoch:
        return members.without_shutdown(broker_id)
    if broker.fenced:  # what fenced it has moved all the rest
        return members.with_shutdown(broker, shutdown.offset)
    everything = broker_leaves(builder, broker_id, members.can_lead, MOVED_AT_ONCE)
    return members.with_shutdown(broker, builder.next_offset - 1, moving=not everything)


def heartbeat(
    builder: RecordBatchBuilder,
    members: Members,
    request: BrokerHeartbeatRequest,
    config: ControllerConfig,
    committed: Committed,
    now_ms: int,
) -> tuple[BrokerHeartbeatResponse, Members]:
    """Decide a heartbeat: the response and the soft state after it; records go to `builder`."""
    decision = _Decision(builder, members, request, config, committed, now_ms)
    response = decision.decide()
    if response.error_code != 0:
        return response, decision.members
    return response, decision.members.with_levels(request.broker_id, decision.levels)


class _Decision:
    """One heartbeat being decided. `members` is the soft state so far."""

    def __init__(
        self,
        builder: RecordBatchBuilder,
        members: Members,
        request: BrokerHeartbeatRequest,
        config: ControllerConfig,
        committed: Committed,
        now_ms: int,
    ) -> None:
        self.builder = builder
        self.members = members
        self.request = request
        self.config = config
        self.committed = committed
        self.now_ms = now_ms
        self.broker_id = request.broker_id
        self.target = BrokerState(request.target_state)
        self.levels = features.supported_by(request)

    def decide(self) -> BrokerHeartbeatResponse:
        if self.request.cluster_id not in (None, self.config.cluster_id):
            return self._refuse(ErrorCode.inconsistent_cluster_id)
        if not self._well_formed():
            return self._refuse(ErrorCode.invalid_request)
        if not features.supports_all(self.builder.image, self.levels):
            return self._refuse(ErrorCode.unsupported_version)
        broker = self.builder.image.brokers.get(self.broker_id)
        if self.request.broker_epoch == NO_EPOCH:
            return self._without_epoch(broker)
        if broker is None:
            return self._refuse(ErrorCode.broker_id_not_registered)
        if broker.epoch != int(self.request.broker_epoch):
            return self._refuse(ErrorCode.stale_broker_epoch)
        self._note_reached()
        if self.target == BrokerState.SHUTDOWN:
            return self._shut_down(broker)
        if broker.state == BrokerState.ACTIVE:
            return self._keep(broker)
        return self._activate(broker)

    def _note_reached(self) -> None:
        offset = int(self.request.cur_metadata_offset)
        reached = self.members.reached.set(self.broker_id, offset)
        self.members = replace(self.members, reached=reached)

    def _well_formed(self) -> bool:
        request = self.request
        return (
            self.target in TARGETS
            and self.broker_id >= 0
            and self.broker_id not in self.config.controller_ids
            and request.broker_epoch >= NO_EPOCH
            and request.previous_broker_epoch >= NO_EPOCH
            and 0 <= request.lease_start_time_ms <= MAX_TIME_MS  # its end has to fit, too
        )

    # --- without an epoch -----------------------------------------------------------------

    def _without_epoch(self, broker: Broker | None) -> BrokerHeartbeatResponse:
        if broker is None:
            return self._register(None)
        requester = self._is_asker(broker)
        if self._claimed() and (requester or self.request.previous_broker_epoch != NO_EPOCH):
            lost_this_epoch = broker.epoch == int(self.request.previous_broker_epoch)
            if requester and lost_this_epoch and not broker.fenced:
                return self._yield(broker)
            return self._refuse(ErrorCode.stale_broker_epoch)
        if requester:
            return self._remind(broker)
        if self.target == BrokerState.SHUTDOWN or not self._may_take_over(broker):
            return self._refuse(ErrorCode.stale_broker_epoch)
        if self.config.deferred_takeover and not broker.fenced:
            return self._defer()
        return self._register(broker)

    def _is_asker(self, broker: Broker) -> bool:
        """Whether the registration is the asking process's own, its answer lost."""
        incarnation_id = self.request.incarnation_id or uuid.UUID(int=0)
        return incarnation_id.int != 0 and broker.incarnation_id == incarnation_id

    def _remind(self, broker: Broker) -> BrokerHeartbeatResponse:
        """Tell the process what it is registered as; nothing changes but its lease."""
        if broker.state == BrokerState.FENCED:
            return self._answer(BrokerState.FENCED, broker.epoch, leased=False)
        return self._answer(broker.state, broker.epoch, leased=True)

    def _claimed(self) -> bool:
        """Whether a new process waits for the one that holds the id to stop serving."""
        return self.members.claims.get(self.broker_id, self.now_ms) > self.now_ms

    def _defer(self) -> BrokerHeartbeatResponse:
        """The newcomer waits, fenced; its claim holds as long as a lease would."""
        end_ms = self.now_ms + self.config.lease_ms
        self.members = self.members.with_claim(self.broker_id, end_ms)
        return self._response(BrokerState.FENCED, NO_EPOCH, length_ms=0)

    def _yield(self, broker: Broker) -> BrokerHeartbeatResponse:
        """The process that held the id knows that it lost it, and serves no more: by asking anew
        it says so. The one that waits need not wait for the end of the lease."""
        self.members = self.members.without_lease(self.broker_id)
        self.members = self.members.without_shutdown(self.broker_id)
        fence(self.builder, self.members, broker)
        return self._response(BrokerState.FENCED, NO_EPOCH, length_ms=0)

    def _may_take_over(self, broker: Broker) -> bool:
        if self.request.previous_broker_epoch == NO_EPOCH:
            return True
        if broker.state == BrokerState.INITIAL:
            return self.members.leases.get(self.broker_id, self.now_ms) <= self.now_ms
        return broker.state == BrokerState.FENCED

    def _register(self, previous: Broker | None) -> BrokerHeartbeatResponse:
        """Failure handling of the id's former life first, then the new one (KIP-380)."""
        self.members = self.members.without_shutdown(self.broker_id)
        self.members = self.members.without_claim(self.broker_id)
        if previous is not None and not previous.fenced:
            fence(self.builder, self.members, previous)
        epoch = self._record(
            self.request.incarnation_id or uuid.UUID(int=0),
            rack=self.request.rack,
            end_points=tuple(
                EndPoint(
                    name=listener.name,
                    host=listener.host,
                    port=listener.port,
                    security_protocol=listener.security_protocol,
                )
                for listener in self.request.listeners
            ),
        )
        return self._answer(BrokerState.INITIAL, epoch, leased=True)

    def _record(
        self, incarnation_id: uuid.UUID, rack: str | None, end_points: tuple[EndPoint, ...]
    ) -> BrokerEpoch:
        """Add a registration; its epoch, which is its own offset: unique and rising."""
        epoch = BrokerEpoch(self.builder.next_offset)
        self.builder.add(
            BrokerRecord(
                broker_id=self.request.broker_id,
                broker_epoch=epoch,
                end_points=end_points,
                rack=rack,
                incarnation_id=incarnation_id,
            )
        )
        return epoch

    # --- with the registered epoch --------------------------------------------------------

    def _activate(self, broker: Broker) -> BrokerHeartbeatResponse:
        """A broker that is not active asks for ACTIVE (or stays as it is)."""
        ready = (
            self.target == BrokerState.ACTIVE
            and self.request.cur_metadata_offset >= broker.epoch
            and not self._too_stale()
        )
        if not ready:
            leased = broker.state == BrokerState.INITIAL
            return self._answer(broker.state, broker.epoch, leased=leased)
        epoch = broker.epoch
        if broker.state == BrokerState.FENCED:
            epoch = self._record(
                broker.incarnation_id,
                broker.rack,
                tuple(
                    EndPoint(
                        name=point.name,
                        host=point.host,
                        port=point.port,
                        security_protocol=point.security_protocol,
                    )
                    for point in broker.end_points
                ),
            )
        self.builder.add(UnfenceBrokerRecord(broker_id=self.request.broker_id, broker_epoch=epoch))
        self.members = self.members.without_shutdown(self.broker_id)
        broker_returns(self.builder, self.broker_id)
        return self._answer(BrokerState.ACTIVE, epoch, leased=True)

    def _keep(self, broker: Broker) -> BrokerHeartbeatResponse:
        """An active broker renews its lease, or loses it."""
        if self._claimed():
            return self._refuse(ErrorCode.stale_broker_epoch)
        if self.target == BrokerState.FENCED or self._stays_stale():
            self.members = self.members.in_step(self.broker_id)
            fence(self.builder, self.members, broker)
            return self._answer(BrokerState.FENCED, broker.epoch, leased=False)
        self.members = self.members.without_shutdown(self.broker_id)
        broker_returns(self.builder, self.broker_id)
        return self._answer(BrokerState.ACTIVE, broker.epoch, leased=True)

    def _shut_down(self, broker: Broker) -> BrokerHeartbeatResponse:
        """Move everything off the broker; let it go once that is committed, and every other
        active broker has read it: none of them will send a client here any more."""
        if broker.fenced:
            return self._answer(BrokerState.SHUTDOWN, broker.epoch, leased=False)
        shutdown = self.members.shutting_down.get(self.broker_id)
        if shutdown is None or shutdown.epoch != broker.epoch:
            self.members = self.members.with_shutdown(broker, NO_EPOCH)  # can lead no more
            self.members = move_off(self.builder, self.members, self.broker_id)
            shutdown = self.members.shutting_down[self.broker_id]
        image = self.committed.image
        moved = not shutdown.moving and self.committed.end_offset > shutdown.offset
        over = moved and not image.leads(self.broker_id)
        if not over or not self.members.have_reached(image, shutdown.offset, self.broker_id):
            return self._answer(BrokerState.ACTIVE, broker.epoch, leased=True)
        fence(self.builder, self.members, broker)
        return self._answer(BrokerState.SHUTDOWN, broker.epoch, leased=False)

    def _stays_stale(self) -> bool:
        """Whether an active broker's metadata has been too stale for as long as a lease. One
        batch can have more records than a broker may lag: each one has the time to apply it."""
        if not self._too_stale():
            self.members = self.members.in_step(self.broker_id)
            return False
        since_ms = self.members.lagging.get(self.broker_id, self.now_ms)
        lagging = self.members.lagging.set(self.broker_id, since_ms)
        self.members = replace(self.members, lagging=lagging)
        return self.now_ms - since_ms >= self.config.lease_ms

    def _too_stale(self) -> bool:
        newest = self.committed.end_offset - 1
        lag = newest - self.request.cur_metadata_offset
        return lag > self.config.max_metadata_lag_offsets

    # --- answers --------------------------------------------------------------------------

    def _answer(
        self, state: BrokerState, epoch: BrokerEpoch, *, leased: bool
    ) -> BrokerHeartbeatResponse:
        """A lease runs from the start that the broker named; without one it ends there."""
        length_ms = self.config.lease_ms if leased else 0
        if leased:
            end_ms = self.now_ms + self.config.lease_ms
            self.members = self.members.with_lease(self.broker_id, end_ms)
        else:
            self.members = self.members.without_lease(self.broker_id)
        return self._response(state, epoch, length_ms)

    def _response(
        self, state: BrokerState, epoch: BrokerEpoch, length_ms: int
    ) -> BrokerHeartbeatResponse:
        return BrokerHeartbeatResponse(
            error_code=i16(0),
            active_controller_id=i32(self.config.controller_id),
            next_state=i8(state),
            broker_epoch=epoch,
            lease_end_time_ms=i64(self.request.lease_start_time_ms + length_ms),
        )

    def _refuse(self, code: ErrorCode) -> BrokerHeartbeatResponse:
        """No effect: the lease of whoever holds the id stays as it is."""
        return BrokerHeartbeatResponse(
            error_code=i16(code),
            active_controller_id=i32(self.config.controller_id),
            next_state=i8(BrokerState.FENCED),
            broker_epoch=NO_EPOCH,
            lease_end_time_ms=self.request.lease_start_time_ms,
        )
