"""What is found of groups is what the definitions say, of any history."""

import json
import random
from collections import Counter
from typing import Any

from checkers.logs.judge import judge
from checkers.logs.rows import rows
from tests.checkers.logs.kafka_histories import Events, table

NAMES = ("stale-commit", "unwritten-commit", "generation-regress", "two-owners")
KEYS = ("t/0", "t/1")


def anything(seed: int) -> Events:
    """Joins, commits and questions of two groups, which overlap."""
    rng, events, open_ = random.Random(seed), [], []
    for process in range(rng.randint(4, 16)):
        group, f = rng.choice(("g", "g", "h")), rng.choice(("join", "join", "commit", "committed"))
        value: dict[str, Any] = {"group": group}
        if f != "committed":
            value["member"] = f"m{rng.randrange(2)}"
        if f == "commit":
            value |= {"offset": rng.randrange(3), "generation": rng.randint(-1, 2)}
        event = {"f": f, "key": None if f == "join" else rng.choice(KEYS), "process": process}
        events.append({**event, "type": "invoke", "value": value})
        open_.append((event, rng.choice(("ok", "ok", "ok", "info", "fail"))))
        while open_ and rng.random() < 0.6:
            events.append(ended(rng, *open_.pop(rng.randrange(len(open_)))))
    return events


def ended(rng: random.Random, event: dict[str, Any], type_: str) -> dict[str, Any]:
    reported: Any = None
    if event["f"] == "join":
        assigned = [key for key in KEYS if rng.random() < 0.5]
        reported = {"generation": rng.randrange(3), "assigned": assigned}
    elif event["f"] == "committed":
        reported = {"offset": rng.choice((None, 0, 1, 2))}
    error = {} if type_ == "ok" else {"error": ("SOMETHING", "")}
    return {**event, **error, "type": type_, "value": reported if type_ == "ok" else None}


class Op:
    def __init__(self, at: int, event: dict[str, Any]) -> None:
        self.index, self.end, self.type, self.reported = at, None, "info", None
        self.f, self.key, self.asked = event["f"], event["key"], event["value"]

    def before(self, other: "Op") -> bool:
        return self.end is not None and self.end < other.index

    @property
    def group(self) -> str:
        return str(self.asked["group"])


def operations(events: Events) -> list[Op]:
    found: list[Op] = []
    open_: dict[int, Op] = {}
    for at, event in enumerate(events):
        if event["type"] == "invoke":
            found.append(open_.setdefault(event["process"], Op(at, event)))
        else:
            done = open_.pop(event["process"])
            done.end, done.type, done.reported = at, event["type"], event["value"]
    return found


def naive(events: Events) -> Counter[tuple[str, str]]:
    ops = operations(events)
    joins = [each for each in ops if each.f == "join" and each.type == "ok"]
    commits = [each for each in ops if each.f == "commit"]
    taken = [each for each in commits if each.type == "ok" and each.asked["generation"] >= 0]
    cases: Counter[tuple[str, str]] = Counter()
    for commit in taken:
        newer = [
            each
            for each in taken
            if each.key == commit.key and each.asked["generation"] > commit.asked["generation"]
        ] + [each for each in joins if each.reported["generation"] > commit.asked["generation"]]
        newer = [each for each in newer if each.group == commit.group and each.before(commit)]
        cases[commit.key, "stale-commit"] += bool(newer)
    for ask in ops:
        if ask.f == "committed" and ask.type == "ok" and ask.reported["offset"] is not None:
            cases[ask.key, "unwritten-commit"] += not any(
                (each.key, each.group, each.asked["offset"])
                == (ask.key, ask.group, ask.reported["offset"])
                and each.type != "fail"
                and each.index < ask.end
                for each in commits
            )
    for join in joins:
        older = any(
            each.group == join.group
            and each.before(join)
            and each.reported["generation"] > join.reported["generation"]
            for each in joins
        )
        for key in join.reported["assigned"]:
            cases[key, "generation-regress"] += older
    owners: dict[Any, set[str]] = {}
    for join in joins:
        for key in join.reported["assigned"]:
            place = (key, join.group, join.reported["generation"])
            owners.setdefault(place, set()).add(join.asked["member"])
    for (key, *_), members in owners.items():
        cases[key, "two-owners"] += len(members) > 1
    return +cases


def test_any_groups_are_judged_as_the_definitions_say() -> None:
    reported: Counter[str] = Counter()
    for seed in range(250):
        events = anything(seed)
        wanted = naive(events)
        found: Counter[tuple[str, str]] = Counter()
        for row in judge(rows(table(events))).to_pylist():
            for name, count in json.loads(row["figures"]).items():
                if name in NAMES:
                    found[row["key"], name] = count
        assert found == wanted, seed
        reported.update(name for _, name in wanted)
    assert min(reported[name] for name in NAMES) >= 20, reported
