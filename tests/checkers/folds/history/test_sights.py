"""What answers show of partitions (`folds/history/sights.py`)."""

from typing import Any

import pytest
from planted_runs import TOPIC, Story, accepted, change, shown
from test_metadata_answers import Answers

from checkers.folds.history.sights import sights_of, states_shown

ANSWER: dict[str, Any] = {"topic_id": TOPIC, "partitions": [shown(3, [4, 5])]}


@pytest.mark.parametrize(
    ("f", "type", "result", "versions"),
    [
        ("describe", "ok", ANSWER, [3]),
        ("metadata", "ok", ANSWER, [3]),
        ("alter-isr", "ok", accepted(change(2, [4])), [3]),
        ("alter-isr", "ok", None, []),  # of another system, which does not tell what it made
        ("describe", "ok", None, []),  # there is no such topic
        ("describe", "fail", ANSWER, []),
        ("create", "ok", ANSWER, []),  # no state that somebody read
    ],
)
def test_reads_and_changes_that_succeeded_show_states(
    f: str, type: Any, result: Any, versions: list[int]
) -> None:
    asked = change(2, [4]) if f == "alter-isr" else None
    done = Story().op(f, "t", asked, result, type=type)
    assert [(each.key, each.version) for each in states_shown(done)] == [
        ((TOPIC, 0), each) for each in versions
    ]


@pytest.mark.parametrize(("type", "leaders"), [("ok", [5]), ("info", []), ("fail", [])])
def test_who_answers_for_a_partition_leads_it_if_that_succeeded(
    type: Any, leaders: list[int]
) -> None:
    story = Answers()
    story.create("t")
    story.led("b2", 2, type=type)
    assert [each.leader for each in sights_of(story.run_events())] == leaders
