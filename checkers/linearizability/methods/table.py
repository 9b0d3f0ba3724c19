"""The methods: each decides one key exactly, or says that it does not apply or cannot tell.

The order is that in which `decide` asks. docs/checking.md has this table, too:

    python -m checkers.linearizability.methods.table
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from checkers.linearizability.decision import Decide
from checkers.linearizability.encoded import Kind
from checkers.linearizability.methods.beam import method as beam
from checkers.linearizability.methods.fifo import METHOD as FIFO
from checkers.linearizability.methods.fifo import fifo
from checkers.linearizability.methods.interval_refuter import METHOD as INTERVAL_REFUTER
from checkers.linearizability.methods.interval_refuter import interval_refuter
from checkers.linearizability.methods.jit_antichain import method as jit_antichain
from checkers.linearizability.methods.jit_bitset import method as jit_bitset
from checkers.linearizability.methods.log_order import method as log_order
from checkers.linearizability.methods.two_value_sweep import METHOD as TWO_VALUE_SWEEP
from checkers.linearizability.methods.two_value_sweep import two_value_sweep
from checkers.linearizability.methods.unique_writes import method as unique_writes
from checkers.linearizability.methods.wgl import method as wgl


class Stage(Enum):
    """When a method is asked."""

    BESIDE = "beside the others, where the log names an order"
    ONCE = "once, one after the other"
    IN_TURNS = "in turns, with time slices that grow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A line of the table."""

    name: str
    decides: str
    cost: str
    """n operations on the key, c of them open at a time."""
    source: str
    decide: Decide
    stage: Stage = Stage.ONCE
    kinds: frozenset[Kind] = frozenset(Kind)
    """What all operations have to be of, for it to be asked."""


CELLS: Final = frozenset((Kind.READ, Kind.DIFFERS, Kind.WRITE, Kind.CAS, Kind.CHANGE))
QUEUES: Final = frozenset((Kind.ENQUEUE, Kind.DEQUEUE, Kind.EMPTY, Kind.TAKE))

METHODS: Final[Sequence[Method]] = (
    Method(
        name=log_order.METHOD,
        decides="where `ext` names epoch and offset: whether the log's own order explains the "
        "results",
        cost="O(n), O(n c) where reads wait",
        source="a running maximum and a replay",
        decide=log_order.log_order,
        stage=Stage.BESIDE,
    ),
    Method(
        name=unique_writes.METHOD,
        decides="registers whose every value is written once; VALID and INVALID",
        cost="O(n), with failed cas O(n log n)",
        source="Gibbons & Korach 1997; zones: Golab, Li & Shah 2011",
        decide=unique_writes.unique_writes,
        kinds=CELLS,
    ),
    Method(
        name=TWO_VALUE_SWEEP,
        decides="a cell that only flips between two values: an element of a `set`, a name that "
        "may exist; both",
        cost="O(n log c)",
        source="ours; the proof is in `two_value_sweep.py`",
        decide=two_value_sweep,
        kinds=CELLS,
    ),
    Method(
        name=jit_bitset.METHOD,
        decides="cells of any values with few operations open at once; both",
        cost="O(n) up to six open at once, twice as much for every further one at worst",
        source="just-in-time linearization: Lowe 2017",
        decide=jit_bitset.jit_bitset,
        kinds=CELLS,
    ),
    Method(
        name=INTERVAL_REFUTER,
        decides="cells of any values; INVALID only, never sure to",
        cost="O(n log c)",
        source="matching of intervals: Glover 1967",
        decide=interval_refuter,
        kinds=CELLS,
    ),
    Method(
        name=beam.METHOD,
        decides="cells of up to 32 values; VALID only, never sure to",
        cost="O(n) times the few configurations kept, and a bounded search at each dead end",
        source="beam search over just-in-time linearization (Lowe 2017)",
        decide=beam.beam,
        kinds=CELLS,
    ),
    Method(
        name=FIFO,
        decides="queues whose every value is enqueued once; both",
        cost="O(n)",
        source="Henzinger, Sezgin & Vafeiadis 2013; pending dequeues by Hall's theorem",
        decide=fifo,
        kinds=QUEUES,
    ),
    Method(
        name=wgl.METHOD,
        decides="anything; both",
        cost="exponential in c at worst",
        source="Wing & Gong 1993, Lowe 2017",
        decide=wgl.wgl,
        stage=Stage.IN_TURNS,
    ),
    Method(
        name=jit_antichain.METHOD,
        decides="anything; both",
        cost="exponential in c at worst",
        source="just-in-time linearization: Lowe 2017",
        decide=jit_antichain.jit_antichain,
        stage=Stage.IN_TURNS,
    ),
)


def markdown() -> Iterator[str]:
    """The lines of the table in docs/checking.md."""
    yield "| method | decides | cost | source |"
    yield "| --- | --- | --- | --- |"
    for each in METHODS:
        yield f"| {each.name} | {each.decides} | {each.cost} | {each.source} |"


if __name__ == "__main__":
    print(*markdown(), sep="\n")
