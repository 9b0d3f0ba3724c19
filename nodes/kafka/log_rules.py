"""What the records of Kafka's metadata log keep to: by release where controllers of different ones
write the same log otherwise, by feature level where the log itself says what holds.

Levels of `metadata.version` are those of `MetadataVersion`: 7 is 3.3-IV3, 12 is 3.6-IV0.
"""

from collections.abc import Mapping
from typing import Final

from framework.evidence.kinds import HeldRule, LogRules
from framework.history.event import Recorded
from nodes.kafka.releases import is_since

METADATA_VERSION: Final = "metadata.version"
ELIGIBLE_LEADERS: Final = "eligible.leader.replicas.version"
SOFTWARE: Final = "Apache Kafka"
"""What plan.json's `versions` call it: releases, with commas between them."""

_OF_ALL: Final = (
    HeldRule(rule="moved-before-fencing"),
    HeldRule(rule="replicas-change"),
    # KAFKA-15021: followers of before needed it.
    HeldRule(rule="shrinking-raises-leader-epoch", feature=METADATA_VERSION, below=12),
    HeldRule(rule="eligible-leaders", feature=ELIGIBLE_LEADERS, since=1),
)
"""Of 3.3 and later."""
_OF_SOME: Final = (
    ("3.4", "", HeldRule(rule="configured-after-creation")),
    # Before, a controller counted from the last record that it had written itself, or from the
    # last one that was committed when it became active.
    ("3.6", "", HeldRule(rule="epoch-is-offset")),
    ("", "3.7.1", HeldRule(rule="registering-fences")),
    ("3.7.1", "", HeldRule(rule="process-keeps-standing")),
    ("", "3.9", HeldRule(rule="registering-renews-epoch")),
    ("3.9", "", HeldRule(rule="process-keeps-epoch")),
    ("3.9", "", HeldRule(rule="moved-before-registering")),
)
"""Since a release, and before one, as its `ClusterControlManager.registerBroker` and
`ReplicationControlManager.createTopics` have it."""


def rules_of(plan: Mapping[str, Recorded]) -> LogRules:
    """Those that hold of every release that a node of the run is of: any of them may lead."""
    said = str((plan.get("versions") or {}).get(SOFTWARE, ""))
    releases = [each.strip() for each in said.split(",") if each.strip()]
    some = [
        rule
        for since, before, rule in _OF_SOME
        if releases and all(_within(each, since, before) for each in releases)
    ]
    return LogRules(node="", source="harness", ref="plan.json", rules=(*_OF_ALL, *some))


def _within(release: str, since: str, before: str) -> bool:
    return (not since or is_since(release, since)) and (not before or not is_since(release, before))
