"""The table of what came of lies, in Markdown."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.falsified.disk_reasons import DISK_REASONS
from benchmarks.falsified.reasons import REASONS

Row = Mapping[str, Any]


def reason_for(row: Row) -> str:
    """Of the first that covers it; empty: nobody knows one."""
    reasons = DISK_REASONS if row["teller"] == "disk" else REASONS
    return next((each.why for each in reasons if each.covers(row)), "")


def table(rows: Iterable[Row]) -> Iterator[str]:
    """A line for each field of each kind of answer, or of what disks say: by whom lies are found,
    and which are not."""
    grouped: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        grouped[row["teller"], row["f"], row["field"]].append(row)
    on_disk = all(teller == "disk" for teller, _, _ in grouped)
    yield f"| {'on disk' if on_disk else 'answer'} | field | found | by | not found, and why |"
    yield "| --- | --- | ---: | --- | --- |"
    for (teller, f, field), own in sorted(grouped.items()):
        told = f"{f} (observer)" if teller == "observer" else f
        found = sum(bool(each["invalid"]) for each in own)
        yield f"| {told} | `{field}` | {found}/{len(own)} | {_by(own)} | {_left(own)} |"
    yield ""
    yield from _sums([each for own in grouped.values() for each in own])


def _by(rows: Sequence[Row]) -> str:
    """Who finds most of them, with clause: at most three."""
    counts = Counter(each for row in rows for each in row["invalid"])
    return ", ".join(f"`{name}` {count}" for name, count in counts.most_common(3)) or "-"


def _left(rows: Sequence[Row]) -> str:
    """Changes that nobody found, each with how many of those tried, and the reason."""
    tried = Counter(each["change"] for each in rows)
    left = Counter(each["change"] for each in rows if not each["invalid"])
    reasons: dict[str, list[str]] = defaultdict(list)
    for change, count in left.items():
        row = next(each for each in rows if each["change"] == change)
        why = reason_for(row) or "**?**"
        reasons[why].append(f"{change} {count}/{tried[change]}")
    return "; ".join(f"{', '.join(changes)}: {why}" for why, changes in reasons.items()) or "-"


def _sums(rows: Sequence[Row]) -> Iterator[str]:
    found = sum(bool(each["invalid"]) for each in rows)
    unknown = sum(bool(each["unknown"] or each["failed"]) for each in rows if not each["invalid"])
    told = sum(bool(reason_for(each)) for each in rows if not each["invalid"])
    yield (
        f"{len(rows)} lies: {found} INVALID, {unknown} UNKNOWN, {len(rows) - found - unknown} "
        f"VALID; of those that are not INVALID {told} have a reason."
    )
