"""Controlled shutdowns, as controllers' accepted decisions tell of them."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from framework.evidence.requests import Decided


@dataclass(frozen=True, slots=True)
class ShuttingDown:
    """In leader epoch `epoch`, from offset `begin` up to `end`, a controller that had accepted
    the broker's wish to shut down under `broker_epoch`, and had not been told otherwise."""

    epoch: int
    broker_epoch: int | None
    begin: int
    end: int | None
    decision: Decided


def shutdowns_of(decisions: Iterable[Decided]) -> dict[int, list[ShuttingDown]]:
    """By broker id. The wish is soft state of a controller: it ends with its epoch."""
    wishes: dict[tuple[int, int], list[Decided]] = defaultdict(list)
    for each in decisions:
        if each.target is not None and each.broker_id is not None:
            wishes[each.broker_id, each.epoch].append(each)
    found: dict[int, list[ShuttingDown]] = defaultdict(list)
    for (broker, _), own in sorted(wishes.items(), key=lambda item: item[0]):
        begun: Decided | None = None
        for each in own:
            if each.target == "leaving":
                begun = begun or each
            elif begun is not None:
                found[broker].append(_shutting_down(begun, each.as_of))
                begun = None
        if begun is not None:
            found[broker].append(_shutting_down(begun, None))
    return found


def _shutting_down(begun: Decided, end: int | None) -> ShuttingDown:
    return ShuttingDown(begun.epoch, begun.broker_epoch, begun.as_of, end, begun)
