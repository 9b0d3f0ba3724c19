"""What each method is there for: cells of the grid, decided with it and without it.

    python -m benchmarks.checking.worth [METHOD ...]

Processor time of one core; a key without an answer after five seconds of it is given up. Prints the
table of docs/grid.md. A method that loses nothing, or only what another reaches within twice the
time, has no place. Of the general searches it is a line of one history each: they differ by far
more from history to history than the others.
"""

import argparse
from collections.abc import Mapping, Sequence
from time import thread_time
from typing import Final

from benchmarks.checking.cells import Cell, named
from benchmarks.checking.child import Outcome, ProcessorBudget, answer
from benchmarks.checking.summary import seconds
from checkers.linearizability.decision import DEFAULT_BYTES
from checkers.linearizability.methods.table import METHODS
from checkers.linearizability.precompile import precompile

_LIMIT_S: Final = 5.0
CELLS: Final[Mapping[str, Sequence[str]]] = {
    "log order": ["logged-kv/1/10000/20/3/0/none"],
    "unique writes": ["register/1/100000/20/unique/0.05/none"],
    "two value sweep": ["set/1/10000/100/2/0.05/none"],
    "jit bitset": ["register/1/100000/5/5/0.05/none", "register/100/100000/5/5/0.01/none"],
    "interval refuter": ["register/1/10000/20/5/0/burst", "register/1/10000/100/5/0.05/phantom"],
    "beam": ["register/1/100000/20/5/0/none"],
    "fifo queue": ["queue/1/10000/20/unique/0.05/none"],
    "wgl": ["kv/1/10000/5/3/0.01/none", "queue/1/300/3/6/0/lost/1"],
    "jit antichain": ["queue/1/100/3/6/0.02/none/1", "kv/1/1000/5/3/0.05/phantom"],
    "grow-only set": ["grow-only-set/1/1000/20/unique/0.05/none"],
}
"""By method: what shows that it is needed."""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("benchmarks.checking.worth", description=__doc__)
    parser.add_argument("methods", nargs="*", metavar="METHOD", help="all, if none is named")
    wanted = parser.parse_args(argv).methods or CELLS
    for each in METHODS:
        precompile(each.decide)
    print("| method | cell | with it | without it |", "| --- | --- | --- | --- |", sep="\n")
    for method in wanted:
        for cell in map(named, CELLS[method]):
            with_it, without_it = _answer(cell), _answer(cell, method)
            print(f"| {method} | `{cell.name}` | {with_it} | {without_it} |", flush=True)


def _answer(cell: Cell, *without: str) -> str:
    """Of two, the quicker one: the first may have compiled something."""
    keys, sets = cell.histories(), cell.sets()
    outcomes: list[Outcome] = []
    while len(outcomes) < 2 and all(each.seconds < _LIMIT_S for each in outcomes):
        outcomes.append(
            answer(keys, sets, _LIMIT_S, DEFAULT_BYTES, ProcessorBudget, thread_time, without)
        )
    best = min(outcomes, key=lambda each: each.seconds)
    return f"{best.verdict} {seconds(best.seconds)}, {', '.join(best.methods)}"


if __name__ == "__main__":
    main()
