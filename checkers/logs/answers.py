"""What brokers say of a partition beside its records: leader epochs, high watermarks, and the
committed offsets and owners of groups."""

import numpy as np

from checkers.logs.cases import Cases
from checkers.logs.log import NEVER, NOWHERE, Log
from checkers.logs.order import Order, run_numbers
from checkers.logs.passes import latest_before, stale_answers
from checkers.logs.rows import FAIL, OK, Flag, Kind
from framework.history.json_walk import NONE, Ints


def leaders(log: Log, order: Order) -> list[Cases]:
    """Cases of leader-epoch-regress, high-watermark-regress and read-above-high-watermark."""
    return [*_epochs(log, order), _watermarks(log), _above(log, order)]


def groups(log: Log) -> list[Cases]:
    """Cases of committed-offset-regress, stale-commit, unwritten-commit, generation-regress and
    two-owners."""
    regress, stale = _commits(log)
    late, generations = _joins(log)
    late = late.some(~np.isin(late.cited[0], stale.cited[1]))  # told already
    return [
        regress,
        stale,
        late,
        _committed(log),
        _unwritten_commits(log),
        generations,
        _owners(log),
    ]


# --- leaders ------------------------------------------------------------------------------


def _epochs(log: Log, order: Order) -> list[Cases]:
    """Along a log the epochs of its records do not fall; nor do, in time, those in which one
    broker answers. (Brokers differ: an old leader may answer after a newer one.)"""
    fetches = log.having(Kind.FETCH)
    fetches = fetches[log.epoch[fetches] != NONE]
    who = np.where(
        log.node[fetches] != NOWHERE, log.node[fetches], len(log.nodes) + log.client[fetches]
    )
    group = log.part[fetches] << 32 | who
    in_time = _falls(log, fetches, group, log.epoch[fetches])
    polls = order.rows[~order.sends]
    polls = polls[(log.epoch[polls] != NONE) & (log.offset[polls] != NONE)]
    by = polls[np.lexsort((log.index[polls], log.epoch[polls], log.offset[polls], log.part[polls]))]
    # At one offset they rise, in this order.
    falls = (log.part[by[1:]] == log.part[by[:-1]]) & (log.epoch[by[1:]] < log.epoch[by[:-1]])
    name = "leader-epoch-regress"
    return [
        Cases(name, in_time, _tell_epoch),
        Cases(name, [by[:-1][falls], by[1:][falls]], _tell_epochs_of_log),
    ]


def _tell_epoch(log: Log, before: int, after: int) -> str:
    node = int(log.node[after])
    who = log.client_name(after) if node < 0 else str(log.nodes[node].as_py())
    whose = f"of {who}" if node < 0 else f"{who} answered"
    return (
        f"{whose} in leader epoch {log.epoch[before]} (operation {log.index[before]}), and after "
        f"it had, in {log.epoch[after]} (operation {log.index[after]})"
    )


def _tell_epochs_of_log(log: Log, before: int, after: int) -> str:
    return (
        f"offset {log.offset[before]} is of leader epoch {log.epoch[before]} by operation "
        f"{log.index[before]}, and offset {log.offset[after]}, behind it, of {log.epoch[after]} by "
        f"operation {log.index[after]}"
    )


def _watermarks(log: Log) -> Cases:
    """Within an epoch there is one leader, whose high watermark does not fall. (The next leader's
    may be lower for a moment.)"""
    fetches = log.having(Kind.FETCH)
    fetches = fetches[(log.watermark[fetches] != NONE) & (log.epoch[fetches] != NONE)]
    group = _numbered(log.part[fetches], log.epoch[fetches])
    cited = _falls(log, fetches, group, log.watermark[fetches])
    return Cases("high-watermark-regress", cited, _tell_watermark)


def _tell_watermark(log: Log, before: int, after: int) -> str:
    return (
        f"the leader of epoch {log.epoch[after]} said {log.watermark[before]} in operation "
        f"{log.index[before]}, and {log.watermark[after]} in operation {log.index[after]}, which "
        f"began after the other had ended"
    )


def _above(log: Log, order: Order) -> Cases:
    """Of each answer the first such record."""
    polls = order.rows[~order.sends]
    known = (log.watermark[polls] != NONE) & (log.offset[polls] != NONE)
    polls = polls[known & (log.offset[polls] >= log.watermark[polls])]
    first = np.ones(len(polls), np.bool_)
    first[1:] = (log.part[polls[1:]] != log.part[polls[:-1]]) | (
        log.index[polls[1:]] != log.index[polls[:-1]]
    )
    return Cases("read-above-high-watermark", [polls[first]], _tell_above)


def _tell_above(log: Log, poll: int) -> str:
    return (
        f"operation {log.index[poll]} polled {log.text(poll)} at offset {log.offset[poll]}; the "
        f"answer's high watermark is {log.watermark[poll]}"
    )


# --- groups -------------------------------------------------------------------------------


def _commits(log: Log) -> list[Cases]:
    """What one member commits, and after it had ended another or the same, does not fall - but for
    a seek of a member of the group in between, or a deletion of what was committed."""
    commits = log.having(Kind.COMMIT)
    ok = commits[(log.type[commits] == OK) & (log.offset[commits] != NONE)]
    group = log.part[ok] << 32 | log.group[ok]
    before, after = _falls(log, ok, group, log.offset[ok])
    sought = _sought(log, before, after)
    named = ok[log.epoch[ok] >= 0]  # who is no member of a group has no generation
    stale = _falls(log, named, log.part[named] << 32 | log.group[named], log.epoch[named])
    return [
        Cases("committed-offset-regress", [before[~sought], after[~sought]], _tell_commit),
        Cases("stale-commit", stale, _tell_stale),
    ]


def _sought(log: Log, before: Ints, after: Ints) -> np.ndarray:
    """Whether somebody moved a consumer of the part on purpose between two commits, or may have
    deleted one."""
    moves = log.having(Kind.SEEK, Kind.ASSIGN, Kind.SUBSCRIBE, Kind.COMMIT)
    deletes = (log.kind[moves] == Kind.COMMIT) & (log.offset[moves] == NONE)
    deletes &= log.type[moves] != FAIL
    sought = (log.kind[moves] == Kind.SEEK) | log.flagged(Flag.FROM_BEGINNING)[moves]
    moves = moves[deletes | sought]
    at = log.part[moves] << 40 | log.index[moves]
    low = np.searchsorted(at, log.part[before] << 40 | log.index[before])
    high = np.searchsorted(at, log.part[after] << 40 | log.end[after])
    made: np.ndarray = high > low
    return made


def _group(log: Log, row: int) -> str:
    return f"group {log.groups[int(log.group[row])].as_py()}"


def _tell_commit(log: Log, before: int, after: int) -> str:
    return (
        f"{_group(log, after)} had committed {log.offset[before]} (operation {log.index[before]}) "
        f"when it committed {log.offset[after]} (operation {log.index[after]}), with no seek "
        f"between"
    )


def _tell_stale(log: Log, before: int, after: int) -> str:
    return (
        f"{_group(log, after)} had committed in generation {log.epoch[before]} (operation "
        f"{log.index[before]}), and a commit of generation {log.epoch[after]} was taken after that "
        f"(operation {log.index[after]})"
    )


def _committed(log: Log) -> Cases:
    """A group is told the offset that was committed last: one that a commit overwrote, which had
    ended before the question, is stale. Told only where it is lower; a deletion is as a commit of
    nothing, which is lower than any."""
    rows = log.having(Kind.COMMIT, Kind.COMMITTED)
    rows = rows[(log.kind[rows] == Kind.COMMITTED) | (log.type[rows] != FAIL)]
    group = log.part[rows] << 32 | log.group[rows]
    by = np.lexsort((log.index[rows], group))
    rows, group = rows[by], group[by]
    asks = log.kind[rows] == Kind.COMMITTED
    _, offset = np.unique(log.offset[rows], return_inverse=True)
    times = np.concatenate([log.index[rows], log.end[rows]])
    which = np.tile(np.arange(len(rows)), 2)
    order = np.lexsort((times, group[which]))
    order = order[times[order] != NEVER]
    ok = log.type[rows] == OK
    until = np.where(ok, log.end[rows], NEVER)  # what has no answer may take effect at any time
    overwritten = stale_answers(
        group, log.index[rows], until, ok, asks, offset, which[order], order < len(rows)
    )
    reported = np.flatnonzero(overwritten >= 0)
    lower = log.offset[rows[reported]] < log.offset[rows[overwritten[reported]]]
    reported = reported[lower]
    cited = [rows[overwritten[reported]], rows[reported]]
    return Cases("committed-offset-regress", cited, _tell_committed)


def _tell_committed(log: Log, commit: int, ask: int) -> str:
    offset = "that nothing was" if log.offset[ask] == NONE else str(log.offset[ask])
    return (
        f"{_group(log, ask)} had committed {log.offset[commit]} (operation {log.index[commit]}) "
        f"when it was told {offset} (operation {log.index[ask]}), which no commit since explains"
    )


def _unwritten_commits(log: Log) -> Cases:
    """A group is told an offset that a commit which did not fail had begun to make."""
    rows = log.having(Kind.COMMIT, Kind.COMMITTED)
    rows = rows[(log.offset[rows] != NONE) & (log.type[rows] != FAIL)]
    place = _numbered(log.part[rows] << 32 | log.group[rows], log.offset[rows])
    asks = log.kind[rows] == Kind.COMMITTED
    begun = np.full(len(rows) + 1, NEVER, np.int64)
    np.minimum.at(begun, place[~asks], log.index[rows[~asks]])
    reported = rows[asks]
    return Cases(
        "unwritten-commit",
        [reported[begun[place[asks]] > log.end[reported]]],
        _tell_unwritten_commit,
    )


def _tell_unwritten_commit(log: Log, ask: int) -> str:
    return (
        f"{_group(log, ask)} was told that {log.offset[ask]} was committed (operation "
        f"{log.index[ask]}), which nobody had"
    )


def _joins(log: Log) -> list[Cases]:
    """Whoever joins a group has its generation, which is on its coordinator's disk by then: from
    then on no commit of an older one is taken, and nobody is given an older one."""
    numbers = run_numbers(log)
    run = np.array([numbers[run] for run, _ in log.parts], np.int64)
    joins, owns, commits = (log.having(kind) for kind in (Kind.JOIN, Kind.OWN, Kind.COMMIT))
    commits = commits[(log.type[commits] == OK) & (log.epoch[commits] >= 0)]
    rows = np.concatenate([joins, owns, commits])
    group = run[log.part[rows]] << 32 | log.group[rows]
    until = np.where(log.kind[rows] == Kind.JOIN, log.end[rows], NEVER)
    before, after = _falls(log, rows, group, log.epoch[rows], until)
    stale, older = log.kind[after] == Kind.COMMIT, log.kind[after] == Kind.OWN
    return [
        Cases("stale-commit", [after[stale], before[stale]], _tell_stale_since),
        Cases("generation-regress", [after[older], before[older]], _tell_generation),
    ]


def _tell_stale_since(log: Log, commit: int, join: int) -> str:
    return (
        f"{log.client_name(join)} had joined {_group(log, commit)} in generation "
        f"{log.epoch[join]} (operation {log.index[join]}), and a commit of generation "
        f"{log.epoch[commit]} was taken after that (operation {log.index[commit]})"
    )


def _tell_generation(log: Log, own: int, join: int) -> str:
    return (
        f"{log.client_name(join)} had joined {_group(log, own)} in generation {log.epoch[join]} "
        f"(operation {log.index[join]}), and {log.client_name(own)} after that in generation "
        f"{log.epoch[own]} (operation {log.index[own]})"
    )


def _owners(log: Log) -> Cases:
    owns = log.having(Kind.OWN)
    group = _numbered(log.part[owns] << 32 | log.group[owns], log.epoch[owns])
    by = np.lexsort((log.index[owns], group))
    owns, group = owns[by], group[by]
    first = np.searchsorted(group, group)
    other = np.flatnonzero(log.client[owns] != log.client[owns[first]])
    _, once = np.unique(group[other], return_index=True)
    other = other[once]
    return Cases("two-owners", [owns[first[other]], owns[other]], _tell_owners)


def _tell_owners(log: Log, one: int, other: int) -> str:
    return (
        f"in generation {log.epoch[one]} of {_group(log, one)}, {log.client_name(one)} owns it "
        f"(operation {log.index[one]}), and {log.client_name(other)} (operation {log.index[other]})"
    )


# --- what falls ---------------------------------------------------------------------------


def _falls(log: Log, rows: Ints, group: Ints, worth: Ints, end: Ints | None = None) -> list[Ints]:
    """Pairs of rows of one group: the later, invoked after the earlier had ended, is worth less
    than it, the worthiest of those before. `end`: instead of the operations' own."""
    index, end = log.index[rows], log.end[rows] if end is None else end
    by_index, by_end = np.lexsort((index, group)), np.lexsort((end, group))
    best = latest_before(group, index, end, worth, by_index, by_end)
    after = np.flatnonzero(best >= 0)
    after = after[worth[after] < worth[best[after]]]
    return [rows[best[after]], rows[after]]


def _numbered(first: Ints, second: Ints) -> Ints:
    """Equal numbers for equal pairs."""
    by = np.lexsort((second, first))
    fresh = np.ones(len(by), np.bool_)
    fresh[1:] = (first[by[1:]] != first[by[:-1]]) | (second[by[1:]] != second[by[:-1]])
    made = np.empty(len(by), np.int64)
    made[by] = np.cumsum(fresh)
    return made
