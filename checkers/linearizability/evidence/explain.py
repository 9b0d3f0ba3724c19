"""The evidence for a refutation: which few operations show it, how far an order gets, and why it
gets no further. As text that a stranger can verify by hand, and as a picture for the report.

The picture is JSON: `bars`, one an operation, each with the index of its invocation (`index`), that
of its return (`end`, null: never), both times in ns where they are known, `process`, `label`,
`outcome`, `member` (one of the few), `place` in the order (1, 2, ... or null), and `fails`: why it
cannot come next (null: nobody says that it must). `state`: what the object is at the order's end.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.linearizability.decision import Budget, Decide, Decision
from checkers.linearizability.encoded import NEVER, EncodedHistory, Ints
from checkers.linearizability.evidence.clash import clash
from checkers.linearizability.evidence.reasons import Reasons, short
from checkers.linearizability.evidence.relaxed import MAX_STEPS, Relaxing
from checkers.linearizability.evidence.shrink import shrink
from checkers.linearizability.evidence.small_search import OBSERVERS, End, Refuted
from framework.history.event import Json
from framework.plugins.checker import Finding

log: Final = logging.getLogger(__name__)

Row: TypeAlias = Mapping[str, Any]
Source: TypeAlias = pa.Table | Callable[[Sequence[int]], Sequence[Row]]
"""One key's operations with the columns of `Tables.operations`; or what finds rows by `index`."""

EXPLAIN_S: Final = 10.0
MOST_SHOWN: Final = 40
"""Operations of a set that is told one by one."""
_MOST_ENDS: Final = 3


def explain(
    source: Source,
    encoded: EncodedHistory,
    decision: Decision,
    budget: Budget | None = None,
    *,
    model: str = "",
    decide: Decide | None = None,
) -> Finding:
    """The finding for an INVALID. `model` names it, for the words of its states. Where shrinking
    or explaining fails or takes too long, the plain finding: never an error."""
    try:
        return _explained(source, encoded, decision, budget or Budget(EXPLAIN_S), model, decide)
    except Exception:
        log.info("a refutation could not be explained", exc_info=True)
        return _plain(source, encoded, decision)


def _explained(
    source: Source,
    encoded: EncodedHistory,
    decision: Decision,
    budget: Budget,
    model: str,
    decide: Decide | None,
) -> Finding:
    relaxing = Relaxing(encoded)
    members = shrink(encoded, decision, decide, budget, relaxing)
    if len(members) > MOST_SHOWN:
        return _plain(source, encoded, decision)
    refuted = Relaxing(encoded).refuted(members, 20 * MAX_STEPS)
    if refuted is None:
        return _plain(source, encoded, decision)
    names = _Names(source, encoded)
    ordered = [move.row for end in _ends(refuted)[:_MOST_ENDS] for move in end.order]
    names.look_up([*members.tolist(), *ordered])
    reasons = Reasons(relaxing, model, names.brief)
    lines, fails = _lines(encoded, members, refuted, reasons, names)
    shown = np.union1d(members, [*_in_order(refuted), *reasons.named]).astype(np.int64)
    return Finding(
        message="\n".join(lines),
        operations=[int(encoded.call[row]) for row in shown],
        picture=_picture(encoded, shown, members, refuted, fails, reasons, names),
    )


def _in_order(refuted: Refuted) -> list[int]:
    return [move.row for end in _ends(refuted)[:1] for move in end.order]


def _lines(
    encoded: EncodedHistory, members: Ints, refuted: Refuted, reasons: Reasons, names: "_Names"
) -> tuple[list[str], dict[int, str]]:
    """The message, and for the picture why each operation fails that has to come next."""
    lines = [
        f"no order of the operations explains {names.full(refuted.row)}",
        _enough(encoded, members),
    ]
    if said := clash(encoded, members, reasons.value, names.brief):
        lines.append(said)
    fails: dict[int, str] = {}
    ends = _ends(refuted)
    for number, end in enumerate(ends[:_MOST_ENDS]):
        lines += _end_lines(end, ends[0] if number else None, reasons, names, fails)
    if len(ends) > _MOST_ENDS:
        lines.append(f"Orders end in {len(ends)} states in all; the others fail too.")
    idle = [end.state for end in refuted.ends if end not in ends]
    if idle:
        what = reasons.states(idle)
        lines.append(f"Others may come in between, so that {what}: that does not help.")
    return lines, fails


def _ends(refuted: Refuted) -> list[End]:
    """Those that say something: not the ones that only go on with what nobody saw."""
    return [end for end in refuted.ends if not end.is_idle] or list(refuted.ends)


def _enough(encoded: EncodedHistory, members: Ints) -> str:
    others = len(encoded) - len(members)
    few = "It alone is enough" if len(members) == 1 else f"{len(members)} operations are enough"
    if not others:
        return f"{few}."
    if others == 1:
        return f"{few}, whatever the other one of the key did in its own time, or not at all."
    return f"{few}, whatever the other {others:,} of the key did in their own time, or not at all."


def _end_lines(
    end: End, first: End | None, reasons: Reasons, names: "_Names", fails: dict[int, str]
) -> list[str]:
    """One order and why it cannot go on. `first`: the one that was told before."""
    state = reasons.state(end.state)
    shared = 0
    if first is None:
        lines = [
            f"An order gets this far, and then {state}:" if end.order else f"At first {state}."
        ]
    else:
        while end.order[shared : shared + 1] == first.order[shared : shared + 1] != []:
            shared += 1
        same = f" with the same numbers up to {shared}" if shared else ""
        lines = [f"Another order{same}, and then {state}:"]
    for number, move in enumerate(end.order[shared:], shared + 1):
        other = "" if move.member else ", one of the others"
        lines.append(f"  {number}. {names.full(move.row)}{other}")
    lines.append("What has to come next, and cannot:" if end.order else "It cannot come then:")
    for move in end.stuck:
        why = reasons.why(end, move)
        if first is None:
            fails[move.row] = "; ".join(why)
        lines.append(f"  {names.full(move.row)} {why[0]}")
        lines += [f"    {line}" for line in why[1:]]
    return lines


def _picture(
    encoded: EncodedHistory,
    shown: Ints,
    members: Ints,
    refuted: Refuted,
    fails: Mapping[int, str],
    reasons: Reasons,
    names: "_Names",
) -> dict[str, Json]:
    places = {row: number for number, row in enumerate(_in_order(refuted), 1)}
    own = set(members.tolist())
    bars: list[Json] = []
    for row in shown.tolist():
        operation = names.row(row)
        bars.append(
            {
                "index": int(encoded.call[row]),
                "end": None if encoded.ret[row] == NEVER else int(encoded.ret[row]),
                "from_ns": operation.get("invoked_ns"),
                "to_ns": operation.get("completed_ns"),
                "process": operation.get("process", ""),
                "label": names.label(row),
                "outcome": operation.get("type", ""),
                "member": row in own,
                "place": places.get(row),
                "fails": fails.get(row),
            }
        )
    state = next((reasons.state(end.state) for end in _ends(refuted)), "")
    return {"bars": bars, "state": state, "others": len(encoded) - len(shown)}


class _Names:
    """Operations in words, by row."""

    def __init__(self, source: Source, encoded: EncodedHistory) -> None:
        self._source, self._encoded = source, encoded
        self._rows: dict[int, Row] = {}

    def look_up(self, rows: Sequence[int]) -> None:
        """Many at once cost as little as one."""
        wanted = {int(self._encoded.call[row]): row for row in rows if row not in self._rows}
        if not wanted:
            return
        if isinstance(self._source, pa.Table):
            chosen = pc.is_in(self._source["index"], value_set=pa.array(list(wanted), pa.int64()))
            found: Sequence[Row] = self._source.filter(chosen).to_pylist()
        else:
            found = self._source(list(wanted))
        self._rows |= {wanted[each["index"]]: each for each in found}
        self._rows |= {row: {} for row in wanted.values() if row not in self._rows}

    def row(self, row: int) -> Row:
        if row not in self._rows:
            self.look_up([row])
        return self._rows[row]

    def label(self, row: int) -> str:
        """As in `write 1`, `read -> 1`, `cas [1,2] -> fail`."""
        operation = self.row(row)
        value, result = operation.get("value"), operation.get("result")
        asked = "" if value in (None, "null") else f" {_in_words(value)}"
        called = f"{operation.get('f', 'operation')}{asked}"
        outcome = operation.get("type", "")
        if operation.get("end") is None:
            return f"{called} -> no completion"
        if outcome != "ok":
            return " ".join(
                [f"{called} -> {outcome}", *filter(None, [operation.get("error_code")])]
            )
        shows = int(self._encoded.kind[row]) in OBSERVERS or result not in (None, "null", value)
        return f"{called} -> {_in_words(result or 'null')}" if shows else called

    def brief(self, row: int) -> str:
        """With its index."""
        return f"{self.label(row)} (index {self._encoded.call[row]})"

    def full(self, row: int) -> str:
        """With where it is in the history."""
        call, ret = int(self._encoded.call[row]), int(self._encoded.ret[row])
        until = "" if ret == NEVER else f" to {ret}"
        process = self.row(row).get("process", "?")
        return f"{self.label(row)} (index {call}{until}, process {process})"


def _in_words(value: str) -> str:
    """A JSON text, short. Of an answer that shows an id, the id: that is what is checked."""
    if '"topic_id"' in value:
        shown = json.loads(value)
        if isinstance(shown, dict) and shown.get("topic_id") is not None:
            return f"id {short(str(shown['topic_id']))}"
    return short(value)


def _plain(source: Source, encoded: EncodedHistory, decision: Decision) -> Finding:
    """What the method itself named."""
    rows = [row for row in dict.fromkeys((decision.culprit, *decision.involved)) if row >= 0]
    indices = [int(encoded.call[row]) for row in rows]
    try:
        named = [_Names(source, encoded).full(row) for row in rows[:12]]
    except Exception:
        named = [f"the operation of index {index}" for index in indices[:12]]
    if not named:
        return Finding(message="no order of the operations explains what was seen")
    message = f"no order of the operations explains {named[0]}"
    if named[1:]:
        message += f". Beside it: {'; '.join(named[1:])}"
    return Finding(message=message, operations=indices)
