"""A grid in a few lines: cells of one size together, the worst of them told."""

from collections import Counter
from collections.abc import Iterator, Sequence

from benchmarks.checking.runner import COUNTS_S, Row

_HEAD = (
    "| model, operations, keys, clients a key, values | cells | slowest, most memory | methods |"
    " least ahead of Porcupine |"
)


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Markdown: a line for all shares of indeterminate operations and all violations of a size."""
    groups: dict[tuple[str, int, int, int, int | None], list[Row]] = {}
    for row in rows:
        cell = row.cell
        group = (cell.model, cell.operations, cell.keys, cell.clients, cell.values)
        groups.setdefault(group, []).append(row)
    yield _HEAD
    yield "| --- | --- | --- | --- | --- |"
    for (model, operations, keys, clients, values), members in groups.items():
        slowest = max(row.ours.seconds for row in members)
        memory = max(row.ours.peak_bytes for row in members)
        methods: Counter[str] = Counter()
        for row in members:
            methods.update(row.ours.methods)
        size = f"{model} {operations:,}, {keys}, {clients}, {values or 'unique'}"
        named = ", ".join(name for name, _ in methods.most_common())
        yield (
            f"| {size} | {len(members)} | {seconds(slowest)}, {mib(memory)} MiB | {named} "
            f"| {_least_ahead(members)} |"
        )


def _least_ahead(rows: Sequence[Row]) -> str:
    """The smallest ratio that counts, and how often there was no answer to compare with."""
    asked = [row for row in rows if row.peer is not None]
    if not asked:
        return "not asked"
    silent = [row for row in asked if row.ratio is None]
    ratios = [(row.ratio, row.peer.seconds) for row in asked if row.peer and row.ratio is not None]
    counting = [(ratio, took) for ratio, took in ratios if took > COUNTS_S]
    parts = []
    if counting:
        ratio, took = min(counting)
        parts.append(f"{times(ratio)} times (of {seconds(took)})")
    if len(counting) < len(ratios):
        parts.append(f"{len(ratios) - len(counting)} that take it less than {seconds(COUNTS_S)}")
    if silent:
        least = min(row.peer.seconds / row.ours.seconds for row in silent if row.peer)
        parts.append(f"{len(silent)} without its answer in {times(least)} times as long")
    return "; ".join(parts)


def times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"


def seconds(took: float) -> str:
    if took < 1e-3:
        return f"{took * 1e6:.0f} us"
    return f"{took * 1e3:.3g} ms" if took < 1 else f"{took:.3g} s"


def mib(size: int) -> str:
    return f"{size / (1 << 20):,.0f}"
