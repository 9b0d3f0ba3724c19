"""What a run's plan says of the rules and promises that it is judged by: the releases of its nodes,
and the features that it begins with."""

from collections.abc import Mapping
from typing import Final

from framework.evidence.systems import LogRules
from framework.history.event import Recorded
from nodes.kafka import features
from nodes.kafka.promises.rules import RULES

SOFTWARE: Final = "Apache Kafka"
"""What plan.json's `versions` call it: releases, with commas between them."""


def releases_of(plan: Mapping[str, Recorded]) -> tuple[str, ...]:
    """Those that a node of the run is of; none where the plan does not say."""
    said = str((plan.get("versions") or {}).get(SOFTWARE, ""))
    return tuple(each.strip() for each in said.split(",") if each.strip())


def features_of(plan: Mapping[str, Recorded]) -> frozenset[str]:
    """Those on which promises rest and that the cluster begins with, whichever of its nodes leads
    first: all begin with the levels that are asked for."""
    wanted: Mapping[str, str] = next(iter((plan.get("settings") or {}).values()), {})
    found = [features.on(release, wanted) for release in releases_of(plan)]
    return frozenset.intersection(*found) if found else frozenset()


def rules_of(plan: Mapping[str, Recorded]) -> LogRules:
    """Those that hold of every release that a node of the run is of: any of them may lead."""
    releases = releases_of(plan)
    held = [each.rule for each in RULES if each.rule is not None and each.bounds.hold(releases)]
    return LogRules(node="", source="harness", ref="plan.json", rules=tuple(held))
