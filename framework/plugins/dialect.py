"""A system's own way to speak a protocol that others speak, too: what clients must be told.

Clients of a protocol know its common messages. What one system says otherwise, or alone, comes
from its adapter in this form, so that neither imports the other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from framework.history.event import Invocation
from framework.plugins.outcomes import Answer, OutcomeTable

Request = TypeVar("Request")
Response = TypeVar("Response")


class UnexpectedResponse(Exception):
    """An answer is well-formed, but is about something else than the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange(Generic[Request, Response]):
    """One kind of operation as a message and its answer. `at`: the role of the nodes that are
    asked. `answer` may raise `UnexpectedResponse`. `forwarded`: they ask others on the client's
    behalf, perhaps more than once."""

    at: str
    request: Callable[[Invocation], Request]
    answer: Callable[[Invocation, Response], Answer]
    forwarded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """`exchanges`: by the f of operations. `messages`: types of requests that only this system
    knows, with the types of their responses. `watermark_first`: an answer to a fetch tells the
    high watermark as it was before its records were read, so that it may hold some above it."""

    outcomes: OutcomeTable
    watermark_first: bool = False
    exchanges: Mapping[str, Exchange[Any, Any]] = field(default_factory=dict)
    messages: Mapping[type[Any], type[Any]] = field(default_factory=dict)
