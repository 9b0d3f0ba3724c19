"""What operations on groups ask for and are answered, in types, as others in `values`."""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from framework.evidence.ids import Offset
from framework.history.pairing import Operation


class GroupRequest(TypedDict):
    """Of a member. A commit says in which generation, and up to where it has read. Of a static one:
    `instance`; `id`, what the coordinator calls its process; of a join `session_ms`, how long that
    is a member unheard."""

    group: str
    member: NotRequired[str]
    generation: NotRequired[int]
    offset: NotRequired[Offset]
    instance: NotRequired[str]
    id: NotRequired[str]
    session_ms: NotRequired[int]


class ListGroups(TypedDict, total=False):
    """Null, or none: groups of all states, and types."""

    states: Sequence[str] | None
    types: Sequence[str] | None


class Listed(TypedDict):
    """A broker's groups: of each its id, state and type. Null: none was told."""

    groups: Sequence[tuple[str, str | None, str | None]]


class Joined(TypedDict):
    """`positions`: key, and where the member goes on there. `id`: what the coordinator calls it;
    `part`: what a static one is given, in its group's own words."""

    generation: int
    assigned: NotRequired[Sequence[str] | None]
    positions: NotRequired[Sequence[tuple[str, Offset]] | None]
    id: NotRequired[str]
    part: NotRequired[str]


def group_request(operation: Operation) -> GroupRequest:
    value: GroupRequest = operation.value
    return value


def list_groups(operation: Operation) -> ListGroups:
    value: ListGroups = operation.value or {}
    return value


def listed(operation: Operation) -> Listed:
    """Of a question for a broker's groups that was answered."""
    result: Listed = operation.result
    return result


def joined(operation: Operation) -> Joined:
    """Of a join or an assignment that was answered."""
    result: Joined = operation.result
    return result


def told_its_id(join: Operation) -> bool:
    """Whether a member was told what the coordinator calls it."""
    return join.ok and "id" in (join.result or {})
