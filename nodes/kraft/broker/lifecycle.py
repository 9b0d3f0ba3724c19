"""The broker's life cycle: registration, lease, fencing and controlled shutdown. Pure.

KIP-631's draft, "The Broker State Machine": INITIAL -> ACTIVE, ACTIVE <-> FENCED, and from
either to SHUTDOWN; no other transition. A broker that was fenced becomes active under a new
epoch only. Times are this node's own monotonic clock, ms: the lease runs from the moment before
the heartbeat was sent that it answers, and ends by that clock alone.

A broker whose lease ran out may still be active in the controller's eyes, its last heartbeat
having arrived in time. So it tells the controller first (target FENCED), and asks for ACTIVE,
which then brings a new epoch, when the controller has agreed.
"""

import uuid
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from kio.static.primitive import i8, i16, i64, u16

from nodes.kraft.config import Config
from nodes.kraft.endpoints import SECURITY_PROTOCOLS
from nodes.kraft.ids import NO_EPOCH, BrokerEpoch, BrokerId
from nodes.kraft.metadata.features import SUPPORTED
from nodes.kraft.wire.heartbeats import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerState,
    Listener,
    SupportedFeature,
)

NEVER_MS: Final = 2**62
NONE: Final = 0
STALE_BROKER_EPOCH: Final = 77
BROKER_ID_NOT_REGISTERED: Final = 102
LOST: Final = frozenset({STALE_BROKER_EPOCH, BROKER_ID_NOT_REGISTERED})
"""The registration is another's, or nobody's."""
REFUSALS: Final = frozenset({35, 42, 104})
"""What an active controller alone says, of the broker and not of itself: UNSUPPORTED_VERSION,
INVALID_REQUEST, INCONSISTENT_CLUSTER_ID."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleConfig:
    """A failed heartbeat is sent again after `backoff_ms`, doubled with each failure in a row
    up to the interval."""

    broker_id: BrokerId
    incarnation_id: uuid.UUID
    listeners: tuple[Listener, ...] = ()
    rack: str | None = None
    cluster_id: str | None = None
    features: tuple[SupportedFeature, ...] = ()
    interval_ms: int = 500
    backoff_ms: int = 100

    @classmethod
    def of(cls, config: Config, incarnation_id: uuid.UUID) -> "LifecycleConfig":
        """The life cycle's part of a node's configuration."""
        assert config.broker_id is not None
        return cls(
            broker_id=BrokerId(config.broker_id),
            incarnation_id=incarnation_id,
            listeners=tuple(
                Listener(
                    name=endpoint.name,
                    host=endpoint.host,
                    port=u16(endpoint.port),
                    security_protocol=i16(SECURITY_PROTOCOLS[endpoint.protocol]),
                )
                for endpoint in config.advertised
            ),
            rack=config.rack,
            cluster_id=config.cluster_id,
            features=tuple(
                SupportedFeature(name=name, min_level=i16(low), max_level=i16(high))
                for name, (low, high) in SUPPORTED.items()
            ),
            interval_ms=config.timing.heartbeat_interval_ms,
        )


# --- inputs -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed. Due at `deadline_ms(state)`; harmless at any time."""


@dataclass(frozen=True, slots=True)
class HeartbeatAnswered:
    """The answer to `SendHeartbeat(request)`; None: it failed or timed out."""

    request: BrokerHeartbeatRequest
    response: BrokerHeartbeatResponse | None


@dataclass(frozen=True, slots=True)
class Applied:
    """The broker's image holds all records up to and including `offset`, as the leader of `epoch`
    has said that they are committed."""

    offset: int
    epoch: int


@dataclass(frozen=True, slots=True)
class ShutDown:
    """Leave the cluster in an orderly way."""


Input: TypeAlias = Tick | HeartbeatAnswered | Applied | ShutDown


# --- effects ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SendHeartbeat:
    """Send to the active controller; a `HeartbeatAnswered` follows, always."""

    request: BrokerHeartbeatRequest


@dataclass(frozen=True, slots=True)
class Transition:
    before: BrokerState
    after: BrokerState
    epoch: BrokerEpoch
    why: str


@dataclass(frozen=True, slots=True)
class LeaseGranted:
    """The lease of the id, under `epoch`, granted or renewed by controller `granted_by`."""

    epoch: BrokerEpoch
    start_ms: int
    end_ms: int
    granted_by: int


@dataclass(frozen=True, slots=True)
class Exit:
    """End the process."""

    why: str


Effect: TypeAlias = SendHeartbeat | Transition | LeaseGranted | Exit


# --- state --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleState:
    """`epoch`: the registered one (-1: none). `previous_epoch`: the one lost last (-1: none).
    `served_epoch`: the one last active under. `lease_end_ms` is None without a lease.
    `led_epoch`: of the newest leader of the controllers that was seen to commit (-1: of none).
    `settled`: the controller knows that this broker is not active. `over`: the process is to
    exit, and does nothing more. `in_flight`: the heartbeat that waits for its answer;
    `next_ms`: when the next one goes."""

    config: LifecycleConfig
    broker_state: BrokerState = BrokerState.INITIAL
    epoch: BrokerEpoch = NO_EPOCH
    previous_epoch: BrokerEpoch = NO_EPOCH
    served_epoch: BrokerEpoch = NO_EPOCH
    lease_end_ms: int | None = None
    settled: bool = True
    stopping: bool = False
    over: bool = False
    applied_offset: int = -1
    led_epoch: int = -1
    in_flight: BrokerHeartbeatRequest | None = None
    next_ms: int = 0
    failures: int = 0


def initial(config: LifecycleConfig, now_ms: int) -> LifecycleState:
    """A process that just started: its first heartbeat is due at once."""
    return LifecycleState(config=config, next_ms=now_ms)


def serving(state: LifecycleState, now_ms: int) -> bool:
    """Whether clients may be served at this moment: active, and the lease not over now."""
    return (
        state.broker_state == BrokerState.ACTIVE
        and state.lease_end_ms is not None
        and now_ms < state.lease_end_ms
    )


def deadline_ms(state: LifecycleState) -> int:
    """When the next `Tick` is due."""
    deadlines = []
    if state.broker_state == BrokerState.ACTIVE and state.lease_end_ms is not None:
        deadlines.append(state.lease_end_ms)
    if state.in_flight is None and not state.over:
        deadlines.append(state.next_ms)
    return min(deadlines, default=NEVER_MS)


def step(state: LifecycleState, event: Input, now_ms: int) -> tuple[LifecycleState, list[Effect]]:
    """The state after `event`, and what to do, in order."""
    if state.over:
        return state, []
    state, effects = _expire(state, now_ms)
    more: list[Effect] = []
    match event:
        case Applied():
            state, more = _applied(state, event, now_ms)
        case ShutDown():
            state, more = _shut_down(state, now_ms)
        case HeartbeatAnswered(request, response):
            if request == state.in_flight:
                state = replace(state, in_flight=None)
                state, more = _answered(state, request, response, now_ms)
        case Tick():
            pass
    effects += more
    if state.over:
        return state, effects
    state, sent = _send_due(state, now_ms)
    return state, effects + sent


def _move(
    state: LifecycleState, after: BrokerState, why: str
) -> tuple[LifecycleState, list[Effect]]:
    moved = replace(state, broker_state=after)
    return moved, [Transition(state.broker_state, after, state.epoch, why)]


def _expire(state: LifecycleState, now_ms: int) -> tuple[LifecycleState, list[Effect]]:
    if state.lease_end_ms is None or now_ms < state.lease_end_ms:
        return state, []
    state = replace(state, lease_end_ms=None)
    if state.broker_state != BrokerState.ACTIVE:
        return state, []
    # Due now: the controller should hear of it soon.
    state = replace(state, settled=False, next_ms=min(state.next_ms, now_ms))
    return _move(state, BrokerState.FENCED, "lease expired")


def _applied(
    state: LifecycleState, event: Applied, now_ms: int
) -> tuple[LifecycleState, list[Effect]]:
    """A broker that waits for its own registration asks as soon as it has seen it; one that
    nobody answered, as soon as there is a new leader that commits."""
    reached = state.applied_offset < state.epoch <= event.offset
    state = replace(state, applied_offset=max(state.applied_offset, event.offset))
    if event.epoch > state.led_epoch:
        due_ms = min(state.next_ms, now_ms) if state.failures else state.next_ms
        state = replace(state, led_epoch=event.epoch, failures=0, next_ms=due_ms)
    if reached and state.broker_state != BrokerState.ACTIVE and state.failures == 0:
        state = replace(state, next_ms=min(state.next_ms, now_ms))
    return state, []


def _shut_down(state: LifecycleState, now_ms: int) -> tuple[LifecycleState, list[Effect]]:
    if state.epoch == NO_EPOCH and state.previous_epoch == NO_EPOCH:
        return _exit(state, "not registered: nothing to hand over")
    return replace(state, stopping=True, next_ms=min(state.next_ms, now_ms)), []


def _exit(state: LifecycleState, why: str) -> tuple[LifecycleState, list[Effect]]:
    return replace(state, over=True, lease_end_ms=None), [Exit(why)]


# --- heartbeats ---------------------------------------------------------------------------


def _send_due(state: LifecycleState, now_ms: int) -> tuple[LifecycleState, list[Effect]]:
    """One heartbeat at a time, when its time has come."""
    if state.in_flight is not None or now_ms < state.next_ms:
        return state, []
    request = BrokerHeartbeatRequest(
        target_state=i8(_target(state)),
        broker_id=state.config.broker_id,
        broker_epoch=state.epoch,
        lease_start_time_ms=i64(now_ms),
        cur_metadata_offset=i64(state.applied_offset),
        listeners=state.config.listeners,
        incarnation_id=state.config.incarnation_id,
        previous_broker_epoch=state.previous_epoch if state.epoch == NO_EPOCH else NO_EPOCH,
        features=state.config.features,
        rack=state.config.rack,
        cluster_id=state.config.cluster_id,
    )
    return replace(state, in_flight=request), [SendHeartbeat(request)]


def _target(state: LifecycleState) -> BrokerState:
    if state.stopping:
        return BrokerState.SHUTDOWN
    return BrokerState.ACTIVE if state.settled else BrokerState.FENCED


def _answered(
    state: LifecycleState,
    request: BrokerHeartbeatRequest,
    response: BrokerHeartbeatResponse | None,
    now_ms: int,
) -> tuple[LifecycleState, list[Effect]]:
    if response is not None and response.error_code in REFUSALS:
        return _refused(_retry(state, now_ms), int(response.error_code))
    if response is None or response.error_code not in LOST | {NONE}:
        return _retry(state, now_ms), []
    if response.error_code in LOST:
        gone = response.error_code == BROKER_ID_NOT_REGISTERED
        return _lost(_retry(state, now_ms), request, gone=gone)
    wait_ms = state.config.backoff_ms if state.stopping else state.config.interval_ms
    state = replace(state, failures=0, next_ms=request.lease_start_time_ms + wait_ms)
    match BrokerState(response.next_state):
        case BrokerState.SHUTDOWN if BrokerState(request.target_state) == BrokerState.SHUTDOWN:
            return _leave(state)
        case BrokerState.FENCED:
            return _fenced(state, request, response, now_ms)
        case BrokerState.INITIAL:
            return _registered(state, request, response, now_ms)
        case BrokerState.ACTIVE:
            return _activated(state, request, response, now_ms)
        case _:
            return state, []


def _retry(state: LifecycleState, now_ms: int) -> LifecycleState:
    wait_ms = min(state.config.backoff_ms << min(state.failures, 16), state.config.interval_ms)
    return replace(state, failures=state.failures + 1, next_ms=now_ms + wait_ms)


def _lost(
    state: LifecycleState, request: BrokerHeartbeatRequest, *, gone: bool
) -> tuple[LifecycleState, list[Effect]]:
    """The id, or this epoch of it, is another's, or it is registered no more (`gone`): ask anew,
    as one who had it (A.1.62-64). Where it is gone, nothing is left to hand over.

    One that shuts down does so once: the newer epoch may be its own, granted by an answer that
    was lost, and what it leads under that is still to be handed over (A.3.11).
    """
    why = "registered no more" if gone else f"epoch {state.epoch} is stale"
    state, effects = _stop_serving(state, why)
    had = state.epoch if state.epoch != NO_EPOCH else state.previous_epoch
    state = replace(state, epoch=NO_EPOCH, previous_epoch=had, lease_end_ms=None, settled=True)
    if state.stopping and (gone or request.broker_epoch == NO_EPOCH):
        state, ended = _exit(state, "the broker id is no longer this process's")
        effects += ended
    return state, effects


def _refused(state: LifecycleState, code: int) -> tuple[LifecycleState, list[Effect]]:
    """The active controller will not have this broker as it is (A.1.54). What it has granted
    before it still takes for granted: so tell it, as soon as it listens again."""
    active = state.broker_state == BrokerState.ACTIVE
    state, effects = _stop_serving(state, f"refused with error {code}")
    return replace(state, settled=state.settled and not active), effects


def _stop_serving(state: LifecycleState, why: str) -> tuple[LifecycleState, list[Effect]]:
    if state.broker_state != BrokerState.ACTIVE:
        return state, []
    return _move(replace(state, lease_end_ms=None), BrokerState.FENCED, why)


def _leave(state: LifecycleState) -> tuple[LifecycleState, list[Effect]]:
    effects: list[Effect] = []
    if state.broker_state != BrokerState.INITIAL:  # no such transition is drawn
        state, effects = _move(state, BrokerState.SHUTDOWN, "controlled shutdown granted")
    state, ended = _exit(state, "controlled shutdown granted")
    return state, effects + ended


def _fenced(
    state: LifecycleState,
    request: BrokerHeartbeatRequest,
    response: BrokerHeartbeatResponse,
    now_ms: int,
) -> tuple[LifecycleState, list[Effect]]:
    state, effects = _stop_serving(state, "fenced by the controller")
    epoch = response.broker_epoch
    state = replace(state, epoch=epoch, lease_end_ms=None, settled=True)
    if state.stopping and epoch == NO_EPOCH:
        state, ended = _exit(state, "another process waits for the broker id")
        return state, effects + ended
    if BrokerState(request.target_state) == BrokerState.FENCED:
        state = replace(state, next_ms=now_ms)  # agreed: ask to be active again
    return state, effects


def _registered(
    state: LifecycleState,
    request: BrokerHeartbeatRequest,
    response: BrokerHeartbeatResponse,
    now_ms: int,
) -> tuple[LifecycleState, list[Effect]]:
    """Registered, and to follow the log up to the registration before it can be active."""
    state, effects = _stop_serving(state, "registered anew")
    state, granted = _lease(state, request, response)
    state = replace(state, settled=True)
    if request.cur_metadata_offset < state.epoch <= state.applied_offset:
        state = replace(state, next_ms=now_ms)
    return state, effects + granted


def _activated(
    state: LifecycleState,
    request: BrokerHeartbeatRequest,
    response: BrokerHeartbeatResponse,
    now_ms: int,
) -> tuple[LifecycleState, list[Effect]]:
    new = response.broker_epoch != state.served_epoch
    effects: list[Effect] = []
    if new:
        # The controller fenced it and took it back, and the answer between was lost.
        state, effects = _stop_serving(state, "fenced by the controller meanwhile")
    late = response.lease_end_time_ms <= now_ms
    if late or (state.broker_state == BrokerState.FENCED and not new):
        # The controller takes it for active, but it has fenced itself: say so first.
        wait_ms = state.config.backoff_ms if state.stopping else 0
        epoch = response.broker_epoch
        state = replace(state, epoch=epoch, settled=False, next_ms=now_ms + wait_ms)
        return state, effects
    state, granted = _lease(state, request, response)
    state = replace(state, served_epoch=state.epoch, settled=True)
    if state.broker_state != BrokerState.ACTIVE:
        state, moved = _move(state, BrokerState.ACTIVE, "lease granted")
        granted = [*granted, *moved]
    return state, effects + granted


def _lease(
    state: LifecycleState,
    request: BrokerHeartbeatRequest,
    response: BrokerHeartbeatResponse,
) -> tuple[LifecycleState, list[Effect]]:
    end_ms = int(response.lease_end_time_ms)
    state = replace(state, epoch=response.broker_epoch, lease_end_ms=end_ms)
    granted = LeaseGranted(
        epoch=state.epoch,
        start_ms=int(request.lease_start_time_ms),
        end_ms=end_ms,
        granted_by=int(response.active_controller_id),
    )
    return state, [granted]
