"""Histories in few words, and what is said of them, for tests of the evidence."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from checkers.linearizability.decision import Decision
from checkers.linearizability.encoded import NEVER, EncodedHistory, Kind
from checkers.linearizability.evidence.small_search import Move
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import Strings, encoded_of

R, W, C, D, X = Kind.READ, Kind.WRITE, Kind.CAS, Kind.DIFFERS, Kind.CHANGE
ENQ, DEQ, EMPTY, TAKE = Kind.ENQUEUE, Kind.DEQUEUE, Kind.EMPTY, Kind.TAKE
Spec = tuple[int, int | None, Kind, int] | tuple[int, int | None, Kind, int, int]
"""Call, return (None: never), kind, the value that it saw or left; or both."""


def history(*operations: Spec) -> EncodedHistory:
    seen, left = [], []
    for _, _, kind, *values in operations:
        seen.append(-1 if kind in (W, ENQ) else values[0])
        left.append(values[0] if kind in (W, ENQ) else values[1] if len(values) > 1 else -1)
    return encoded_of(
        [call for call, *_ in operations],
        [int(NEVER) if ret is None else ret for _, ret, *_ in operations],
        [kind for _, _, kind, *_ in operations],
        seen,
        left,
    )


def texts(*operations: tuple[int, int | None, str, str]) -> EncodedHistory:
    """Of a string: (call, return, `read`, `write` or `append`, what)."""
    actions = list(dict.fromkeys((does, text) for _, _, does, text in operations))
    return encoded_of(
        [call for call, *_ in operations],
        [int(NEVER) if ret is None else ret for _, ret, *_ in operations],
        [Kind.LOOK if does == "read" else Kind.STEP for _, _, does, _ in operations],
        [actions.index((does, text)) for _, _, does, text in operations],
        [-1] * len(operations),
        Strings(actions),
    )


def invalid(encoded: EncodedHistory, culprit: int = -1, involved: Sequence[int] = ()) -> Decision:
    return Decision(Verdict.INVALID, "said so", culprit=culprit, involved=involved)


def move(encoded: EncodedHistory, row: int, bit: int = 0, member: bool = True) -> Move:
    columns = (encoded.call, encoded.ret, encoded.kind, encoded.a, encoded.b)
    call, ret, kind, a, b = (int(column[row]) for column in columns)
    return Move(row, call, ret, kind, a, b, bit, member)


def table_of(encoded: EncodedHistory, words: Mapping[int, Any] | None = None) -> pa.Table:
    """The operations as Spark hands them over. `words`: columns by row, instead of the usual."""
    rows = []
    for row in range(len(encoded)):
        kind, a, b = Kind(int(encoded.kind[row])), int(encoded.a[row]), int(encoded.b[row])
        f, value, outcome, result = {
            Kind.READ: ("read", None, "ok", a),
            Kind.DIFFERS: ("cas", [a, 99], "fail", None),
            Kind.WRITE: ("write", b, "ok", None),
            Kind.CAS: ("cas", [a, b], "ok", None),
            Kind.CHANGE: ("change", [a, b], "ok", None),
            Kind.ENQUEUE: ("enqueue", b, "ok", None),
            Kind.DEQUEUE: ("dequeue", None, "ok", a),
            Kind.EMPTY: ("dequeue", None, "ok", None),
            Kind.TAKE: ("dequeue", None, "info", None),
            Kind.LOOK: ("look", None, "ok", a),
            Kind.STEP: ("step", a, "ok", None),
        }[kind]
        pending = encoded.ret[row] == NEVER
        rows.append(
            {
                "index": int(encoded.call[row]),
                "end": None if pending else int(encoded.ret[row]),
                "process": str(row),
                "f": f,
                "value": json.dumps(value),
                "type": "info" if pending else outcome,
                "result": json.dumps(result),
                "error_code": None,
                "invoked_ns": int(encoded.call[row]) * 1000,
                "completed_ns": None if pending else int(encoded.ret[row]) * 1000,
            }
            | (words or {}).get(row, {})
        )
    return pa.Table.from_pylist(rows)
