"""The checker of stored runs: all that `judge` checks, over many runs at once.

Short runs are judged whole, where they are read. A long one is cut by topics (`shares`) if several
tasks read it, unless it has transactions: what one saw of one topic may depend on what it sent to
any other.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.folds.history.power_losses import Lines, PowerLoss, apart, power_losses
from checkers.folds.history.topic_ids import LIVES, by_topic_id, topic_lives
from checkers.logs import cycle_outcomes
from checkers.logs.judge import NAME, judge
from checkers.logs.model import SUMMARY
from checkers.logs.rows import FS, SINGLE, SUBSCRIPTIONS, TRANSACTIONS, Kind, rows
from framework.checking.keyed import OUTCOME_ARROW, Outcome, outcome_row
from framework.checking.operations import chosen_operations, operations_of_run
from framework.history.event import Recorded
from framework.history.pairing import Operation
from framework.history.reader import operations_of
from framework.history.texts import as_json
from framework.plugins.capabilities import KEPT_GROUPS, OR
from framework.plugins.checker import (
    CLIENTS,
    OUTCOME_SCHEMA,
    Clause,
    DataFrame,
    RunData,
    Tables,
)
from framework.verdict import Verdict

INJECTED: Final = "injected"
"""`f` of a row that is no operation: its `value` is what a run's ledger says of an injection."""
_BUCKETS: Final = 32
"""Small runs are judged some at a time: a call for each would cost more than its rows."""
_OF_RUN: Final = f"cast(pmod(hash(run), {_BUCKETS}) as int)"
_TOPIC: Final = r"""regexp_replace(coalesce(key, ''), '^"|(/[^/]*)?"$', '')"""
_OF_TOPIC: Final = f"cast(crc32(encode(concat(run, {_TOPIC}), 'UTF-8')) % {_BUCKETS} as int)"
"""Of an operation on a topic, or a partition: `bucket_of` says the same."""
_BUCKET: Final = f"""explode(case
    when linked then array({_OF_RUN})
    when f in ('join', '{INJECTED}') then sequence(0, {_BUCKETS} - 1)
    else array({_OF_TOPIC}) end)"""
_LINKING: Final = (*TRANSACTIONS, *SUBSCRIPTIONS)
Judges: TypeAlias = Callable[[str, str], bool]
"""Of a run and a partition, whether it is judged here."""
Losses: TypeAlias = Mapping[str, Sequence[PowerLoss]]
"""By run."""
LOOKED_AT: Final = (*FS, *LIVES)
"""Operations of these kinds, and injections, make up what `judge_runs` is given."""


ONE_LOG: Final = Clause(
    name="one-log",
    says=SUMMARY,
    compares="polls of a partition, acknowledged sends to it where somebody polled, and answers of "
    "groups and leaders",
    floor=4,
    because="two sends and two polls are the least of which each can contradict another; an answer "
    "on several partitions is no more than two of them",
    sources=(CLIENTS,),
    blind="values that nobody polled, where nobody read to the end; what all brokers may have lost "
    "by losing power at once",
)


class KafkaLog:
    """One key a partition."""

    name = NAME
    summary = SUMMARY
    requires = frozenset({OR.join(("log-operations", "transaction-operations"))})
    clauses = (ONE_LOG,)

    def check(self, tables: Tables) -> DataFrame:
        operations = with_injections(tables)
        forgetful = [each.run for each in tables.runs if forgets_groups(each.plan)]

        def share(bucket: tuple[pa.Scalar], operations: pa.Table) -> pa.Table:
            return judge_share(bucket, without_joins(operations, forgetful))

        def whole(operations: pa.Table) -> pa.Table:
            return judge_runs(without_joins(operations, forgetful))

        if tables.operation_parts > 1:
            grouped: Any = shares(operations).groupBy("bucket")
            return grouped.applyInArrow(share, OUTCOME_SCHEMA)
        grouped = operations.selectExpr("*", f"{_OF_RUN} as bucket").groupBy("bucket")
        return grouped.applyInArrow(whole, OUTCOME_SCHEMA)

    def judge_run(self, run: RunData, budget_s: float) -> pa.Table:
        """Of a short run, where it is read. No search takes longer than its rows."""
        entries = run.faults.column("entries").to_pylist()
        injections = [{"run": run.run, "f": INJECTED, "value": each} for each in entries]
        chosen = operations_of_run(run, LOOKED_AT)
        rows = pa.concat_tables([chosen, pa.Table.from_pylist(injections, chosen.schema)])
        forgetful = [run.run] if forgets_groups(run.plan) else []
        return judge_runs(without_joins(rows, forgetful))


def forgets_groups(plan: Mapping[str, Recorded]) -> bool:
    """Whether its system may number a group's generations anew, once nobody is in it."""
    able = plan.get("capabilities") or ()
    return "groups" in able and KEPT_GROUPS not in able


def without_joins(operations: pa.Table, forgetful: Sequence[str]) -> pa.Table:
    """Without who was in which generation, in these runs: as far as generations can be compared
    there, the checker `groups` does that."""
    of_them = pc.is_in(operations["run"], pa.array(forgetful, pa.string()))
    joins = pc.equal(operations["f"], "join")
    return operations.filter(pc.invert(pc.and_(of_them, joins)))


def with_injections(tables: Tables) -> DataFrame:
    """What runs are judged by: operations, and each injection as a row that goes where they go."""
    injections = tables.faults.selectExpr("run", f"'{INJECTED}' as f", "entries as value")
    operations = chosen_operations(tables, LOOKED_AT)  # `by_log` makes objects, of all columns
    return operations.unionByName(injections, allowMissingColumns=True)


def without_injections(operations: pa.Table) -> tuple[pa.Table, Losses]:
    """Operations without them, and what may be lost by them, of runs where anything may."""
    injected = pc.equal(operations["f"], INJECTED)
    if not pc.any(injected).as_py():
        return operations, {}
    ledgers: dict[str, list[Lines]] = defaultdict(list)
    for row in operations.filter(injected).select(["run", "value"]).to_pylist():
        ledgers[row["run"]].append(json.loads(row["value"]))
    losses = {run: found for run, own in ledgers.items() if (found := power_losses(own))}
    return operations.filter(pc.invert(injected)), losses


def shares(operations: DataFrame) -> DataFrame:
    """The operations with columns `linked`, of a run with transactions, and `bucket`: all of one
    topic are in the same, and all of such a run. A join tells of several topics, an injection of
    all, and they are in every one."""
    linked = operations.where(f"f in {_LINKING}").selectExpr("run", "true as linked").distinct()
    marked = operations.join(linked.hint("broadcast"), "run", "left")
    return marked.selectExpr("*", f"{_BUCKET} as bucket")


def judge_share(bucket: tuple[pa.Scalar], operations: pa.Table) -> pa.Table:
    """Outcome rows of one bucket of `shares`."""
    (number,) = (each.as_py() for each in bucket)
    whole = set(operations.filter(operations["linked"]).column("run").to_pylist())
    return _judged(operations, lambda run, key: run in whole or bucket_of(run, key) == number)


def judge_runs(operations: pa.Table) -> pa.Table:
    """Outcome rows of whole runs. A run that cannot be judged is UNKNOWN, and keeps no other from
    being judged."""
    return _judged(operations, lambda run, key: True)


def _judged(operations: pa.Table, judges: Judges) -> pa.Table:
    try:
        made = _told_of(rows(by_log(operations)), judges)
        judged = judge(made, at_most=ONE_LOG.floor // 2)
        parts = cycle_outcomes.parts_of(made)
        of_cycles = cycle_outcomes.outcomes(*parts, NAME) if parts is not None else []
    except Exception as error:
        runs = operations.column("run").unique().to_pylist()
        if len(runs) == 1:
            return pa.Table.from_pylist([_failed(runs[0], error)], OUTCOME_ARROW)
        each = [operations.filter(pc.equal(operations.column("run"), run)) for run in runs]
        return pa.concat_tables(_judged(run, judges) for run in each)
    # What transactions show was counted with their keys.
    counted = [{**row, "clauses": as_json({ONE_LOG.name: 0})} for row in of_cycles]
    plain = judged.select(OUTCOME_ARROW.names).cast(OUTCOME_ARROW)
    return pa.concat_tables([plain, pa.Table.from_pylist(counted, OUTCOME_ARROW)])


def _told_of(made: pa.Table, judges: Judges) -> pa.Table:
    """Without what a join told of partitions that others judge."""
    joins = pc.equal(made.column("kind"), Kind.OWN).to_numpy()
    if not joins.any():
        return made
    names = made.filter(pa.array(joins)).select(["run", "key"]).to_pylist()
    own = np.ones(made.num_rows, np.bool_)
    own[joins] = [judges(name["run"], name["key"]) for name in names]
    return made.filter(pa.array(own))


def bucket_of(run: str, key: str) -> int:
    """Where `shares` puts what is on a partition of a run without transactions."""
    topic, slash, number = key.rpartition("/")
    return crc32(f"{run}{topic if slash else number}".encode()) % _BUCKETS


def by_log(operations: pa.Table) -> pa.Table:
    """The operations alone, those on partitions of topics that were deleted under the keys of their
    topic ids: a name may have belonged to several; and what was before a loss of power that may
    have taken some of it along, under keys of its own."""
    operations, losses = without_injections(operations)
    affected = _of_deleted_topics(operations)
    lossy = pc.is_in(operations["run"], pa.array(sorted(losses), pa.string()))
    if not affected and not pc.any(lossy).as_py():
        return operations
    single = pc.is_in(operations["f"], pa.array(SINGLE))
    again_named = pc.is_in(operations["key"], pa.array(affected, pa.string()))
    moves = pc.fill_null(pc.and_(single, pc.or_(again_named, lossy)), False)
    looked_at = np.flatnonzero(pc.or_(moves, pc.is_in(operations["f"], pa.array(LIVES))).to_numpy())
    runs: dict[str, list[tuple[int, Operation]]] = defaultdict(list)
    table = operations.take(pa.array(looked_at))
    reported = zip(looked_at, table.column("run").to_pylist(), operations_of(table), strict=True)
    for row, run, operation in reported:
        runs[run].append((int(row), operation))
    rows_, moved = list[int](), list[Operation]()
    for run, own in runs.items():
        place = {each.index: row for row, each in own}
        lives = topic_lives(each for _, each in own)
        named: dict[str, list[Operation]] = defaultdict(list)
        for _, each in own:
            if each.f in SINGLE:
                named[str(each.key)].append(each)
        for key, group in named.items():
            for topic_id, found in by_topic_id(lives, group).items():
                name = key if topic_id is None else f"{key} of {topic_id}"
                for before, part in apart(losses.get(run, ()), found).items():
                    moved += [replace(each, key=f"{name}{before}") for each in part]
                    rows_ += [place[each.index] for each in part]
    again = operations.take(pa.array(rows_, pa.int64()))
    for name, column in (
        ("key", [as_json(each.key) for each in moved]),
        ("value", [as_json(each.value) for each in moved]),
        ("type", [each.type for each in moved]),
        ("result", [None if each.end is None else as_json(each.result) for each in moved]),
    ):
        number = again.schema.get_field_index(name)
        field = again.schema.field(number)
        again = again.set_column(number, field, pa.array(column, field.type))
    return pa.concat_tables([operations.filter(pc.invert(moves)), again])


def _of_deleted_topics(operations: pa.Table) -> list[str]:
    """Keys of partitions, as they stand in the table, of topics that may have been deleted."""
    deletes = pc.and_(pc.equal(operations["f"], "delete"), pc.not_equal(operations["type"], "fail"))
    names = set(operations.filter(deletes).column("key").unique().to_pylist())
    data = operations.filter(pc.is_in(operations["f"], pa.array(SINGLE)))
    keys = data.column("key").drop_null().unique().to_pylist()
    return [key for key in keys if f'{key.rpartition("/")[0]}"' in names]


def _failed(run: str, error: Exception) -> dict[str, object]:
    note = f"the checker failed: {type(error).__name__}: {error}".splitlines()[0]
    return outcome_row(run, NAME, "", Outcome(verdict=Verdict.UNKNOWN, seen=0, note=note))
