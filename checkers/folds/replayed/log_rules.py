"""Which rules the records of a run's metadata log keep to: its system says so (`LogRules`), and
which of them hold depends on the features that the log has finalized so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from framework.evidence.run_events import RunEvents
from framework.evidence.systems import HeldRule, LogRule, LogRules

OF_THE_KIP: Final = (
    HeldRule(rule="moved-after-fencing"),
    HeldRule(rule="fenced-before-registering"),
    HeldRule(rule="registering-renews-epoch"),
    HeldRule(rule="configured-after-creation"),
)
"""KIP-631's, where the system says nothing."""


@dataclass(frozen=True, slots=True)
class Rules:
    held: Sequence[HeldRule] = OF_THE_KIP

    @classmethod
    def of(cls, events: RunEvents) -> "Rules":
        said = next(events.of(LogRules), None)
        return cls() if said is None else cls(said.rules)

    def hold(self, rule: LogRule, features: Mapping[str, int]) -> bool:
        """Where the log has finalized these features."""
        return any(
            each.rule == rule and (not each.feature or _within(features.get(each.feature, 0), each))
            for each in self.held
        )

    def may_hold(self, rule: LogRule) -> bool:
        """With some features."""
        return any(each.rule == rule for each in self.held)


def _within(level: int, rule: HeldRule) -> bool:
    return level >= rule.since and (not rule.below or level < rule.below)
