"""By what a rule may be cut: so that a run too long for one task is judged in several.

A part has some of the keys - nodes, partitions - and all evidence of those; it is picked out of
Arrow columns, before a row becomes an object. What has no such key, operations, the ledger and the
plan every part is given whole, and asks `RunEvents.has` for whom it is to judge. What parts find
adds up as what keys of a run do (`results.checker_result`): counts, findings and figures.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.checking.keyed import NOTHING, Outcome
from framework.evidence.kinds import Evidence
from framework.evidence.lazy import LazyTable
from framework.evidence.run_events import Part
from framework.plugins.checker import Table
from framework.verdict import Verdict

Rows: TypeAlias = tuple[type[Evidence], Table | LazyTable]
"""Some of one kind."""


@dataclass(frozen=True, slots=True)
class Cut:
    """`columns`: of evidence, whose values make a key, in `Part.key`'s order. `whole`: kinds that
    every part is given all of, though they have these columns: they should be few."""

    columns: Sequence[str]
    whole: tuple[type[Evidence], ...] = ()

    def of(self, part: Part, tables: Iterable[Rows]) -> Iterator[Rows]:
        """What a part is given of evidence."""
        for kind, table in tables:
            yield kind, self._own(part, table) if self._has_key(kind, table) else table

    def _has_key(self, kind: type[Evidence], table: Table | LazyTable) -> bool:
        return not issubclass(kind, self.whole) and set(self.columns) <= set(table.column_names)

    def _own(self, part: Part, table: Table | LazyTable) -> Table:
        """Few keys have many rows: each is looked at once."""
        texts = [pc.cast(table.column(name), pa.string()) for name in self.columns]
        keys = pc.binary_join_element_wise(*texts, "/") if len(texts) > 1 else texts[0]
        numbered = keys.combine_chunks().dictionary_encode()
        own = np.array([part.has(key) for key in numbered.dictionary.to_pylist()], np.bool_)
        return table.filter(pa.array(own[np.asarray(numbered.indices)]))


def cut_by_node(*whole: type[Evidence]) -> Cut:
    """A key is a node's name."""
    return Cut(("node",), whole)


def cut_by_partition(*whole: type[Evidence]) -> Cut:
    """A key is a topic's id and a partition's number, as `Part.key` has them."""
    return Cut(("topic_id", "partition"), whole)


def parts(count: int) -> Sequence[Part]:
    """So many parts, which have each key once."""
    return [Part(number, count) for number in range(count)]


def as_part(outcome: Outcome) -> Outcome:
    """What a rule found in one of several parts: that it saw nothing there says nothing."""
    if outcome.verdict is Verdict.UNKNOWN and outcome.note == NOTHING:
        return replace(outcome, verdict=Verdict.VALID, note="")
    return outcome


MOST_ROWS: Final = 500_000
"""Of evidence: with more, a rule that can be cut is."""
MOST_PARTS: Final = 8


def parts_for(rows: int) -> int:
    """Into how many parts a run with so many rows of evidence is to be cut."""
    return max(1, min(MOST_PARTS, -(-rows // MOST_ROWS)))
