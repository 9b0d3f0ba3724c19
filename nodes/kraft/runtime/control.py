"""The controller's side of a node: what comes in on the control listener, and what is done."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kio.schema.envelope.v0.request import EnvelopeRequest
from kio.schema.envelope.v0.response import EnvelopeResponse
from kio.schema.errors import ErrorCode
from kio.static.protocol import RequestPayload, ResponsePayload

from nodes.kraft.controller import admin, core, steps
from nodes.kraft.controller.answers import refused
from nodes.kraft.ids import LeaderEpoch, Offset
from nodes.kraft.metadata.image import Image
from nodes.kraft.net.listener import RequestContext
from nodes.kraft.raft import steps as raft
from nodes.kraft.runtime.clock import now_ms
from nodes.kraft.runtime.replica import Replica, Watcher
from nodes.kraft.security.authorizer import CLUSTER_NAME, Operation, Requester, ResourceType
from nodes.kraft.security.principal import Principal
from nodes.kraft.wire.api_keys import DESCRIBE_QUORUM, UNREGISTER_BROKER
from nodes.kraft.wire.codec import decode_entity, decode_request, encode_response
from nodes.kraft.wire.codes import first_error, item_codes
from nodes.kraft.wire.forwarding import ForwardedPrincipal, host_of, with_end

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from nodes.kraft.wire.requests import DecidedRequest, DescribeQuorumRequest, ForwardedRequest

log: Final = logging.getLogger(__name__)

FORWARDABLE: Final = frozenset({*admin.APIS, DESCRIBE_QUORUM, UNREGISTER_BROKER})
"""Api keys that a broker may forward in an Envelope."""


def _forwardable(request: RequestPayload) -> TypeIs[ForwardedRequest]:
    return request.__api_key__ in FORWARDABLE


class ControlPlane(Watcher):
    """Runs the controller core on top of the replica."""

    def __init__(
        self,
        config: core.ControllerConfig,
        *,
        emit: Callable[..., None],
        changed: Callable[[], None],
    ) -> None:
        self.state = core.initial(config, now_ms())
        self.replica: Replica | None = None
        self.start_snapshot: Callable[[], None] = lambda: None
        self._emit = emit
        self._changed = changed
        self._waiting: dict[
            int, tuple[DecidedRequest, str | None, Callable[[steps.Answer], None]]
        ] = {}

    @property
    def active_epoch(self) -> LeaderEpoch | None:
        """The epoch in which this node is the active controller; None: it is not."""
        return core.active_epoch(self.state)

    def deadline_ms(self) -> int | None:
        return core.deadline_ms(self.state)

    def tick(self) -> None:
        self.feed(steps.Tick())

    # --- from the replica -----------------------------------------------------------------

    def committed(self, end_offset: Offset, image: Image) -> None:
        self.feed(steps.Commit(end_offset, image))

    def claimed(self, epoch: LeaderEpoch, end_offset: Offset, image: Image) -> None:
        log.info("active controller of epoch %d", epoch)
        self.feed(steps.Claim(epoch, end_offset, image))

    def renounced(self) -> None:
        log.info("no longer the active controller")
        self.feed(steps.Renounce())

    def confirmed(self, token: int, confirmed: bool) -> None:
        self.feed(steps.BarrierPassed(token, confirmed))

    # --- from the control listener --------------------------------------------------------

    def authorized(self, context: RequestContext[RequestPayload]) -> bool:
        """Whether the sender has CLUSTER_ACTION on the cluster, which every operation on a
        controller needs (A.1.19). If not it is answered, and nothing else is to happen."""
        assert self.replica is not None
        requester = Requester(context.principal, context.host)
        if self._allows(requester, Operation.CLUSTER_ACTION):
            return True
        log.warning(
            "%s: %s from %s (%s) without CLUSTER_ACTION on the cluster",
            context.listener,
            type(context.request).__name__,
            context.principal,
            context.peer,
        )
        context.answer(refused(context.request, ErrorCode.cluster_authorization_failed))
        return False

    def _allows(self, requester: Requester | None, operation: Operation) -> bool:
        """On the cluster, by the committed rules."""
        assert self.replica is not None
        return requester is None or self.state.config.authorizer.allows(
            self.replica.image,
            requester.principal,
            requester.host,
            operation,
            ResourceType.CLUSTER,
            CLUSTER_NAME,
        )

    def ask(
        self,
        request: DecidedRequest,
        answer: Callable[[ResponsePayload], None],
        requester: Requester | None = None,
    ) -> None:
        """A request for the active controller. `answer` is called once, now or later."""
        self._ask(request, lambda told: answer(told.response), requester)

    def _ask(
        self,
        request: DecidedRequest,
        answer: Callable[[steps.Answer], None],
        requester: Requester | None,
        request_id: bytes | None = None,
    ) -> None:
        assert self.replica is not None
        token = self.replica.next_token()
        self._waiting[token] = (request, request_id.hex() if request_id else None, answer)
        try:
            self.feed(steps.ControllerRequest(token, request, request_id, requester))
        except Exception:
            self._waiting.pop(token, None)
            raise

    def envelope(self, context: RequestContext[RequestPayload], envelope: EnvelopeRequest) -> None:
        """A request that a broker forwards, with its id (B.9.4). It is judged as the client who
        sent it to the broker, whom the envelope names."""
        try:
            principal = decode_entity(ForwardedPrincipal, envelope.request_principal or b"")
            header, request = decode_request(envelope.request_data)
            requester = _asker(principal, envelope.client_host_address)
        except Exception as error:  # whatever a decoder makes of a stranger's bytes
            log.warning("envelope from %s: %s", context.peer, error)
            context.answer(EnvelopeResponse(error_code=ErrorCode.invalid_request))
            return
        if not _forwardable(request) or principal.request_id is None:
            context.answer(EnvelopeResponse(error_code=ErrorCode.invalid_request))
            return

        def answer(response: ResponsePayload, end_offset: Offset = steps.NOTHING) -> None:
            try:
                data = encode_response(response, correlation_id=header.correlation_id)
            except Exception:
                log.exception("answer to %s cannot be written", context.peer)
                context.answer(None)
            else:
                data = with_end(data, end_offset)
                context.answer(EnvelopeResponse(error_code=ErrorCode.none, response_data=data))

        def decided(told: steps.Answer) -> None:
            answer(told.response, told.end_offset)

        if not DESCRIBE_QUORUM.of(request):
            self._ask(request, decided, requester, principal.request_id.bytes)
        elif self._allows(requester, Operation.DESCRIBE):
            self._describe_quorum(context, request, answer)
        else:
            answer(refused(request, ErrorCode.cluster_authorization_failed))

    def _describe_quorum(
        self,
        context: RequestContext[RequestPayload],
        request: DescribeQuorumRequest,
        answer: Callable[[ResponsePayload], None],
    ) -> None:
        assert self.replica is not None
        if self.replica.leads:
            answer(self.replica.describe_quorum(request))
        else:
            context.answer(EnvelopeResponse(error_code=ErrorCode.not_controller))

    # --- the core -------------------------------------------------------------------------

    def feed(self, event: steps.Input) -> None:
        assert self.replica is not None
        self.state, effects = core.step(self.state, event, now_ms())
        try:
            for effect in effects:
                self._carry_out(effect)
        except Exception as error:
            # The core takes them all for carried out: what it holds is true no more.
            self.replica.fail(f"{type(error).__name__}: {error}")
            raise
        self._changed()

    def _carry_out(self, effect: steps.Effect) -> None:
        assert self.replica is not None
        match effect:
            case steps.Propose(epoch, base_offset, records, change):
                self.replica.propose(epoch, base_offset, records, change)
            case steps.Confirm(token):
                self.replica.feed(raft.Confirm(token))
            case steps.Answer():
                self._answer(effect)
            case steps.Decided():
                self._decided(effect)
            case steps.Resign(why):
                self.replica.feed(raft.Resign(why))
            case steps.StartSnapshot():
                self.start_snapshot()

    def _answer(self, told: steps.Answer) -> None:
        assert self.replica is not None
        request, forwarded, answer = self._waiting.pop(told.token)
        self._emit(
            "answer",
            request_id=str(told.token),
            forwarded=forwarded,
            api=type(request).__name__.removesuffix("Request"),
            code=first_error(told.response),
            codes=item_codes(told.response),
            high_watermark=self.replica.state.high_watermark,
            epoch=self.replica.state.epoch,
        )
        answer(told)

    def _decided(self, effect: steps.Decided) -> None:
        assert self.replica is not None
        entry = self._waiting.get(effect.token)
        self._emit(
            "decide",
            request_id=str(effect.token),
            forwarded=entry[1] if entry else None,
            api=effect.api,
            source=effect.source,
            verdict=effect.verdict,
            as_of=effect.as_of,
            records=list(effect.records),
            items=list(effect.items),
            epoch=self.replica.state.epoch,
        )


def _asker(principal: ForwardedPrincipal, address: bytes) -> Requester | None:
    """The client who asked; None: the forwarding broker itself. Raises `ValueError`."""
    if not principal.type and not principal.name:
        return None
    return Requester(Principal(principal.type, principal.name), host_of(address))
