"""Registers whose every write writes a new value: decided in O(n log n), whatever is pending.

With unique values it is known who wrote what somebody read. A value's write and its reads form a
block, and a cas a -> b puts the block of b directly after that of a; so blocks join into chains
whose inner order is fixed. A chain must come before another if one of its operations returned
before one of the other's was invoked. With f = the first return and m = the last invocation of a
chain, two chains exclude each other iff f1 < m2 and f2 < m1, and longer cycles always contain
such a pair (Gibbons & Korach 1997; zones as in Golab, Li & Shah 2011).

A pending operation took effect if its value was seen, directly or through a cas that took effect;
else it is left out, which changes nothing. A failed cas is not placed: its histories can be
refuted here but not accepted.
"""

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import Final

from checkers.linearizability.levels import Call
from checkers.linearizability.model import Action
from framework.history.pairing import Operation

INITIALLY: Final = -1


@dataclass(slots=True)
class _Block:
    """A value's writer (None: it was there initially), readers, and the cas that replaced it."""

    writer: Operation | None = None
    follows: Hashable | None = None
    """The value that the writer, a cas, replaced."""
    by_cas: bool = False
    readers: list[Operation] = field(default_factory=list)
    successors: list[Hashable] = field(default_factory=list)


@dataclass(slots=True)
class _Chain:
    operations: list[Operation]
    first_return: float
    first: Operation | None
    last_call: float
    last: Operation | None

    @property
    def is_forward(self) -> bool:
        return self.first_return < self.last_call


class Clash(Exception):
    """No order exists. The argument is the operations that show it."""

    def __init__(self, *operations: Operation | None) -> None:
        super().__init__()
        self.operations = [operation for operation in operations if operation is not None]


def applies(calls: Sequence[Call], initial: Hashable) -> bool:
    """Whether every value is written once at most, and the initial one never."""
    written = [_written(action) for _, action in calls if action.kind in ("write", "cas")]
    return len(set(written)) == len(written) and initial not in written


def order_of(calls: Sequence[Call], initial: Hashable, until: float = inf) -> list[Operation]:
    """A legal order of what completed before the event `until`. Raises `Clash`.

    For calls to which `applies`. Operations that complete later may be in the order or not.
    """
    blocks = _blocks(calls, initial, until)
    chains = _chains(blocks, initial, until)
    _no_clash(chains)
    chains.sort(key=lambda chain: min(chain.first_return, chain.last_call))
    return [operation for chain in chains for operation in chain.operations]


def earliest_clash(calls: Sequence[Call], initial: Hashable) -> tuple[Operation, list[Operation]]:
    """The first completion that no order explains, and what shows it. There must be one."""
    ended = sorted(
        (operation for operation, _ in calls if operation.type != "info"),
        key=lambda operation: _return(operation, inf),
    )

    def clashes(count: int) -> bool:
        try:
            order_of(calls, initial, _return(ended[count], inf) + 1)
        except Clash:
            return True
        return False

    culprit = ended[bisect_left(range(len(ended)), True, key=clashes)]
    try:
        order_of(calls, initial, _return(culprit, inf) + 1)
    except Clash as clash:
        return culprit, clash.operations
    raise AssertionError("there is no clash")


def _blocks(calls: Sequence[Call], initial: Hashable, until: float) -> dict[Hashable, _Block]:
    """The blocks of all values that were in force. Raises `Clash` for one without a writer."""
    writers: dict[Hashable, Call] = {}
    blocks: dict[Hashable, _Block] = {initial: _Block()}
    sought: list[tuple[Hashable, Operation]] = []
    for operation, action in calls:
        if operation.op >= until:
            break
        has_ended = _return(operation, until) < until
        if action.kind in ("write", "cas"):
            writers[_written(action)] = (operation, action)
            if has_ended:
                sought.append((_written(action), operation))
        elif action.kind == "read" and has_ended:
            blocks.setdefault(action.value, _Block()).readers.append(operation)
            sought.append((action.value, operation))
    placed: set[Hashable] = {initial}
    while sought:
        value, seeker = sought.pop()
        if value in placed:
            continue
        placed.add(value)
        if value not in writers:
            raise Clash(seeker)
        block = blocks.setdefault(value, _Block())
        block.writer, action = writers[value]
        if action.kind == "cas":
            block.by_cas, block.follows = True, action.value[0]
            blocks.setdefault(block.follows, _Block()).successors.append(value)
            sought.append((block.follows, block.writer))
    return blocks


def _chains(blocks: dict[Hashable, _Block], initial: Hashable, until: float) -> list[_Chain]:
    """Raises `Clash` for a value replaced twice, a cycle, or a chain against real time."""
    chains: list[_Chain] = []
    chained = 0
    for value, block in blocks.items():
        if block.by_cas:
            continue
        chain = _Chain([], inf, None, -inf, None)
        if value == initial:
            chain.first_return = chain.last_call = INITIALLY
        at: Hashable = value
        while True:
            block = blocks[at]
            chained += 1
            if block.writer is not None:
                _append(chain, [block.writer], until)
            _append(chain, block.readers, until)
            if len(block.successors) > 1:
                raise Clash(*(blocks[after].writer for after in block.successors[:2]))
            if not block.successors:
                break
            at = block.successors[0]
        chains.append(chain)
    if chained < len(blocks):
        reached = {id(operation) for chain in chains for operation in chain.operations}
        raise Clash(
            *(b.writer for b in blocks.values() if b.writer and id(b.writer) not in reached)
        )
    return chains


def _append(chain: _Chain, group: Sequence[Operation], until: float) -> None:
    """Puts operations that come after all others of the chain, in any order among them."""
    for operation in group:
        if _return(operation, until) < chain.last_call:
            raise Clash(chain.last, operation)
    for operation in group:
        chain.operations.append(operation)
        if operation.op > chain.last_call:
            chain.last_call, chain.last = operation.op, operation
        if _return(operation, until) < chain.first_return:
            chain.first_return, chain.first = _return(operation, until), operation


def _no_clash(chains: Sequence[_Chain]) -> None:
    forward = sorted(
        (chain for chain in chains if chain.is_forward), key=lambda chain: chain.first_return
    )
    for one, other in pairwise(forward):
        if other.first_return < one.last_call:
            raise Clash(one.first, one.last, other.first, other.last)
    starts = [chain.first_return for chain in forward]
    for chain in chains:
        if chain.is_forward:
            continue
        before = bisect_left(starts, chain.last_call) - 1
        if before >= 0 and chain.first_return < forward[before].last_call:
            around = forward[before]
            raise Clash(around.first, around.last, chain.first, chain.last)


def _written(action: Action) -> Hashable:
    value: Hashable = action.value if action.kind == "write" else action.value[1]
    return value


def _return(operation: Operation, until: float) -> float:
    """The event of its completion; never if it is pending, or completes at `until` or later."""
    if operation.type == "info" or operation.end is None or operation.end >= until:
        return inf
    return operation.end
