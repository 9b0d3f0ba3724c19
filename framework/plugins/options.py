"""Plug-ins named on the command line with options: `partition:shape=bridge,interval=2,pause`.

Items are separated by commas; an item KEY=VALUE without a plug-in's name belongs to the plug-in
before it. A plug-in with options has a class `Options`, a frozen dataclass whose fields all have
defaults: str, int, float, bool, a Literal of strings, or one of these or None. Nemeses and
workloads are chosen by being named (`named`); checkers run anyhow, and are given options
(`options_of`).
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from framework.errors import UsageError
from framework.plugins import registry

T = TypeVar("T")

SINGULAR: Final = {"nemeses": "nemesis", "workloads": "workload", "checkers": "checker"}
_WORDS: Final = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class Named:
    """A plug-in as the command line names it."""

    name: str
    options: str = ""


def named(group: str, text: str) -> list[Named]:
    """The plug-ins in a comma-separated list; `all` and `none` are understood. Raises
    `UsageError`."""
    what, known = SINGULAR[group], registry.names(group)
    found = _items(text, what)
    if found == [Named("none")]:
        return []
    if found == [Named("all")]:
        return [Named(name) for name in known]
    wanted = f"(known: {', '.join(known)}, all, none)"
    if not found:
        raise UsageError(f"no {what} named {wanted}")
    for item in found:
        if item.name not in known:
            raise UsageError(f"unknown {what}: {item.name!r} {wanted}")
    once = {item.name: item for item in found}
    for item in found:
        if item != once[item.name]:
            raise UsageError(f"{what} {item.name} is named twice, with different options")
    return list(once.values())


def options_of(group: str, texts: Iterable[str]) -> dict[str, str]:
    """Plug-in -> the options that it is given, from texts of `NAME:KEY=VALUE,...`. Of two values
    for one key the later counts. Raises `UsageError` for a form that is not this one; whether
    there is such a plug-in, and such an option, `need_options` tells."""
    given: dict[str, dict[str, str | None]] = {}
    what = SINGULAR[group]
    for item in (each for text in texts for each in _items(text, what)):
        if not item.options:
            raise UsageError(
                f"{what} {item.name} is given no option: it is {item.name}:KEY=VALUE,... "
                f"(every {what} that applies is asked anyhow)"
            )
        given.setdefault(item.name, {}).update(_pairs(item.options))
    return {
        name: ",".join(key if value is None else f"{key}={value}" for key, value in pairs.items())
        for name, pairs in given.items()
    }


def need_options(group: str, options: Mapping[str, str]) -> None:
    """Raises `UsageError` for a plug-in or an option that there is not."""
    what, known = SINGULAR[group], registry.names(group)
    for name, text in options.items():
        if name not in known:
            raise UsageError(f"unknown {what}: {name!r} (known: {', '.join(known)})")
        create(group, Named(name, text))


def _items(text: str, what: str) -> list[Named]:
    found: list[Named] = []
    for item in (each.strip() for each in text.split(",")):
        if not item:
            continue
        head, _, rest = item.partition(":")
        if "=" not in head:
            found.append(Named(head.strip(), rest.strip()))
        elif not found:
            raise UsageError(f"{item!r} is an option of no {what}: it is NAME:KEY=VALUE,...")
        else:
            last = found[-1]
            found[-1] = Named(last.name, f"{last.options},{item}".lstrip(","))
    return found


def create(group: str, item: Named) -> Any:
    """A new instance of a plug-in with these options. Raises `UsageError`."""
    plugin = registry.find(group, item.name)
    what = f"{SINGULAR[group]} {item.name}"
    options = getattr(plugin, "Options", None)
    if options is None:
        if item.options:
            raise UsageError(f"{what} has no options, but was given {item.options!r}")
        return plugin()
    return plugin(parse_options(options, item.options, what))


def parse_options(cls: type[T], text: str, what: str) -> T:
    """An instance of the dataclass `cls` from `KEY=VALUE,...`. Raises `UsageError` that names
    what there is; so does a `ValueError` of its own checks."""
    hints = get_type_hints(cls)
    given: dict[str, object] = {}
    for key, value in _pairs(text):
        if value is None or key not in hints:
            raise UsageError(f"{what} has no option {key!r} (it has: {_described(cls)})")
        try:
            given[key] = _value(hints[key], value)
        except ValueError:
            wanted = _kind(hints[key])
            raise UsageError(f"{what}: {key}={value} is not {wanted}") from None
    try:
        return cls(**given)
    except ValueError as error:
        raise UsageError(f"{what}: {error}") from None


def _pairs(text: str) -> Iterator[tuple[str, str | None]]:
    """Keys and values; None where no `=` follows the key."""
    for item in filter(None, (each.strip() for each in text.split(","))):
        key, equals, value = (part.strip() for part in item.partition("="))
        yield key, value if equals else None


def need_positive(**options: float | None) -> None:
    """For the checks of a class of options: raises `ValueError` that names the one that is not
    above 0."""
    for name, value in options.items():
        if value is not None and not 0 < value < 1e9:
            raise ValueError(f"{name}={value:g} is not above 0")


def _value(hint: Any, text: str) -> object:
    """Raises `ValueError`."""
    (hint,) = _without_none(hint)
    if get_origin(hint) is Literal:
        if text not in get_args(hint):
            raise ValueError(text)
        return text
    if hint is bool:
        try:
            return _WORDS[text.lower()]
        except KeyError:
            raise ValueError(text) from None
    kind: type = hint
    return kind(text)


def _without_none(hint: Any) -> Sequence[Any]:
    if get_origin(hint) in (Union, UnionType):
        return [each for each in get_args(hint) if each is not NoneType]
    return [hint]


def _kind(hint: Any) -> str:
    (hint,) = _without_none(hint)
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(get_args(hint))
    return {int: "a whole number", float: "a number", bool: "true or false"}.get(hint, "a text")


def _described(cls: type) -> str:
    hints = get_type_hints(cls)
    fields: Any = cls
    return (
        "; ".join(
            f"{field.name}, {_kind(hints[field.name])}" for field in dataclasses.fields(fields)
        )
        or "none"
    )
