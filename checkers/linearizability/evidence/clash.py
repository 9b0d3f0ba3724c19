"""Two values, each written once, that would each have to come before the other.

With one writer a value is in force once, so all that has to do with one of two such values comes
before all that has to do with the other (the zones of Golab, Li & Shah 2011).
"""

from collections.abc import Callable
from itertools import combinations

import numpy as np

from checkers.linearizability.encoded import EncodedHistory, Ints
from checkers.linearizability.evidence.small_search import CAS, READ, WRITE


def clash(
    encoded: EncodedHistory, members: Ints, value: Callable[[int], str], name: Callable[[int], str]
) -> str:
    """The contradiction in words; empty if the members show none of that form."""
    if not np.isin(encoded.kind, (READ, WRITE, CAS)).all():
        return ""
    about: dict[int, list[int]] = {}
    for row in members.tolist():
        read = int(encoded.kind[row]) == READ
        about.setdefault(int(encoded.a[row] if read else encoded.b[row]), []).append(row)
    once = [number for number in about if _is_in_force_once(encoded, number)]
    for one, other in combinations(once, 2):
        first, last = _zone(encoded, about[one])
        other_first, other_last = _zone(encoded, about[other])
        if (
            encoded.ret[first] < encoded.call[other_last]
            and encoded.ret[other_first] < encoded.call[last]
        ):
            return (
                f"Each of {value(one)} and {value(other)} was written once at most, so one is over "
                f"before the other begins. But {name(first)} returned before {name(other_last)} "
                f"was invoked, and {name(other_first)} before {name(last)}."
            )
    return ""


def _is_in_force_once(encoded: EncodedHistory, value: int) -> bool:
    writers = np.count_nonzero((encoded.b == value) & np.isin(encoded.kind, (WRITE, CAS)))
    return bool(writers == (0 if value == encoded.initial else 1))


def _zone(encoded: EncodedHistory, rows: list[int]) -> tuple[int, int]:
    """The one that returned first, and the one that was invoked last."""
    return min(rows, key=lambda row: encoded.ret[row]), max(rows, key=lambda row: encoded.call[row])
