"""Values as numbers: of a pool of texts, and of each key's own. Compiled.

Most values are whole numbers, which need no hashing: a table has room for each.
"""

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checkers.linearizability.encoded import Codes, Ints
from checkers.linearizability.encoding.texts import Strings, numbered
from framework.compiled import compiled
from framework.history.json_walk import integer

_ROOM: Final = 8
"""Numbers of a table for each text."""
_ZERO: Final = ord("0")


def distinct(texts: Strings) -> tuple[Strings, Codes]:
    """As `numbered` of an array of plain strings without nulls, in another order."""
    _, offsets, data = texts.buffers()
    if not len(texts) or data is None:
        return numbered(texts)
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    codes = np.empty(len(texts), np.int32)
    table = np.zeros(_ROOM * len(texts), np.int32)
    firsts = np.empty(len(texts), np.int64)
    count = _whole_numbers(ends, np.frombuffer(data, np.uint8), table, codes, firsts)
    others = np.flatnonzero(codes < 0)
    if 2 * len(others) > len(texts):
        return numbered(texts)
    rest, rest_codes = numbered(texts.take(pa.array(others)))
    codes[others] = count + rest_codes
    return pa.concat_arrays([texts.take(pa.array(firsts[:count])), rest]), codes


@compiled
def _whole_numbers(
    ends: Codes, data: NDArray[np.uint8], table: Codes, codes: Codes, firsts: Ints
) -> int:
    """Codes of texts that are numbers which the table (zeros) has room for, as they are met; -1
    for others. The first row of each; how many."""
    count = 0
    for row in range(len(codes)):
        begin, end = ends[row], ends[row + 1]
        codes[row] = -1
        if end - begin > 9 or (end - begin > 1 and data[begin] <= _ZERO):
            continue
        value = integer(data, begin, end)
        if value < 0 or value >= len(table):
            continue
        if table[value] == 0:
            firsts[count] = row
            count += 1
            table[value] = count
        codes[row] = table[value] - 1
    return count


@compiled
def own_numbers(
    a: Ints, b: Ints, starts: Ints, initial: int, places: Codes, own: Codes, met: Ints, firsts: Ints
) -> None:
    """Each key's own numbers of its values, as its operations meet them; 0 is the initial one, and
    what is negative is -1.

    `own` is (2, rows), for a and b. Of key k the values 1, 2, ... are `met[firsts[k]:][...]`.
    `places` has room for every value, with any content: where the key has met it, if it has.
    """
    count = 0
    for key in range(len(starts) - 1):
        first = count
        firsts[key] = first
        for row in range(starts[key], starts[key + 1]):
            for side in range(2):
                value = a[row] if side == 0 else b[row]
                if value < 0:
                    own[side, row] = -1
                    continue
                if value == initial:
                    own[side, row] = 0
                    continue
                place = places[value]
                if place < first or place >= count or met[place] != value:
                    place = count
                    places[value] = place
                    met[place] = value
                    count += 1
                own[side, row] = place - first + 1
    firsts[len(starts) - 1] = count
