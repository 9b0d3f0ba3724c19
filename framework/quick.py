"""Frozen dataclasses that are made by the hundred thousand a second."""

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, TypeVar

Kind = TypeVar("Kind", bound=type[Any])


def quick(kind: Kind) -> Kind:
    """`kind`, a frozen dataclass, with a constructor of the same signature that fills its slots
    directly. The one that `dataclass` writes goes by the fields' names, which takes twice as long.

    Raises `TypeError` for a dataclass whose constructor does more than to fill slots.
    """
    known = sorted(fields(kind), key=lambda each: bool(each.kw_only))
    if (
        kind.__dictoffset__
        or hasattr(kind, "__post_init__")
        or any(each.default_factory is not MISSING or not each.init for each in known)
    ):
        raise TypeError(f"{kind.__name__}: its constructor does more than to fill slots")
    names: dict[str, Any] = {f"default_{each.name}": each.default for each in known}
    names |= {f"fill_{each.name}": getattr(kind, each.name).__set__ for each in known}
    taken = [
        each.name if each.default is MISSING else f"{each.name}=default_{each.name}"
        for each in known
    ]
    if any(each.kw_only for each in known):
        taken.insert(sum(not each.kw_only for each in known), "*")
    body = "\n".join(f"    fill_{each.name}(self, {each.name})" for each in known)
    exec(f"def __init__(self, {', '.join(taken)}):\n{body}", names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{kind.__qualname__}.__init__"
    kind.__init__ = made
    return kind
