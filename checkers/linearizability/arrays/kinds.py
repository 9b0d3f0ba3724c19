"""The kinds of operations, and the return of pending ones, as kernels need them: plain numbers."""

from typing import Final

from checkers.linearizability.encoded import NEVER, Kind

READ: Final = int(Kind.READ)
DIFFERS: Final = int(Kind.DIFFERS)
WRITE: Final = int(Kind.WRITE)
CAS: Final = int(Kind.CAS)
CHANGE: Final = int(Kind.CHANGE)
LOOK: Final = int(Kind.LOOK)
STEP: Final = int(Kind.STEP)
ENQUEUE: Final = int(Kind.ENQUEUE)
DEQUEUE: Final = int(Kind.DEQUEUE)
EMPTY: Final = int(Kind.EMPTY)
TAKE: Final = int(Kind.TAKE)

FOREVER: Final = int(NEVER)
