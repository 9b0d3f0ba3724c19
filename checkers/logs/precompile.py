"""A small history of each form of Kafka logs: what goes through it once compiles all their kernels
(`checkers/precompile.py`).
"""

from typing import Any, Final

import pyarrow as pa

from checkers.logs.cycle_outcomes import outcomes, parts_of
from checkers.logs.cycles_edges import overlapping
from checkers.logs.cycles_windows import SEEN, Passed, dealt, seen
from checkers.logs.judge import NAME, judge
from checkers.logs.rows import rows
from framework.checking.columns import Columns
from framework.checking.runs import OPERATIONS, add_operation
from framework.history.pairing import Operation

_FETCHED: Final = {"records": [[0, 1]], "position": 1, "high_watermark": 1, "log_start": 0}
_OPERATIONS: Final = (
    # (f, key, value, result); the transactions depend on each other in a cycle.
    ("txn", None, [["send", 1, 1]], [["send", 1, [0, 1]], ["poll", {"2": [[0, 1]]}]]),
    ("txn", None, [["send", 2, 1]], [["send", 2, [0, 1]], ["poll", {"1": [[0, 1]]}]]),
    ("assign", None, [1, 2], [1, 2]),
    ("produce", "t/0", {"value": 1, "acks": "all"}, {"offset": 0}),
    ("fetch", "t/0", {"consumer": "a", "from": 0}, _FETCHED),
    ("seek", "t/0", {"consumer": "a", "to": 0}, None),
    ("commit", "t/0", {"group": "g", "member": "m", "generation": 1, "offset": 1}, None),
    ("committed", "t/0", {"group": "g"}, {"offset": 1}),
    ("forget", "t/0", {"group": "g"}, None),
    ("join", None, {"group": "g", "member": "m"}, {"generation": 1, "assigned": ["t/0"]}),
)


def operations() -> pa.Table:
    """A small history, all of whose operations overlap."""
    columns = Columns(OPERATIONS)
    for index, (f, key, value, result) in enumerate(_OPERATIONS):
        add_operation(columns, "0", _completed(index, f, key, value, result))
    return columns.table()


def _completed(index: int, f: str, key: Any, value: Any, result: Any) -> Operation:
    return Operation(
        index=index,
        process=index,
        f=f,
        key=key,
        value=value,
        type="ok",
        end=index + len(_OPERATIONS),
        result=result,
        invoked_ns=index,
        completed_ns=index + len(_OPERATIONS),
    )


def precompile() -> None:
    """Sees to it that the kernels of Kafka logs are compiled."""
    made = rows(operations())
    judge(made)
    cycles = parts_of(made)
    assert cycles is not None
    outcomes(*cycles, NAME)
    nothing = Passed.of(SEEN.empty_table())
    for _, window in dealt(overlapping(made)):
        seen(window, nothing)
