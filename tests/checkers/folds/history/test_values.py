"""Rules read values of operations through their types: no member is named without them."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import checkers
from checkers.folds.history import group_values, log_values, values
from framework.history.pairing import Operation

VALUES = {Path(str(each.__file__)) for each in (values, log_values, group_values)}
RAW = re.compile(r"\b(?:value|result|ext)(?:\[|\.get\(| or \{\})")
STEP = re.compile(rf"\b(?!mark\b|slots\b|log\b|self\b)\w+\.{RAW.pattern[2:]}")
"""Into a value of an operation; marks are the nemesis', the others columns of numbers."""


def test_no_rule_steps_into_a_value_without_a_type() -> None:
    folder = Path(checkers.__file__).parent
    found = [
        f"{path.relative_to(folder)}: {step.group()}"
        for path in folder.rglob("*.py")
        if path not in VALUES
        for step in STEP.finditer(path.read_text())
    ]
    assert found == []


def test_such_a_step_is_seen() -> None:
    raw = 'each.value["isr"]', 'change.result.get("offset")', "(operation.ext or {}).get(name)"
    assert all(STEP.search(each) for each in raw)


def test_a_member_is_looked_at_when_it_is_asked_for() -> None:
    """Values of somebody else's may lack what a rule does not need."""
    change = Operation(index=0, f="alter-isr", value={"isr": [2, 1]})
    assert values.isr_of(change) == {1, 2}


ASKED = (
    values.alter_isr,
    values.conditional,
    values.create_topic,
    log_values.delete_records,
    log_values.fetch_from,
    group_values.group_request,
    values.heartbeat,
    log_values.list_offsets,
    log_values.produce_of,
    values.reassign_of,
    log_values.seek_of,
)
ANSWERED = (
    values.altered_isr,
    values.cluster_view,
    log_values.fetched,
    values.flood_report,
    group_values.joined,
    values.log_part,
    values.quorum_view,
)
ANSWERED_IF_AT_ALL = (
    values.drained,
    values.heartbeat_answer,
    log_values.log_answer,
    values.reassignments_of,
    values.topic_answer,
)


Read = Callable[[Operation], Any]


@pytest.mark.parametrize("read", ASKED)
def test_what_was_asked_is_read_as_it_was(read: Read) -> None:
    asked = {"any": "thing"}
    assert read(Operation(index=0, f="any", value=asked)) is asked


@pytest.mark.parametrize("read", (*ANSWERED, *ANSWERED_IF_AT_ALL))
def test_what_was_answered_is_read_as_it_was(read: Read) -> None:
    answered = {"any": "thing"}
    assert read(Operation(index=0, f="any", result=answered)) is answered


def test_what_an_answer_reveals_is_read_as_it_was() -> None:
    operation = Operation(index=0, f="any", ext={"epoch": 3})
    assert values.revealed(operation) == {"epoch": 3}


def test_no_answer_is_an_empty_one() -> None:
    unanswered = Operation(index=0, f="describe")
    for read in (*ANSWERED_IF_AT_ALL, values.revealed, values.partitions_shown):
        assert len(read(unanswered)) == 0


def test_members_within_are_read_in_types() -> None:
    asked = Operation(index=0, f="alter-isr", value={"topic_id": "t", "partition": 3})
    assert values.key_of(values.alter_isr(asked)) == ("t", 3)
    shown = [{"partition": 0}, {"partition": 1}]
    read = Operation(index=0, f="describe", result={"partitions": shown})
    assert [each["partition"] for each in values.partitions_shown(read)] == [0, 1]


@pytest.mark.parametrize(
    ("told", "ends"), [({}, {}), ({"voters": None}, {}), ({"voters": [(1, 5)]}, {1: 5})]
)
def test_logs_of_voters_reach_as_far_as_the_leader_tells(
    told: dict[str, Any], ends: dict[int, int]
) -> None:
    assert values.log_ends(values.quorum_view(Operation(index=0, f="quorum", result=told))) == ends


@pytest.mark.parametrize(
    ("type", "result", "told"),
    [
        ("ok", {"id": "a"}, True),
        ("ok", {}, False),
        ("ok", None, False),
        ("info", {"id": "a"}, False),
        ("fail", None, False),
    ],
)
def test_a_member_that_was_told_its_id(type: Any, result: Any, told: bool) -> None:
    join = Operation(index=0, f="join", type=type, end=1, result=result)
    assert group_values.told_its_id(join) is told


@pytest.mark.parametrize(
    ("value", "asked"),
    [
        ({"set": [["a", "1"]]}, [("a", "1")]),
        ({"delete": ["b"]}, [("b", None)]),
        ({"set": [["a", "1"]], "delete": ["b"]}, [("a", "1"), ("b", None)]),
    ],
)
def test_what_a_change_sets_and_takes_away(value: Any, asked: list[tuple[str, str | None]]) -> None:
    assert values.changed_configs(Operation(index=0, f="configure", value=value)) == asked
