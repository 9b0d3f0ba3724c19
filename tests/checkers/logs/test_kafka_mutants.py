"""Clean random histories with one thing changed: the check that is for it fires, and no other that
has no cause to."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka_histories import Events, singles, table, transactions

from checkers.logs.judge import judge
from checkers.logs.rows import rows

Mutant = Callable[[Events, random.Random], bool]
FOREIGN = 999_999


def polls(events: Events) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """Answered polls, and the records of each key of each."""
    for event in events:
        if event["type"] == "ok" and event["f"] in ("poll", "txn"):
            for micro in event["value"]:
                for records in micro[1].values() if micro[0] == "poll" else ():
                    yield event, records


def sends(events: Events, type_: str) -> list[list[Any]]:
    """Sends with their offsets, of completed operations."""
    return [
        micro
        for event in events
        if event["type"] == type_ and event["f"] in ("send", "txn")
        for micro in event["value"] or ()
        if micro[0] == "send" and isinstance(micro[2], list)
    ]


def another_value(events: Events, rng: random.Random) -> bool:
    found = [records for _, records in polls(events) if records]
    rng.choice(rng.choice(found))[1] = FOREIGN
    return True


def nobody_polls_it(events: Events, rng: random.Random) -> bool:
    """A value that was acknowledged is in no answer."""
    gone = rng.choice([micro for micro in sends(events, "ok") if micro[2][0] is not None])
    for event in events:
        for micro in event["value"] if event["f"] in ("poll", "txn") and event["value"] else ():
            if micro[0] == "poll" and len(micro) > 1:
                for key, records in micro[1].items():
                    if key == str(gone[1]):
                        records[:] = [each for each in records if each[1] != gone[2][1]]
    return True


def refused_after_all(events: Events, rng: random.Random) -> bool:
    """A send whose value was polled is said to have failed."""
    seen = {(str(each[1])) for _, records in polls(events) for each in records}
    found = [
        event
        for event in events
        if event["type"] == "ok"
        and event["f"] == "send"
        and any(str(micro[2][1]) in seen for micro in event["value"])
    ]
    if not found:
        return False
    rng.choice(found)["type"] = "fail"
    return True


def turned_round(events: Events, rng: random.Random) -> bool:
    found = [records for _, records in polls(events) if len(records) > 1]
    if not found:
        return False
    rng.choice(found).reverse()
    return True


def left_out(events: Events, rng: random.Random) -> bool:
    """One answer lacks a record from its middle."""
    found = [records for _, records in polls(events) if len(records) > 2]
    if not found:
        return False
    del rng.choice(found)[1]
    return True


LOST = {"lost-write", "unseen"}
MUTANTS: dict[str, tuple[Mutant, set[str], set[str]]] = {
    "another value": (another_value, {"unwritten-read"}, {"inconsistent-offsets", "lost-write"}),
    "nobody polls it": (nobody_polls_it, set(), LOST | {"poll-skip", "int-poll-skip"}),
    "refused after all": (refused_after_all, {"G1a"}, set()),
    "turned round": (
        turned_round,
        {"int-nonmonotonic-poll"},
        {"nonmonotonic-poll", "poll-skip", "int-poll-skip"},
    ),
    "left out": (left_out, {"int-poll-skip"}, set()),
}
"""What must fire, and what may beside it."""


def found(events: Events) -> set[str]:
    made: set[str] = set()
    for row in judge(rows(table(events))).to_pylist():
        made |= {each["message"].split(":")[0] for each in json.loads(row["findings"])}
    return made


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_of_transactions_are_found(name: str) -> None:
    mutate, must, may = MUTANTS[name]
    tried = 0
    for seed in range(25):
        events = copy.deepcopy(transactions(seed, 80))
        for event in events:
            event.pop("ext", None) if event["f"] != "assign" else None  # no rebalance excuses
        rng = random.Random(seed)
        if found(events) or not mutate(events, rng):
            continue
        tried += 1
        names = found(events)
        assert must <= names <= must | may, seed
        assert names & (must or LOST), seed
    assert tried >= 5


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("high_watermark", "high-watermark-regress"),
        ("leader_epoch", "leader-epoch-regress"),
    ],
)
def test_a_number_that_goes_back_is_found(field: str, name: str) -> None:
    tried = 0
    for seed in range(20):
        events = singles(seed)
        answers: dict[Any, Any] = {}
        for event in events:
            if event["type"] != "ok" or event["f"] != "fetch":
                continue
            reported = event["value"]
            group = (event["key"], event["node"])
            group += (reported["leader_epoch"],) if field == "high_watermark" else ()
            before = answers.get(group, 0)
            if reported[field] >= before > 0 and not reported["records"]:
                reported[field] = before - 1
                tried += 1
                assert name in found(events), seed
                break
            answers[group] = max(before, reported[field])
    assert tried >= 5


def test_a_commit_that_is_lost_is_found() -> None:
    tried = 0
    for seed in range(20):
        events = singles(seed)
        reported = [e for e in events if e["f"] == "committed" and e["type"] == "ok"]
        reported = [e for e in reported if (e["value"]["offset"] or 0) > 0]
        if not reported:
            continue
        reported[-1]["value"]["offset"] = None
        tried += 1
        assert found(events) == {"committed-offset-regress"}, seed
    assert tried >= 5
