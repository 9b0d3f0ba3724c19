"""The controller core: requests to records and answers. Pure; see `steps.py`.

Requests are judged on the *speculative* image, which holds every record that this controller
appended, committed or not; each answer waits for its proof. A request that appends records is
answered when the last of them is committed. One that appends none is answered when a read
barrier has passed after it came, and everything that it was judged on is committed.

While active, this controller alone appends to the log, so it knows each record's offset before
Raft appends it. `Propose` effects come from `ControllerRequest` and `Tick` only, never from
`Commit` or `BarrierPassed`, so a caller may feed those back while it carries effects out.
"""

import uuid
from dataclasses import dataclass, field, replace

from immutables import Map
from kio.schema.allocate_producer_ids.v0.request import AllocateProducerIdsRequest
from kio.schema.errors import ErrorCode
from kio.schema.unregister_broker.v0.request import UnregisterBrokerRequest
from kio.static.primitive import i16
from kio.static.protocol import RequestPayload, ResponsePayload

from nodes.kraft.controller import (
    admin,
    answers,
    features,
    membership,
    partitions,
    reads,
    snapshots,
)
from nodes.kraft.controller.config import ControllerConfig
from nodes.kraft.controller.draws import Draws
from nodes.kraft.controller.members import Committed, Members
from nodes.kraft.controller.permission import Allows, everything
from nodes.kraft.controller.producer_ids import allocate_producer_ids
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.controller.sources import api_of, items_of, source_of
from nodes.kraft.controller.steps import (
    NOTHING,
    Answer,
    BarrierPassed,
    Claim,
    Commit,
    Confirm,
    ControllerRequest,
    Decided,
    Effect,
    Input,
    Propose,
    Renounce,
    Snapshots,
    Tick,
    Token,
)
from nodes.kraft.controller.unregister_broker import unregister_broker
from nodes.kraft.ids import LeaderEpoch, Offset
from nodes.kraft.metadata.image import Image
from nodes.kraft.security.authorizer import Operation, Requester, ResourceType
from nodes.kraft.wire.codec import decode_entity, encode_entity
from nodes.kraft.wire.codes import first_error
from nodes.kraft.wire.debug import ReadTopicsRequest
from nodes.kraft.wire.heartbeats import (
    BrokerHeartbeatRequest,
    ControllerHeartbeatRequest,
    ControllerHeartbeatResponse,
)
from nodes.kraft.wire.records import RequestRecord

__all__ = ["ControllerConfig", "ControllerState", "active_epoch", "deadline_ms", "initial", "step"]


@dataclass(frozen=True, slots=True)
class Pending:
    """A request that was decided and waits for proof.

    `response` None: made when the proof is there (reads). `as_of`: the log's end that must be
    committed first. `barrier`: a read barrier must pass, too. `appended`: records of this
    request, or of an earlier attempt of it, may take effect.
    """

    request: RequestPayload
    response: ResponsePayload | None
    as_of: Offset
    barrier: bool
    appended: bool
    deadline_ms: int | None


@dataclass(frozen=True, slots=True)
class Leadership:
    """What a controller knows while it is active, lost with its leadership.

    `draws`: how many draws of chance were made in this epoch. `snapshots`: what is known of the
    other controllers' snapshots.
    """

    epoch: LeaderEpoch
    end_offset: Offset
    speculative: Image
    committed: Committed
    members: Members
    snapshots: snapshots.Coordination
    pending: Map[Token, Pending] = field(default_factory=Map)
    draws: int = 0


@dataclass(frozen=True, slots=True)
class ControllerState:
    """`leadership` is None while another controller, or none, is active. `own`: how this node's own
    snapshots stand."""

    config: ControllerConfig
    own: snapshots.Own
    leadership: Leadership | None = None


def initial(config: ControllerConfig, now_ms: int = 0, snapshot_offset: int = 0) -> ControllerState:
    """A controller that is not active, and holds a snapshot of that end offset (0: none)."""
    return ControllerState(config, snapshots.Own(snapshots.Report(now_ms, snapshot_offset)))


def active_epoch(state: ControllerState) -> LeaderEpoch | None:
    """The leader epoch in which this is the active controller; None: it is not."""
    return None if state.leadership is None else state.leadership.epoch


def deadline_ms(state: ControllerState) -> int | None:
    """When the next `Tick` is due; None: nothing waits for time."""
    if state.leadership is None:
        return None
    if (
        features.behind(state.config, state.leadership.speculative)
        or state.leadership.members.moving()
    ):
        return 0
    deadlines = [state.leadership.snapshots.check_ms, *state.leadership.members.leases.values()]
    for pending in state.leadership.pending.values():
        if pending.deadline_ms is not None:
            deadlines.append(pending.deadline_ms)
    return min(deadlines, default=None)


def step(state: ControllerState, event: Input, now_ms: int) -> tuple[ControllerState, list[Effect]]:
    """The state after `event`, and what to do, in order."""
    config, leadership = state.config, state.leadership
    if isinstance(event, Claim):
        return replace(state, leadership=_claim(config, event, now_ms)), _abandon(leadership)
    if isinstance(event, Renounce):
        return replace(state, leadership=None), _abandon(leadership)
    if isinstance(event, Snapshots):
        return replace(state, own=snapshots.noted(state.own, event, now_ms)), []
    if leadership is None:
        return state, _while_inactive(event)
    effects: list[Effect]
    match event:
        case ControllerRequest():
            leadership, effects = _due(config, leadership, now_ms)
            leadership, decided = _request(state, leadership, event, now_ms)
            effects += decided
        case Commit(end_offset, image):
            leadership, effects = _commit(leadership, end_offset, image)
        case BarrierPassed(token, confirmed):
            leadership, effects = _barrier(leadership, token, confirmed)
        case Tick():
            leadership, effects = _due(config, leadership, now_ms)
            leadership, timed_out = _time_out(leadership, now_ms)
            effects += timed_out
            known, own, started = snapshots.own_turn(
                config, leadership.snapshots, state.own, leadership.committed.end_offset, now_ms
            )
            effects += started
            leadership, state = replace(leadership, snapshots=known), replace(state, own=own)
    return replace(state, leadership=leadership), effects


# --- becoming active and ceasing to be ----------------------------------------------------


def _claim(config: ControllerConfig, event: Claim, now_ms: int) -> Leadership:
    return Leadership(
        epoch=event.epoch,
        end_offset=event.end_offset,
        speculative=event.image,
        committed=Committed(event.image, event.end_offset),
        members=membership.fresh_leases(event.image, now_ms, config.lease_ms),
        snapshots=snapshots.begin(config, now_ms),
    )


def _abandon(leadership: Leadership | None) -> list[Effect]:
    """Answer all that waits: its proof can come no more."""
    if leadership is None:
        return []
    return [_lost(token, leadership.pending[token]) for token in sorted(leadership.pending)]


def _lost(token: Token, pending: Pending) -> Answer:
    response = answers.lost(pending.request, pending.response, appended=pending.appended)
    return Answer(token, response)


def _while_inactive(event: Input) -> list[Effect]:
    if isinstance(event, ControllerRequest):
        return [Answer(event.token, answers.refused(event.request, ErrorCode.not_controller))]
    return []


# --- deciding -----------------------------------------------------------------------------


def _request(
    state: ControllerState, leadership: Leadership, asked: ControllerRequest, now_ms: int
) -> tuple[Leadership, list[Effect]]:
    request = asked.request
    builder = RecordBatchBuilder(leadership.speculative, leadership.end_offset)
    remembered = _remembered(leadership.speculative, asked)
    response = remembered
    if remembered is None:
        leadership, response = _decide(state, leadership, builder, asked, now_ms)
        if asked.request_id is not None and builder.records and response is not None:
            builder.add(_request_record(asked.request_id, response))
    verdict = 0 if builder.records or response is None else first_error(response)
    decided = Decided(
        token=asked.token,
        api=api_of(request),
        source=source_of(request),
        verdict=verdict,
        as_of=leadership.end_offset,
        records=builder.offsets(),
        items=items_of(request, response, builder.records, builder.base_offset),
    )
    leadership, proposed = _append(leadership, builder)
    pending = Pending(
        request=request,
        response=response,
        as_of=leadership.end_offset,
        barrier=not proposed,
        appended=bool(proposed) or remembered is not None,
        deadline_ms=_deadline(request, now_ms),
    )
    leadership = replace(leadership, pending=leadership.pending.set(asked.token, pending))
    return leadership, [decided, *(proposed or [Confirm(asked.token)])]


def _decide(
    state: ControllerState,
    leadership: Leadership,
    builder: RecordBatchBuilder,
    asked: ControllerRequest,
    now_ms: int,
) -> tuple[Leadership, ResponsePayload | None]:
    """The response, its records added to `builder`; None for a read, answered when proved."""
    config, request = state.config, asked.request
    response: ResponsePayload
    if isinstance(request, UnregisterBrokerRequest):
        allows = _allows(config, leadership.committed.image, asked.requester)
        response, members = unregister_broker(builder, leadership.members, request, config, allows)
        return replace(leadership, members=members), response
    if isinstance(request, partitions.AlterPartitionRequest):
        can_lead = leadership.members.can_lead
        return leadership, partitions.alter_partitions(builder, request, can_lead)
    if isinstance(request, AllocateProducerIdsRequest):
        return leadership, allocate_producer_ids(builder, request, leadership.epoch)
    if isinstance(request, BrokerHeartbeatRequest):
        response, members = membership.heartbeat(
            builder, leadership.members, request, config, leadership.committed, now_ms
        )
        return replace(leadership, members=members), response
    if isinstance(request, ControllerHeartbeatRequest):
        return _controller_heartbeat(state, leadership, request, now_ms)
    if isinstance(request, ReadTopicsRequest):
        return leadership, None
    draws = Draws(config.seed, leadership.epoch, leadership.draws)
    allows = _allows(config, leadership.committed.image, asked.requester)
    response = admin.APIS[request.__api_key__](
        builder, request, admin.DecisionContext(config, draws, leadership.members, allows)
    )
    return replace(leadership, draws=draws.counter), response


def _controller_heartbeat(
    state: ControllerState, leadership: Leadership, request: ControllerHeartbeatRequest, now_ms: int
) -> tuple[Leadership, ResponsePayload]:
    config, requester = state.config, int(request.controller_id)
    if requester not in config.controller_ids - {config.controller_id}:
        return leadership, answers.refused(request, ErrorCode.invalid_request)
    known, start = snapshots.on_heartbeat(
        config, leadership.snapshots, state.own, request, leadership.committed.end_offset, now_ms
    )
    response = ControllerHeartbeatResponse(error_code=i16(0), start_snapshot=start)
    return replace(leadership, snapshots=known), response


def _allows(config: ControllerConfig, image: Image, requester: Requester | None) -> Allows:
    """What the asker may do. The rules are the committed ones: others are nobody's yet."""
    if requester is None:
        return everything
    authorizer, principal, host = config.authorizer, requester.principal, requester.host

    def allows(operation: Operation, resource_type: ResourceType, name: str) -> bool:
        return authorizer.allows(image, principal, host, operation, resource_type, name)

    return allows


def _remembered(image: Image, asked: ControllerRequest) -> ResponsePayload | None:
    """What an earlier attempt of this request was, or is to be, answered (B.9.4)."""
    if asked.request_id is None:
        return None
    answer = image.requests.get(uuid.UUID(bytes=asked.request_id))
    return None if answer is None else decode_entity(answers.schema_of(asked.request), answer)


def _request_record(request_id: bytes, response: ResponsePayload) -> RequestRecord:
    return RequestRecord(request_id=uuid.UUID(bytes=request_id), answer=encode_entity(response))


def _deadline(request: RequestPayload, now_ms: int) -> int | None:
    """Requests on topics bring how long their client waits."""
    timeout = getattr(request, "timeout", None)
    return None if timeout is None else now_ms + max(0, int(timeout.total_seconds() * 1000))


def _append(leadership: Leadership, builder: RecordBatchBuilder) -> tuple[Leadership, list[Effect]]:
    """Propose the builder's records as one batch; nothing where there are none."""
    if not builder.records:
        return leadership, []
    propose = Propose(leadership.epoch, leadership.end_offset, builder.encoded(), builder.change())
    return replace(leadership, end_offset=builder.next_offset, speculative=builder.image), [propose]


# --- proofs -------------------------------------------------------------------------------


def _commit(
    leadership: Leadership, end_offset: Offset, image: Image
) -> tuple[Leadership, list[Effect]]:
    if end_offset <= leadership.committed.end_offset:
        return leadership, []
    leadership = replace(leadership, committed=Committed(image, end_offset))
    if end_offset == leadership.end_offset:
        # Equal to what we have, and shared with those who read it.
        leadership = replace(leadership, speculative=image)
    return _answer_proved(leadership, sorted(leadership.pending))


def _barrier(
    leadership: Leadership, token: Token, confirmed: bool
) -> tuple[Leadership, list[Effect]]:
    pending = leadership.pending.get(token)
    if pending is None:
        return leadership, []
    if not confirmed:
        leadership = replace(leadership, pending=leadership.pending.delete(token))
        return leadership, [_lost(token, pending)]
    pending = replace(pending, barrier=False)
    return _answer_proved(
        replace(leadership, pending=leadership.pending.set(token, pending)), [token]
    )


def _answer_proved(leadership: Leadership, tokens: list[Token]) -> tuple[Leadership, list[Effect]]:
    """Answer those of the pending requests whose proof is complete."""
    effects: list[Effect] = []
    committed = leadership.committed
    for token in tokens:
        pending = leadership.pending[token]
        if pending.barrier or pending.as_of > committed.end_offset:
            continue
        response = pending.response
        if response is None:
            assert isinstance(pending.request, ReadTopicsRequest), "reads alone wait for an answer"
            response = reads.read_topics(
                committed.image, pending.request, leadership.epoch, committed.end_offset
            )
        effects.append(Answer(token, response, pending.as_of if pending.appended else NOTHING))
        leadership = replace(leadership, pending=leadership.pending.delete(token))
    return leadership, effects


# --- time ---------------------------------------------------------------------------------


def _due(
    config: ControllerConfig, leadership: Leadership, now_ms: int
) -> tuple[Leadership, list[Effect]]:
    """What comes before anything else: the feature level that is to be finalized, leases, and
    what is to be moved off brokers that shut down."""
    finalized: list[Effect] = []
    if features.behind(config, leadership.speculative):
        builder = RecordBatchBuilder(leadership.speculative, leadership.end_offset)
        features.finalize(builder, config)
        leadership, finalized = _append(leadership, builder)
    leadership, expired = _expire_leases(config, leadership, now_ms)
    leadership, moved = _move_on(leadership)
    return leadership, finalized + expired + moved


def _move_on(leadership: Leadership) -> tuple[Leadership, list[Effect]]:
    """Controlled shutdowns that are not through: the next part of each, a batch of its own."""
    effects: list[Effect] = []
    for broker_id in leadership.members.moving():
        builder = RecordBatchBuilder(leadership.speculative, leadership.end_offset)
        members = membership.move_off(builder, leadership.members, broker_id)
        leadership, proposed = _append(replace(leadership, members=members), builder)
        effects += proposed
    return leadership, effects


def _expire_leases(
    config: ControllerConfig, leadership: Leadership, now_ms: int
) -> tuple[Leadership, list[Effect]]:
    """Fence the brokers whose leases are over, each in a batch of its own."""
    effects: list[Effect] = []
    for broker_id in membership.expired(leadership.members, now_ms):
        builder = RecordBatchBuilder(leadership.speculative, leadership.end_offset)
        members = membership.expire(builder, leadership.members, broker_id)
        leadership, proposed = _append(replace(leadership, members=members), builder)
        effects += proposed
    return leadership, effects


def _time_out(leadership: Leadership, now_ms: int) -> tuple[Leadership, list[Effect]]:
    """Answer the requests whose clients wait no longer."""
    effects: list[Effect] = []
    for token in sorted(leadership.pending):
        pending = leadership.pending[token]
        if pending.deadline_ms is not None and pending.deadline_ms <= now_ms:
            effects.append(_lost(token, pending))
            leadership = replace(leadership, pending=leadership.pending.delete(token))
    return leadership, effects
