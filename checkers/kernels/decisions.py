"""What a controller decided on each part of a request, and what nodes answered to each.

A request may ask for several things, of which some are refused and others are not. Events name
them all (`items` of `decide`, `codes` of `answer` and `serve`). Those of older runs have the
first part's epochs and the request's first error only: of such a request it is certain that it
was refused as a whole, or that the first part was accepted where a record of it is seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checkers.kernels.evidence import NodeEvent


@dataclass(frozen=True, slots=True)
class IsrDecision:
    """One partition of an AlterPartition request. `code` None: it is not told whether it was
    accepted. `records`: the offsets of the partition's records, or in older runs of all."""

    event: NodeEvent
    topic_id: str
    partition: int
    leader_epoch: int
    partition_epoch: int
    code: int | None
    records: Sequence[int]

    @property
    def accepted(self) -> bool:
        return self.code == 0

    @property
    def broker(self) -> tuple[Any, Any]:
        """Who asked: broker id and broker epoch."""
        source = self.event.fields.get("source") or {}
        return source.get("broker_id"), source.get("broker_epoch")


def isr_decisions(decide: NodeEvent) -> list[IsrDecision]:
    """The parts of an AlterPartition request, in its order; nothing of other requests."""
    fields = decide.fields
    if fields.get("api") != "AlterPartition":
        return []
    if "items" in fields:
        return [
            _part(decide, item, item["code"], item["records"])
            for item in fields["items"]
            if "partition" in item
        ]
    source = fields.get("source") or {}
    if any(source.get(name) is None for name in ("topic_id", "partition", "partition_epoch")):
        return []
    code = fields["verdict"] or None  # of several, another one may be what was accepted
    return [_part(decide, source, code, fields["records"])]


def _part(
    decide: NodeEvent, named: Mapping[str, Any], code: int | None, records: Sequence[int]
) -> IsrDecision:
    return IsrDecision(
        decide,
        str(named["topic_id"]),
        named["partition"],
        named["leader_epoch"],
        named["partition_epoch"],
        code,
        records,
    )


def succeeded(event: NodeEvent) -> bool:
    """Whether an `answer` or `serve` has a success in it."""
    codes = event.fields.get("codes")
    return 0 in codes if codes else bool(event.fields["code"] == 0)
