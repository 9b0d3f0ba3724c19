"""Topic operations are linearizable: create, delete and controller describe of each name.

The object of one name is absent, or present with an id. A create that succeeds installs an id
that no create installed before; a delete that succeeds ends the life of the id that it names.
A failed create that asserts that the topic is there, and a failed delete or describe that asserts
that it is not, are reads as well as failures; any other failure says only that nothing happened.
What a refusal asserts is the system's to say (`framework.plugins.outcomes`): where a client may see
the echo of its own request, that request has not failed.
Names are independent of each other (Herlihy & Wing 1990), hence checked one by one. Answers from
a broker's cache promise no recency and are left out.

Ids are drawn at random by the system, so two lives never share one: that is looked at first. Then
each name goes to the methods that decide any model; what they refute is told in the words of the
rules of ids, where one of those is broken.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from checkers.linearizability.decision import Decision
from checkers.linearizability.encoding.encode import Keyed, encode_keys
from checkers.linearizability.encoding.models import KAFKA_TOPICS
from checkers.linearizability.encoding.texts import ANY, NULL, numbered, shown_ids, strings
from checkers.linearizability.evidence.describe import describe_operation, operation_of
from checkers.linearizability.kernel import COLUMNS, Patience, judge_key, outcomes
from framework.checking.keyed import Outcome, Row, SearchOptions, judged
from framework.checking.operations import judged_by_key, operations_with_key
from framework.history.columns import OPERATIONS
from framework.history.event import Json
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, Clause, DataFrame, Finding, RunData, Tables
from framework.verdict import Verdict

ORDER: Final = Clause(
    name="one-order",
    says="Creates, deletes and controller reads of each name have one order, consistent with real "
    "time, that one correct controller could have served",
    compares="answers that saw a topic or its want, beside something that was done to that name",
    floor=2,
    because="a creation and a read of it, the least that can contradict each other; a run that "
    "works on one name for long has no more",
    sources=(CLIENTS,),
    blind="answers of brokers' caches, which promise no recency",
)


class TopicLinearizability:
    """The checker; entry point `topic-linearizability`."""

    name = "topic-linearizability"
    summary = (
        "Creates, deletes and controller reads of each topic name have one order, consistent "
        "with real time, that a single correct controller could have served"
    )
    requires = frozenset({"topic-operations", "linearizable-topic-read"})

    clauses = (ORDER,)
    live = (ORDER,)
    fs = KAFKA_TOPICS.fs
    Options = SearchOptions

    def __init__(self, options: SearchOptions | None = None) -> None:
        self.options = options or SearchOptions()

    def check(self, tables: Tables) -> DataFrame:
        kernel = partial(check_names, budget_s=self.options.budget_s(tables.spark))
        return judged_by_key(tables, KAFKA_TOPICS.fs, kernel, COLUMNS)

    def judge_run(self, run: RunData, budget_s: float) -> pa.Table:
        """Or one that goes on: linearizable is a history only if all that it begins with is."""
        rows = operations_with_key(run, KAFKA_TOPICS.fs, COLUMNS)
        return check_names(rows, budget_s=self.options.within(budget_s))


def check_names(table: pa.Table, *, budget_s: float) -> pa.Table:
    """`OUTCOME_ARROW` for every name of every run."""
    twice = given_twice(table)
    return outcomes(
        table,
        model=KAFKA_TOPICS.name,
        checker=TopicLinearizability.name,
        judge=partial(_judge_name, twice, Patience(), budget_s=budget_s),
        apart=twice,
    )


def check_name(rows: Sequence[Row], *, budget_s: float) -> Outcome:
    """One name's operations, as rows."""
    named = [{**row, "process": str(row["process"])} for row in rows]
    table = pa.Table.from_pylist(named, schema=OPERATIONS)
    (key,) = encode_keys(KAFKA_TOPICS.name, table)
    return _judge_name(given_twice(table), Patience(), table, key, budget_s=budget_s)


def given_twice(table: pa.Table) -> set[tuple[str, str]]:
    """The (run, key) of names with an id that two creates showed."""
    creates = table.filter((pc.field("f") == "create") & (pc.field("type") == "ok"))
    texts, codes = numbered(strings(creates["result"]))
    shown = pa.table(
        {
            "run": creates["run"],
            "key": creates["key"],
            "id": shown_ids(texts).take(pa.array(codes)),
        }
    )
    named = shown.filter(~pc.field("id").isin([NULL, ANY]))
    counted = named.group_by(["run", "key", "id"]).aggregate([([], "count_all")])
    rows = counted.filter(pc.field("count_all") > 1).to_pylist()
    return {(row["run"], row["key"]) for row in rows}


def _judge_name(
    twice: Collection[tuple[str, str]],
    patience: Patience,
    table: pa.Table,
    key: Keyed,
    known: Decision | None = None,
    *,
    budget_s: float,
) -> Outcome:
    """What decides any model, and the rules of ids: what breaks one of those is told in its words.
    That an id is given once is what `topics` by itself does not ask for."""
    outcome = None
    if (key.run, key.key) not in twice:
        outcome = judge_key(
            KAFKA_TOPICS.name, table, key, known, budget_s=budget_s, patience=patience
        )
        if outcome.verdict is Verdict.VALID or key.is_malformed:
            return outcome
    operations = [operation_of(row) for row in table.take(pa.array(key.rows)).to_pylist()]
    findings = id_findings(operations)
    if findings or outcome is None:
        findings = _with_picture(findings, outcome.findings if outcome else ())
        return judged(key.seen, findings, {"operations": len(operations), "method: id rules": 1})
    return outcome


def _with_picture(findings: Sequence[Finding], explained: Sequence[Finding]) -> list[Finding]:
    """The first finding that shares operations with the search's explanation, with its picture."""
    found = list(findings)
    for each in explained:
        for place, finding in enumerate(found):
            if each.picture and set(each.operations) & set(finding.operations):
                message = f"{finding.message}\n{each.message}"
                operations = sorted({*finding.operations, *each.operations})
                found[place] = replace(
                    finding, message=message, operations=operations, picture=each.picture
                )
                break
    return found


def shown_id(operation: Operation) -> Json:
    """The id in an ok answer, None if there is none."""
    result = operation.result
    if operation.type != "ok" or not isinstance(result, dict):
        return None
    return result.get("topic_id")


def id_findings(operations: Sequence[Operation]) -> list[Finding]:
    """What is wrong whatever the order: an id has one creation, one life and one end."""
    makers = [op for op in operations if op.f == "create" and _may_make(op)]
    by_id: dict[Json, list[Operation]] = {}
    for operation in operations:
        topic_id = shown_id(operation)
        if topic_id is not None:
            by_id.setdefault(topic_id, []).append(operation)
    return [found for topic_id, seen in by_id.items() for found in _life(topic_id, seen, makers)]


def _may_make(operation: Operation) -> bool:
    """A create that may have installed an id that it did not show."""
    return operation.type == "info" or (operation.type == "ok" and shown_id(operation) is None)


def _life(topic_id: Json, seen: Sequence[Operation], makers: Sequence[Operation]) -> list[Finding]:
    creates = [op for op in seen if op.f == "create"]
    deletes = [op for op in seen if op.f == "delete"]
    if len(creates) > 1:
        return [_finding(f"id {topic_id} was given to {len(creates)} creates", creates)]
    if len(deletes) > 1:
        return [_finding(f"id {topic_id} was deleted {len(deletes)} times", deletes)]
    findings = []
    first = min(seen, key=_end)
    if not creates and not any(maker.index < _end(first) for maker in makers):
        text = f"id {topic_id} was seen, but no create can have installed it by then"
        findings.append(_finding(text, [first]))
    for create in creates:
        early = [op for op in seen if _end(op) < create.index]
        if early:
            text = f"id {topic_id} was seen before its create was invoked"
            findings.append(_finding(text, [*early[:1], create]))
    for delete in deletes:
        late = [op for op in seen if op.index > _end(delete)]
        if late:
            text = f"id {topic_id} was seen again after its delete had been answered"
            findings.append(_finding(text, [*creates, delete, *late[:3]]))
    return findings


def _end(operation: Operation) -> int:
    assert operation.end is not None, "only completed operations show an id"
    return operation.end


def _finding(text: str, operations: Sequence[Operation]) -> Finding:
    described = "; ".join(map(describe_operation, operations))
    return Finding(message=f"{text}: {described}", operations=[op.index for op in operations])
