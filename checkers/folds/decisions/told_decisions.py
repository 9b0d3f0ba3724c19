"""How many of clients' answers controllers tell of."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from checkers.folds.decisions.known_decisions import Known, asked_on
from framework.evidence.requests import Decided, IsrDecided
from framework.history.pairing import Operation
from framework.plugins.outcomes import MALFORMED_RESPONSE, OF_NO_NODE

Contents: TypeAlias = tuple[object, ...]
"""What an operation asks, and a decision is on: its f, of what, whether it was accepted, and the
epochs that the request carried, None for none."""


_EPOCHS: Final[Mapping[str, Sequence[str]]] = {
    "alter-isr": ("broker_id", "broker_epoch", "leader_epoch", "partition_epoch"),
    "heartbeat": ("broker_epoch",),
}


_OF_CLIENTS_ALONE: Final = OF_NO_NODE | {MALFORMED_RESPONSE}


def reported_of(known: Known, fs: Sequence[str], accepted: Collection[bool]) -> tuple[int, int]:
    """How many of clients' answers controllers tell in a state that is known; and how many there
    were."""
    events = known.events
    decisions: Iterable[Decided | IsrDecided] = (*events.of(Decided), *events.of(IsrDecided))
    decided = Counter(map(_decided_on, filter(known.is_sure, decisions)))
    asked: dict[Contents, list[Operation]] = defaultdict(list)
    for each in events.operations:
        if each.f in fs and each.ok in accepted and (each.ok or each.failed):
            asked[_asked_for(each)].append(each)
    words = _words_of_controllers(asked, decided)
    reported = answers = 0
    for key, own in asked.items():
        count = sum(each.ok or bool(each.asserts) or each.error_code in words for each in own)
        reported, answers = reported + min(count, decided[key]), answers + count
    return reported, answers


def _words_of_controllers(
    asked: Mapping[Contents, Sequence[Operation]], decided: Counter[Contents]
) -> set[str | None]:
    """Codes with which controllers refuse changes of ISRs: a third of the answers with one, and
    more, are told of. Others come from nodes that decide nothing. Where the same was refused with
    several codes, those are taken to be told of first of which most are where they are the only
    one: a request that met no controller is made again."""
    refused = {
        key: [each.error_code for each in own if each.f == "alter-isr" and each.failed]
        for key, own in asked.items()
    }
    alone, told = _Told(), _Told()
    for key, codes in refused.items():
        if len(set(codes)) == 1:
            alone.add(codes, decided[key])
    for key, codes in refused.items():
        told.add(sorted(codes, key=alone.share, reverse=True), decided[key])
    words = {code for code in told.answers if 3 * told.reported[code] >= told.answers[code]}
    return words - _OF_CLIENTS_ALONE


@dataclass(frozen=True, slots=True)
class _Told:
    """By code: how many answers, and how many of them controllers may have told of."""

    answers: Counter[str | None] = field(default_factory=Counter)
    reported: Counter[str | None] = field(default_factory=Counter)

    def add(self, codes: Sequence[str | None], decided: int) -> None:
        """Of the answers to some that asked for the same, the first are told of."""
        self.answers.update(codes)
        self.reported.update(codes[:decided])

    def share(self, code: str | None) -> float:
        """Half, of one that was never answered."""
        return self.reported[code] / self.answers[code] if self.answers[code] else 0.5


def _asked_for(operation: Operation) -> Contents:
    value = operation.value if isinstance(operation.value, dict) else {}
    epochs = [value.get(name) for name in _EPOCHS.get(operation.f, ())]
    known = (each if each is not None and each >= 0 else None for each in epochs)
    return operation.f, asked_on(operation), operation.ok, *known


def _decided_on(decision: Decided | IsrDecided) -> Contents:
    if isinstance(decision, IsrDecided):
        epochs = (getattr(decision, name) for name in _EPOCHS["alter-isr"])
        return "alter-isr", decision.key, decision.accepted, *epochs
    if decision.f == "heartbeat":
        return decision.f, decision.broker_id, decision.accepted, decision.broker_epoch
    return decision.f, ",".join(decision.topics), decision.accepted
