"""Brute force: every order of a small history, to hold a checker against.

    >>> linearizable(register, None, operations)

Nothing here is shared with the checkers. A specification gives all states that may follow when an
operation takes effect with what was recorded of it: none, where it cannot. Those of the built-in
models are here, written a second time, and histories of them: `random_history`. The cost is that
of all orders, so ten operations are many.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from framework.history.event import CompletionType
from framework.history.pairing import Operation

State = TypeVar("State")
Spec: TypeAlias = Callable[[State, Operation], Iterable[State]]


def linearizable(
    spec: Spec[State],
    initial: State,
    operations: Sequence[Operation],
    until: int | None = None,
) -> bool:
    """Whether some order explains the completions (before the event `until`).

    Pending operations, and those that complete later, may be left out.
    """
    ends = [
        op.end
        if op.end is not None and op.type != "info" and (until is None or op.end < until)
        else None
        for op in operations
    ]

    def explore(state: State, left: frozenset[int]) -> bool:
        deadline = min((end for i in left if (end := ends[i]) is not None), default=None)
        if deadline is None:
            return True
        return any(
            explore(after, left - {i})
            for i in left
            if operations[i].index < deadline
            for after in spec(state, operations[i])
        )

    return explore(initial, frozenset(range(len(operations))))


def register(state: Any, op: Operation) -> list[Any]:
    if op.f == "read":
        return [state] if op.type != "ok" or op.result == state else []
    if op.f == "write":
        return [state] if op.type == "fail" else [op.value]
    if op.type == "ok":
        return [op.value[1]] if state == op.value[0] else []
    if op.type == "fail":
        return [state] if state != op.value[0] else []
    return [op.value[1] if state == op.value[0] else state]


def kv(state: str, op: Operation) -> list[str]:
    if op.f == "read":
        return [state] if op.type != "ok" or op.result == state else []
    if op.type == "fail":
        return [state]
    return [op.value if op.f == "write" else state + op.value]


def topics(state: Any, op: Operation, ids: Sequence[str]) -> list[Any]:
    """The state is None or an id. An id that is not recorded may be any."""
    shown = op.result.get("topic_id") if isinstance(op.result, dict) else None
    match op.f, op.type:
        case "create", "ok":
            return [] if state is not None else [shown] if shown else list(ids)
        case "create", "fail":
            return [state] if state is not None else []
        case "create", "info":
            return list(ids) if state is None else [state]
        case "delete", "ok":
            return [None] if state is not None and shown in (None, state) else []
        case "delete", "fail":
            return [state] if state is None else []
        case "delete", "info":
            return [None]
        case "describe", "ok":
            if op.result is None or op.result is False:
                return [state] if state is None else []
            return [state] if state is not None and shown in (None, state) else []
    return [state]


def set_(state: bool, op: Operation) -> list[bool]:
    if op.f == "contains":
        return [state] if op.type != "ok" or op.result is state else []
    wanted = op.f == "add"
    if op.type == "ok":
        return [wanted] if state != wanted else []
    if op.type == "fail":
        return [state] if state == wanted else []
    return [wanted]


def queue(state: tuple[Any, ...], op: Operation) -> list[tuple[Any, ...]]:
    if op.f == "enqueue":
        return [state] if op.type == "fail" else [(*state, op.value)]
    if op.type == "fail":
        return [state]
    if op.type == "info":
        return [state[1:]]
    if op.result is None:
        return [state] if not state else []
    return [state[1:]] if state and state[0] == op.result else []


UNIQUE: Final = "register of unique values"
INITIAL: Final[dict[str, Any]] = {
    "register": None,
    UNIQUE: None,
    "kv": "",
    "topics": None,
    "set": False,
    "queue": (),
}


def spec_of(model: str, operations: Sequence[Operation]) -> Spec[Any]:
    if model == "topics":
        shown = {op.result["topic_id"] for op in operations if isinstance(op.result, dict)}
        return partial(topics, ids=[*sorted(shown), "some other"])
    specs: dict[str, Spec[Any]] = {
        "register": register,
        UNIQUE: register,
        "kv": kv,
        "set": set_,
        "queue": queue,
    }
    return specs[model]


def is_linearizable(model: str, operations: Sequence[Operation], until: int | None = None) -> bool:
    return linearizable(spec_of(model, operations), INITIAL[model], operations, until)


# Random histories: a real object works, then somebody may lie about one result.


def random_history(model: str, rng: random.Random) -> list[Operation]:
    """Up to 9 operations of up to 4 processes, some pending, sometimes with a wrong result."""
    operations: list[Operation] = []
    open_ops: dict[int, Operation] = {}
    done: dict[int, tuple[CompletionType, Any]] = {}
    state = INITIAL[model]
    total, threads, infos = rng.randint(2, 9), rng.randint(1, 4), rng.choice([0, 0.1, 0.4])
    index = 0
    while len(operations) < total or open_ops:
        thread = rng.randrange(threads)
        op = open_ops.get(thread)
        if op is None:
            if len(operations) == total:
                continue
            f, value = _random_call(model, rng, len(operations) + 1)
            op = Operation(index=index, process=len(operations), f=f, value=value)
            operations.append(op)
            open_ops[thread] = op
            index += 1
        elif op.index not in done and rng.random() < 0.5:
            state, kind, result = _act(model, state, op, rng)
            done[op.index] = (kind, result)
        elif rng.random() < infos:
            del open_ops[thread]
            if rng.random() < 0.5:
                op.end = index
                index += 1
        elif op.index in done:
            op.type, op.result = done[op.index]
            op.end = index
            index += 1
            del open_ops[thread]
    for _ in range(rng.choice([0, 1, 2, 3])):
        _lie(model, rng.choice(operations), rng)
    return operations


def _random_call(model: str, rng: random.Random, number: int) -> tuple[str, Any]:
    small = rng.randint(1, 3)
    match model:
        case "register of unique values":
            f = rng.choice(["read", "write", "cas"])
            before = rng.choice([None, *range(max(1, number - 3), number + 2)])
            return f, {"read": None, "write": number, "cas": [before, number]}[f]
        case "register":
            f = rng.choice(["read", "write", "cas"])
            return f, {"read": None, "write": small, "cas": [rng.randint(1, 3), small]}[f]
        case "kv":
            f = rng.choice(["read", "write", "append"])
            return f, None if f == "read" else rng.choice("ab")
        case "topics":
            return rng.choice(["create", "delete", "describe"]), None
        case "set":
            return rng.choice(["add", "remove", "contains"]), None
    f = rng.choice(["enqueue", "dequeue"])
    return f, small if f == "enqueue" else None


def _act(
    model: str, state: Any, op: Operation, rng: random.Random
) -> tuple[Any, CompletionType, Any]:
    """What a correct object does: the state after, and the completion."""
    match model, op.f:
        case ("register" | "kv" | "register of unique values", "read"):
            return state, "ok", state
        case ("register" | "kv" | "register of unique values", "write"):
            return op.value, "ok", op.value
        case (("register" | "register of unique values"), "cas"):
            fits = state == op.value[0]
            return (op.value[1], "ok", None) if fits else (state, "fail", None)
        case "kv", "append":
            return state + op.value, "ok", None
        case "topics", "create":
            topic_id = f"id{rng.randint(0, 3)}"
            shown = {"topic_id": topic_id} if rng.random() < 0.7 else None
            return (topic_id, "ok", shown) if state is None else (state, "fail", None)
        case "topics", "delete":
            return (None, "ok", None) if state is not None else (None, "fail", None)
        case "topics", "describe":
            if rng.random() < 0.3:
                return state, "ok", state is not None
            return state, "ok", state if state is None else {"topic_id": state}
        case "set", "contains":
            return state, "ok", state
        case "set", f:
            wanted = f == "add"
            return (wanted, "ok", None) if state != wanted else (state, "fail", None)
        case "queue", "enqueue":
            return (*state, op.value), "ok", None
    return state[1:], "ok", state[0] if state else None


def _lie(model: str, op: Operation, rng: random.Random) -> None:
    if op.end is None:
        return
    match model, op.f:
        case ("register", "read") | ("queue", "dequeue"):
            op.type, op.result = "ok", rng.choice([None, 1, 2, 3])
        case "register of unique values", "read":
            op.type, op.result = "ok", rng.choice([None, *range(1, 9)])
        case "kv", "read":
            op.type, op.result = "ok", "".join(rng.choices("ab", k=rng.randint(0, 3)))
        case "topics", "describe":
            op.type = "ok"
            op.result = rng.choice([None, True, False, {"topic_id": "id1"}, {"topic_id": "id2"}])
        case "set", "contains":
            op.type, op.result = "ok", rng.random() < 0.5
        case _:
            op.type, op.result = rng.choice(["ok", "fail", "info"]), None
