"""What became of each value: one place, one writer, and somebody who polled it."""

import numpy as np

from checkers.logs.cases import Cases
from checkers.logs.log import NEVER, NOWHERE, Bools, Log
from checkers.logs.order import Order, senders
from checkers.logs.rows import FAIL, OK, Flag, Kind
from framework.history.json_walk import NONE, Ints


def values(log: Log, order: Order) -> list[Cases]:
    """Cases of inconsistent-offsets, duplicate, lost-write, unseen, G1a, unwritten-read and
    precommitted-read."""
    lost = _lost_writes(log, order)
    return [
        _inconsistent_offsets(order),
        _duplicates(log, order),
        lost,
        _unseen(log, order, lost.cited[0]),
        *_unwritten(log, order),
        _precommitted(log, order),
    ]


# --- one value an offset, one offset a value ----------------------------------------------


def _inconsistent_offsets(order: Order) -> Cases:
    again = np.flatnonzero(order.entry_position[1:] == order.entry_position[:-1]) + 1
    first = np.searchsorted(order.entry_position, order.entry_position[again])
    rows = order.rows[order.entry_record]
    return Cases("inconsistent-offsets", [rows[first], rows[again]], _tell_inconsistent)


def _tell_inconsistent(log: Log, first: int, other: int) -> str:
    return (
        f"offset {log.offset[first]} holds {log.text(first)} by operation {log.index[first]}, and "
        f"{log.text(other)} by operation {log.index[other]}"
    )


def _duplicates(log: Log, order: Order) -> Cases:
    """A value that was sent n times, or that its producer may have repeated, may stand at n
    places, or any number; the values of sound histories are sent once."""
    allowed = np.ones(len(order.read), np.int64)
    sends = order.item[order.sends]
    np.maximum(allowed, np.bincount(sends, minlength=len(allowed)), out=allowed)
    repeats = order.sends & log.flagged(Flag.MAY_REPEAT)[order.rows]
    allowed[order.item[repeats]] = NEVER
    by_item = np.lexsort((order.entry_position, order.entry_item))
    item, record = order.entry_item[by_item], order.entry_record[by_item]
    first = np.searchsorted(item, item)
    which = np.flatnonzero((np.arange(len(item)) - first == 1) & (order.places > allowed)[item])
    rows = order.rows[record]
    return Cases("duplicate", [rows[first[which]], rows[which]], _tell_duplicate)


def _tell_duplicate(log: Log, first: int, other: int) -> str:
    return (
        f"value {log.text(first)} stands at offset {log.offset[first]} by operation "
        f"{log.index[first]}, and at {log.offset[other]} by operation {log.index[other]}"
    )


def repeated(log: Log, order: Order) -> Ints:
    """The part of each value that a producer may have repeated, and has."""
    repeats = order.rows[order.sends & log.flagged(Flag.MAY_REPEAT)[order.rows]]
    item = order.item[order.sends & log.flagged(Flag.MAY_REPEAT)[order.rows]]
    return log.part[repeats[order.places[item] > 1]]


# --- nothing is lost ----------------------------------------------------------------------


def _lost_writes(log: Log, order: Order) -> Cases:
    """Below the highest index that is proven read - by each value's first place, and what must be
    read by each value's last - everything that took effect must have been polled by someone."""
    polls = np.flatnonzero(~order.sends & (log.type[order.rows] == OK))
    reached = order.first_index[order.item[polls]]
    part = log.part[order.rows[polls]]
    bound = np.full(len(log.parts), NOWHERE, np.int64)
    np.maximum.at(bound, part, reached)
    proof = np.full(len(log.parts), NOWHERE, np.int64)
    at_bound = polls[(reached >= 0) & (reached == bound[part])][::-1]
    proof[log.part[order.rows[at_bound]]] = order.rows[at_bound]

    sends = np.flatnonzero(order.committed & log.flagged(Flag.PROMISED)[order.rows])
    item, part = order.item[sends], log.part[order.rows[sends]]
    last = order.last_index[item]
    lost = (last >= 0) & (last <= bound[part]) & ~order.polled[item]
    lost &= ~_deleted(log, order, sends)
    rows = order.rows[sends[lost]]
    return Cases("lost-write", [rows, proof[log.part[rows]]], _tell_lost)


def _tell_lost(log: Log, send: int, proof: int) -> str:
    how = (
        "was acknowledged"
        if log.type[send] == OK
        else "took effect, for another value of it was polled"
    )
    return (
        f"operation {log.index[send]} sent {log.text(send)} to offset {log.offset[send]}, and "
        f"{how}; nobody polled it, though operation {log.index[proof]} polled {log.text(proof)} at "
        f"offset {log.offset[proof]}"
    )


def _deleted(log: Log, order: Order, sends: Ints) -> Bools:
    """Whether what was sent stood below what the log was seen to begin at; what stood nobody knows
    where may have."""
    starts = log.having(Kind.START)
    begin = np.zeros(len(log.parts), np.int64)
    np.maximum.at(begin, log.part[starts], log.offset[starts])
    offset = log.offset[order.rows[sends]]
    first = begin[log.part[order.rows[sends]]]
    made: Bools = np.where(offset == NONE, first > 0, offset < first)
    return made


def _unseen(log: Log, order: Order, lost: Ints) -> Cases:
    """What was acknowledged before somebody went through all of the log, at the end, and nobody
    polled. (What `lost-write` tells of is not told twice.)"""
    begun, ended = final_reads(log)
    sends = _unpolled(log, order)
    row = order.rows[sends]
    proof = begun[log.part[row]]
    late = proof >= 0
    late[late] = log.end[row[late]] < log.index[proof[late]]
    late &= ~np.isin(row, lost)
    row = row[late]
    return Cases("unseen", [row, proof[late], ended[log.part[row]]], _tell_unseen)


def _tell_unseen(log: Log, send: int, begun: int, ended: int) -> str:
    offset = log.offset[send]
    where = "" if offset == NONE else f" at offset {offset}"
    return (
        f"operation {log.index[send]} sent {log.text(send)}, and was acknowledged{where}; nobody "
        f"polled it, though operation {log.index[begun]} set out to read all that there was, and "
        f"operation {log.index[ended]} came to its end"
    )


def _unpolled(log: Log, order: Order) -> Ints:
    """Records: acknowledged sends of values that nobody polled."""
    acknowledged = order.sends & (log.type[order.rows] == OK)
    acknowledged &= log.flagged(Flag.PROMISED)[order.rows]
    sends = np.flatnonzero(acknowledged & ~order.polled[order.item])
    made: Ints = sends[~_deleted(log, order, sends)]
    return made


def unpolled(log: Log, order: Order) -> Ints:
    """The part of each acknowledged value that nobody polled, final reads or none."""
    return log.part[order.rows[_unpolled(log, order)]]


def final_reads(log: Log) -> tuple[Ints, Ints]:
    """By part, the last operation that set out to read all of it, and the one that came to its
    end; `NOWHERE`: nobody did. A fetch of the final phase that came to its high watermark is both.
    So is, together, a client's last assignment, from the beginning, and its last poll, if that
    was not the first since then and brought nothing of the part: one poll may bring a part of what
    there is, and the first one nothing, as it comes too early."""
    begun = np.full(len(log.parts), NOWHERE, np.int64)
    ended = begun.copy()
    assigned, last = _assigned_to_end(log)
    fetched = (log.kind == Kind.FETCH) & (log.type == OK) & log.flagged(Flag.FINAL)
    fetched &= (log.until != NONE) & (log.watermark != NONE) & (log.until >= log.watermark)
    fetches = np.flatnonzero(fetched)
    rows, ends = np.concatenate([assigned, fetches]), np.concatenate([last, fetches])
    by_index = np.argsort(log.index[rows], kind="stable")
    rows, ends = rows[by_index], ends[by_index]
    begun[log.part[rows]], ended[log.part[rows]] = rows, ends  # of equal indices the last stays
    return begun, ended


def _assigned_to_end(log: Log) -> tuple[Ints, Ints]:
    """Rows of a part's assignment to a client that came to the part's end, and of its last poll."""
    clients, polls = len(log.clients), log.having(Kind.LAST)
    assignments = log.having(Kind.ASSIGN, Kind.SUBSCRIBE)
    anew, latest = np.full(clients, NOWHERE, np.int64), np.full(clients, NOWHERE, np.int64)
    np.maximum.at(anew, log.client[assignments], log.index[assignments])
    polls = polls[np.argsort(log.index[polls])]
    latest[log.client[polls]] = polls
    since = polls[log.index[polls] > anew[log.client[polls]]]
    count = np.zeros(clients, np.int64)
    np.add.at(count, log.client[since], log.offset[since])

    rows = assignments[log.kind[assignments] == Kind.ASSIGN]
    rows = rows[log.flagged(Flag.FROM_BEGINNING)[rows] & (log.type[rows] == OK)]
    rows = rows[~log.keyless[log.part[rows]] & (log.index[rows] == anew[log.client[rows]])]
    last = latest[log.client[rows]]
    rows, last = rows[last >= 0], last[last >= 0]
    ends = (count[log.client[rows]] > 1) & (log.until[last] == 1)
    records = log.having(Kind.POLL)
    records = records[log.index[records] == log.index[latest[log.client[records]]]]
    brought = log.part[records] << 32 | log.client[records]
    ends &= ~np.isin(log.part[rows] << 32 | log.client[rows], brought)
    return rows[ends], last[ends]


# --- who wrote it -------------------------------------------------------------------------


def _unwritten(log: Log, order: Order) -> list[Cases]:
    """Of each such value the first poll."""
    writer, live, begun = senders(log, order)
    polls = np.flatnonzero(~order.sends & (log.type[order.rows] == OK))
    before = log.end[order.rows[polls]] < begun[order.item[polls]]
    early = _first_of_each(order, polls[before & (writer[order.item[polls]] >= 0)])
    polls = _first_of_each(order, polls[live[order.item[polls]] == 0])
    sender = writer[order.item[polls]]
    some = sender >= 0
    reader = order.rows[polls]
    too_early = [order.rows[early], order.rows[writer[order.item[early]]]]
    return [
        Cases("G1a", [reader[some], order.rows[sender[some]]], _tell_aborted),
        Cases("unwritten-read", [reader[~some]], _tell_unwritten),
        Cases("unwritten-read", too_early, _tell_early),
    ]


def _first_of_each(order: Order, records: Ints) -> Ints:
    """Of each value the first of the records."""
    _, first = np.unique(order.item[records], return_index=True)
    found: Ints = records[first]
    return found


def _tell_aborted(log: Log, poll: int, send: int) -> str:
    assert log.type[send] == FAIL
    return (
        f"operation {log.index[poll]} polled {log.text(poll)}{_at(log, poll)}; operation "
        f"{log.index[send]}, which sent it, had failed"
    )


def _tell_unwritten(log: Log, poll: int) -> str:
    return f"operation {log.index[poll]} polled {log.text(poll)}{_at(log, poll)}, which nobody sent"


def _tell_early(log: Log, poll: int, send: int) -> str:
    return (
        f"operation {log.index[poll]} polled {log.text(poll)}{_at(log, poll)}, and ended before "
        f"operation {log.index[send]} was asked to send it"
    )


def _at(log: Log, row: int) -> str:
    return "" if log.offset[row] == NONE else f" at offset {log.offset[row]}"


def _precommitted(log: Log, order: Order) -> Cases:
    index = log.index[order.rows]
    by = np.lexsort((order.sends, index, order.item))  # a poll stands before a send
    item, index, sends = order.item[by], index[by], order.sends[by]
    same = (item[1:] == item[:-1]) & (index[1:] == index[:-1]) & sends[1:] & ~sends[:-1]
    which = np.flatnonzero(same)
    return Cases("precommitted-read", [order.rows[by[which]]], _tell_precommitted)


def _tell_precommitted(log: Log, poll: int) -> str:
    return (
        f"operation {log.index[poll]} polled {log.text(poll)}{_at(log, poll)}, and sends it itself"
    )
