"""What a kind of evidence is: a frozen dataclass, whose rows say what a node did.

`Evidence` has what all kinds have. The kinds are in the modules that `catalogue` names, by
what they are about; the Arrow schema of each follows from its fields (`schemas`).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import ClassVar, Final, Literal, TypeAlias

from framework.history.event import Json, Recorded

Source: TypeAlias = Literal["client", "harness", "disk", "event"]
"""Who says so, the most trusted first."""
DISK: Final = "disk"
HARNESS: Final = "harness"

CAPABILITY: Final = "evidence:"
ON_DISK: Final = "disk:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One thing that is known of a node.

    node: its name in the plan, or that of a process that a workload started.
    incarnation: which process of it, as any text; empty where that cannot be told.
    seq: its place among what is known of this incarnation, in the order in which it happened.
    at_ns: when, on the harness's clock, ns since the run began; within_ns: by how much that may be
        off (0: the clocks are one; `clocks.UNKNOWN_NS`: only the order is known).
    ref: file and position, relative to the run's folder: what a person opens.
    """

    kind: ClassVar[str] = ""
    family: ClassVar[str] = ""
    """Of kinds that a system leaves all or none of: their common name among capabilities."""
    node: str
    incarnation: str = ""
    seq: int = 0
    at_ns: int = 0
    within_ns: int = 0
    source: Source = "event"
    ref: str = ""

    @property
    def place(self) -> tuple[str, str, int]:
        """Its place in the order in which rules are shown evidence."""
        return self.node, self.incarnation, self.seq

    def as_json(self) -> dict[str, Json]:
        """As findings show it: `type` is the kind."""
        return {
            "time_ns": self.at_ns,
            "node": self.node,
            "incarnation": self.incarnation,
            "seq": self.seq,
            "type": self.kind,
            **{name: _plain(getattr(self, name)) for name in own_fields(type(self))},
            "ref": self.ref,
        }


COMMON: Final = tuple(field.name for field in fields(Evidence))
"""The fields that every kind has, in the order of its table's columns."""

_OWN: Final[dict[type, tuple[str, ...]]] = {}


def own_fields(kind: type[Evidence]) -> tuple[str, ...]:
    """The fields that are not those of all evidence, in order."""
    if kind not in _OWN:
        _OWN[kind] = tuple(field.name for field in fields(kind) if field.name not in COMMON)
    return _OWN[kind]


def same_fact(one: Evidence, other: Evidence) -> bool:
    """Whether both say the same thing, whoever says it, and when."""
    return type(one) is type(other) and _facts(one) == _facts(other)


def _facts(each: Evidence) -> object:
    kind = type(each)
    if kind not in _FACTS:
        names = own_fields(kind)
        _FACTS[kind] = attrgetter(*names) if names else lambda _: None
    return _FACTS[kind](each)


_FACTS: Final[dict[type, Callable[[Evidence], object]]] = {}


def described(evidence: Evidence) -> str:
    """What it says, for people."""
    said = {name: _plain(getattr(evidence, name)) for name in own_fields(type(evidence))}
    return f"{evidence.kind} {json.dumps(said)}"


def evidence_of(*kinds: type[Evidence]) -> frozenset[str]:
    """The capabilities of leaving evidence of these kinds."""
    return frozenset(CAPABILITY + (each.family or each.kind) for each in kinds)


def disk_of(*kinds: type[Evidence]) -> frozenset[str]:
    """The capabilities of leaving evidence of these kinds on disk."""
    return frozenset(ON_DISK + (each.family or each.kind) for each in kinds)


def either_of(*kinds: type[Evidence]) -> frozenset[str]:
    """Requirements that each of these kinds is told, or left on disk."""
    names = {each.family or each.kind for each in kinds}
    return frozenset(f"{CAPABILITY}{name}|{ON_DISK}{name}" for name in names)


def _plain(value: Recorded) -> Json:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "__dataclass_fields__"):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    plain: Json = value
    return plain
