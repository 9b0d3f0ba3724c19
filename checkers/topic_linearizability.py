"""Topic operations are linearizable: create, delete and controller describe of each name.

The object of one name is absent, or present with an id. A create that succeeds installs an id
that no create installed before; a delete that succeeds ends the life of the id that it names.
TOPIC_ALREADY_EXISTS on create and UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID on delete and
describe are reads as well as failures; any other failure says only that nothing happened. Retries
below the client carry a request id, so that no client sees the echo of its own request.
Names are independent of each other (Herlihy & Wing 1990), hence checked one by one. Answers from
a broker's cache promise no recency and are left out.

Ids are drawn at random by the system, so two lives never share one. The id rules are checked
first, in linear time; a search decides the rest.
"""

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from checkers.linearizability.kernel import check_key, operation_of, told
from checkers.linearizability.model import IMPOSSIBLE, Action, State
from checkers.linearizability.models import ABSENT, ANY_ID, Topics
from framework.checking.keyed import Outcome, Row, budget_s, judged, keyed
from framework.history.event import Json
from framework.history.pairing import Operation
from framework.plugins.checker import DataFrame, Finding, Tables

OPERATIONS = ("create", "delete", "describe")
SAYS_PRESENT = frozenset({"TOPIC_ALREADY_EXISTS"})
SAYS_ABSENT = frozenset({"UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID"})


class KafkaTopics(Topics):
    """The model of one name, with failures read by their codes and ids that are never reused.

    The state is (what `Topics` has, the ids that died and that no recorded create accounts for).
    An id that a recorded create installed cannot be what a pending create installed.
    """

    name = "kafka topics"
    initial: State = (ABSENT, frozenset())

    def __init__(self, created: Collection[Json] = ()) -> None:
        self._created = frozenset(created)

    def action(self, operation: Operation) -> Action | None:
        if operation.type != "fail":
            return super().action(operation)
        code = operation.error[0] if operation.error else ""
        if code in SAYS_PRESENT and operation.f == "create":
            return Action("describe", ANY_ID, observes=True)
        if code in SAYS_ABSENT and operation.f in ("delete", "describe"):
            return Action("describe", ABSENT, observes=True)
        return None

    def step(self, state: State, action: Action) -> Any:
        assert isinstance(state, tuple)
        before, dead = state
        after = super().step(before, action)
        if after is IMPOSSIBLE:
            return IMPOSSIBLE
        shown = action.value
        binds = before == ANY_ID and shown not in (ANY_ID, ABSENT)
        if binds and (shown in self._created or shown in dead):
            return IMPOSSIBLE
        if action.kind == "delete":
            lost = shown if before == ANY_ID else before
            if lost != ANY_ID and lost not in self._created:
                dead = dead | {lost}
        return after, dead

    def describe(self, state: State) -> str:
        assert isinstance(state, tuple)
        return super().describe(state[0])


class TopicLinearizability:
    """The checker; entry point `topic-linearizability`."""

    name = "topic-linearizability"
    summary = (
        "Creates, deletes and controller reads of each topic name have one order, consistent "
        "with real time, that a single correct controller could have served"
    )

    def check(self, tables: Tables) -> DataFrame:
        names = ", ".join(f"'{f}'" for f in OPERATIONS)
        return keyed(
            tables.operations.where(f"f in ({names}) and key != 'null'"),
            checker=self.name,
            by=["key"],
            order=["op"],
            kernel=partial(check_name, budget_s=budget_s(tables.spark)),
        )


def check_name(rows: Sequence[Row], *, budget_s: float) -> Outcome:
    """One name's operations: the rules of ids, then the search."""
    operations = [operation_of(row) for row in rows]
    seen = sum(operation.type != "info" for operation in operations)
    findings = id_findings(operations)
    if findings:
        return judged(seen, findings, {"operations": len(operations)})
    created = [shown for op in operations if op.f == "create" and (shown := shown_id(op))]
    return check_key(rows, model=partial(KafkaTopics, created), budget_s=budget_s)


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
    if not creates and not any(maker.op < _end(first) for maker in makers):
        text = f"id {topic_id} was seen, but no create can have installed it by then"
        findings.append(_finding(text, [first]))
    for create in creates:
        early = [op for op in seen if _end(op) < create.op]
        if early:
            text = f"id {topic_id} was seen before its create was invoked"
            findings.append(_finding(text, [*early[:1], create]))
    for delete in deletes:
        late = [op for op in seen if op.op > _end(delete)]
        if late:
            text = f"id {topic_id} was seen again after its delete had been answered"
            findings.append(_finding(text, [*creates, delete, *late[:3]]))
    return findings


def _end(operation: Operation) -> int:
    assert operation.end is not None, "only completed operations show an id"
    return operation.end


def _finding(text: str, operations: Sequence[Operation]) -> Finding:
    told_all = "; ".join(map(told, operations))
    return Finding(message=f"{text}: {told_all}", operations=[op.op for op in operations])
