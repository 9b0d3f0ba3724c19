"""Histories of older releases in today's words. What was recorded otherwise is known here alone."""

import json
from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from framework.history.texts import as_json
from framework.plugins.outcomes import ABSENT, PRESENT
from nodes.kraft.adapter.states import STATES, let_go

ASSERTED: Final[Mapping[tuple[str, str], str]] = {
    ("create", "TOPIC_ALREADY_EXISTS"): PRESENT,
    ("delete", "UNKNOWN_TOPIC_OR_PARTITION"): ABSENT,
    ("delete", "UNKNOWN_TOPIC_ID"): ABSENT,
    ("describe", "UNKNOWN_TOPIC_OR_PARTITION"): ABSENT,
    ("describe", "UNKNOWN_TOPIC_ID"): ABSENT,
}
"""(f, code) of failures that were read by their codes, and what they saw."""
STARTS: Final = ("start", "restart", "bounce", "replace")
OF_BROKERS: Final = ("heartbeat", *STARTS)
"""Operations whose values had the node's own words for states."""
KEY: Final = "broker-"
"""What the key of an operation on a broker begins with; its id follows."""
_ANY: Final = "(?:" + "|".join(STATES) + ")"
_STATE: Final = rf'"(target|next_state|broker_state)":"{_ANY}"'


def restated(operations: pa.Table) -> pa.Table:
    """`framework.plugins.system.System.restated`."""
    return with_grants(with_ids(with_states(with_asserts(operations))))


def with_asserts(operations: pa.Table) -> pa.Table:
    """With what failures saw in their `ext`, where they do not say it."""
    said = pc.fill_null(pc.match_substring(operations["ext"], '"asserts":'), False)
    mute = pc.and_(pc.equal(operations["type"], "fail"), pc.invert(said))
    coded = pc.is_in(operations["error_code"], pa.array(sorted({code for _, code in ASSERTED})))
    rows = pc.indices_nonzero(pc.and_(mute, coded))
    if not len(rows):
        return operations
    ext = operations["ext"].to_pylist()
    some = operations.select(["f", "error_code", "ext"]).take(rows).to_pylist()
    for row, each in zip(rows.to_pylist(), some, strict=True):
        saw = ASSERTED.get((each["f"], each["error_code"]))
        if saw is not None:
            ext[row] = as_json({**json.loads(each["ext"] or "{}"), "asserts": saw})
    return _with(operations, "ext", pa.array(ext, pa.string()))


def with_states(operations: pa.Table) -> pa.Table:
    """With the states of brokers in the words of all systems. Texts are canonical."""
    of_brokers = pc.is_in(operations["f"], pa.array(OF_BROKERS))
    for name in ("value", "result"):
        found = pc.match_substring_regex(operations[name], _STATE)
        older = pc.and_(of_brokers, pc.fill_null(found, False))
        if pc.any(older).as_py():
            texts = operations[name]
            for word, state in STATES.items():
                pattern = _STATE.replace(_ANY, word)
                texts = pc.replace_substring_regex(texts, pattern, rf'"\1":"{state}"')
            operations = _with(operations, name, pc.if_else(older, texts, operations[name]))
    return operations


def with_ids(operations: pa.Table) -> pa.Table:
    """With the broker's id in what a process that was started said of itself."""
    started = pc.and_(
        pc.is_in(operations["f"], pa.array(STARTS)), pc.equal(operations["type"], "ok")
    )
    silent = pc.invert(pc.match_substring(operations["result"], '"broker_id":'))
    rows = pc.indices_nonzero(pc.and_(started, pc.fill_null(silent, False)))
    if not len(rows):
        return operations
    results = operations["result"].to_pylist()
    for row, key in zip(rows.to_pylist(), operations["key"].take(rows).to_pylist(), strict=True):
        name, process = json.loads(key), json.loads(results[row])
        number = str(name).removeprefix(KEY)
        if isinstance(process, dict) and number.isdecimal():
            new = process.get("second", process)
            new["broker_id"] = int(number)
            results[row] = as_json(process)
    return _with(operations, "result", pa.array(results, pa.string()))


def with_grants(operations: pa.Table) -> pa.Table:
    """With whether a process that was drained was let go, and of which broker it was."""
    drained = pc.and_(pc.equal(operations["f"], "drain"), pc.equal(operations["type"], "ok"))
    silent = pc.invert(pc.match_substring(operations["result"], '"granted":'))
    rows = pc.indices_nonzero(pc.and_(drained, pc.fill_null(silent, False)))
    if not len(rows):
        return operations
    results = operations["result"].to_pylist()
    for row, key in zip(rows.to_pylist(), operations["key"].take(rows).to_pylist(), strict=True):
        reported, number = json.loads(results[row]), str(json.loads(key)).removeprefix(KEY)
        if isinstance(reported, dict) and number.isdecimal():
            granted = let_go(reported.get("reason"))
            if granted is not None:
                results[row] = as_json({**reported, "granted": granted, "broker_id": int(number)})
    return _with(operations, "result", pa.array(results, pa.string()))


def _with(operations: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return operations.set_column(operations.column_names.index(name), name, column)
