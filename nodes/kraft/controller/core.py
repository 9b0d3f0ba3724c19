"""The controller core: requests to records and answers. Pure; see `steps.py`.

Requests are judged on the *speculative* image, which holds every record that this controller
appended, committed or not; each answer waits for its proof. A request that appends records is
answered when the last of them is committed. One that appends none is answered when a read
barrier has passed after it came, and everything that it was judged on is committed.

While active, this controller alone appends to the log, so it knows each record's offset before
Raft appends it. `Propose` effects come from `Ask` and `Tick` only, never from `Commit` or
`BarrierPassed`, so a caller may feed those back while it carries effects out.
"""

import uuid
from dataclasses import dataclass, field, replace
from typing import Any

from immutables import Map
from kio.schema.errors import ErrorCode
from kio.static.primitive import i16

from nodes.kraft.controller import (
    admin,
    answers,
    features,
    membership,
    partitions,
    reads,
    snapshots,
)
from nodes.kraft.controller.answers import (
    ALLOCATE_PRODUCER_IDS,
    ALTER_PARTITION,
    BROKER_HEARTBEAT,
    CONTROLLER_HEARTBEAT,
    READ_TOPICS,
)
from nodes.kraft.controller.config import ControllerConfig
from nodes.kraft.controller.draft import Draft
from nodes.kraft.controller.draws import Draws
from nodes.kraft.controller.members import Committed, Members
from nodes.kraft.controller.permission import Allows, everything
from nodes.kraft.controller.producer_ids import allocate_producer_ids
from nodes.kraft.controller.sources import api_of, items_of, source_of
from nodes.kraft.controller.steps import (
    Answer,
    Ask,
    BarrierPassed,
    Claim,
    Commit,
    Confirm,
    Decided,
    Effect,
    Input,
    Propose,
    Renounce,
    Snapshots,
    Tick,
    Token,
)
from nodes.kraft.metadata.image import Image
from nodes.kraft.security.authorizer import Asker, Operation, ResourceType
from nodes.kraft.wire.codec import decode_entity, encode_entity
from nodes.kraft.wire.codes import first_error
from nodes.kraft.wire.heartbeats import ControllerHeartbeatRequest, ControllerHeartbeatResponse
from nodes.kraft.wire.records import RequestRecord

__all__ = ["ControllerConfig", "ControllerState", "active_epoch", "deadline_ms", "initial", "step"]


@dataclass(frozen=True, slots=True)
class Pending:
    """A request that was decided and waits for proof.

    `response` None: made when the proof is there (reads). `as_of`: the log's end that must be
    committed first. `barrier`: a read barrier must pass, too. `appended`: records of this
    request, or of an earlier attempt of it, may take effect.
    """

    request: Any
    response: Any | None
    as_of: int
    barrier: bool
    appended: bool
    deadline_ms: int | None


@dataclass(frozen=True, slots=True)
class Reign:
    """What a controller knows while it is active, lost with its leadership.

    `draws`: how many draws of chance were made in this epoch. `snapshots`: what is known of the
    other controllers' snapshots.
    """

    epoch: int
    end_offset: int
    speculative: Image
    committed: Committed
    members: Members
    snapshots: snapshots.Coordination
    pending: Map[Token, Pending] = field(default_factory=Map)
    draws: int = 0


@dataclass(frozen=True, slots=True)
class ControllerState:
    """`reign` is None while another controller, or none, is active. `own`: how this node's own
    snapshots stand."""

    config: ControllerConfig
    own: snapshots.Own
    reign: Reign | None = None


def initial(config: ControllerConfig, now_ms: int = 0, snapshot_offset: int = 0) -> ControllerState:
    """A controller that is not active, and holds a snapshot of that end offset (0: none)."""
    return ControllerState(config, snapshots.Own(snapshots.Report(now_ms, snapshot_offset)))


def active_epoch(state: ControllerState) -> int | None:
    """The leader epoch in which this is the active controller; None: it is not."""
    return None if state.reign is None else state.reign.epoch


def deadline_ms(state: ControllerState) -> int | None:
    """When the next `Tick` is due; None: nothing waits for time."""
    if state.reign is None:
        return None
    if features.behind(state.config, state.reign.speculative) or state.reign.members.moving():
        return 0
    deadlines = [state.reign.snapshots.check_ms, *state.reign.members.leases.values()]
    for pending in state.reign.pending.values():
        if pending.deadline_ms is not None:
            deadlines.append(pending.deadline_ms)
    return min(deadlines, default=None)


def step(state: ControllerState, event: Input, now_ms: int) -> tuple[ControllerState, list[Effect]]:
    """The state after `event`, and what to do, in order."""
    config, reign = state.config, state.reign
    if isinstance(event, Claim):
        return replace(state, reign=_claim(config, event, now_ms)), _abandon(reign)
    if isinstance(event, Renounce):
        return replace(state, reign=None), _abandon(reign)
    if isinstance(event, Snapshots):
        return replace(state, own=snapshots.noted(state.own, event, now_ms)), []
    if reign is None:
        return state, _while_inactive(event)
    effects: list[Effect]
    match event:
        case Ask():
            reign, effects = _due(config, reign, now_ms)
            reign, decided = _ask(state, reign, event, now_ms)
            effects += decided
        case Commit(end_offset, image):
            reign, effects = _commit(reign, end_offset, image)
        case BarrierPassed(token, confirmed):
            reign, effects = _barrier(reign, token, confirmed)
        case Tick():
            reign, effects = _due(config, reign, now_ms)
            reign, timed_out = _time_out(reign, now_ms)
            effects += timed_out
            known, own, started = snapshots.own_turn(
                config, reign.snapshots, state.own, reign.committed.end_offset, now_ms
            )
            effects += started
            reign, state = replace(reign, snapshots=known), replace(state, own=own)
    return replace(state, reign=reign), effects


# --- becoming active and ceasing to be ----------------------------------------------------


def _claim(config: ControllerConfig, event: Claim, now_ms: int) -> Reign:
    return Reign(
        epoch=event.epoch,
        end_offset=event.end_offset,
        speculative=event.image,
        committed=Committed(event.image, event.end_offset),
        members=membership.fresh_leases(event.image, now_ms, config.lease_ms),
        snapshots=snapshots.begin(config, now_ms),
    )


def _abandon(reign: Reign | None) -> list[Effect]:
    """Answer all that waits: its proof can come no more."""
    if reign is None:
        return []
    return [_lost(token, reign.pending[token]) for token in sorted(reign.pending)]


def _lost(token: Token, pending: Pending) -> Answer:
    response = answers.lost(pending.request, pending.response, appended=pending.appended)
    return Answer(token, response)


def _while_inactive(event: Input) -> list[Effect]:
    if isinstance(event, Ask):
        return [Answer(event.token, answers.refused(event.request, ErrorCode.not_controller))]
    return []


# --- deciding -----------------------------------------------------------------------------


def _ask(state: ControllerState, reign: Reign, ask: Ask, now_ms: int) -> tuple[Reign, list[Effect]]:
    request = ask.request
    draft = Draft(reign.speculative, reign.end_offset)
    remembered = _remembered(reign.speculative, ask)
    response = remembered
    if remembered is None:
        reign, response = _decide(state, reign, draft, ask, now_ms)
        if ask.request_id is not None and draft.records:
            draft.add(_request_record(ask.request_id, response))
    verdict = 0 if draft.records or response is None else first_error(response)
    decided = Decided(
        token=ask.token,
        api=api_of(request),
        source=source_of(request),
        verdict=verdict,
        as_of=reign.end_offset,
        records=draft.offsets(),
        items=items_of(request, response, draft.records, draft.base_offset),
    )
    reign, proposed = _append(reign, draft)
    pending = Pending(
        request=request,
        response=response,
        as_of=reign.end_offset,
        barrier=not proposed,
        appended=bool(proposed) or remembered is not None,
        deadline_ms=_deadline(request, now_ms),
    )
    reign = replace(reign, pending=reign.pending.set(ask.token, pending))
    return reign, [decided, *(proposed or [Confirm(ask.token)])]


def _decide(
    state: ControllerState, reign: Reign, draft: Draft, ask: Ask, now_ms: int
) -> tuple[Reign, Any | None]:
    """The response, its records added to `draft`; None for a read, answered when proved."""
    config, request = state.config, ask.request
    key = int(request.__api_key__)
    can_lead = reign.members.can_lead
    if key in admin.APIS:
        draws = Draws(config.seed, reign.epoch, reign.draws)
        allows = _allows(config, reign.committed.image, ask.asker)
        response = admin.APIS[key](draft, request, admin.Means(config, draws, can_lead, allows))
        return replace(reign, draws=draws.counter), response
    if key == ALTER_PARTITION:
        return reign, partitions.alter_partitions(draft, request, can_lead)
    if key == ALLOCATE_PRODUCER_IDS:
        return reign, allocate_producer_ids(draft, request, reign.epoch)
    if key == BROKER_HEARTBEAT:
        response, members = membership.heartbeat(
            draft, reign.members, request, config, reign.committed, now_ms
        )
        return replace(reign, members=members), response
    if key == CONTROLLER_HEARTBEAT:
        return _controller_heartbeat(state, reign, request, now_ms)
    if key == READ_TOPICS:
        return reign, None
    raise TypeError(f"api key {key} is none of the controller's")


def _controller_heartbeat(
    state: ControllerState, reign: Reign, request: ControllerHeartbeatRequest, now_ms: int
) -> tuple[Reign, ControllerHeartbeatResponse]:
    config, asker = state.config, int(request.controller_id)
    if asker not in config.controller_ids - {config.controller_id}:
        return reign, answers.refused(request, ErrorCode.invalid_request)
    known, start = snapshots.on_heartbeat(
        config, reign.snapshots, state.own, request, reign.committed.end_offset, now_ms
    )
    response = ControllerHeartbeatResponse(error_code=i16(0), start_snapshot=start)
    return replace(reign, snapshots=known), response


def _allows(config: ControllerConfig, image: Image, asker: Asker | None) -> Allows:
    """What the asker may do. The rules are the committed ones: others are nobody's yet."""
    if asker is None:
        return everything
    authorizer, principal, host = config.authorizer, asker.principal, asker.host

    def allows(operation: Operation, resource_type: ResourceType, name: str) -> bool:
        return authorizer.allows(image, principal, host, operation, resource_type, name)

    return allows


def _remembered(image: Image, ask: Ask) -> Any | None:
    """What an earlier attempt of this request was, or is to be, answered (B.9.4)."""
    if ask.request_id is None:
        return None
    answer = image.requests.get(uuid.UUID(bytes=ask.request_id))
    return None if answer is None else decode_entity(answers.schema_of(ask.request), answer)


def _request_record(request_id: bytes, response: Any) -> RequestRecord:
    return RequestRecord(request_id=uuid.UUID(bytes=request_id), answer=encode_entity(response))


def _deadline(request: Any, now_ms: int) -> int | None:
    """Requests on topics bring how long their client waits."""
    timeout = getattr(request, "timeout", None)
    return None if timeout is None else now_ms + max(0, int(timeout.total_seconds() * 1000))


def _append(reign: Reign, draft: Draft) -> tuple[Reign, list[Effect]]:
    """Propose the draft's records as one batch; nothing where there are none."""
    if not draft.records:
        return reign, []
    propose = Propose(reign.epoch, reign.end_offset, draft.encoded(), draft.change())
    return replace(reign, end_offset=draft.next_offset, speculative=draft.image), [propose]


# --- proofs -------------------------------------------------------------------------------


def _commit(reign: Reign, end_offset: int, image: Image) -> tuple[Reign, list[Effect]]:
    if end_offset <= reign.committed.end_offset:
        return reign, []
    reign = replace(reign, committed=Committed(image, end_offset))
    if end_offset == reign.end_offset:
        # Equal to what we have, and shared with those who read it.
        reign = replace(reign, speculative=image)
    return _answer_proved(reign, sorted(reign.pending))


def _barrier(reign: Reign, token: Token, confirmed: bool) -> tuple[Reign, list[Effect]]:
    pending = reign.pending.get(token)
    if pending is None:
        return reign, []
    if not confirmed:
        reign = replace(reign, pending=reign.pending.delete(token))
        return reign, [_lost(token, pending)]
    pending = replace(pending, barrier=False)
    return _answer_proved(replace(reign, pending=reign.pending.set(token, pending)), [token])


def _answer_proved(reign: Reign, tokens: list[Token]) -> tuple[Reign, list[Effect]]:
    """Answer those of the pending requests whose proof is complete."""
    effects: list[Effect] = []
    committed = reign.committed
    for token in tokens:
        pending = reign.pending[token]
        if pending.barrier or pending.as_of > committed.end_offset:
            continue
        response = pending.response
        if response is None:
            response = reads.read_topics(
                committed.image, pending.request, reign.epoch, committed.end_offset
            )
        effects.append(Answer(token, response))
        reign = replace(reign, pending=reign.pending.delete(token))
    return reign, effects


# --- time ---------------------------------------------------------------------------------


def _due(config: ControllerConfig, reign: Reign, now_ms: int) -> tuple[Reign, list[Effect]]:
    """What comes before anything else: the feature level that is to be finalized, leases, and
    what is to be moved off brokers that shut down."""
    finalized: list[Effect] = []
    if features.behind(config, reign.speculative):
        draft = Draft(reign.speculative, reign.end_offset)
        features.finalize(draft, config)
        reign, finalized = _append(reign, draft)
    reign, expired = _expire_leases(config, reign, now_ms)
    reign, moved = _move_on(reign)
    return reign, finalized + expired + moved


def _move_on(reign: Reign) -> tuple[Reign, list[Effect]]:
    """Controlled shutdowns that are not through: the next part of each, a batch of its own."""
    effects: list[Effect] = []
    for broker_id in reign.members.moving():
        draft = Draft(reign.speculative, reign.end_offset)
        members = membership.move_off(draft, reign.members, broker_id)
        reign, proposed = _append(replace(reign, members=members), draft)
        effects += proposed
    return reign, effects


def _expire_leases(
    config: ControllerConfig, reign: Reign, now_ms: int
) -> tuple[Reign, list[Effect]]:
    """Fence the brokers whose leases are over, each in a batch of its own."""
    effects: list[Effect] = []
    for broker_id in membership.expired(reign.members, now_ms):
        draft = Draft(reign.speculative, reign.end_offset)
        members = membership.expire(draft, reign.members, broker_id)
        reign, proposed = _append(replace(reign, members=members), draft)
        effects += proposed
    return reign, effects


def _time_out(reign: Reign, now_ms: int) -> tuple[Reign, list[Effect]]:
    """Answer the requests whose clients wait no longer."""
    effects: list[Effect] = []
    for token in sorted(reign.pending):
        pending = reign.pending[token]
        if pending.deadline_ms is not None and pending.deadline_ms <= now_ms:
            effects.append(_lost(token, pending))
            reign = replace(reign, pending=reign.pending.delete(token))
    return reign, effects
