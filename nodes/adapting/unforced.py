"""What a node that keeps Kafka's files loses with its machine's power, looked up on its host."""

from collections.abc import Collection, Iterator, Sequence

from framework.plugins.host import Host
from framework.plugins.system import Unforced
from nodes.kafka_files.forced import (
    RECOVERY_POINTS,
    extents,
    forced_bytes,
    last_segments,
    recovery_points,
)


def unforced(
    host: Host, logs: str, forced_logs: Collection[str] = frozenset()
) -> Sequence[Unforced]:
    """Of the partitions' logs below a node's workdir, in the directory `logs`. `forced_logs`: names
    of directories there whose logs are forced as they are written. May raise what `Host` does."""
    points = recovery_points(_content(host, f"{host.workdir}/{logs}/{RECOVERY_POINTS}"))
    found = []
    for segment in last_segments(_files(host, f"{host.workdir}/{logs}")):
        if segment.path.partition("/")[0] in forced_logs:
            continue
        base, point = segment.base_offset, points.get((segment.topic, segment.partition), 0)
        data = host.read(f"{host.workdir}/{logs}/{segment.path}") if segment.size else b""
        batches = extents(data, base)
        found.append(
            Unforced(
                f"{logs}/{segment.path}",
                forced_bytes(batches, point),
                segment.size,
                f"{segment.topic}/{segment.partition}",
                [(0, base), *((each.end, each.end_offset) for each in batches)],
            )
        )
    return found


def _files(host: Host, logs: str) -> Iterator[tuple[str, int]]:
    """Paths below a directory, and sizes. (A broker that never began has none.)"""
    listing = host.run(
        ["find", logs, "-mindepth", "2", "-maxdepth", "2", "-name", "*.log", "-printf", "%s %P\\n"],
        check=False,
    )
    for line in listing.out.splitlines():
        size, _, path = line.partition(" ")
        yield path, int(size)


def _content(host: Host, path: str) -> bytes:
    try:
        return host.read(path)
    except FileNotFoundError:
        return b""
