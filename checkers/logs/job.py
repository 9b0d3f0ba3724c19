"""The check of histories of any size: sources in, an outcome for each key out, in one shuffle.

For `framework.checking.blocks.exchange`. A part of a history becomes rows (`rows`) where it is
read, and they go to the bucket of their key. What concerns every key goes to every bucket: a
client's assignments and last polls, how many events each part has, and the few operations that
begin in one part and end in another; those are put together and made into rows by each bucket.

Two things need all keys, and one task is given what they need (`TOGETHER`), so that no edge comes
to the driver. Cycles are one. The other: a transaction of unknown outcome took effect if somebody
polled anything that it sent; where such a one sent to several keys, a second job is told of it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.logs import cycle_outcomes
from checkers.logs.cycles_edges import EDGES, VERTICES, completed, overlapping
from checkers.logs.cycles_spread import Suspects, parts_among
from checkers.logs.cycles_windows import WINDOW, dealt
from checkers.logs.judge import JUDGED, NAME, Known, judge
from checkers.logs.rows import FS, ROWS, Flag, Malformed, rows
from framework.checking import keys
from framework.checking.blocks import bucket_of, split
from framework.checking.keyed import OUTCOME_ARROW
from framework.checking.keys import MALFORMED, runs_of
from framework.history.ingest import EVENTS, OPERATION, PART, Part

SHARES: Final = pa.schema(
    [
        *ROWS,
        *(pa.field(name, pa.int64()) for name in ("file", "range", "bucket", "buckets")),
        pa.field("raw", pa.binary()),
    ]
)
"""`ROWS` whose indices count from the beginning of their part. A row with `bucket` is none: `raw`
is a table of what every bucket needs, or else operation `index` is malformed, as `value` says."""
RESULTS: Final = pa.schema(
    [*JUDGED, pa.field("edges", pa.binary()), pa.field("vertices", pa.binary())]
)
"""What becomes of a bucket; its first row has the dependencies that its keys show, if any."""
TOGETHER: Final = "together"
"""`RESULTS` of all buckets, as far as they need each other."""
WINDOWS: Final = "windows"
OPERATIONS: Final = "operations"
_NONE: Final = pa.array([None, "[]"])


def shares(part: Part, buckets: int) -> Iterator[tuple[int, pa.Table]]:
    """(bucket, `SHARES`) of a part of a history."""
    table = part.operations
    role = table.column("role").to_numpy()
    several = (role == EVENTS).any() and not part.border.whole
    operation = (role == OPERATION) & pc.is_in(table.column("f"), pa.array(FS)).to_numpy()
    crosses = operation & pc.is_null(table.column("end")).to_numpy() & several
    place = {"file": part.border.file, "range": part.border.number}
    rest = table.filter(pa.array((role != OPERATION) | crosses))
    try:
        made = rows(runs_of(table.filter(pa.array(operation & ~crosses))))
    except Malformed as error:
        yield 0, _special(place, 0, buckets, index=error.index, value=error.why)
        made = ROWS.empty_table()
    made = _placed(made, place)
    keyless = made.filter(pc.is_null(made.column("key")))
    keyed = made.filter(pc.is_valid(made.column("key")))
    if keyed.num_rows:
        yield from split(keyed, "key", buckets, salt=str(part.border.file))
    for bucket in range(buckets):
        if keyless.num_rows:
            yield bucket, keyless
        if rest.num_rows:
            yield bucket, _special(place, bucket, buckets, raw=_written(rest))


def judge_shares(table: pa.Table, known: Known, name: str = NAME) -> pa.Table:
    """`RESULTS` of one bucket: all `SHARES` of some keys. `known` as `judge` takes it."""
    try:
        whole = _whole(table)
    except _Refused as refused:
        return refused.results
    return _with_cycles(judge(whole, known, name), whole)


def spread_shares(
    table: pa.Table, known: Known, name: str, window: int = WINDOW
) -> Iterator[tuple[str, int, pa.Table]]:
    """As `judge_shares`, without dependencies; these, if any, by stage (`WINDOWS`) and window, and
    how many operations may have some (`OPERATIONS`)."""
    try:
        whole = _whole(table)
    except _Refused as refused:
        yield from by_stage(refused.results)
        return
    yield from by_stage(_with_cycles(judge(whole, known, name), ROWS.empty_table()))
    if cycle_outcomes.has_transactions(whole):
        yield OPERATIONS, 0, completed(whole)
        for bucket, edges in dealt(overlapping(whole), window):
            yield WINDOWS, bucket, edges


def suspected_shares(table: pa.Table, suspects: Mapping[str, Suspects]) -> pa.Table:
    """The dependencies of suspects that one bucket shows, as `RESULTS`."""
    whole = _whole(table)
    if not cycle_outcomes.has_transactions(whole):
        return RESULTS.empty_table()
    edges, vertices = parts_among(whole, suspects)
    row = dict.fromkeys(RESULTS.names)
    return pa.Table.from_pylist(
        [row | {"edges": _written(edges), "vertices": _written(vertices)}], RESULTS
    )


@dataclass(eq=False)
class _Refused(Exception):
    """Operations are malformed, as `results` (`RESULTS`) say."""

    results: pa.Table


def _whole(table: pa.Table) -> pa.Table:
    """All `ROWS` of a bucket's `SHARES`. Raises `_Refused`."""
    special = table.filter(pc.is_valid(table.column("bucket")))
    plain = table.filter(pc.is_null(table.column("bucket")))
    wrong = special.filter(pc.is_null(special.column("raw")))
    crossing = [_read(raw) for raw in special.column("raw").to_pylist() if raw is not None]
    raw = pa.concat_tables(crossing) if crossing else PART.empty_table()
    if wrong.num_rows:
        raise _Refused(_malformed([_refusal(row, raw) for row in wrong.to_pylist()]))
    whole = _numbered(plain, raw).select(ROWS.names)
    if crossing:
        try:
            late = rows(runs_of(raw), scattered=True)
        except Malformed as error:
            raise _Refused(_malformed([(str(error.run), error.index, error.why)])) from None
        whole = pa.concat_tables([whole, _of_bucket(late, special.slice(0, 1).to_pylist()[0])])
    return whole


def still_known(results: pa.Table) -> Known:
    """By run the operations of unknown outcome that one bucket waits for and another knows to have
    taken effect; empty if there are none, and all is judged."""
    known: dict[str, set[int]] = {}
    waiting: dict[str, set[int]] = {}
    for row in results.select(["run", "known", "waiting"]).to_pylist():
        known.setdefault(row["run"], set()).update(json.loads(row["known"] or "[]"))
        waiting.setdefault(row["run"], set()).update(json.loads(row["waiting"] or "[]"))
    found = {run: frozenset(known[run] & waiting[run]) for run in known}
    return {run: indices for run, indices in sorted(found.items()) if indices}


def by_stage(results: pa.Table) -> Iterator[tuple[str, int, pa.Table]]:
    """`RESULTS` of one bucket: outcome rows, which are gathered, and what stays with `TOGETHER`."""
    yield keys.SHARES, 0, plain(results)
    alone = pc.and_(
        pc.is_null(results.column("edges")),
        pc.and_(*(pc.is_in(results.column(each), _NONE) for each in ("known", "waiting"))),
    )
    needed = results.filter(pc.invert(alone))
    if needed.num_rows:
        yield TOGETHER, 0, needed


def together(results: pa.Table, name: str = NAME) -> pa.Table:
    """`JUDGED` of all buckets' results: the outcome rows of cycles; or, where a further job has to
    know something first, that (`known`) by run alone."""
    if more := still_known(results):
        told = [{"run": run, "known": json.dumps(sorted(each))} for run, each in more.items()]
        return pa.Table.from_pylist(told, JUDGED)
    parts = _parts(results)
    found = [] if parts is None else cycle_outcomes.outcomes(*parts, name)
    return pa.Table.from_pylist(found, JUDGED)


def learnt(found: pa.Table) -> Known:
    """What a further job has to know, by what `together` found; empty: none is needed."""
    rows_ = found.filter(pc.is_valid(found.column("known"))).select(["run", "known"]).to_pylist()
    return {row["run"]: frozenset(json.loads(row["known"])) for row in rows_}


def plain(results: pa.Table) -> pa.Table:
    """The outcome rows (`OUTCOME_ARROW`) of results, without those of cycles."""
    return results.select(OUTCOME_ARROW.names).cast(OUTCOME_ARROW)


def cycles_among(results: pa.Table, seen: Mapping[str, int], name: str) -> pa.Table:
    """The outcome rows of cycles, from all that suspects depend on. `seen`: by run, how many
    operations may have dependencies."""
    edges, vertices = _parts(results) or (EDGES.empty_table(), VERTICES.empty_table())
    found = cycle_outcomes.outcomes(edges, vertices, name, seen)
    return pa.Table.from_pylist(found, OUTCOME_ARROW)


def seen_by_run(counts: pa.Table, suspects: Mapping[str, Suspects]) -> dict[str, int]:
    """How many operations may have dependencies: from the `COUNTS` of all buckets, and those of
    unknown outcome that took effect."""
    seen: dict[str, int] = {}
    for row in counts.to_pylist():
        seen[row["run"]] = seen.get(row["run"], 0) + row["operations"]
    for run, each in suspects.items():
        seen[run] += each.proven
    return seen


def _parts(results: pa.Table) -> tuple[pa.Table, pa.Table] | None:
    parts = [results.column(each).drop_null().to_pylist() for each in ("edges", "vertices")]
    if not parts[0]:
        return None
    edges, vertices = (pa.concat_tables(map(_read, part)) for part in parts)
    return edges, vertices


# --- parts of histories -------------------------------------------------------------------


def _placed(made: pa.Table, place: Mapping[str, int]) -> pa.Table:
    for field in list(SHARES)[len(ROWS) :]:
        value = pa.scalar(place.get(field.name), field.type)
        made = made.append_column(field, pa.repeat(value, made.num_rows))
    return made.cast(SHARES)


def _special(place: Mapping[str, int], bucket: int, buckets: int, **columns: Any) -> pa.Table:
    row = dict.fromkeys(SHARES.names) | dict(place) | columns
    return pa.Table.from_pylist([row | {"bucket": bucket, "buckets": buckets}], SHARES)


def _written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.unify_dictionaries().combine_chunks())
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _read(raw: bytes) -> pa.Table:
    return pa.ipc.open_stream(raw).read_all()


def _numbered(plain: pa.Table, raw: pa.Table) -> pa.Table:
    """The rows with true indices; those that the final phase reached before their part began are of
    it."""
    first, late = _starts(raw)
    if not first:
        return plain
    file, number = (plain.column(name).to_numpy() for name in ("file", "range"))
    place, which = np.unique(file << 32 | number, return_inverse=True)
    starts = np.array([first.get(int(each), 0) for each in place], np.int64)[which]
    final = np.array([int(each) in late for each in place], np.bool_)[which]
    for name in ("index", "end"):
        moved = pc.add(plain.column(name), pa.array(starts))
        plain = plain.set_column(plain.column_names.index(name), name, moved)
    flags = plain.column("flags").to_numpy() | np.where(final, np.int8(Flag.FINAL), np.int8(0))
    at = plain.column_names.index("flags")
    return plain.set_column(at, "flags", pa.array(flags.astype(np.int8)))


def _starts(raw: pa.Table) -> tuple[dict[int, int], set[int]]:
    """By part (file << 32 | range): the index of its first event; those that began in the final
    phase."""
    counts = raw.filter(pc.equal(raw.column("role"), EVENTS)).to_pylist()
    places = {row["file"] << 32 | row["range"]: row for row in counts}
    first: dict[int, int] = {}
    late: set[int] = set()
    for _, own in groupby(sorted(places), key=lambda place: places[place]["file"]):
        events, final = 0, False
        for place in own:
            first[place] = events
            if final:
                late.add(place)
            events += places[place]["index"]
            final = final or places[place]["phase"] == "final"
    return first, late


def _of_bucket(made: pa.Table, special: Mapping[str, int]) -> pa.Table:
    """The rows that belong to a bucket: of its keys, or of none."""
    if not made.num_rows:
        return made
    table = made.select(["run", "key"]).to_pylist()
    mine = [
        row["key"] is None
        or bucket_of(f"{row['run']}{row['key']}", special["buckets"]) == special["bucket"]
        for row in table
    ]
    return made.filter(pa.array(mine))


# --- results ------------------------------------------------------------------------------


def _refusal(row: Mapping[str, Any], raw: pa.Table) -> tuple[str, int, str]:
    first, _ = _starts(raw)
    start = first.get(row["file"] << 32 | row["range"], 0)
    return str(row["file"]), row["index"] + start, row["value"]


def _malformed(refusals: Iterable[tuple[str, int, str]]) -> pa.Table:
    rows_ = [
        dict.fromkeys(RESULTS.names)
        | {"run": run, "checker": "", "key": "", "verdict": MALFORMED, "seen": index, "note": why}
        for run, index, why in refusals
    ]
    return pa.Table.from_pylist(rows_, RESULTS)


def _with_cycles(judged: pa.Table, whole: pa.Table) -> pa.Table:
    parts = cycle_outcomes.parts_of(whole) if judged.num_rows else None
    written = [None, None] if parts is None else [_written(part) for part in parts]
    for field, raw in zip(list(RESULTS)[len(JUDGED) :], written, strict=True):
        column = [raw] + [None] * (judged.num_rows - 1) if judged.num_rows else []
        judged = judged.append_column(field, pa.array(column, pa.binary()))
    return judged
