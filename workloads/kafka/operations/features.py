"""Feature levels (KIP-584): `features`, which has no key and tells what a broker knows, and
`update-feature`, whose key is a feature's name."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.kafka.operations.value import Value, omitted


@dataclass(frozen=True, slots=True)
class Feature(Value):
    """`level`: the one that is finalized, null where none is; `lowest`, `highest`: those that the
    broker supports."""

    name: str
    level: int | None
    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class Features(Value):
    """`epoch`: up to where the broker knows the metadata log; of two answers the one with the
    higher epoch tells what came later."""

    epoch: int
    features: tuple[Feature, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateFeature(Value):
    """To that level. `type`: upgrade, safe-downgrade or unsafe-downgrade. `dry`: it is only asked
    whether that could be done."""

    level: int
    type: str
    dry: bool | None = omitted()
