"""What a system's answers mean for a history: ok, fail or info.

`fail` says that the operation certainly had no effect and never will have one; `info` that
nobody knows. Each system owns its table; clients look up every answer, and every silence, there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from framework.history.event import Completion, CompletionType, Invocation, Json

CONNECTION_FAILED: Final = "CONNECTION_FAILED"
"""No connection, or it broke before the first byte of the request was handed over."""
CONNECTION_LOST: Final = "CONNECTION_LOST"
"""The connection broke after the request, or some of it, was sent."""
CLIENT_TIMED_OUT: Final = "CLIENT_TIMED_OUT"
"""Sent, and not answered before the client's deadline."""
MALFORMED_RESPONSE: Final = "MALFORMED_RESPONSE"
"""Answered with bytes that are no response to the request."""
NO_CLIENT: Final = "NO_CLIENT"
"""Nobody was asked: the process could open no client."""
SILENCE: Final = frozenset({CLIENT_TIMED_OUT, CONNECTION_FAILED, CONNECTION_LOST})
"""A node was asked, and none answered."""
OF_NO_NODE: Final = SILENCE | {NO_CLIENT}
"""Codes that no node gave."""

PRESENT: Final = "present"
ABSENT: Final = "absent"
"""A refusal saw that the object is there, or that it is not."""
STALE: Final = "stale"
"""A refusal of whoever asks: his epoch is over."""
OUT_OF_RANGE: Final = "out-of-range"
"""A refusal of a place from which to read, for nothing is there, or nothing any more; or of a
feature's level that some node does not know."""
NEEDLESS: Final = "needless"
"""A refusal of what is so already."""
OF_THE_ASKER: Final = frozenset({STALE, OUT_OF_RANGE})
"""They say what is wrong with the request; others, how the object is."""


@dataclass(frozen=True, slots=True)
class Ok:
    """An answer: it was done. `value` and `ext` are those of the completion."""

    value: Json
    ext: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """An answer: it was not, or perhaps not, done. `code`: why, in the system's spelling."""

    code: str
    message: str = ""


Answer: TypeAlias = Ok | Refused


@dataclass(frozen=True, slots=True)
class Failure:
    """How an operation without a result completes. `asserts`: what it saw all the same; of an
    info, perhaps what it did itself."""

    type: CompletionType
    error: tuple[str, str]
    asserts: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeTable:
    """What each answer of one system means.

    `fails`: codes of refusals without effect; every other one is info. `asserts`: (f, code) of
    refusals that are observations, and what they saw, in words that systems share (`PRESENT`, ...)
    or that those who read them agree upon: clients of all systems, and checkers, know no codes.
    `reads`: the f of operations that have no effect: without a result they are fail. `doubtful`:
    (f, code) of refusals that may come after the effect of an operation of that kind, though the
    code is among `fails`.

    `tags_retries`: every attempt of a request carries the id of the one request, and is told
    what the first one did. Without that a request that may have been sent again, by the client
    or by whoever forwards it, may be refused for what its own first attempt did: a create is
    told that the topic exists, a delete that there is none. So then only codes in `static` are
    fail: they refuse what the request says, and refused each attempt alike.
    """

    fails: frozenset[str]
    asserts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    reads: frozenset[str] = frozenset()
    tags_retries: bool = True
    static: frozenset[str] = frozenset()
    doubtful: frozenset[tuple[str, str]] = frozenset()

    def refused(self, f: str, answer: Refused, *, retried: bool) -> Failure:
        """The completion of operation `f` that was answered so. `retried`: another attempt of
        it may have been made before the one that was answered."""
        masked = retried and not self.tags_retries and answer.code not in self.static
        doubtful = masked or (f, answer.code) in self.doubtful
        fails = f in self.reads or (answer.code in self.fails and not doubtful)
        error = (answer.code, answer.message)
        return Failure("fail" if fails else "info", error, self.asserts.get((f, answer.code)))

    def unanswered(self, f: str, code: str, message: str, *, sent: bool) -> Failure:
        """The completion of operation `f` that got no answer. `sent`: some of it was."""
        return Failure("info" if sent and f not in self.reads else "fail", (code, message))


def completion(op: Invocation, result: Ok | Failure, node: str | None) -> Completion:
    """The event that ends `op`, which was asked of `node`."""
    if isinstance(result, Ok):
        return op.completed("ok", result.value, node=node, ext=result.ext)
    ext = {"asserts": result.asserts} if result.asserts is not None else None
    return op.completed(result.type, error=result.error, node=node, ext=ext)
