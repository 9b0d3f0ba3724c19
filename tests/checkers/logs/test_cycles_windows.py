"""A window by itself: its potentials, and what it shows, are what the definitions say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from checkers.logs.cycles_windows import (
    DEALT,
    LEAN,
    NEVER,
    PASSED,
    PROVEN,
    SEEN,
    SPAN,
    SUSPECT,
    Passed,
    dealt,
    seen,
    united,
)

Row = tuple[int, ...]


def lean(rows: Sequence[Row], schema: pa.Schema = LEAN) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def tuples(table: pa.Table) -> list[Row]:
    return [tuple(row.values()) for row in table.to_pylist()]


def ints(values: Sequence[int]) -> np.ndarray:
    return np.array(values, np.int64)


def test_ranges_with_something_in_common_are_one() -> None:
    for seed in range(80):
        random = Random(seed)
        low = [random.randrange(12) for _ in range(random.randint(0, 6))]
        ranges = [(each, each + random.randrange(4)) for each in low]
        wanted: list[tuple[int, int]] = []
        for begin, end in sorted(ranges):
            if wanted and begin <= wanted[-1][1]:
                wanted[-1] = wanted[-1][0], max(end, wanted[-1][1])
            else:
                wanted.append((begin, end))
        begins, ends, again = united(ints(low), ints([end for _, end in ranges]))
        assert list(zip(begins.tolist(), ends.tolist(), strict=True)) == wanted
        assert again.tolist() == ends.tolist()


def test_an_edge_is_dealt_to_the_windows_of_its_ends() -> None:
    rows = [(0, 3, 4, 9), (0, 12, 1, 2), (2, 5, 5, 6), (0, 9, 3, 9), (2, 14, 10, 3), (0, 10, 14, 1)]
    wanted: dict[int, list[Row]] = {}
    for run, a, b, until in rows:
        for window in {a // 5, b // 5}:
            wanted.setdefault(run << 32 | window, []).append((run, a, b, until, window))
    found = list(dealt(lean(rows), 5))
    assert [bucket for bucket, _ in found] == sorted(wanted)
    for bucket, table in found:
        assert sorted(tuples(table)) == sorted(wanted[bucket])
    assert list(dealt(lean([]), 5)) == []


PASSED_ON = [(0, PASSED, 5, 9, 7), (0, SPAN, 1, 2, 2), (1, PASSED, 3, 4, 5), (1, PASSED, 6, 8, 9)]


def test_what_was_passed_on_is_known_by_run() -> None:
    known = Passed.of(lean(PASSED_ON, SEEN))
    found = {run: [each.tolist() for each in known.of_run(run)] for run in (0, 1, 2)}
    assert found == {0: [[5], [9]], 1: [[3, 6], [4, 8]], 2: [[], []]}


def test_what_is_known_is_compared() -> None:
    known = Passed.of(lean(PASSED_ON, SEEN))
    assert known == Passed.of(lean(PASSED_ON, SEEN)) != Passed.of(lean(PASSED_ON[:3], SEEN))
    for column in (0, 2, 3):
        other = list(PASSED_ON[0])
        other[column] -= 1
        assert known != Passed.of(lean([tuple(other), *PASSED_ON[1:]], SEEN))
    assert known != "known"


# --- one window ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Window:
    """Of the indices from `first` on, `SIZE` of them: edges of operations, of which one end at
    least is within; when each operation ends, and what is known of others' potentials."""

    edges: Sequence[tuple[int, int]]
    until: Mapping[int, int]
    known: Mapping[int, int]

    def within(self, op: int) -> bool:
        return FIRST <= op < FIRST + SIZE

    @property
    def inner(self) -> list[tuple[int, int]]:
        return [(a, b) for a, b in self.edges if self.within(a) and self.within(b)]

    def ends(self, op: int) -> int:
        """Of what nothing leads to within, it is not known."""
        return self.until[op] if any(b == op for _, b in self.edges) else int(NEVER)

    def entering(self) -> list[tuple[int, int]]:
        """(operation, potential) from other windows; less than the operation is no news."""
        known = [(b, self.known[a]) for a, b in self.edges if a in self.known]
        return [(b, potential) for b, potential in known if potential >= b]

    def potentials(self) -> dict[int, int]:
        """The highest index, or potential of another window, from which each can be reached; that
        ends where it reaches what had ended before."""
        ops = sorted({op for edge in self.edges for op in edge if self.within(op)})
        found: dict[int, int] = {}
        for begin, value in sorted([*self.entering(), *zip(ops, ops, strict=True)], key=_falling):
            left = [begin]
            while left:
                if (op := left.pop()) not in found:
                    found[op] = value
                    if value <= self.ends(op):
                        left += [b for a, b in self.inner if a == op]
        return found

    def shown(self) -> list[Row]:
        """(what, x, y, z), as the definitions say."""
        of = self.potentials()
        late = {op for op in of if of[op] > self.ends(op)}
        out = [(a, b) for a, b in self.edges if not self.within(b) and b <= of[a]]
        passed = {a: min(to for by, to in out if by == a) for a, _ in out if a not in late}
        spans = [(self.ends(op), of[op]) for op in late]
        spans += [(of[b], of[a]) for a, b in self.inner if of[a] > of[b]]
        spans += [(b, of[a]) for a, b in out if a in late]
        low, high, _ = united(*(ints([each[side] for each in spans]) for side in (0, 1)))
        return [
            *((PASSED, op, of[op], least) for op, least in sorted(passed.items())),
            *((SPAN, a, b, b) for a, b in zip(low.tolist(), high.tolist(), strict=True)),
            *((SUSPECT, op, op, op) for op in self.suspects(of, out)),
        ]

    def suspects(self, of: Mapping[int, int], out: Sequence[tuple[int, int]]) -> list[int]:
        """On a cycle of one potential; all that is beyond the window is one vertex, -1."""
        ways = {(a, b) for a, b in self.inner if of[a] == of[b]} | {(a, -1) for a, _ in out}
        ways |= {(-1, b) for b, potential in self.entering() if potential == of[b]}
        after = {op: {b for a, b in ways if a == op} for op in (*of, -1)}
        for _ in after:
            after = {op: set().union(to, *(after[b] for b in to)) for op, to in after.items()}
        return sorted(op for op in of if op in after[op])


def _falling(seed: tuple[int, int]) -> int:
    return -seed[1]


FIRST, SIZE = 10, 10


def windows() -> Iterator[Window]:
    """Of dozens of edges, near each other; operations overlap, but for some that are late."""
    for seed in range(150):
        random = Random(seed)
        until = {op: op + random.choice((1, 3, 30, int(NEVER) - op)) for op in range(30)}
        known = {
            op: random.randint(max(0, op - 2), 28) for op in range(30) if random.random() < 0.7
        }
        known = {op: each for op, each in known.items() if not FIRST <= op < FIRST + SIZE}
        if seed % 3:  # of those before it, or of none
            known = {op: each for op, each in known.items() if op < FIRST and seed % 3 == 1}
        edges = set[tuple[int, int]]()
        for _ in range(random.randint(1, 24)):
            a = random.randint(FIRST - 3, FIRST + SIZE + 3)
            b = random.randint(max(a - 4, FIRST - 3), min(a + 4, FIRST + SIZE + 3))
            if a != b and any(FIRST <= each < FIRST + SIZE for each in (a, b)):
                edges.add((a, b))
        if edges:
            yield Window(random.sample(sorted(edges), len(edges)), until, known)


def test_a_window_shows_what_the_definitions_say() -> None:
    kinds = {PASSED: 0, SPAN: 0, SUSPECT: 0}
    for window in windows():
        rows = [(4, a, b, window.until[b], 1) for a, b in window.edges]
        reported = [(4, PASSED, op, potential, 0) for op, potential in sorted(window.known.items())]
        others = [(run, PASSED, op, 99, 0) for run in (3, 5) for op in window.known]
        known = Passed.of(lean(sorted([*reported, *others]), SEEN))
        found = tuples(seen(lean(rows, DEALT), known, SIZE))
        assert found == [(4, *each) for each in window.shown()]
        for _, what, *_ in found:
            kinds[what] += 1
    assert min(kinds.values()) > 40


def test_who_leads_back_from_another_window_is_a_suspect() -> None:
    """The potential of the one there is that of the one here, which is its own index."""
    rows = [(4, 15, 5, int(NEVER), 1), (4, 5, 15, int(NEVER), 1)]
    known = Passed.of(lean([(4, PASSED, 5, 15, 15)], SEEN))
    found = tuples(seen(lean(rows, DEALT), known, 10))
    assert found == [(4, PASSED, 15, 15, 5), (4, SUSPECT, 15, 15, 15)]
    assert len({PASSED, SPAN, SUSPECT, PROVEN}) == 4


@pytest.mark.parametrize("edge", [(), (3, 4, 9)])
def test_what_took_effect_is_reported_once(edge: Row) -> None:
    """Beside edges, or by itself."""
    proven = [(2, op, op, int(NEVER), 0) for op in (8, 6, 8)]
    rows = [*proven, *([(2, *edge, 0)] if edge else [])]
    found = tuples(seen(lean(rows, DEALT), Passed.of(lean([], SEEN)), 10))
    assert found == [(2, PROVEN, op, op, op) for op in (6, 8)]
