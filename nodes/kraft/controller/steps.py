"""Inputs and effects of the controller core: `step(state, event, now_ms)` in `core.py`.

Every answer leaves with proof that this controller still led after the question came: either
its own records committed, or a read barrier (`Confirm`) passed and the state that the answer
rests on committed. So no deposed controller can tell a client something stale, success or
refusal alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from kio.static.protocol import ResponsePayload

from nodes.kraft.ids import LeaderEpoch, Offset
from nodes.kraft.metadata.change import Change
from nodes.kraft.metadata.image import Image
from nodes.kraft.security.authorizer import Requester

if TYPE_CHECKING:
    from nodes.kraft.wire.requests import DecidedRequest

NOTHING: Final = Offset(0)
Token: TypeAlias = int
Fields: TypeAlias = dict[str, object]
"""Of an event, in JSON's types."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Raft says that we lead `epoch`. `image` holds all records below `end_offset`, and that
    is the end of the log. All registered brokers get a full fresh lease from now (A.7.6)."""

    epoch: LeaderEpoch
    end_offset: Offset
    image: Image


@dataclass(frozen=True, slots=True)
class Renounce:
    """We lead no longer. Pending answers: REQUEST_TIMED_OUT (7) where records of theirs were
    appended, NOT_CONTROLLER (41) where none were (A.7.17)."""


@dataclass(frozen=True, slots=True)
class ControllerRequest:
    """A request from the control listener, or a forwarded one, as a kio entity. Set on forwarded
    ones: `request_id`, the same on each retry, and `requester`, the client who is judged. Without
    one the sender may do everything."""

    token: Token
    request: DecidedRequest
    request_id: bytes | None = None
    requester: Requester | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """All records below `end_offset` are committed; `image` is the state that they make."""

    end_offset: Offset
    image: Image


@dataclass(frozen=True, slots=True)
class BarrierPassed:
    """Proof of leadership for `Confirm(token)`; `confirmed` False: we do not lead."""

    token: Token
    confirmed: bool


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed: leases, request time-outs. Due at `deadline_ms(state)`."""


@dataclass(frozen=True, slots=True)
class Snapshots:
    """How this node's own snapshots stand, active or not: the newest one's end offset (0: none),
    and whether one is being written."""

    end_offset: Offset
    writing: bool


Input: TypeAlias = Claim | Renounce | ControllerRequest | Commit | BarrierPassed | Tick | Snapshots


@dataclass(frozen=True, slots=True)
class Propose:
    """Append these records (encoded with their frame) as one atomic batch, at the log's end.
    `change`: the same records as they were before they were encoded, and what they make."""

    epoch: LeaderEpoch
    base_offset: Offset
    records: tuple[bytes, ...]
    change: Change | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Confirm:
    """Ask Raft for a read barrier; `BarrierPassed(token, ...)` follows."""

    token: Token


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer a request with a kio entity. Below `end_offset` is all that was recorded for it, now
    or for an earlier attempt; 0: nothing was."""

    token: Token
    response: ResponsePayload
    end_offset: Offset = NOTHING


@dataclass(frozen=True, slots=True)
class Decided:
    """For the event log, not for control: what was decided, on which state. `source` holds the
    epochs that the request carried, `verdict` the error code (0: accepted, of a batch at least
    in part), `records` the offsets of the records appended for it, `as_of` the end of the log
    that it was decided on. `items`: of a batch, each of its parts with its own code."""

    token: Token
    api: str
    source: Fields
    verdict: int
    as_of: Offset
    records: tuple[Offset, ...]
    items: tuple[Fields, ...] = ()


@dataclass(frozen=True, slots=True)
class Resign:
    """Give up the leadership of the quorum; `Renounce` follows."""

    why: str


@dataclass(frozen=True, slots=True)
class StartSnapshot:
    """Take a snapshot; `Snapshots` follows when it is written."""


Effect: TypeAlias = Propose | Confirm | Answer | Decided | Resign | StartSnapshot
