"""Other replicas of partitions: `reassign`, whose key is `<topic>/<partition>` and whose result is
null, and `reassignments`, which has no key and shows those that are under way."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.kafka.operations.value import Value


@dataclass(frozen=True, slots=True)
class Reassign(Value):
    """To these brokers, the preferred leader first; None: what is under way is cancelled."""

    replicas: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class UnderWay(Value):
    """A partition whose replicas are being changed. `replicas`: all, those that come (`adding`) and
    those that go (`removing`) among them."""

    key: str
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
