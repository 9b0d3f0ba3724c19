"""The contract of a sequential model: what one object does, one operation at a time.

A model turns a recorded operation into an `Action` and says what an action does to a state.
Completed actions carry their result, so a step is either impossible or leads to one state.
Pending actions (info, or no completion) carry no result; their step is their effect.

What a completion asserts is in the table of docs/histories.md. Horn & Kroening 2015 and
Herlihy & Wing 1990 justify checking every key by itself.
"""

from collections.abc import Collection, Hashable
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from framework.history.event import Json
from framework.history.pairing import Operation

State: TypeAlias = Hashable


class _Impossible:
    def __repr__(self) -> str:
        return "IMPOSSIBLE"


IMPOSSIBLE: Final = _Impossible()
"""The step cannot happen in this state."""


class Action(NamedTuple):
    """What an operation does, with what it saw. Equal actions are interchangeable."""

    kind: str
    value: Any = None
    observes: bool = False
    """It never changes the state, unless it `reveals`."""
    reveals: bool = False
    """It may tell a state that was known in part only."""


class NotInModel(Exception):
    """An operation that a model has no word for. One line: what is wrong, what would be right."""


class Model(Protocol):
    name: str
    initial: State

    def action(self, operation: Operation) -> Action | None:
        """What it does; None if it says nothing and does nothing. Raises `NotInModel`."""

    def step(self, state: State, action: Action) -> Any:
        """The state after, or `IMPOSSIBLE`."""

    def useful(
        self, pending: Collection[Action], completed: Collection[Action]
    ) -> Collection[Action]:
        """The pending actions without those that every order can do without. Exact: leaving
        the others out changes no verdict."""

    def describe(self, state: State) -> str:
        """A state in words, for findings."""


def frozen(value: Json) -> Any:
    """A hashable stand-in: equal exactly for values that are equal as JSON."""
    if isinstance(value, bool):
        return ("bool", "true" if value else "false")
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return ("list", *map(frozen, value))
    if isinstance(value, dict):
        return ("object", *sorted((name, frozen(item)) for name, item in value.items()))
    return value


def thawed(value: Any) -> Json:
    """The JSON value behind a stand-in."""
    match value:
        case ("bool", text):
            return text == "true"
        case ("list", *items):
            return [thawed(item) for item in items]
        case ("object", *items):
            return {name: thawed(item) for name, item in items}
    return value
