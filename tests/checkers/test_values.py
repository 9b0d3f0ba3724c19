"""Rules read values of operations through their types: no member is named without them."""

import re
from pathlib import Path

import checkers
from checkers.folds import values
from framework.history.pairing import Operation

RAW = re.compile(r"\b(?:value|result|ext)(?:\[|\.get\(| or \{\})")
STEP = re.compile(rf"\b(?!mark\b|slots\b|log\b|self\b)\w+\.{RAW.pattern[2:]}")
"""Into a value of an operation; marks are the nemesis', the others columns of numbers."""


def test_no_rule_steps_into_a_value_without_a_type() -> None:
    folder = Path(checkers.__file__).parent
    found = [
        f"{path.relative_to(folder)}: {step.group()}"
        for path in folder.rglob("*.py")
        if path != Path(values.__file__)
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


def test_no_answer_is_an_empty_one() -> None:
    unanswered = Operation(index=0, f="describe")
    assert values.topic_answer(unanswered) == {} == values.revealed(unanswered)
    assert list(values.partitions_shown(unanswered)) == []
