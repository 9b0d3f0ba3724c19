"""Where brokers are, as nodes tell it, against where they registered (KIP-631, BrokerRecord)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TypeAlias

from checkers.folds.cluster.observed_brokers import broker_lists
from framework.checking.findings import finding
from framework.evidence.changes import BrokerRegistered, Change
from framework.history.pairing import Operation
from framework.plugins.checker import Count, Finding

Places: TypeAlias = Mapping[int, Set[str]]
"""Broker -> "host:port", of all of its registrations."""


def registered(records: Iterable[Change]) -> Places:
    """Of brokers of whom the log has a registration."""
    found = defaultdict[int, set[str]](set)
    for each in records:
        if isinstance(each, BrokerRegistered):
            found[each.broker_id] |= {f"{one.host}:{one.port}" for one in each.end_points}
    return found


def told_where_registered(
    observations: Iterable[Operation], records: Sequence[Change], by: str
) -> tuple[Count, list[Finding]]:
    """Places of which the log has no registration, and how many were looked up. One finding a
    broker. `by`: who knows the log."""
    places = registered(records)
    if records and not any(places.values()):
        return "the log does not say where brokers are", []
    compared, findings = 0, dict[int, Finding]()
    for answer in broker_lists(observations):
        for broker, place in [*answer.brokers.items(), *answer.others.items()]:
            if broker not in places:
                continue
            compared += 1
            if place not in places[broker]:
                known = " or ".join(sorted(places[broker])) or "nowhere"
                findings.setdefault(
                    broker,
                    finding(
                        f"{answer.operation.node} (operation {answer.operation.index}) tells that "
                        f"broker {broker} is at {place}; by the committed log it registered at "
                        f"{known}",
                        [answer.operation],
                        by=[by],
                    ),
                )
    return compared, list(findings.values())
