"""Operations as Arrow has them, into operations as kernels read them.

`encode` does it for one key; `encode_keys` for any number of runs and keys at once, at a cost
that hardly depends on how they are cut: texts become numbers for the whole table, and a key is a
slice of the arrays, made when somebody asks for it. Only kv, and topics with hidden ids, need
Python for each distinct operation.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.linearizability.encoded import NEVER, Codes, EncodedHistory, EncodedKeys, Ints, Kind
from checkers.linearizability.encoding.models import (
    KAFKA_TOPICS,
    KNOWN,
    KV,
    QUEUE,
    TOPICS,
    TURNED_AWAY,
    Model,
    Says,
    Source,
)
from checkers.linearizability.encoding.numbers import distinct, own_numbers
from checkers.linearizability.encoding.texts import (
    ANY,
    NULL,
    Mask,
    Strings,
    Texts,
    canonical,
    numbered,
    pairs,
    places,
    shown_ids,
    strings,
)
from checkers.linearizability.encoding.topics import with_hidden_ids
from checkers.linearizability.encoding.transitions import kv_steps

_NOTHING: Final = -1
_UNKNOWN: Final = -2
_NO_VALUE: Final = -1
_BAD: Final = -2
_BLIND: Final = np.isin(np.arange(len(Kind)), (Kind.WRITE, Kind.STEP, Kind.ENQUEUE))
"""Kinds that take effect whatever the state is."""
_IDLE: Final = np.isin(np.arange(len(Kind)), (Kind.READ, Kind.DIFFERS, Kind.LOOK, Kind.EMPTY))
"""Kinds that change nothing."""
_MOST_WORDS: Final = 64
"""More than any model has, and room for what is negative."""


@dataclass(frozen=True, slots=True)
class Keyed:
    """One key of one run."""

    run: str
    key: str
    """A JSON text."""
    rows: Ints
    """Where its operations are in the table, in the order of their invocations."""
    seen: int
    """Operations that saw something of the object, which another order might contradict; none,
    where there is but one, or nothing was done that it could have seen."""
    encoded: EncodedHistory
    """Those that say or do something."""
    is_malformed: bool
    """The model has no word for some of them: `encoded` is empty."""


@dataclass(frozen=True, slots=True, eq=False)
class TableKeys(Sequence[Keyed]):
    """Every key of a table, in the order of (run, key). What all of them need is done on columns;
    a `Keyed` is made when it is asked for."""

    names: Sequence[tuple[str, str]]
    """(run, key) of each."""
    rows: Ints
    """Row numbers of the table: those of a key together, in the order of their invocations."""
    starts: Ints
    """Key k has `rows` from `starts[k]` up to `starts[k + 1]`."""
    seen: Ints
    """Of each key: as of `Keyed`."""
    encoded: EncodedKeys
    bad: Collection[int]
    """Keys that are malformed."""

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, number: int) -> Keyed: ...
    @overload
    def __getitem__(self, number: slice) -> list[Keyed]: ...
    def __getitem__(self, number: int | slice) -> Keyed | list[Keyed]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(number)
        return Keyed(
            *self.names[number],
            self.rows[self.starts[number] : self.starts[number + 1]],
            int(self.seen[number]),
            self.encoded[number],
            number in self.bad,
        )


def encode(model: str, table: pa.Table) -> EncodedHistory:
    """The operations of one key; columns as in `framework.checking.runs.OPERATIONS`, in any
    order of rows.

    index, end, f, type, value and result are read, and error_code and ext where they are there.
    None may be `malformed`.
    """
    dropped = [name for name in ("run", "key") if name in table.column_names]
    (key,) = encode_keys(model, table.drop_columns(dropped))
    return key.encoded


def malformed(model: str, table: pa.Table) -> tuple[int, str] | None:
    """The first operation (its index) that the model has no word for: what is wrong, and what
    would be right."""
    spec = KNOWN[model]
    names, fs = numbered(table["f"])
    kinds, types = numbered(table["type"])
    wrong = np.full(len(table), -1, dtype=np.int32)
    lines: list[str] = []

    def add(rows: Ints, line: str) -> None:
        wrong[rows] = len(lines)
        lines.append(line)

    for number, name in enumerate(names.to_pylist()):
        if name not in spec.fs:
            known = ", ".join(spec.fs)
            line = f"{name!r} is not an operation of {spec.name}: {known}"
            add(np.flatnonzero(fs == number), line)
    for rule in spec.rules:
        rows = np.flatnonzero(_one_of(names, fs, [rule.f]) & _one_of(kinds, types, rule.outcomes))
        if len(rows):
            texts, codes = numbered(strings(table[rule.column], rows))
            add(rows[~rule.fits(texts)[codes]], rule.line)
    found = np.flatnonzero(wrong >= 0)
    if not len(found):
        return None
    indices = table["index"].to_numpy()
    first = found[np.argmin(indices[found])]
    return int(indices[first]), lines[wrong[first]]


def encode_keys(model: str, table: pa.Table) -> TableKeys:
    """Every (run, key) of a table, in their order. A table without such columns is one key."""
    spec = KNOWN[model]
    names, groups = _groups(table)
    indices: Ints = table["index"].to_numpy()
    order = _order(groups, indices, len(names))
    outcomes, types = _outcomes(spec, table)
    completed = ~_one_of(outcomes, types, ["info"])
    says, said = _says(spec, table, outcomes, types)
    kept = order[said[order] != _NOTHING]
    key = groups[kept]
    ends: Ints = table["end"].fill_null(0).to_numpy()
    bounds = _bounds(key, len(names))
    cells = _cells(spec, says, table, kept, said[kept], bounds)
    place = places(table["ext"], completed) if "ext" in table.column_names else None
    encoded = EncodedKeys(
        indices[kept],
        np.where(completed[kept], ends[kept], NEVER),
        cells.kind,
        cells.a,
        cells.b,
        bounds,
        np.zeros(len(names), dtype=np.int64),
        cells.values,
        None if place is None else place[kept],
    )
    bad = frozenset(key[cells.is_bad].tolist())
    others = _others(spec, encoded, bad, cells.hidden)
    return TableKeys(
        names,
        order,
        _bounds(groups[order], len(names)),
        _seen(key, completed[kept], cells.kind, bounds),
        replace(encoded, others=others) if others else encoded,
        bad,
    )


def _seen(key: Ints, completed: Mask, kind: NDArray[np.int8], bounds: Ints) -> Ints:
    """Of each key, as of `Keyed`; its operations lie between its `bounds`."""
    count = len(bounds) - 1
    found: Ints = np.bincount(key[completed & ~_BLIND[kind]], minlength=count)
    done = np.bincount(key[~_IDLE[kind]], minlength=count)
    found[(done == 0) | (np.diff(bounds) < 2)] = 0
    return found


def _bounds(groups: Ints, count: int) -> Ints:
    """Where each of `count` groups begins, of numbers that rise; and where the last ends."""
    return np.searchsorted(groups, np.arange(count + 1))


def _others(
    spec: Model, keys: EncodedKeys, bad: Collection[int], hidden: Mask
) -> dict[int, EncodedHistory]:
    """Keys that are more than their cells; and, without operations, those that are malformed."""
    others = {number: keys[number].take(np.zeros(0, dtype=np.int64)) for number in bad}
    if spec is KV:
        return {n: kv_steps(each) for n, each in enumerate(keys) if n not in bad} | others
    rows = np.flatnonzero(hidden)
    owners, first = np.unique(
        np.searchsorted(keys.starts, rows, side="right") - 1, return_index=True
    )
    for number, row in zip(owners.tolist(), rows[first], strict=True):
        if number not in bad:
            cells = keys[number]
            made = with_hidden_ids(cells, int(keys.b[row]), once=spec is KAFKA_TOPICS)
            if made is not cells:
                others[number] = made
    return others


def _groups(table: pa.Table) -> tuple[list[tuple[str, str]], Ints]:
    """The (run, key) of each group, in order, and each row's group."""
    rows = len(table)
    if "key" not in table.column_names:
        return [("", NULL)], np.zeros(rows, dtype=np.int64)
    keys, key = numbered(table["key"])
    runs, run = pa.array([""]), np.zeros(rows, dtype=np.int32)
    if "run" in table.column_names:
        runs, run = numbered(table["run"])
    both = pa.array(run.astype(np.int64) * max(1, len(keys)) + key).dictionary_encode()
    run_texts, key_texts = runs.to_pylist(), keys.to_pylist()
    met = [
        (run_texts[each // len(keys)], key_texts[each % len(keys)])
        for each in both.dictionary.to_pylist()
    ]
    order = sorted(range(len(met)), key=met.__getitem__)
    rank = np.empty(len(met), dtype=np.int64)
    rank[order] = np.arange(len(met))
    groups: Ints = rank[both.indices.to_numpy(zero_copy_only=False)]
    return [met[each] for each in order], groups


def _order(groups: Ints, indices: Ints, count: int) -> Ints:
    """Row numbers by group, then by operation."""
    order: Ints = np.arange(len(indices))
    if (np.diff(indices) < 0).any():
        order = np.argsort(indices, kind="stable")
    if count > 1:
        # Small numbers are sorted by counting them.
        small = groups.astype(np.uint16) if count < 1 << 16 else groups
        order = order[np.argsort(small[order], kind="stable")]
    return order


def _one_of(names: Strings, codes: Codes, wanted: Any) -> Mask:
    """The rows that have one of the names."""
    found: Mask = np.array([name in wanted for name in names.to_pylist()], dtype=bool)[codes]
    return found


def _outcomes(spec: Model, table: pa.Table) -> tuple[Strings, Codes]:
    """The outcomes that the model tells from each other, and each row's."""
    names, types = numbered(table["type"])
    outcomes = names.to_pylist()
    failed = _one_of(names, types, ["fail"])
    if not failed.any():
        return names, types
    types, rows = types.astype(np.int32), np.flatnonzero(failed)
    for said in spec.asserted:
        types[rows[_asserts(table, rows, f'"asserts":"{said}"')]] = len(outcomes)
        outcomes.append(said)
    if not spec.asserted and "error_code" in table.column_names:
        types[_turned_away(table, rows)] = len(outcomes)
        outcomes.append(TURNED_AWAY)
    return pa.array(outcomes, pa.string()), types


def _turned_away(table: pa.Table, failed: Ints) -> Ints:
    """The failed rows that say nothing of the object: with an error, and without `asserts`."""
    rows: Ints = failed[pc.not_equal(strings(table["error_code"], failed), NULL).to_numpy(False)]
    silent: Ints = rows[~_asserts(table, rows, '"asserts":"')]
    return silent


def _asserts(table: pa.Table, rows: Ints, text: str) -> Mask:
    """Which of the rows have this text in their `ext`."""
    if "ext" not in table.column_names:
        return np.zeros(len(rows), dtype=bool)
    said: Mask = pc.match_substring(strings(table["ext"], rows), text).to_numpy(False)
    return said


def _says(
    spec: Model, table: pa.Table, outcomes: Strings, types: Codes
) -> tuple[list[Says], Codes]:
    """What operations of the model say, and which of it each row says."""
    names, fs = numbered(table["f"])
    says = list(dict.fromkeys(spec.words.values()))
    lookup = np.full((len(names), len(outcomes)), _NOTHING, dtype=np.int32)
    for f, name in enumerate(names.to_pylist()):
        if name not in spec.fs:
            lookup[f] = _UNKNOWN
        for outcome, text in enumerate(outcomes.to_pylist()):
            if (name, text) in spec.words:
                lookup[f, outcome] = says.index(spec.words[name, text])
    found: Codes = lookup[fs, types]
    return says, found


@dataclass(frozen=True, slots=True)
class _Cells:
    """Columns of `EncodedHistory` for the operations of all keys. Numbers are each key's own."""

    kind: NDArray[np.int8]
    a: Codes
    b: Codes
    hidden: Mask
    """Creates of an id that was not shown."""
    is_bad: Mask
    """The model has no word for it."""
    pool: Strings
    initial: str
    texts: Ints
    """The pool's number of each value that any key has, key after key."""
    starts: Ints
    """Where a key's begin in `texts`."""

    def values(self, key: int) -> Texts:
        return Texts(self.pool, self.initial, self.texts[self.starts[key] : self.starts[key + 1]])


def _cells(
    spec: Model,
    says: list[Says],
    table: pa.Table,
    rows: Ints,
    said: Codes,
    bounds: Ints,
) -> _Cells:
    """For operations in the order of their keys."""
    pool = _Pool([spec.initial, NULL, ANY])
    a, b = _read(spec, says, table, rows, said, pool)
    texts, numbers = pool.closed()
    for column in (a, b):
        named = column >= 0
        column[named] = numbers[column[named]]
    initial, null, hidden = numbers[:3]
    kind = np.array([each.kind for each in says], dtype=np.int8)[said]
    if spec is QUEUE:
        empty = (kind == Kind.DEQUEUE) & (a == null)
        kind[empty], a[empty] = Kind.EMPTY, _NO_VALUE
    elif spec in (TOPICS, KAFKA_TOPICS):
        unnamed = a == hidden
        kind[unnamed] = np.where(kind[unnamed] == Kind.READ, Kind.DIFFERS, Kind.CHANGE)
        a[unnamed] = null
    is_bad = (said == _UNKNOWN) | (a == _BAD) | (b == _BAD)
    own_a, own_b, used, starts = _own_numbers(a, b, bounds, len(texts), int(initial))
    return _Cells(kind, own_a, own_b, b == hidden, is_bad, texts, spec.initial, used, starts)


class _Pool:
    """Texts from anywhere, each of which gets one number."""

    def __init__(self, first: list[str]) -> None:
        self._pieces = [pa.array(first, pa.string())]
        self._count = len(first)

    def add(self, texts: Strings) -> int:
        """What to add to the place of a text among these."""
        begin = self._count
        self._pieces.append(texts)
        self._count += len(texts)
        return begin

    def closed(self) -> tuple[Strings, Codes]:
        """The distinct canonical texts, and the number of each text that was added."""
        texts, codes = distinct(pa.concat_arrays(self._pieces))
        equal = canonical(texts)
        if equal is texts:
            return texts, codes
        texts, again = numbered(equal)
        return texts, again[codes]


def _read(
    spec: Model, says: list[Says], table: pa.Table, rows: Ints, said: Codes, pool: _Pool
) -> tuple[Ints, Ints]:
    """`a` and `b` of each row as places in the pool, `_NO_VALUE` or `_BAD`."""
    found = (
        np.full(len(rows), _NO_VALUE, dtype=np.int64),
        np.full(len(rows), _NO_VALUE, dtype=np.int64),
    )
    uses: dict[Source | str, list[tuple[int, int]]] = {}
    for number, each in enumerate(says):
        for side, source in enumerate((each.a, each.b)):
            if source is not None:
                uses.setdefault(source, []).append((number, side))
    if Source.FROM in uses:
        of_pairs = np.flatnonzero(_among(said, [number for number, _ in uses[Source.FROM]]))
        texts, codes = numbered(strings(table["value"], rows[of_pairs]))
        for source, items in zip((Source.FROM, Source.TO), pairs(texts), strict=True):
            _place(found, of_pairs, said, uses.pop(source), pool, items, codes)
    for source, used in uses.items():
        at = np.flatnonzero(_among(said, [number for number, _ in used]))
        if not len(at):
            continue
        if isinstance(source, str):
            texts, codes = pa.array([source]), np.zeros(len(at), dtype=np.int32)
        else:
            column = "value" if source is Source.VALUE else "result"
            texts, codes = _made_of(spec, source, strings(table[column], rows[at]))
        _place(found, at, said, used, pool, texts, codes)
    return found


def _among(said: Codes, numbers: list[int]) -> Mask:
    lookup = np.zeros(_MOST_WORDS, dtype=bool)
    lookup[numbers] = True
    found: Mask = lookup[said]
    return found


def _made_of(spec: Model, source: Source, rows: Strings) -> tuple[Strings, Codes]:
    """The texts that stand for what a source reads, null where it is not as it must be; and the
    place of each row's among them."""
    column = "value" if source is Source.VALUE else "result"
    rule = next((each for each in spec.rules if each.column == column and not each.is_read), None)
    if rule is None and source in (Source.VALUE, Source.RESULT):
        return rows, np.arange(len(rows), dtype=np.int32)
    texts, codes = numbered(rows)
    if rule is not None:
        return pc.if_else(pa.array(rule.fits(texts)), texts, None), codes
    texts = shown_ids(texts)
    if source is Source.ID:
        texts = texts.fill_null(ANY)
        texts = pc.if_else(pc.equal(texts, NULL), ANY, texts)
    return texts, codes


def _place(
    found: tuple[Ints, Ints],
    at: Ints,
    said: Codes,
    used: list[tuple[int, int]],
    pool: _Pool,
    texts: Strings,
    codes: Codes,
) -> None:
    """Puts the texts of the rows `at` into the columns that use them."""
    begin = pool.add(texts.fill_null(NULL))
    here = begin + codes.astype(np.int64)
    if texts.null_count:
        here[pc.is_null(texts).to_numpy(zero_copy_only=False)[codes]] = _BAD
    for side in (0, 1):
        numbers = [number for number, each in used if each == side]
        mine = _among(said[at], numbers)
        found[side][at[mine]] = here[mine]


def _own_numbers(
    a: Ints, b: Ints, bounds: Ints, pool_size: int, initial: int
) -> tuple[Codes, Codes, Ints, Ints]:
    """Numbers of each key's own, as its operations meet the values; 0 is the initial one. Then
    the pool's numbers of all keys' values, and where each key's begin."""
    own = np.empty((2, len(a)), dtype=np.int32)
    met = np.empty(2 * len(a), dtype=np.int64)
    starts = np.empty(len(bounds), dtype=np.int64)
    own_numbers(a, b, bounds, initial, np.zeros(pool_size, dtype=np.int32), own, met, starts)
    return own[0], own[1], met[: starts[-1]].copy(), starts
