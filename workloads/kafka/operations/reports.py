"""What a broker tells of its replicas: `log-dirs`, which has no key and is asked of one broker, and
`producers`, whose key is `<topic>/<partition>` and which is asked of its leader. The results are
lists, of `LogSize` and of `ActiveProducer`."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.kafka.operations.value import Value, omitted


@dataclass(frozen=True, slots=True)
class LogDirs(Value):
    """Of these partitions, `<topic>/<number>`, those that the broker has a log of are wanted."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LogSize(Value):
    """A log, and how many bytes it has. `future`: true where it is to replace the one that is
    there."""

    key: str
    size: int
    future: bool | None = omitted()


@dataclass(frozen=True, slots=True)
class ActiveProducer(Value):
    """A producer that wrote to the log, under which epoch, and its last sequence number; -1: that
    is not known."""

    id: int
    epoch: int
    last: int
