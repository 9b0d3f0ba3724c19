"""The model `grow-only-set` of `check`: `add` v, `read` -> all elements, as a list.

Tables of operations in, an outcome for each key out; `grow_only` decides.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.linearizability.encoded import NEVER
from checkers.linearizability.methods.grow_only import SetDecision, SetHistory, figures, grow_only
from framework.checking.keyed import OUTCOME_ARROW, Outcome, failed, judged, outcome_row, unquoted
from framework.history.columns import OPERATIONS
from framework.history.texts import as_json
from framework.plugins.checker import Finding

NAME: Final = "grow-only-set"
FS: Final = ("add", "read")
_SHOWN: Final = 60


def malformed(table: pa.Table) -> tuple[int, str] | None:
    """The first operation (its index) that the model has no word for, and what is wrong."""
    unknown = pc.invert(pc.is_in(table["f"], pa.array(FS)))
    read = pc.and_(pc.equal(table["f"], "read"), pc.equal(table["type"], "ok"))
    result = pc.fill_null(table["result"].cast(pa.string()), "null")
    no_list = pc.and_(read, pc.invert(pc.starts_with(result, "[")))
    wrong = table.filter(pc.or_(unknown, no_list))
    if not len(wrong):
        return None
    row = wrong.take([int(np.argmin(wrong["index"].to_numpy()))]).to_pylist()[0]
    if row["f"] not in FS:
        return row["index"], f"{row['f']!r} is not an operation of {NAME}: {', '.join(FS)}"
    return row["index"], f"the result of read must be a list of elements, not {row['result']}"


def judge_sets(table: pa.Table) -> pa.Table:
    """Every key of every run in a table of `OPERATIONS`, rows in any order; `OUTCOME_ARROW`."""
    rows = [outcome_row(run, NAME, unquoted(key), _outcome(of)) for run, key, of in _keys(table)]
    return pa.Table.from_pylist(rows, schema=OUTCOME_ARROW)


def _keys(table: pa.Table) -> Iterator[tuple[str, str, pa.Table]]:
    wanted = ["run", "key", "index", "end", "f", "type", "value", "result"]
    plain = pa.schema([OPERATIONS.field(name) for name in wanted])
    table = table.select(wanted).cast(plain)
    table = table.sort_by([(name, "ascending") for name in ("run", "key", "index")])
    runs, keys = (table[name].to_pylist() for name in ("run", "key"))
    begin = 0
    for row in range(1, len(table) + 1):
        if row == len(table) or (runs[row], keys[row]) != (runs[begin], keys[begin]):
            yield runs[begin], keys[begin], table.slice(begin, row - begin)
            begin = row


def _outcome(table: pa.Table) -> Outcome:
    try:
        history = history_of(table)
        decision, counts = grow_only(history), figures(history)
    except Exception as error:  # of a table that holds what no history can
        return failed(error)
    seen = len(history.read_call)
    numbers: Mapping[str, float] = {
        "operations": len(table),
        "method: grow-only set": 1,
        "attempted": counts.attempted,
        "acknowledged": counts.acknowledged,
        "stable": counts.stable,
        "lost": len(counts.lost),
        "never_read": len(counts.never_read),
        "recovered": len(counts.recovered),
        "unexpected": len(counts.unexpected),
        "repeated": len(counts.repeated),
    }
    if decision.anomaly is None:
        return Outcome(verdict=decision.verdict, seen=seen, figures=numbers)
    return judged(seen, [_finding(history, decision)], numbers)


def _finding(history: SetHistory, decision: SetDecision) -> Finding:
    adds = [int(history.add_call[row]) for row in decision.adds]
    reads = [int(history.read_call[row]) for row in decision.reads]
    shown = [history.values[element][:_SHOWN] for element in decision.elements]
    where = [
        f"{what} of index {', '.join(map(str, indices))}"
        for what, indices in (("add", adds), ("read", reads))
        if indices
    ]
    message = f"{decision.anomaly}: {' and '.join(shown)} ({'; '.join(where)})"
    return Finding(message=message, operations=[*adds, *reads])


def history_of(table: pa.Table) -> SetHistory:
    """One key's operations, in the order of their invocations."""
    f = np.asarray(table["f"].to_pylist(), object)
    kind = np.asarray(table["type"].to_pylist(), object)
    index = table["index"].to_numpy()
    end = np.where(kind == "ok", table["end"].fill_null(-1).to_numpy(), NEVER)
    adds = np.flatnonzero((f == "add") & (kind != "fail"))
    reads = np.flatnonzero((f == "read") & (kind == "ok"))
    numbers = _Numbers()
    added = [numbers.of(json.loads(text)) for text in table["value"].take(adds).to_pylist()]
    shown = [json.loads(text) for text in table["result"].take(reads).to_pylist()]
    sizes = np.array([len(each) for each in shown], np.int64)
    return SetHistory(
        add_call=index[adds],
        add_ret=end[adds],
        add_element=np.array(added, np.int32),
        read_call=index[reads],
        read_ret=end[reads],
        offsets=np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))),
        elements=np.array([numbers.of(element) for each in shown for element in each], np.int32),
        values=numbers.texts,
    )


class _Numbers:
    """Numbers for elements that are equal as JSON."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[Any, int] = {}

    def of(self, element: Any) -> int:
        # Integers are told apart from true and false, texts from what they would be the text of.
        name = element if type(element) is int else (as_json(element),)
        if type(element) is float and element.is_integer():
            name = int(element)
        number = self._numbers.setdefault(name, len(self.texts))
        if number == len(self.texts):
            self.texts.append(as_json(element))
        return number


class GrowOnlySet:
    """What `check --model` needs to know (`framework.checking.foreign.Models`)."""

    names: Sequence[str] = (NAME,)

    def malformed(self, model: str, table: pa.Table) -> tuple[int, str] | None:
        return malformed(table)

    def block(self, model: str, budget_s: float) -> Callable[[pa.Table], pa.Table]:
        return judge_sets
