"""On which nodes the replicas of partitions are, as far as it was shown."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from checkers.folds.history.observations import as_of_clients
from checkers.folds.history.peace import Stretch
from checkers.folds.history.roles import BROKER, nodes_by_id, with_roles
from checkers.folds.history.values import partitions_shown
from framework.evidence.run_events import RunEvents


@dataclass(frozen=True, slots=True)
class Placed:
    """`shown`: by partition, `<topic>/<number>`, the nodes that have ever had it, and the ids of
    brokers that are no node of the plan. `brokers`: of the plan, where nothing was shown."""

    shown: Mapping[str, frozenset[str]]
    brokers: frozenset[str]

    @classmethod
    def of(cls, events: RunEvents, fs: Iterable[str]) -> "Placed":
        """By what the observer was told. Where clients move replicas (`fs`: what they asked for),
        it need not have been told of each place."""
        brokers = frozenset(with_roles(events.plan, BROKER))
        if "reassign" in fs:
            return cls({}, brokers)
        named, shown = nodes_by_id(events.plan, BROKER), defaultdict[str, set[str]](set)
        for each in as_of_clients(events.observations):
            if each.f == "metadata":
                for state in partitions_shown(each):
                    own = (named.get(id, str(id)) for id in state.get("replicas") or ())
                    shown[f"{each.key}/{state['partition']}"].update(own)
        return cls({key: frozenset(own) for key, own in shown.items()}, brokers)

    def owed(self, key: str, stretches: Sequence[Stretch]) -> list[Stretch]:
        """Those in which a partition's service is owed: no fault holds, or each that does leaves
        all of its replicas alone."""
        nodes = self.shown.get(key) or self.brokers
        return [each for each in stretches if each.calm or (nodes and nodes <= each.left)]
