"""A value of an operation as a frozen dataclass, and as the JSON of a history: a field a member, in
order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from types import NoneType
from typing import Any, Self, get_args, get_origin, get_type_hints

from framework.history.event import Json, Recorded


class Value:
    """Base of such dataclasses. Their fields are numbers, texts, other values, or tuples."""

    __slots__ = ()

    def to_json(self) -> Json:
        """As it stands in a history."""
        kind: type = type(self)
        found: dict[str, Json] = {}
        for member in _members(kind):
            value = getattr(self, member.attribute)
            if value is not None or not member.omitted:
                found[member.name] = _plain(value)
        return found

    @classmethod
    def from_json(cls, value: Recorded) -> Self:
        """The inverse; members that the type does not have are passed over."""
        kind: type = cls
        known = [member for member in _members(kind) if member.name in value]
        return cls(**{member.attribute: member.read(value[member.name]) for member in known})


def omitted() -> Any:
    """A field that is no member where it is None."""
    return field(default=None, metadata={"omitted": True})


def named(name: str) -> Any:
    """A field whose member has another name."""
    return field(metadata={"name": name})


@dataclass(frozen=True, slots=True)
class _Member:
    attribute: str
    name: str
    omitted: bool
    read: Callable[[Recorded], Recorded]


@cache
def _members(cls: type) -> Sequence[_Member]:
    hints = get_type_hints(cls)
    return [
        _Member(
            attribute=each.name,
            name=each.metadata.get("name", each.name),
            omitted=each.metadata.get("omitted", False),
            read=_reader(hints[each.name]),
        )
        for each in fields(cls)
    ]


def _reader(hint: object) -> Callable[[Recorded], Recorded]:
    parts = get_args(hint)
    if NoneType in parts:
        read = _reader(next(each for each in parts if each is not NoneType))
        return lambda value: None if value is None else read(value)
    if get_origin(hint) is tuple:
        element = _reader(parts[0])
        return lambda value: tuple(map(element, value))
    if isinstance(hint, type) and issubclass(hint, Value):
        return hint.from_json
    return lambda value: value


def _plain(value: Recorded) -> Json:
    if isinstance(value, Value):
        return value.to_json()
    plain: Json = [_plain(each) for each in value] if isinstance(value, tuple) else value
    return plain
