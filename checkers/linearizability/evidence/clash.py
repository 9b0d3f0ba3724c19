"""Two values, each written once, that would each have to come before the other.

With one writer a value is in force once, so all that has to do with one of two such values comes
before all that has to do with the other (the zones of Golab, Li & Shah 2011).
"""

from collections.abc import Callable
from itertools import combinations

import numpy as np

from checkers.linearizability.coded import Coded, Ints
from checkers.linearizability.evidence.small_search import CAS, CHANGE, READ, WRITE


def clash(
    coded: Coded, members: Ints, value: Callable[[int], str], name: Callable[[int], str]
) -> str:
    """The contradiction in words; empty if the members show none of that form."""
    if not np.isin(coded.kind, (READ, WRITE, CAS)).all():
        return ""
    about: dict[int, list[int]] = {}
    for row in members.tolist():
        read = int(coded.kind[row]) == READ
        about.setdefault(int(coded.a[row] if read else coded.b[row]), []).append(row)
    once = [number for number in about if _is_in_force_once(coded, number)]
    for one, other in combinations(once, 2):
        first, last = _zone(coded, about[one])
        other_first, other_last = _zone(coded, about[other])
        if coded.ret[first] < coded.call[other_last] and coded.ret[other_first] < coded.call[last]:
            return (
                f"Each of {value(one)} and {value(other)} was written once at most, so one is over "
                f"before the other begins. But {name(first)} returned before {name(other_last)} "
                f"was invoked, and {name(other_first)} before {name(last)}."
            )
    return ""


def _is_in_force_once(coded: Coded, value: int) -> bool:
    writers = int(np.count_nonzero((coded.b == value) & np.isin(coded.kind, (WRITE, CAS, CHANGE))))
    return writers == (0 if value == coded.initial else 1)


def _zone(coded: Coded, rows: list[int]) -> tuple[int, int]:
    """The one that returned first, and the one that was invoked last."""
    return min(rows, key=lambda row: coded.ret[row]), max(rows, key=lambda row: coded.call[row])
