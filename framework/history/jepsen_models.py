"""How operations of Jepsen's workloads are read, model by model. docs/checking.md explains each.

A reading takes a history's operations as they stand in the file (`index` and `end` are positions in
it, values are those of `framework.history.edn`), may change them, and gives operations as
docs/checking.md and docs/checking.md have them.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from framework.history.edn import key_of
from framework.history.event import Json, Recorded
from framework.history.pairing import Operation

Read: TypeAlias = tuple[list[Operation], list[str]]
"""The operations, and notes."""

EXTRA: Final = (":rebalance-log", ":seek-to-beginning?")
"""Fields of operations that are kept in `ext`, without colon and question mark."""


class Misread(Exception):
    """What is wrong with the operation whose invocation is at `position`."""

    def __init__(self, position: int, why: str) -> None:
        super().__init__(why)
        self.position = position


@dataclass(frozen=True, slots=True)
class Reading:
    model: str
    """The model of `check` that judges them."""
    read: Callable[[Sequence[Operation]], Read]


def shown(value: Json) -> str:
    """A value in few words."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# Keys of jepsen.independent

_TUPLES: Final = ("MapEntry", "Tuple", "tuple")
_ASK: Final = frozenset({"read", "dequeue", "drain"})
"""Operations that are invoked without a value of their own: `nil`, or `[key nil]`."""


def _keyed(operations: Sequence[Operation], fs: Sequence[str]) -> list[Operation]:
    """The operations with keys apart from values. `fs`: all that the model knows."""
    for operation in operations:
        if operation.f not in fs:
            raise Misread(
                operation.index, f":f is {shown(operation.f)}; the model knows {', '.join(fs)}"
            )
    whole = [_untagged(operation) for operation in operations]
    if not _has_keys(whole):
        return whole
    return [_split(operation) for operation in whole]


def _untagged(operation: Operation) -> Operation:
    operation.value = _tuple(operation.value)
    operation.result = _tuple(operation.result)
    return operation


def _tuple(value: Recorded) -> Recorded:
    """A tagged pair as the plain pair."""
    if type(value) is dict and len(value) == 1:
        ((tag, inner),) = value.items()
        if tag.startswith("#") and tag.endswith(_TUPLES) and _is_pair(inner):
            return inner
    return value


def _is_pair(value: Json) -> bool:
    return type(value) is list and len(value) == 2


def _has_keys(operations: Sequence[Operation]) -> bool:
    """Operations that ask tell: `nil` or `[key nil]`. Without any, a cas does."""
    asked = [operation for operation in operations if operation.f in _ASK]
    keyed = [operation for operation in asked if _is_pair(operation.value)]
    if keyed and len(keyed) < len(asked):
        bare = next(each for each in asked if not _is_pair(each.value))
        raise Misread(
            bare.index,
            f":value of the invocation is {shown(bare.value)}, where others of the file have "
            "[key value] of jepsen.independent",
        )
    if asked:
        return bool(keyed)
    reported = [operation.value for operation in operations]
    swaps = [operation.value for operation in operations if operation.f == "cas"]
    return bool(swaps) and all(map(_is_pair, reported)) and all(_is_pair(swap[1]) for swap in swaps)


def _split(operation: Operation) -> Operation:
    if not _is_pair(operation.value):
        raise Misread(
            operation.index,
            f":value of {operation.f} is {shown(operation.value)}, where others of the file have "
            "[key value] of jepsen.independent",
        )
    key, operation.value = operation.value
    operation.key, result = key, operation.result
    if result is not None:
        if not _is_pair(result) or result[0] != key:
            raise Misread(
                operation.index,
                f"completed with {shown(result)}; a completion repeats the key {shown(key)}",
            )
        operation.result = result[1]
    return operation


# Registers, sets, queues


def _takes_effect(operation: Operation) -> bool:
    """A failure says that nothing happened, and no more; a question without an answer says
    nothing either."""
    return operation.type == "ok" or (operation.type == "info" and operation.f != "read")


def _register(operations: Sequence[Operation]) -> Read:
    known = _keyed(operations, ("read", "write", "cas"))
    for operation in known:
        if operation.f == "cas" and not _is_pair(operation.value):
            raise Misread(
                operation.index, f":value of cas is {shown(operation.value)}; it must be [from to]"
            )
    return [operation for operation in known if _takes_effect(operation)], []


def _set(operations: Sequence[Operation]) -> Read:
    found = []
    for operation in _keyed(operations, ("add", "read")):
        if not _takes_effect(operation):
            continue
        if operation.f == "read":
            operation.result = _elements(operation)
        found.append(operation)
    return found, []


def _elements(operation: Operation) -> list[Json]:
    """What a read of a set or a drain of a queue gave."""
    result = operation.result
    if isinstance(result, dict) and "#set" in result:
        result = result["#set"]
    if result is None and operation.f == "drain":
        return []
    if not isinstance(result, list):
        raise Misread(
            operation.index,
            f"{operation.f} gave {shown(result)}; it must be a set, vector or list of elements",
        )
    return result


def _queue(operations: Sequence[Operation]) -> Read:
    known = _keyed(operations, ("enqueue", "dequeue", "drain"))
    pending = _unclaimed(known)
    found: list[Operation] = []
    for operation in known:
        if operation.type == "fail":
            continue
        if operation.f == "drain":
            found += _drained(operation, pending)
            continue
        if operation.f == "enqueue" and operation.value is None:
            raise Misread(operation.index, "enqueue of nil; nil is what an empty queue gives")
        found.append(operation)
    return found, []


def _unclaimed(operations: Sequence[Operation]) -> dict[str, int]:
    """By key: how many elements a drain that never told may have taken, at most."""
    left: dict[str, int] = {}
    for operation in operations:
        key = json.dumps(operation.key)
        if operation.f == "enqueue" and operation.type != "fail":
            left[key] = left.get(key, 0) + 1
        elif operation.type == "ok" and operation.result is not None:
            taken = len(_elements(operation)) if operation.f == "drain" else 1
            left[key] = left.get(key, 0) - taken
    return left


def _drained(operation: Operation, unclaimed: dict[str, int]) -> Iterator[Operation]:
    """A dequeue for each element; for a drain without an answer, one that may or may not have
    taken effect for each element that it can have taken."""
    if operation.type == "info":
        for _ in range(unclaimed.get(json.dumps(operation.key), 0)):
            yield replace(operation, f="dequeue", value=None, result=None)
        return
    for element in _elements(operation):
        yield replace(operation, f="dequeue", value=None, result=element)


# Kafka

_TRANSACTIONS: Final = frozenset({"send", "poll", "txn"})
_ASSIGNMENTS: Final = frozenset({"assign", "subscribe"})
_LEFT_ALONE: Final = frozenset({"crash", "debug-topic-partitions"})


def _kafka(operations: Sequence[Operation]) -> Read:
    found = [_of_kafka(operation) for operation in operations]
    others = {each.f for each in found} - _TRANSACTIONS - _ASSIGNMENTS - _LEFT_ALONE
    if found and not any(operation.f in _TRANSACTIONS for operation in found):
        raise Misread(
            found[0].index,
            f":f is {shown(found[0].f)}, and no operation is one of "
            f"{', '.join(sorted(_TRANSACTIONS))}: no history of Jepsen's Kafka workload",
        )
    note = f"operations that no check looks at: {', '.join(sorted(others))}"
    return found, [note] if others else []


def _of_kafka(operation: Operation) -> Operation:
    if operation.f in _TRANSACTIONS:
        return replace(
            operation,
            value=_micro_operations(operation, operation.value),
            result=_micro_operations(operation, operation.result),
            ext=_rebalances(operation),
        )
    if operation.f in _ASSIGNMENTS:
        value = _keys(operation, operation.value)
        return replace(operation, value=value, result=value, ext=_seeks(operation))
    return replace(operation, ext=None)


def _micro_operations(operation: Operation, value: Json) -> Json:
    if value is None:
        return None
    if not isinstance(value, list):
        raise Misread(
            operation.index,
            f":value of {operation.f} is {shown(value)}; it must be a vector of [:send key value] "
            "and [:poll ...]",
        )
    return [_micro_operation(operation, step) for step in value]


def _micro_operation(operation: Operation, step: Json) -> Json:
    match step:
        case [":send", key, value]:
            return ["send", _key(key), value]
        case [":poll"] | [":poll", None]:
            return ["poll"]
        case [":poll", dict() as polled] if all(map(_is_records, polled.values())):
            return ["poll", {str(_key(key_of(name))): each for name, each in polled.items()}]
    raise Misread(
        operation.index,
        f"{operation.f} has {shown(step)}; it must be [:send key value], "
        "[:send key [offset value]], [:poll] or [:poll {key [[offset value] ...]}]",
    )


def _is_records(records: Json) -> bool:
    return isinstance(records, list) and all(map(_is_pair, records))


def _key(key: Json) -> int | str:
    return key if isinstance(key, int | str) and not isinstance(key, bool) else json.dumps(key)


def _keys(operation: Operation, value: Json) -> Json:
    if isinstance(value, dict) and "#set" in value:
        value = value["#set"]
    if value is None:
        return []
    if not isinstance(value, list):
        raise Misread(
            operation.index,
            f":value of {operation.f} is {shown(value)}; it must be a vector of keys",
        )
    return [_key(key) for key in value]


def _rebalances(operation: Operation) -> dict[str, Json] | None:
    log = (operation.ext or {}).get("rebalance-log")
    if not isinstance(log, list):
        return None
    named = [each.get(":keys") for each in log if isinstance(each, dict)]
    return {"rebalance-log": [{"keys": _keys(operation, keys)} for keys in named]}


def _seeks(operation: Operation) -> dict[str, Json] | None:
    return {"seek-to-beginning": True} if "seek-to-beginning" in (operation.ext or {}) else None


READINGS: Final = {
    "register": Reading("register", _register),
    "cas-register": Reading("register", _register),
    "set": Reading("grow-only-set", _set),
    "queue": Reading("queue", _queue),
    "kafka": Reading("kafka", _kafka),
}
