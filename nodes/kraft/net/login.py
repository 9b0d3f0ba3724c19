"""A client's side of a login over SASL, whoever carries the requests (KIP-43, KIP-152)."""

from collections.abc import Generator

from kio.schema.errors import ErrorCode
from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest
from kio.schema.sasl_authenticate.v2.response import SaslAuthenticateResponse
from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest
from kio.schema.sasl_handshake.v1.response import SaslHandshakeResponse
from kio.static.protocol import ResponsePayload

from nodes.kraft.security.sasl import Login, client_tokens
from nodes.kraft.security.scram import AuthenticationFailed

SaslRequests = Generator[SaslHandshakeRequest | SaslAuthenticateRequest, ResponsePayload, None]


def login_requests(login: Login) -> SaslRequests:
    """Each request is yielded, and the response to it is sent in. Raises `AuthenticationFailed`,
    also where the server does not prove that it knows the password."""
    answer = yield SaslHandshakeRequest(mechanism=login.mechanism)
    assert isinstance(answer, SaslHandshakeResponse)
    _check(answer, f"{login.mechanism}: {', '.join(answer.mechanisms)} would do")
    tokens = client_tokens(login)
    token = next(tokens)
    while True:
        answer = yield SaslAuthenticateRequest(auth_bytes=token)
        assert isinstance(answer, SaslAuthenticateResponse)
        _check(answer, f"{login.mechanism} as {login.username}")
        try:
            token = tokens.send(answer.auth_bytes)
        except StopIteration:
            return


def _check(answer: SaslHandshakeResponse | SaslAuthenticateResponse, what: str) -> None:
    if answer.error_code != ErrorCode.none:
        raise AuthenticationFailed(f"{answer.error_code.name}: {what}")
