"""A heap of rows by their returns, in a part of an array."""

from checkers.linearizability.encoded import Codes, Ints
from framework.compiled import compiled


@compiled
def push(heap: Codes, first: int, count: int, ret: Ints, row: int) -> None:
    """Into a heap that begins at `first` and has `count` rows."""
    at = count
    while at > 0 and ret[heap[first + (at - 1) // 2]] > ret[row]:
        heap[first + at] = heap[first + (at - 1) // 2]
        at = (at - 1) // 2
    heap[first + at] = row


@compiled
def pop(heap: Codes, first: int, count: int, ret: Ints) -> int:
    """Takes the row that returns first out of `count`."""
    top: int = heap[first]
    count -= 1
    row = heap[first + count]
    at = 0
    while True:
        child = 2 * at + 1
        if child + 1 < count and ret[heap[first + child + 1]] < ret[heap[first + child]]:
            child += 1
        if child >= count or ret[row] <= ret[heap[first + child]]:
            break
        heap[first + at] = heap[first + child]
        at = child
    heap[first + at] = row
    return top
