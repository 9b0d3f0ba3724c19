"""What each method is there for: histories that it decides, with it and without it.

    python -m benchmarks.checking.worth [METHOD ...]

Processor time of one core, all in one process; a key without an answer after ten seconds is given
up. Prints the table of docs/grid.md. One that loses nothing, or only what another reaches within
twice the time, has no place among the methods.
"""

import argparse
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from time import thread_time
from typing import Final

import numpy as np

from benchmarks.checking.cells import named
from benchmarks.checking.summary import seconds
from benchmarks.histories import QueuePlant, queue
from checkers.linearizability.decide import decide, decide_small
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import EncodedHistory, EncodedKeys, Kind
from checkers.linearizability.encoding.transitions import queue_steps
from checkers.linearizability.methods.table import METHODS, Method
from framework.verdict import worst

Make = Callable[[], Sequence[EncodedHistory]]
_LIMIT_S: Final = 10.0
_RUNS: Final = 2


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("benchmarks.checking.worth", description=__doc__)
    parser.add_argument("methods", nargs="*", metavar="METHOD", help="all, if none is named")
    wanted = parser.parse_args(argv).methods
    print("| method | history | with it | without it |", "| --- | --- | --- | --- |", sep="\n")
    for method, histories in _HISTORIES.items():
        if not wanted or method in wanted:
            for name, make in histories.items():
                print(_line(method, name, make()), flush=True)


def _line(method: str, name: str, keys: Sequence[EncodedHistory]) -> str:
    others = [each for each in METHODS if each.name != method]
    return f"| {method} | {name} | {_answer(keys, METHODS)} | {_answer(keys, others)} |"


def _answer(keys: Sequence[EncodedHistory], methods: Sequence[Method]) -> str:
    joined = EncodedKeys.of(keys)
    best = float("inf")
    for _ in range(_RUNS):
        began = thread_time()
        made = list(_decisions(joined, methods))
        best = min(best, thread_time() - began)
        if best > _LIMIT_S / 2:
            break
    by = ", ".join(dict.fromkeys(each.method for each in made))
    return f"{worst(each.verdict for each in made).value} {seconds(best)}, {by}"


def _decisions(keys: EncodedKeys, methods: Sequence[Method]) -> Iterator[Decision]:
    for number, known in enumerate(decide_small(keys, methods)):
        yield known or decide(keys[number], Budget(_LIMIT_S), methods).decision


def set_element(operations: int, clients: int, lie: bool) -> list[EncodedHistory]:
    """Adds, removes and reads of one element; the last tenth of it lies, if wanted."""
    rng = random.Random(1)
    kind, a, b, moments = [], [], [], []
    state = 0
    for row in range(operations):
        side = rng.randint(0, 1)
        changes = rng.random() < 0.6 and side != state
        kind.append(Kind.CAS if changes else Kind.READ)
        a.append(state)
        b.append(side if changes else -1)
        state = side if changes else state
        moments.append((row - rng.random() * clients / 2, row, 0))
        moments.append((row + rng.random() * clients / 2, row, 1))
    if lie:  # nobody changes anything in the last tenth, and reads see both sides in turns
        for row in range(operations * 9 // 10, operations):
            kind[row], a[row], b[row] = Kind.READ, row // clients % 2, -1
    place = np.zeros((operations, 2), np.int64)
    for index, (_, row, end) in enumerate(sorted(moments)):
        place[row, end] = index
    order = np.argsort(place[:, 0])
    made = EncodedHistory(
        place[order, 0],
        place[order, 1],
        np.array(kind, np.int8)[order],
        np.array(a, np.int32)[order],
        np.array(b, np.int32)[order],
        0,
        ["false", "true"],
    )
    return [made]


def steps(operations: int, clients: int, lost: bool) -> list[EncodedHistory]:
    """A queue as a model that only its transitions know; one value is lost, if wanted."""
    (made,) = named(
        f"queue/1/{operations}/{clients}/unique/0/{'lost' if lost else 'none'}"
    ).histories()
    return [queue_steps(made)]


def repeated(operations: int, clients: int, plant: QueuePlant) -> list[EncodedHistory]:
    """A queue of six values, each enqueued again and again."""
    made = queue(operations, clients, plant=plant, seed=1)
    columns = {"a": made.a, "b": made.b}
    return [replace(made, **{name: np.where(c > 0, c % 6 + 1, c) for name, c in columns.items()})]


def _cells(*names: str) -> dict[str, Make]:
    return {f"`{name}`": named(name).histories for name in names}


_SEARCHED: Final[Mapping[str, Make]] = {
    "queue by its transitions, 100, 3 clients": lambda: steps(100, 3, lost=False),
    "the same, a value lost": lambda: steps(100, 3, lost=True),
    "the same, 300, 5 clients": lambda: steps(300, 5, lost=False),
}
"""Where nothing else applies."""
_HISTORIES: Final[Mapping[str, Mapping[str, Make]]] = {
    "unique writes": _cells(
        "register/1/100000/20/unique/0.05/none", "register/1/10000/20/unique/0.05/phantom"
    ),
    "two value sweep": {
        "element of a set, 10^4, 20 clients": lambda: set_element(10_000, 20, lie=False),
        "the same, not in order": lambda: set_element(10_000, 20, lie=True),
    },
    "jit bitset": _cells(
        "register/1/100000/5/5/0.05/none",
        "register/100/100000/5/5/0.01/none",
        "register/1/10000/5/5/0.05/burst",
    ),
    "interval refuter": _cells(
        "register/1/10000/20/5/0/burst", "register/1/10000/100/5/0.05/phantom"
    ),
    "beam": _cells("register/1/100000/20/5/0/none", "register/1/100000/100/5/0.05/none"),
    "fifo queue": _cells("queue/1/10000/20/unique/0.05/none", "queue/1/10000/20/unique/0.05/swap"),
    "wgl": {
        "queue of six values, 200, 3 clients": lambda: repeated(200, 3, "none"),
        "the same, one of them twice": lambda: repeated(200, 3, "repeat"),
    },
    "jit antichain": _SEARCHED,
}
"""By method: what it decides, or is asked to."""


if __name__ == "__main__":
    main()
