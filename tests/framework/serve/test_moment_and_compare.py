"""What nodes, clients and faults did around a moment; in what two runs differ."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from framework.history.pairing import Operation
from framework.report.answers import Answers
from framework.report.data import Injection, Run
from framework.report.logs import LogLine
from framework.report.nodes import Span
from framework.serve.compare import ABSENT, Difference, compared
from framework.serve.moment import MAX_ROWS, moment

S = 1_000_000_000


def span(node: str, state: str, start_s: float, end_s: float, lane: Any = "role") -> Span:
    return Span(node=node, lane=lane, state=state, epoch=3, start_s=start_s, end_s=end_s)


OPERATIONS = [
    Operation(index=4, process=1, f="create", key="t", type="ok", end=5, result={"x": 1}),
    Operation(index=6, process=2, f="delete", type="fail", end=7, error=("GONE", "it is")),
    Operation(index=8, process=3, f="read", type="info"),
]
RUN = Run(
    folder=Path("a/run"),
    plan={"nodes": {"c1": {}, "b1": {}}},
    verdict=None,
    operations=OPERATIONS,
    answers=Answers.of(OPERATIONS),
    phases=(),
    injections=[
        Injection(id=1, fault="kill", shape="one", victims={}, steps={"injected": 1, "healed": 9}),
        Injection(id=2, fault="pause", shape="", victims={}, steps={"injected": 5.1}),
    ],
    spans=[
        span("c1", "leader", 0, 5),
        span("c1", "down", 5, 8),
        span("b1", "active", 0, 20, "broker"),
        span("b1", "observer", 5.3, 20),
    ],
    missing=(),
)


def placed(run: Run, *times: tuple[float, float | None]) -> Run:
    operations = [
        replace(
            op,
            invoked_ns=round(began * S),
            completed_ns=None if ended is None else round(ended * S),
        )
        for op, (began, ended) in zip(run.operations, times, strict=True)
    ]
    return replace(run, operations=operations, answers=Answers.of(operations))


def test_a_moment_has_what_happened_in_order_and_what_was_before() -> None:
    logs = [LogLine(4.4, "c1", "early"), LogLine(4.6, "c1", "seen"), LogLine(5.2, "x9", "extra")]
    it = moment(placed(RUN, (4.7, 5.4), (1, 4.8), (5.45, None)), logs, 5.0, 0.5)
    assert [(each.time_s, each.who, each.kind, each.what) for each in it.rows] == [
        (4.6, "c1", "log", "seen"),
        (4.7, "clients", "invoke", "4 p1 create t"),
        (4.8, "clients", "fail", "6 p2 delete fail GONE: it is"),
        (5, "c1", "node", "down, epoch 3"),
        (5.1, "faults", "fault", "2 pause injected"),
        (5.2, "x9", "log", "extra"),
        (5.3, "b1", "node", "observer, epoch 3"),
        (5.4, "clients", "ok", '4 p1 create t ok {"x": 1}'),
        (5.45, "clients", "invoke", "8 p3 read"),
    ]
    assert dict(zip(it.columns, it.before, strict=True)) == {
        "faults": "1 kill one",
        "clients": "",
        "c1": "leader, epoch 3",
        "b1": "broker active, epoch 3",
        "x9": "",
    }
    assert it.left_out == 0


def test_of_too_much_what_is_nearest_stays() -> None:
    run = placed(RUN, (1, 2), (1, 2), (1, None))
    logs = [LogLine(n / 1000, "c1", str(n)) for n in range(MAX_ROWS * 2)]
    it = moment(run, logs, 0.2, 10.0)
    shown = [each for each in it.rows if each.kind == "log"]
    assert len(it.rows) == MAX_ROWS and it.left_out > MAX_ROWS
    assert max(abs(each.time_s - 0.2) for each in shown) <= 0.2


def test_a_moment_of_a_run_that_is_held_in_part_says_so() -> None:
    run = placed(RUN, (1, 2), (3, 4), (5, 6))
    assert moment(run, (), 5.0, 1.0).thinned is None
    assert moment(replace(run, operations=run.operations[:2]), (), 5.0, 1.0).thinned == (2, 3)


def judged(**fields: Any) -> Run:
    return replace(
        RUN,
        operations=(),
        answers=Answers.of(()),
        verdict={
            "verdict": "VALID",
            "timings": {"check_s": fields.pop("check_s", 3)},
            "not_applicable": fields.pop("not_applicable", {}),
            "checkers": [
                {
                    "name": name,
                    "verdict": verdict,
                    "seen": seen,
                    "figures": {"rate": 1},
                    "clauses": [{"name": "kept", "verdict": verdict}],
                }
                for name, (verdict, seen) in fields.items()
            ],
        },
    )


def test_only_what_differs_is_said() -> None:
    first = judged(log=("VALID", 5), vote=("VALID", 5), groups=("VALID", 1))
    second = judged(
        check_s=4,
        log=("VALID", 5),
        vote=("INVALID", 7),
        not_applicable={"groups": "none"},
    )
    it = compared(first, second)
    assert it.checkers == [
        Difference("vote", ("VALID", "INVALID")),
        Difference("groups", ("VALID", "NOT APPLICABLE")),
    ]
    assert it.same == 1
    assert it.clauses == [
        Difference("vote: kept", ("VALID", "INVALID")),
        Difference("groups: kept", ("VALID", ABSENT)),
    ]
    assert {each.name: each.values for each in it.figures} == {
        "check_s": (3, 4),
        "vote: saw": (5, 7),
        "groups: saw": (1, ABSENT),
        "groups: rate": (1, ABSENT),
    }


def test_plans_are_compared_to_the_last_field_but_for_what_is_any_run_s_own() -> None:
    plan = {"seed": 1, "options": {"rate": 60, "deep": {"x": [1]}}, "argv": ["a"], "nodes": {}}
    other = {"seed": 2, "options": {"rate": 60, "deep": {"x": [2]}}, "argv": ["b"], "nodes": {"c"}}
    it = compared(replace(RUN, plan=plan), replace(RUN, plan=other))
    assert it.plan == [Difference("seed", (1, 2)), Difference("options.deep.x", ([1], [2]))]
    same = compared(RUN, RUN)
    assert not any((same.plan, same.checkers, same.clauses, same.figures, same.same))
    assert not any(each.differs for each in same.story)
