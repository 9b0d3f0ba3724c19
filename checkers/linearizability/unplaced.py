"""Places for operations that change something, and that the log does not name.

A proposal only: whether it explains the history, the caller checks. A pending operation without a
place took effect only if something shows it: a value that nobody else made, or an operation of
the log that its predecessor does not allow.
"""

from dataclasses import dataclass, field

import numpy as np

from checkers.linearizability.coded import NEVER, Coded, Ints, Kind


def proposed(coded: Coded, log: Ints, looking: Ints, floating: Ints) -> Ints | None:
    """The log's operations with some of the floating ones among them; None: no idea."""
    if int(coded.kind.max()) >= Kind.ENQUEUE:
        inserted = _into_queue(coded, log, floating)
    else:
        inserted = _Cell(coded, log, looking, floating).inserted()
    if inserted is None:
        return None
    slots = [slot for slot, _ in inserted]
    rows = [row for _, row in inserted]
    return np.insert(log, slots, rows)


@dataclass
class _Cell:
    """Slot j is after j operations of the log; there the state is what the last of them made."""

    coded: Coded
    log: Ints
    looking: Ints
    floating: Ints
    taken: list[tuple[int, int]] = field(default_factory=list)
    """(slot, row), in the order within a slot."""

    def inserted(self) -> list[tuple[int, int]] | None:
        coded, log = self.coded, self.log
        changes = coded.kind[log] >= Kind.WRITE
        last = np.maximum.accumulate(np.where(changes, np.arange(1, len(log) + 1), 0))
        made = np.concatenate(([coded.initial], coded.b[log]))
        self.state = made[np.concatenate(([0], last))]
        self.first_return = np.minimum.accumulate(coded.ret[log][::-1])[::-1]
        self.last_call = np.maximum.accumulate(coded.call[log])
        self.free = {int(row): None for row in self.floating}
        """In the order of their calls."""
        self.by_value: dict[int, list[int]] = {}
        for row in self.free:
            self.by_value.setdefault(int(coded.b[row]), []).append(row)
        unfit = self._unfit()
        for value, reads in self._orphans().items():
            self._for_reads(value, reads, unfit)
        for slot in sorted(unfit):
            self._for_log(slot)
        for row in [row for row in self.free if coded.ret[row] != NEVER]:
            self._anywhere(row)
        return sorted(self.taken, key=lambda each: each[0])

    def _unfit(self) -> set[int]:
        """Slots whose state the next operation of the log does not allow."""
        kind, a = self.coded.kind[self.log], self.coded.a[self.log]
        before = self.state[:-1]
        same = (kind == Kind.READ) | (kind == Kind.CAS)
        other = (kind == Kind.DIFFERS) | (kind == Kind.CHANGE)
        wrong = (same & (before != a)) | (other & (before == a))
        return set(np.flatnonzero(wrong).tolist())

    def _orphans(self) -> dict[int, list[int]]:
        """Reads of values that the log has nowhere, by value."""
        coded = self.coded
        reads = self.looking[coded.kind[self.looking] == Kind.READ]
        orphans: dict[int, list[int]] = {}
        for row in reads[~np.isin(coded.a[reads], self.state)].tolist():
            orphans.setdefault(int(coded.a[row]), []).append(row)
        return orphans

    def _bounds(self, row: int) -> tuple[int, int]:
        """The slots that real time allows."""
        coded = self.coded
        low = int(np.searchsorted(self.first_return, coded.call[row]))
        return low, int(np.searchsorted(self.last_call, coded.ret[row]))

    def _allows(self, row: int, state: int) -> bool:
        match self.coded.kind[row]:
            case Kind.READ | Kind.CAS:
                return bool(self.coded.a[row] == state)
            case Kind.DIFFERS | Kind.CHANGE:
                return bool(self.coded.a[row] != state)
        return True

    def _fits(self, row: int, slot: int) -> bool:
        """Whether it may change the state of a slot, and the log go on."""
        goes_on = slot == len(self.log) or self._allows(int(self.log[slot]), int(self.coded.b[row]))
        return goes_on and self._allows(row, int(self.state[slot]))

    def _take(self, row: int, slot: int) -> None:
        self.taken.append((slot, row))
        del self.free[row]

    def _for_reads(self, value: int, reads: list[int], unfit: set[int]) -> None:
        """Somewhere where all the reads of its value can be, best where the log needs it."""
        bounds = [self._bounds(read) for read in reads]
        low, high = max(each[0] for each in bounds), min(each[1] for each in bounds)
        for row in self.by_value.get(value, ()):
            slots = range(max(low, self._bounds(row)[0]), high + 1)
            fitting = [slot for slot in slots if self._fits(row, slot)]
            if row in self.free and fitting:
                slot = next((slot for slot in fitting if slot in unfit), fitting[0])
                unfit.discard(slot)
                self._take(row, slot)
                return

    def _for_log(self, slot: int) -> None:
        for row in self.free:
            low, high = self._bounds(row)
            if low > slot:
                return
            if slot <= high and self._fits(row, slot):
                self._take(row, slot)
                return

    def _anywhere(self, row: int) -> None:
        low, high = self._bounds(row)
        for slot in range(low, high + 1):
            if self._fits(row, slot):
                self._take(row, slot)
                return


def _into_queue(coded: Coded, log: Ints, floating: Ints) -> list[tuple[int, int]] | None:
    """Each as late as the order of the dequeues allows: an enqueue before that of the next value
    that was dequeued, and before its own dequeue; a take before the next dequeue of a later value.
    """
    if np.any(coded.ret[floating] != NEVER):
        return None
    kind = coded.kind[log]
    enqueued = {int(coded.b[log[at]]): int(at) for at in np.flatnonzero(kind == Kind.ENQUEUE)}
    dequeued = {int(coded.a[log[at]]): int(at) for at in np.flatnonzero(kind == Kind.DEQUEUE)}
    inserted: list[tuple[int, int]] = []
    makers = {int(coded.b[row]): int(row) for row in floating if coded.b[row] >= 0}
    next_in = len(log)
    for value, out in sorted(dequeued.items(), key=lambda each: -each[1]):
        if value in enqueued:
            next_in = enqueued[value]
        elif value in makers:
            next_in = min(next_in, out)
            inserted.append((next_in, makers[value]))
    inserted.reverse()
    takes = iter(floating[coded.kind[floating] == Kind.TAKE].tolist())
    next_out = len(log)
    needs: list[int] = []
    for value, _ in sorted(enqueued.items(), key=lambda each: -each[1]):
        next_out = min(next_out, dequeued.get(value, next_out))
        if value not in dequeued and next_out < len(log):
            needs.append(next_out)
    for slot in reversed(needs):
        row = next(takes, None)
        if row is None:
            return None
        inserted.append((slot, row))
    return sorted(inserted, key=lambda each: each[0])
