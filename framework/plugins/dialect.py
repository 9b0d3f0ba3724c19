"""A system's own way to speak a protocol that others speak, too: what clients must be told.

Clients of a protocol know its common messages. What one system says otherwise, or alone, comes
from its adapter in this form, so that neither imports the other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from framework.history.event import Invocation
from framework.plugins.outcomes import Answer, OutcomeTable
from framework.plugins.system import Cluster

Request = TypeVar("Request")
Response = TypeVar("Response")


class UnexpectedResponse(Exception):
    """An answer is well-formed, but is about something else than the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Further(Generic[Request]):
    """What has to be asked before an operation is answered. `elsewhere`: of the next node of the
    role; `pause_s`: not at once."""

    request: Request
    elsewhere: bool = False
    pause_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange(Generic[Request, Response]):
    """One kind of operation as a message and its answer. `at`: the role of the nodes that are
    asked. `answer` may raise `UnexpectedResponse`. `forwarded`: they ask others on the client's
    behalf, perhaps more than once. `then`: what to ask after such a response, or None: it can be
    answered. It may raise as `answer`."""

    at: str
    request: Callable[[Invocation], Request]
    answer: Callable[[Invocation, Response], Answer]
    forwarded: bool = False
    then: Callable[[Response], Further[Request] | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Leadership(Generic[Request, Response]):
    """How to know the active controller before it is asked for what may have an effect, where a
    refusal of another one would not be certain. `request` has none itself; `shown`: whether a
    response to it is the active one's."""

    request: Request
    shown: Callable[[Response], bool]


AnyExchange: TypeAlias = Exchange[Any, Any]
"""One of a table of them: whoever asks gives `answer` the response to its own `request`."""
Exchanges: TypeAlias = Mapping[str, AnyExchange]
"""By the f of operations."""
AnyLeadership: TypeAlias = Leadership[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """`exchanges`: of every client. `of_client`: further ones, made for each client of a cluster:
    they may know that, and remember what they were answered. `of_observer`: likewise, for the one
    who asks one node. `messages`: types of requests that
    only this system knows, with the types of their responses. `watermark_first`: an answer to a
    fetch tells the high watermark as it was before its records were read, so that it may hold some
    above it. `leadership`: asked for by who writes to controllers; None: their refusals will do."""

    outcomes: OutcomeTable
    watermark_first: bool = False
    exchanges: Exchanges = field(default_factory=dict)
    of_client: Callable[[Cluster], Exchanges] = lambda _: {}
    of_observer: Callable[[Cluster], Exchanges] = lambda _: {}
    messages: Mapping[type, type] = field(default_factory=dict)
    leadership: AnyLeadership | None = None
