"""Forwarding: a broker carries its clients' administrative requests to the active controller.

Changes of the controller are absorbed here, for clients are bad at them (B.9.3): as long as
there is time, another attempt follows one that met no controller (41), or one that lost its
leadership meanwhile (7). One request id goes with every attempt of one client request, so that
a retry is told what the first attempt did, if it took effect (B.9.4). What is told to the client
is never more than is known: once an attempt's fate is unknown, a refusal of a later attempt does
not say that the first had no effect, so the client hears REQUEST_TIMED_OUT.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import tenacity
from kio.schema.envelope.v0.request import EnvelopeRequest
from kio.schema.envelope.v0.response import EnvelopeResponse
from kio.schema.errors import ErrorCode
from kio.static.protocol import RequestPayload, ResponsePayload

from nodes.kraft.config import Config
from nodes.kraft.ids import Offset
from nodes.kraft.net.channel import Channel, FateUnknown, NotSent, to_controller
from nodes.kraft.security.authorizer import Requester
from nodes.kraft.security.principal import Principal
from nodes.kraft.wire.codec import decode_response, encode_entity, encode_request
from nodes.kraft.wire.codes import codes
from nodes.kraft.wire.forwarding import ForwardedPrincipal, end_in, packed_host

log: Final = logging.getLogger(__name__)

_FLEETING: Final = frozenset({ErrorCode.not_controller, ErrorCode.request_timed_out})
"""Errors that say nothing of the request, but that its controller is none, or is none now."""

UNKNOWN: Final = -1
"""No leader is known: there may be an election, and the old leader may answer yet."""

RETRY_S: Final = 0.05
"""How long to wait before the next attempt, and how often to look who leads."""

MAX_UNDER_WAY: Final = 32
"""Requests at one time, each on a connection of its own: a flood of clients' must take neither
the controller's connections nor its queue from heartbeats and votes (KIP-291, D.17)."""


@dataclass(frozen=True, slots=True)
class Forwarded:
    """What became of a forwarded request.

    `response` None: there was none in time; `unknown` then says whether an attempt may have taken,
    or may yet take, effect. With a response, `unknown` says that an earlier attempt's fate is
    unknown. Below `end_offset` is all that was recorded for the request; 0: nothing was.
    """

    response: ResponsePayload | None
    unknown: bool
    end_offset: Offset


class Forwarder:
    """Sends requests to whoever leads; a few connections to each controller, as needed."""

    def __init__(self, config: Config, leader_id: Callable[[], int]) -> None:
        self._config = config
        self._leader_id = leader_id
        self._idle: dict[int, list[Channel]] = {}
        self._refused: set[int] = set()
        self._places = asyncio.Semaphore(MAX_UNDER_WAY)

    async def forward(
        self,
        request: RequestPayload,
        timeout_s: float,
        requester: Requester | None = None,
    ) -> Forwarded:
        """Make attempts until one is answered, or the time is over. `requester`: the client, as
        whom the request is judged; None: this broker."""
        request_id = uuid.uuid4()
        principal = requester.principal if requester is not None else Principal("", "")
        envelope = EnvelopeRequest(
            request_data=encode_request(request, correlation_id=0, client_id=self._config.name),
            request_principal=encode_entity(
                ForwardedPrincipal(type=principal.type, name=principal.name, request_id=request_id)
            ),
            client_host_address=packed_host(requester.host) if requester is not None else b"",
        )
        deadline = asyncio.get_running_loop().time() + timeout_s
        unknown = False

        async def attempt() -> tuple[ResponsePayload, Offset] | None:
            """The answer; None: another attempt may get one."""
            nonlocal unknown
            left_s = deadline - asyncio.get_running_loop().time()
            try:
                answer = await self._attempt(self._leader_id(), envelope, request, left_s)
            except NotSent:
                return None
            except FateUnknown as error:
                log.debug("forwarding %s: %s", request_id, error)
                unknown = True
                return None
            if answer is None:
                return None
            fleeting = _FLEETING.intersection(codes(answer[0]))
            unknown |= ErrorCode.request_timed_out in fleeting
            return None if fleeting else answer

        attempts = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_result(lambda answer: answer is None),
            stop=tenacity.stop_before_delay(timeout_s),
            wait=tenacity.wait_fixed(RETRY_S),
            retry_error_callback=lambda _: None,
        )
        answer: tuple[ResponsePayload, Offset] | None = await attempts(attempt)
        if answer is None:
            return Forwarded(None, unknown, Offset(0))
        return Forwarded(answer[0], unknown, answer[1])

    async def _attempt(
        self, leader: int, envelope: EnvelopeRequest, request: RequestPayload, left_s: float
    ) -> tuple[ResponsePayload, Offset] | None:
        """The controller's answer, and the end of what it recorded; None: this is no controller, or
        none is known. Raises `NotSent`, `FateUnknown`."""
        if leader < 0:
            return None
        try:
            async with asyncio.timeout(left_s) as waiting:
                await self._places.acquire()
        except TimeoutError:
            raise NotSent("too many requests are under way") from None
        idle = self._idle.setdefault(leader, [])
        channel = idle.pop() if idle else self._connect(leader)
        try:
            due = waiting.when() or 0.0
            left_s = due - asyncio.get_running_loop().time()
            answer = await self._answer(channel, envelope, leader, left_s)
        finally:
            idle.append(channel)
            self._places.release()
        if answer.error_code != ErrorCode.none or answer.response_data is None:
            self._note_refusal(leader, answer.error_code)
            return None
        self._refused.discard(leader)
        data = answer.response_data
        return decode_response(request.__api_key__, request.__version__, data)[1], end_in(data)

    async def _answer(
        self, channel: Channel, envelope: EnvelopeRequest, leader: int, left_s: float
    ) -> EnvelopeResponse:
        """Wait as long as that controller is the one that leads: one that is merely slow would
        become slower by further attempts, and one that is gone is soon known to be."""
        call = asyncio.ensure_future(channel.call(envelope, left_s))
        try:
            while not (await asyncio.wait({call}, timeout=RETRY_S))[0]:
                if self._leader_id() not in (leader, UNKNOWN):
                    raise FateUnknown(f"controller {leader} leads no longer")
            return call.result()
        finally:
            call.cancel()

    def _note_refusal(self, leader: int, code: ErrorCode) -> None:
        """One line for a controller that takes no envelopes of ours, not one an attempt."""
        if code != ErrorCode.not_controller and leader not in self._refused:
            self._refused.add(leader)
            log.warning("controller %d refuses what is forwarded: %s", leader, code.name)

    def _connect(self, leader: int) -> Channel:
        return to_controller(self._config, leader)

    def close(self) -> None:
        for idle in self._idle.values():
            for channel in idle:
                channel.close()
