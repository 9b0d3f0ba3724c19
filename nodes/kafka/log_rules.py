"""What the records of Kafka's metadata log keep to in a run, by the releases of its nodes."""

from collections.abc import Mapping
from typing import Final

from framework.evidence.kinds import LogRules
from framework.history.event import Recorded
from nodes.kafka.promises.rules import RULES

SOFTWARE: Final = "Apache Kafka"
"""What plan.json's `versions` call it: releases, with commas between them."""


def releases_of(plan: Mapping[str, Recorded]) -> tuple[str, ...]:
    """Those that a node of the run is of; none where the plan does not say."""
    said = str((plan.get("versions") or {}).get(SOFTWARE, ""))
    return tuple(each.strip() for each in said.split(",") if each.strip())


def rules_of(plan: Mapping[str, Recorded]) -> LogRules:
    """Those that hold of every release that a node of the run is of: any of them may lead."""
    releases = releases_of(plan)
    held = [each.rule for each in RULES if each.rule is not None and each.bounds.hold(releases)]
    return LogRules(node="", source="harness", ref="plan.json", rules=tuple(held))
