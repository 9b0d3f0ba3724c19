"""How quickly histories of every kind are decided, beside Porcupine where it is there.

    python -m benchmarks.checking [--quick | --cells PATTERN ...] [--limit SECONDS]
                                  [--end-to-end here|spark] [--processor-time]
                                  [--no-porcupine] [--porcupine-source FOLDER]
                                  [--peer-limit SECONDS] [--without METHOD ...]
    python -m benchmarks.checking --targets

A line for each cell, `model/keys/operations/clients/values/indeterminate/violation`: the verdict,
the time of the kernels (all keys, one core, arrays ready), the greatest memory of the process and
what of it arrays and libraries took before, the methods that decided, the same of Porcupine (its
check alone, on all cores), and how many times it took as long. At the end a table of groups of
cells, and what is not as it should be: a verdict that cannot be, no answer, less than 20 times
ahead where Porcupine takes more than 5 ms. Any cell can be named, not only those of the grid.

Cells run one by one, each in a process of its own; the whole grid takes hours beside Porcupine,
most of it Porcupine's. With `--peer-limit 2` it is given up after 2 seconds, or 30 times what we
took if that is more: enough to tell whether we are 20 times ahead. It stops at the first key that
is wrong; both times are told then, and that of all keys is compared, for that is what we do.
With `--without beam` that method is not asked: what it is there for.
With `--processor-time` both count the time of all their cores together, as if each had one.
"""

import argparse
import tempfile
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from benchmarks.checking.cells import Cell, grid, named, quick
from benchmarks.checking.peer import Porcupine, Unavailable, porcupine
from benchmarks.checking.runner import Limits, Row, run
from benchmarks.checking.summary import mib, seconds, table, times
from benchmarks.checking.targets import TARGETS
from checkers.linearizability.methods.grow_only import METHOD as GROW_ONLY
from checkers.linearizability.methods.table import METHODS


def main(argv: Sequence[str] | None = None) -> None:
    args = _parsed(argv)
    limits = Limits(
        args.limit,
        args.memory,
        processor_time=args.processor_time,
        peer_seconds=args.peer_limit,
        without=tuple(args.without),
    )
    if args.targets:
        _targets(limits)
        return
    cells = list(quick()) if args.quick else _chosen(args.cells)
    if not cells:
        raise SystemExit(f"no such cell: {' '.join(args.cells)}")
    with tempfile.TemporaryDirectory() as folder:
        peer = None if args.no_porcupine else _peer(Path(folder), args)
        rows = []
        for row in run(cells, limits, peer, args.end_to_end):
            print(_line(row), flush=True)
            rows.append(row)
    print("", *table(rows), "", sep="\n")
    complaints = [f"  {row.cell.name}: {row.complaint}" for row in rows if row.complaint]
    print(f"{len(cells)} cells, {len(complaints)} not as they should be", *complaints, sep="\n")


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    text = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("benchmarks.checking", None, __doc__, formatter_class=text)
    parser.add_argument("--quick", action="store_true", help="some of the cells")
    parser.add_argument("--cells", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--targets", action="store_true", help="what has to be reached")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds a key, and a cell")
    parser.add_argument("--memory", type=int, default=1024, help="MiB that a key may take")
    parser.add_argument(
        "--without", nargs="+", default=[], metavar="METHOD", help="not asked",
        choices=[*(each.name for each in METHODS), GROW_ONLY],
    )  # fmt: skip
    parser.add_argument("--end-to-end", choices=("here", "spark"))
    parser.add_argument(
        "--processor-time", action="store_true", help="not the clock's: the machine has other work"
    )
    parser.add_argument("--no-porcupine", action="store_true")
    parser.add_argument("--porcupine-source", type=Path, metavar="FOLDER")
    parser.add_argument("--peer-limit", type=float, metavar="SECONDS", help="enough for Porcupine")
    return parser.parse_args(argv)


def _chosen(patterns: Sequence[str]) -> list[Cell]:
    """Cells of the grid that match, and cells that are named in full."""
    cells = [cell for cell in grid() if any(fnmatchcase(cell.name, each) for each in patterns)]
    others = [each for each in patterns if each.count("/") >= 6 and not set(each) & set("*?[")]
    return cells + [cell for cell in map(named, others) if cell not in cells]


def _peer(folder: Path, args: argparse.Namespace) -> Porcupine | None:
    try:
        return porcupine(folder, args.porcupine_source, args.processor_time)
    except Unavailable as reason:
        print(f"without Porcupine: {reason}")
        return None


def _line(row: Row) -> str:
    ours, peer = row.ours, row.peer
    methods = ", ".join(
        name if count == row.cell.keys else f"{name} x{count}"
        for name, count in ours.methods.items()
    )
    parts = [f"{row.cell.name}: {ours.verdict} {seconds(ours.seconds)}"]
    parts.append(f"{mib(ours.peak_bytes)} MiB (before {mib(ours.before_bytes)}), {methods}")
    if ours.end_to_end_s is not None:
        parts.append(f"end to end {seconds(ours.end_to_end_s)}")
    if peer is not None:
        early = "" if peer.first_s is None else f" (the first wrong key {seconds(peer.first_s)})"
        parts.append(f"porcupine {peer.verdict} {seconds(peer.seconds)}{early}")
        parts.append(f"{mib(peer.peak_bytes)} MiB")
        if row.ratio is not None:
            parts.append(f"{times(row.ratio)} times")
    if row.complaint:
        parts.append(f"!! {row.complaint}" + (f" ({ours.note})" if ours.note else ""))
    return "; ".join(parts)


def _targets(limits: Limits) -> None:
    for target in TARGETS:
        (row,) = run([target.cell], limits, None, target.end_to_end)
        outcome = row.ours
        measured = target.measured_s(outcome)
        took = "-" if measured is None else seconds(measured)
        met = "met" if target.is_met(outcome) else f"NOT met {outcome.note}".rstrip()
        size = f"{target.cell.operations:,} operations"
        memory = f", {mib(outcome.peak_bytes)} MiB" if target.max_bytes else ""
        print(
            f"{size}, {target.what}: < {target.seconds:g} s; "
            f"{took}{memory}, {outcome.verdict} ({', '.join(outcome.methods)}): {met}",
            flush=True,
        )


if __name__ == "__main__":
    main()
