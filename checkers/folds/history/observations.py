"""What an observer was told, as clients would have asked for it: for rules that judge such answers,
whoever they were for."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from framework.evidence.run_events import RunEvents
from framework.history.event import Recorded
from framework.history.pairing import Operation

OWN_VIEW: Final = "describe-node"
LEADERS_VIEW: Final = "describe-quorum"
VIEWS: Final = (OWN_VIEW, LEADERS_VIEW)
"""Questions that are answered by who leads the quorum."""


def with_observations(events: RunEvents) -> RunEvents:
    """The run with what its observer was told of topics and logs among clients' operations."""
    also = as_of_clients(events.observations)
    operations = sorted((*events.operations, *also), key=lambda each: each.index)
    return replace(events, operations=operations)


def as_of_clients(observations: Iterable[Operation]) -> Iterator[Operation]:
    """A `metadata` for each topic, a `list-offsets` for each log's end that an answer tells. They
    have the indices of the one question. Topics that an answer does not name may be absent, or left
    out: nothing is made of them. Nor of ends that were told once final reads had begun: what was
    under way before may have come to them since."""
    for each in observations:
        if not each.ok or not isinstance(each.result, dict):
            continue
        if each.f == "describe-topics":
            for topic in _items(each.result, "topics"):
                yield replace(each, f="metadata", key=topic["name"], result=_without(topic, "name"))
        elif each.f == "log-ends" and each.phase == "main":
            for end in _items(each.result, "ends"):
                yield replace(
                    each,
                    f="list-offsets",
                    key=end["key"],
                    value={"at": "latest"},
                    result=_without(end, "key"),
                )


def _items(result: dict[str, Recorded], name: str) -> Sequence[dict[str, Recorded]]:
    return result.get(name) or ()


def _without(item: dict[str, Recorded], name: str) -> dict[str, Recorded]:
    return {key: value for key, value in item.items() if key != name}
