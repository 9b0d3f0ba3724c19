"""Version orders: which value stands where in each log.

An *entry* is a value seen at an offset: by a poll of any outcome (what a consumer was handed was
there), or by a send that must have taken effect - one that was acknowledged with its place
promised, or whose outcome is unknown while an ok operation polled a value of it. Offsets have
gaps, for control records take some; *indices* are the offsets that hold entries, counted per part
from 0. An *item* is a value of a part.
"""

from dataclasses import dataclass

import numpy as np

from checkers.logs.log import NOWHERE, Bools, Log
from checkers.logs.rows import FAIL, INFO, OK, Flag, Kind
from framework.history.json_walk import NONE, Ints

_BIG = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Order:
    """Of the sends and polls `rows` of a log, which are in the log's order."""

    rows: Ints
    sends: Bools
    """By record (element of `rows`): it is a send, else a poll."""
    item: Ints
    """By record."""
    index: Ints
    """By record: the index of its offset, else the only one of its value; else `NOWHERE`."""
    committed: Bools
    """By record: a send that must have taken effect."""
    known: Ints
    """Operations (index by run, see `operation`) of unknown outcome that took effect."""
    waiting: Ints
    """Of those that sent to several keys: the ones of which nothing was polled from these."""

    position_part: Ints
    position_offset: Ints
    """The offsets that hold entries, by (part, offset), and their parts."""
    part_begin: Ints
    """By part, and one more: where its positions begin."""

    entry_position: Ints
    entry_item: Ints
    entry_record: Ints
    """Entries by (position, item); the first record that shows each."""

    first_index: Ints
    last_index: Ints
    """By item: of its entries; `NOWHERE` without any."""
    places: Ints
    """By item: how many offsets hold it."""

    read: Bools
    """By item: an ok operation polled it."""
    polled: Bools
    """By item: somebody polled it, whatever became of the operation."""

    def index_of(self, position: Ints, part: Ints) -> Ints:
        """The index within a part of a position."""
        return position - self.part_begin[part]


def operation(log: Log, rows: Ints) -> Ints:
    """A number for (run, index): histories of different runs count their events alike."""
    numbers = run_numbers(log)
    run = np.array([numbers[run] for run, _ in log.parts], np.int64)
    return run[log.part[rows]] << 40 | log.index[rows]


def run_numbers(log: Log) -> dict[str, int]:
    """The runs, numbered within this log."""
    return {run: n for n, run in enumerate(sorted({run for run, _ in log.parts}))}


def order(log: Log, known: Ints | None = None) -> Order:
    """The order of a log. `known`: operations of unknown outcome that took effect, as other parts
    show (numbers of `operation`)."""
    rows = log.having(Kind.SEND, Kind.POLL)
    sends = log.kind[rows] == Kind.SEND
    part = log.part[rows]
    item, count = _items(part << 32 | log.value[rows])
    read, polled = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    polled[item[~sends]] = True
    type_ = log.type[rows]
    read[item[~sends & (type_ == OK)]] = True
    effective, unknown, waiting = _effective(log, rows, sends, item, read, known)
    committed = sends & ((type_ == OK) | effective)
    shows = np.where(sends, committed & log.flagged(Flag.PROMISED)[rows], True)
    shows &= log.offset[rows] != NONE
    at = np.flatnonzero(shows)
    offset = log.offset[rows]

    places = np.lexsort((item[at], offset[at], part[at]))
    by = at[places]
    starts = _changes(part[by], offset[by])
    position = np.cumsum(starts) - 1
    fresh = starts | _changes(item[by])
    entries = by[fresh]
    position_part, position_offset = part[by[starts]], offset[by[starts]]
    part_begin = np.searchsorted(position_part, np.arange(len(log.parts) + 1))

    entry_position, entry_item = position[fresh], item[entries]
    entry_index = entry_position - part_begin[part[entries]]
    first, last = np.full(count, _BIG, np.int64), np.full(count, NOWHERE, np.int64)
    np.minimum.at(first, entry_item, entry_index)
    np.maximum.at(last, entry_item, entry_index)
    first[last == NOWHERE] = NOWHERE

    index = np.full(len(rows), NOWHERE, np.int64)
    index[by] = position - part_begin[part[by]]
    by_value = index == NOWHERE
    alone = first[item] == last[item]
    index[by_value & alone] = first[item[by_value & alone]]
    return Order(
        rows,
        sends,
        item,
        index,
        committed,
        unknown,
        waiting,
        position_part,
        position_offset,
        part_begin,
        entry_position,
        entry_item,
        entries,
        first,
        last,
        np.bincount(entry_item, minlength=count),
        read,
        polled,
    )


def _items(values: Ints) -> tuple[Ints, int]:
    """Equal numbers for equal values, in the order in which they first come; how many."""
    _, first, item = np.unique(values, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[item], len(first)


def _effective(
    log: Log, rows: Ints, sends: Bools, item: Ints, read: Bools, known: Ints | None
) -> tuple[Bools, Ints, Ints]:
    """By record, whether it is a send of unknown outcome that took effect; the operations that did
    by what is seen here; those of which it is not known."""
    unknown = np.flatnonzero(sends & (log.type[rows] == INFO))
    of = operation(log, rows[unknown])
    seen = np.unique(of[read[item[unknown]]])
    effects = seen if known is None else np.union1d(seen, known)
    made = np.zeros(len(rows), np.bool_)
    made[unknown] = np.isin(of, effects)
    among = log.flagged(Flag.AMONG)[rows[unknown]]
    return made, np.intersect1d(seen, of[among]), np.setdiff1d(of[among], effects)


def _changes(*columns: Ints) -> Bools:
    """Where a row differs from the one before it."""
    made = np.zeros(len(columns[0]), np.bool_)
    made[:1] = True
    for column in columns:
        made[1:] |= column[1:] != column[:-1]
    return made


def senders(log: Log, found: Order) -> tuple[Ints, Ints, Ints]:
    """By item: a record that sent it, one that did not fail if there is such (`NOWHERE`: nobody
    did); how many that did not fail; and when the first of all was invoked."""
    count = len(found.read)
    writer = np.full(count, NOWHERE, np.int64)
    live = np.zeros(count, np.int64)
    sends = np.flatnonzero(found.sends)
    failed = log.type[found.rows[sends]] == FAIL
    for some in (sends[failed], sends[~failed]):
        writer[found.item[some][::-1]] = some[::-1]
    np.add.at(live, found.item[sends[~failed]], 1)
    begun = np.full(count, _BIG, np.int64)
    np.minimum.at(begun, found.item[sends], log.index[found.rows[sends]])
    return writer, live, begun
