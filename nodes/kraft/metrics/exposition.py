"""Metrics in Prometheus' text format, under Kafka's names.

A JMX name `kafka.controller:type=KafkaController,name=MetadataLag` is written as
`kafka_controller_KafkaController_MetadataLag`, as Kafka's JMX exporters have it; the JMX name
itself is in the HELP line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from nodes.kraft.metrics.meters import Values

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
QUANTILES: Final = (0.5, 0.99)
_NO_NAME: Final = re.compile(r"[^a-zA-Z0-9_]")


@dataclass(frozen=True, slots=True)
class Gauge:
    """A number as of now. `read` may be called on another thread than what it reads."""

    jmx: str
    read: Callable[[], float]

    def lines(self, name: str) -> Iterable[str]:
        yield f"# TYPE {name} gauge"
        yield f"{name} {_number(self.read())}"


@dataclass(frozen=True, slots=True)
class Summary:
    """Values and their quantiles."""

    jmx: str
    values: Values

    def lines(self, name: str) -> Iterable[str]:
        yield f"# TYPE {name} summary"
        for share, value in zip(QUANTILES, self.values.quantiles(*QUANTILES), strict=True):
            yield f'{name}{{quantile="{share}"}} {_number(value)}'
        yield f"{name}_sum {_number(self.values.sum)}"
        yield f"{name}_count {self.values.count}"


Metric = Gauge | Summary


def name_of(jmx: str) -> str:
    """`domain:type=T,name=N` as `domain_T_N`."""
    domain, _, properties = jmx.partition(":")
    values = [item.partition("=")[2] for item in properties.split(",")]
    return _NO_NAME.sub("_", "_".join([domain, *values]))


def exposition(metrics: Iterable[Metric]) -> str:
    """All of them as text."""
    lines: list[str] = []
    for metric in metrics:
        name = name_of(metric.jmx)
        lines += [f"# HELP {name} {metric.jmx}", *metric.lines(name)]
    return "".join(f"{line}\n" for line in lines)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.6g}"
