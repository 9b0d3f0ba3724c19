"""What a connection may send before it has proved who it is (KIP-43, KIP-152)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, TypeAlias

from kio.schema.errors import ErrorCode
from kio.schema.sasl_authenticate.v0.request import (
    SaslAuthenticateRequest as SaslAuthenticateRequest0,
)
from kio.schema.sasl_authenticate.v1.request import (
    SaslAuthenticateRequest as SaslAuthenticateRequest1,
)
from kio.schema.sasl_authenticate.v2.request import (
    SaslAuthenticateRequest as SaslAuthenticateRequest2,
)
from kio.schema.sasl_handshake.v0.request import SaslHandshakeRequest as SaslHandshakeRequest0
from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest as SaslHandshakeRequest1
from kio.static.protocol import ResponsePayload

from nodes.kraft.security.principal import ANONYMOUS, Principal
from nodes.kraft.security.sasl import SaslSettings, ServerSession
from nodes.kraft.security.scram import AuthenticationFailed
from nodes.kraft.wire.codec import response_schema

log: Final = logging.getLogger(__name__)

API_VERSIONS: Final = 18
SASL_HANDSHAKE: Final = 17
SASL_AUTHENTICATE: Final = 36
SASL_KEYS: Final = frozenset({SASL_HANDSHAKE, SASL_AUTHENTICATE})

SaslHandshakeRequest: TypeAlias = SaslHandshakeRequest0 | SaslHandshakeRequest1
SaslRequest: TypeAlias = (
    SaslHandshakeRequest
    | SaslAuthenticateRequest0
    | SaslAuthenticateRequest1
    | SaslAuthenticateRequest2
)
Schema: TypeAlias = Callable[..., ResponsePayload]


class Gate:
    """Of one connection. Without SASL settings it is open from the start.

    `failed` is set where the connection has to close once the answer is sent.
    """

    def __init__(self, settings: SaslSettings | None, principal: Principal = ANONYMOUS) -> None:
        self.principal = principal
        self.open = settings is None
        self.failed: str | None = None
        self.bare_tokens = False
        """SaslHandshake v0 was sent: tokens come in frames of their own, without headers."""
        self._settings = settings
        self._session: ServerSession | None = None

    def admits(self, api_key: int) -> bool:
        """Whether a request of that key may be looked at at all."""
        return self.open or api_key == API_VERSIONS or api_key in SASL_KEYS

    def answer(self, request: SaslRequest) -> ResponsePayload:
        """The response to SaslHandshake or SaslAuthenticate."""
        schema = response_schema(request.__api_key__, request.__version__)
        if isinstance(request, SaslHandshakeRequest0 | SaslHandshakeRequest1):
            return self._handshake(request, schema)
        if self._session is None or self.open:
            return _authenticated(schema, self._fail("no handshake", ErrorCode.illegal_sasl_state))
        try:
            token = self._step(request.auth_bytes)
        except AuthenticationFailed as error:
            code = self._fail(str(error), ErrorCode.sasl_authentication_failed)
            return _authenticated(schema, code, message="Authentication failed")
        return _authenticated(schema, ErrorCode.none, token=token)

    def token(self, token: bytes) -> bytes | None:
        """The answer to a token in a frame of its own; None: the connection has to close."""
        try:
            answer = self._step(token)
        except AuthenticationFailed as error:
            self.failed = str(error)
            return None
        self.bare_tokens = not self.open
        return answer

    def _handshake(self, request: SaslHandshakeRequest, schema: Schema) -> ResponsePayload:
        settings = self._settings
        code = ErrorCode.none
        if settings is None or self.open or self._session is not None:
            code = self._fail("a handshake out of place", ErrorCode.illegal_sasl_state)
        elif request.mechanism not in settings.mechanisms:
            why = f"mechanism {request.mechanism[:40]!r}"
            code = self._fail(why, ErrorCode.unsupported_sasl_mechanism)
        else:
            self._session = ServerSession(settings, request.mechanism)
            self.bare_tokens = request.__version__ == 0
        mechanisms = settings.mechanisms if settings is not None else ()
        return schema(error_code=code, mechanisms=mechanisms)

    def _step(self, token: bytes) -> bytes:
        assert self._session is not None
        answer = self._session.step(token)
        if self._session.principal is not None:
            self.principal, self.open = self._session.principal, True
        return answer

    def _fail(self, why: str, code: ErrorCode) -> ErrorCode:
        self.failed = why
        return code


def _authenticated(
    schema: Schema, code: ErrorCode, *, message: str | None = None, token: bytes = b""
) -> ResponsePayload:
    return schema(error_code=code, error_message=message, auth_bytes=token)
