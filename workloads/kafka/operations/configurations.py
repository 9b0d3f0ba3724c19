"""Changes of configurations: `configure`, whose key is a topic's name, and `configure-broker`,
whose key is `broker-<id>`, or `brokers` for what holds for all of them, both with the result null;
`describe-broker-configs`, of the same keys, shows what is set for that broker alone, or for all, as
`TopicConfigs`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from workloads.kafka.operations.value import Value, omitted

ALL_BROKERS: Final = "brokers"
"""The key of operations on what is set for all brokers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configure(Value):
    """All of it in one request: names that are given values, and names whose values are taken away.
    What is not named stays (KIP-339)."""

    set: tuple[tuple[str, str], ...] | None = omitted()
    delete: tuple[str, ...] | None = omitted()
