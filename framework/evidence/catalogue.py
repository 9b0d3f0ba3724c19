"""All kinds of evidence, by name."""

from collections.abc import Iterable, Mapping
from typing import Final

from framework.evidence import (
    brokers,
    changes,
    partitions,
    processes,
    quorum,
    requests,
    systems,
)
from framework.evidence.kinds import Evidence

_MODULES: Final = (processes, systems, quorum, requests, brokers, partitions, changes)


def _kinds() -> Iterable[type[Evidence]]:
    for module in _MODULES:
        for each in vars(module).values():
            if isinstance(each, type) and issubclass(each, Evidence) and each.kind:
                yield each


KINDS: Final[Mapping[str, type[Evidence]]] = {each.kind: each for each in _kinds()}
"""Name -> its dataclass, in the order of their definition."""


def concrete(wanted: Iterable[type[Evidence]]) -> list[type[Evidence]]:
    """The kinds that are one of these, each once: a base stands for all that are made of it."""
    bases = tuple(wanted)
    return [each for each in KINDS.values() if issubclass(each, bases)] if bases else []
