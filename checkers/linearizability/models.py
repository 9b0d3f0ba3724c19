"""The built-in models: register, kv, topics, set, queue."""

import json
from collections.abc import Collection
from typing import Any, Final

from checkers.linearizability.model import (
    IMPOSSIBLE,
    Action,
    Model,
    NotInModel,
    State,
    frozen,
    thawed,
)
from framework.history.event import Json
from framework.history.pairing import Operation


class Register:
    """read -> value, write value, cas [from, to]. A failed cas saw another value than `from`."""

    name = "register"
    initial: State = None

    def action(self, operation: Operation) -> Action | None:
        match operation.f, operation.type:
            case "read", "ok":
                return Action("read", frozen(operation.result), observes=True)
            case "write", "ok" | "info":
                return Action("write", frozen(operation.value))
            case "cas", outcome:
                before, after = _pair(operation)
                if outcome == "fail":
                    return Action("differs", before, observes=True)
                return Action("cas", (before, after))
            case "read" | "write", _:
                return None
        raise _unknown(self.name, operation, "read, write, cas")

    def step(self, state: State, action: Action) -> Any:
        kind, value = action[:2]
        if kind == "read":
            return state if state == value else IMPOSSIBLE
        if kind == "write":
            return value
        if kind == "cas":
            return value[1] if state == value[0] else IMPOSSIBLE
        return IMPOSSIBLE if state == value else state

    def useful(
        self, pending: Collection[Action], completed: Collection[Action]
    ) -> Collection[Action]:
        """Those whose value somebody saw, perhaps through another useful cas. A failed cas
        may have seen any."""
        if any(action.kind == "differs" for action in completed):
            return pending
        sought = [_sought(action) for action in completed if action.kind != "write"]
        makers: dict[Any, list[Action]] = {}
        for action in pending:
            makers.setdefault(_made(action), []).append(action)
        found: list[Action] = []
        while sought:
            for maker in makers.pop(sought.pop(), ()):
                found.append(maker)
                if maker.kind == "cas":
                    sought.append(_sought(maker))
        return found

    def describe(self, state: State) -> str:
        return json.dumps(thawed(state))


class Kv:
    """A string: read -> string, write string, append string. Begins as ""."""

    name = "kv"
    initial: State = ""

    def action(self, operation: Operation) -> Action | None:
        match operation.f, operation.type:
            case "read", "ok":
                return Action("read", frozen(operation.result), observes=True)
            case "write" | "append", outcome:
                if not isinstance(operation.value, str):
                    raise NotInModel(f"value of {operation.f} must be a string")
                return None if outcome == "fail" else Action(operation.f, operation.value)
            case "read", _:
                return None
        raise _unknown(self.name, operation, "read, write, append")

    def step(self, state: State, action: Action) -> Any:
        kind, value = action[:2]
        if kind == "read":
            return state if state == value else IMPOSSIBLE
        return value if kind == "write" else str(state) + value

    def useful(
        self, pending: Collection[Action], completed: Collection[Action]
    ) -> Collection[Action]:
        """Writes that begin a value that was read, appends that are a part of one."""
        reads = [str(seen.value) for seen in completed if seen.kind == "read"]
        return [
            action
            for action in pending
            if any(
                action.value in read if action.kind == "append" else read.startswith(action.value)
                for read in reads
            )
        ]

    def describe(self, state: State) -> str:
        return json.dumps(state)


ABSENT: Final = None
ANY_ID: Final = ("any",)
"""Present, with an id that nothing has shown yet."""


class Topics:
    """create, delete, describe of one name. The state is `ABSENT`, an id, or `ANY_ID`.

    An id that was not seen yet is bound by the first result that shows one.
    """

    name = "topics"
    initial: State = ABSENT

    def action(self, operation: Operation) -> Action | None:
        match operation.f, operation.type:
            case "create" | "delete", "ok" | "info":
                return Action(operation.f, _topic_id(operation))
            case "create", "fail":
                return Action("describe", ANY_ID, observes=True)
            case "delete", "fail":
                return Action("describe", ABSENT, observes=True)
            case "describe", "ok":
                topic_id = _described(operation)
                reveals = topic_id not in (ABSENT, ANY_ID)
                return Action("describe", topic_id, observes=True, reveals=reveals)
            case "describe", _:
                return None
        raise _unknown(self.name, operation, "create, delete, describe")

    def step(self, state: State, action: Action) -> Any:
        kind, topic_id = action[:2]
        if kind == "create":
            return topic_id if state is ABSENT else IMPOSSIBLE
        if topic_id is ABSENT:
            return ABSENT if state is ABSENT else IMPOSSIBLE
        if state is ABSENT:
            return IMPOSSIBLE
        if kind == "delete":
            return ABSENT if topic_id == ANY_ID or state in (ANY_ID, topic_id) else IMPOSSIBLE
        if topic_id == ANY_ID:
            return state
        return topic_id if state in (ANY_ID, topic_id) else IMPOSSIBLE

    def useful(
        self, pending: Collection[Action], completed: Collection[Action]
    ) -> Collection[Action]:
        return pending

    def describe(self, state: State) -> str:
        if state is ABSENT:
            return "absent"
        return "present" if state == ANY_ID else f"present with id {thawed(state)}"


class Set:
    """add, remove, contains of one element. The state is whether it is in."""

    name = "set"
    initial: State = False

    def action(self, operation: Operation) -> Action | None:
        match operation.f, operation.type:
            case "add" | "remove", "ok" | "info":
                return Action("flip", operation.f == "add")
            case "add" | "remove", "fail":
                return Action("contains", operation.f == "add", observes=True)
            case "contains", "ok":
                if not isinstance(operation.result, bool):
                    raise NotInModel("the result of contains must be true or false")
                return Action("contains", operation.result, observes=True)
            case "contains", _:
                return None
        raise _unknown(self.name, operation, "add, remove, contains")

    def step(self, state: State, action: Action) -> Any:
        kind, value = action[:2]
        if kind == "flip":
            return value if state is not value else IMPOSSIBLE
        return state if state is value else IMPOSSIBLE

    def useful(
        self, pending: Collection[Action], completed: Collection[Action]
    ) -> Collection[Action]:
        return pending

    def describe(self, state: State) -> str:
        return "in the set" if state else "not in the set"


class Queue:
    """enqueue value, dequeue -> value, or null when it is empty. First in, first out."""

    name = "queue"
    initial: State = ()

    def action(self, operation: Operation) -> Action | None:
        match operation.f, operation.type:
            case "enqueue", outcome:
                if operation.value is None:
                    raise NotInModel("enqueue needs a value; null is what an empty queue gives")
                return None if outcome == "fail" else Action("enqueue", frozen(operation.value))
            case "dequeue", "ok" if operation.result is None:
                return Action("empty", observes=True)
            case "dequeue", "ok":
                return Action("dequeue", frozen(operation.result))
            case "dequeue", "info":
                return Action("take")
            case "dequeue", _:
                return None
        raise _unknown(self.name, operation, "enqueue, dequeue")

    def step(self, state: State, action: Action) -> Any:
        assert isinstance(state, tuple)
        kind, value = action[:2]
        if kind == "enqueue":
            return (*state, value)
        if kind == "empty":
            return IMPOSSIBLE if state else state
        if not state or (kind == "dequeue" and state[0] != value):
            return IMPOSSIBLE
        return state[1:]

    def useful(
        self, pending: Collection[Action], completed: Collection[Action]
    ) -> Collection[Action]:
        """Values that nobody got may as well never have been there."""
        got = {seen.value for seen in completed if seen.kind == "dequeue"}
        return [action for action in pending if action.kind == "take" or action.value in got]

    def describe(self, state: State) -> str:
        assert isinstance(state, tuple)
        shown = ", ".join(json.dumps(thawed(value)) for value in state[:5])
        more = f", ... ({len(state)} in all)" if len(state) > 5 else ""
        return f"[{shown}{more}]"


MODELS: Final[dict[str, type[Model]]] = {
    model.name: model for model in (Register, Kv, Topics, Set, Queue)
}


def _made(action: Action) -> Any:
    """The value that a write or cas leaves."""
    return action.value if action.kind == "write" else action.value[1]


def _sought(action: Action) -> Any:
    """The value that a read or cas needs."""
    return action.value if action.kind == "read" else action.value[0]


def _unknown(model: str, operation: Operation, known: str) -> NotInModel:
    return NotInModel(f"{operation.f!r} is not an operation of {model}: {known}")


def _pair(operation: Operation) -> tuple[Any, Any]:
    value = operation.value
    if not (isinstance(value, list) and len(value) == 2):
        raise NotInModel("value of cas must be [from, to]")
    return frozen(value[0]), frozen(value[1])


def _topic_id(operation: Operation) -> State:
    """The id that the answer shows, else `ANY_ID`. What an invocation wishes is not a result."""
    return _id_in(operation.result) if operation.type == "ok" else ANY_ID


def _described(operation: Operation) -> State:
    result = operation.result
    if result is None or result is False:
        return ABSENT
    if result is True or isinstance(result, dict):
        return _id_in(result)
    raise NotInModel('the result of describe must be true, false, null or {"topic_id": ...}')


def _id_in(result: Json) -> State:
    topic_id = result.get("topic_id") if isinstance(result, dict) else None
    return ANY_ID if topic_id is None else frozen(topic_id)
