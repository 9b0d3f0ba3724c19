"""Figures from small runs: what is where, and what is left out."""

from pathlib import Path
from typing import Any

from framework.evidence import brokers, processes, quorum
from framework.history.pairing import Operation
from framework.report import bands, figures
from framework.report.answers import Answers
from framework.report.data import Injection, Run
from framework.report.nodes import Span, spans

S = 1_000_000_000


def operation(index: int, start_s: float, end_s: float | None, **more: Any) -> Operation:
    fields: dict[str, Any] = {"process": 0, "f": "create", "type": "ok", **more}
    return Operation(
        index=index,
        end=None if end_s is None else index + 1,
        invoked_ns=int(start_s * S),
        completed_ns=None if end_s is None else int(end_s * S),
        **fields,
    )


def run_of(**parts: Any) -> Run:
    empty: dict[str, Any] = {
        "folder": Path("run"),
        "plan": {},
        "verdict": None,
        "operations": (),
        "phases": (),
        "injections": (),
        "spans": (),
        "missing": (),
    }
    whole = empty | parts
    return Run(answers=Answers.of(whole["operations"]), **whole)


def fault(ident: int, start_s: float, end_s: float | None, **more: Any) -> Injection:
    steps = {"planned": start_s - 0.1, "injected": start_s}
    if end_s is not None:
        steps["healed"] = end_s
    fields = {"fault": "partition", "shape": "halves", "victims": {}, "steps": steps} | more
    return Injection(id=ident, **fields)


def test_few_operations_are_all_drawn() -> None:
    operations = [operation(i, i, i + 1) for i in range(10)]
    assert figures.drawn(operations, frozenset()) == operations


def test_many_are_thinned_but_never_those_of_findings() -> None:
    operations = [operation(i, i, i + 1) for i in range(5 * figures.MAX_DRAWN)]
    keep = frozenset(range(3, 5 * figures.MAX_DRAWN, 7000))
    shown = {op.index for op in figures.drawn(operations, keep)}
    assert keep <= shown
    assert figures.MAX_DRAWN // 2 < len(shown) <= figures.MAX_DRAWN + len(keep)


def test_bars_begin_and_end_with_their_operations() -> None:
    operations = [operation(0, 1.0, 1.5), operation(2, 2.0, 4.0, type="fail", process=5)]
    run = run_of(operations=operations)
    data = figures.timeline(run, operations, frozenset(), threads=4)["data"]
    ok, fail = data[1], data[2]
    assert (ok["name"], ok["base"], ok["x"], ok["y"]) == ("ok", [1.0], [0.5], [0])
    assert (fail["name"], fail["base"], fail["x"], fail["y"]) == ("fail", [2.0], [2.0], [1])


def test_rows_are_threads() -> None:
    assert figures.row_of(17, 12) == 5
    assert figures.row_of(17, None) == 17


def test_info_goes_on_to_the_end_in_its_row_once() -> None:
    operations = [
        operation(0, 1.0, 2.0, type="info"),
        operation(2, 3.0, None, type="info", process=12),
        operation(4, 9.0, 10.0, process=24),
    ]
    run = run_of(operations=operations)
    tail = figures.timeline(run, operations, frozenset(), threads=12)["data"][0]
    assert (tail["y"], tail["base"], tail["x"]) == ([0], [2.0], [8.0])
    assert tail["marker"]["opacity"] < 0.5


def test_latency_has_completed_operations_only() -> None:
    operations = [operation(0, 1.0, 1.25), operation(2, 3.0, None, type="info")]
    figure = figures.latency(run_of(operations=operations), operations)
    (points,) = figure["data"]
    assert points["name"] == "create ok"
    assert points["y"] == [250.0]
    assert figure["layout"]["yaxis"]["type"] == "log"


def test_a_legend_of_many_takes_nothing_from_what_is_drawn() -> None:
    def parts(kinds: int) -> tuple[float, float]:
        """Pixels of what is drawn, and of what is below it."""
        operations = [operation(2 * i, i, i + 1, f=f"f{i}") for i in range(kinds)]
        layout = figures.latency(run_of(operations=operations), operations)["layout"]
        margin = layout["margin"]
        return layout["height"] - margin["t"] - margin["b"], margin["b"]

    (few, below), (many, below_many) = parts(3), parts(60)
    assert few == many > 300
    assert below_many > below + 9 * 15, "twelve rows of five rather than two"


def test_rate_counts_completions_a_second() -> None:
    operations = [operation(2 * i, 0.0, 0.1 + i / 10) for i in range(15)]
    operations.append(operation(40, 0.0, 2.5, type="fail"))
    data = figures.rate(run_of(operations=operations))["data"]
    assert data[0]["name"] == "ok"
    assert data[0]["y"] == [9.0, 6.0, 0.0]
    assert data[1]["y"] == [0.0, 0.0, 1.0]


def test_rate_of_a_long_run_is_still_a_second() -> None:
    operations = [operation(2 * i, i, i + 0.5) for i in range(3000)]
    data = figures.rate(run_of(operations=operations))["data"]
    assert len(data[0]["x"]) < 700
    assert set(data[0]["y"][:-1]) == {1.0}


def test_bands_cover_faults_and_marks_show_phases() -> None:
    run = run_of(
        injections=[fault(1, 2.0, 5.0), fault(2, 8.0, None), fault(3, 1.0, 2.0, steps={})],
        phases=[("main", 0.0), ("final", 9.5)],
        operations=[operation(0, 0, 10.0)],
    )
    shapes = bands.bands(run)
    rectangles = [(each["x0"], each["x1"]) for each in shapes if each["type"] == "rect"]
    assert rectangles == [(2.0, 5.0), (8.0, 10.0)]
    assert [each["x0"] for each in shapes if each["type"] == "line"] == [0.0, 9.5]


def test_labels_do_not_cover_each_other() -> None:
    run = run_of(
        injections=[fault(i, 10 + i / 10, 20.0, shape="majorities-ring") for i in range(8)],
        operations=[operation(0, 0, 60.0)],
    )
    labels = bands.band_labels(run)
    rows = [label["yshift"] for label in labels]
    assert len(rows) == len(set(rows)) == 4  # the others have shading and a bar in their lane
    far = run_of(
        injections=[fault(1, 1.0, 2.0), fault(2, 40.0, 42.0)],
        operations=[operation(0, 0, 60.0)],
    )
    assert len({label["yshift"] for label in bands.band_labels(far)}) == 1


def test_labels_are_escaped() -> None:
    run = run_of(injections=[fault(1, 1.0, 2.0, shape="<b>&")])
    assert bands.band_labels(run)[0]["text"] == "partition &lt;b&gt;&amp;"


def test_lanes_have_roles_and_epochs() -> None:
    run = run_of(
        spans=[
            Span(node="c1", lane="role", state="leader", epoch=3, start_s=-1.0, end_s=4.0),
            Span(node="b1", lane="broker", state="fenced", epoch=88, start_s=1.0, end_s=2.0),
            Span(node="b1", lane="broker", state="active", epoch=88, start_s=-3.0, end_s=-1.0),
        ],
        injections=[fault(1, 1.0, 2.0)],
    )
    figure = figures.lanes(run)
    assert figure["layout"]["yaxis"]["ticktext"] == ["fault: partition", "c1", "b1 broker"]
    by_name = {trace["name"]: trace for trace in figure["data"]}
    assert by_name["leader"]["text"] == ["leader e3"]
    assert (by_name["leader"]["base"], by_name["leader"]["x"]) == ([0.0], [4.0])
    assert by_name["fenced"]["text"] == ["fenced e88"]
    assert "active" not in by_name  # over before the run began


def known(at_s: float, incarnation: str = "a", node: str = "c1") -> dict[str, Any]:
    return {"node": node, "incarnation": incarnation, "at_ns": int(at_s * S)}


def test_spans_of_a_node_that_is_killed_and_comes_back() -> None:
    found = spans(
        [
            processes.Booted(**known(0.0)),
            quorum.RoleTaken(**known(1.0), role="leader", epoch=4, leader=1),
            quorum.RoleTaken(**known(2.0), role="leader", epoch=4, leader=1),
            processes.Ticked(**known(5.0)),
            processes.Booted(**known(8.0, "b")),
            quorum.RoleTaken(**known(8.5, "b"), role="follower", epoch=5, leader=2),
            processes.Exited(**known(10.0, "b"), reason="SIGTERM", fatal=False),
        ]
    )
    assert [(span.state, span.epoch, span.start_s, span.end_s) for span in found] == [
        ("starting", None, 0.0, 1.0),
        ("leader", 4, 1.0, 5.0),
        ("down", None, 5.0, 8.0),
        ("starting", None, 8.0, 8.5),
        ("follower", 5, 8.5, 10.0),
    ]


def test_spans_of_a_broker_end_with_the_last_that_is_known_of_it() -> None:
    found = spans(
        [
            brokers.BrokerStateChanged(
                **known(1.0), before="fenced", after="active", broker_epoch=None, lease_ended=False
            ),
            processes.Ticked(**known(3.0)),
        ]
    )
    assert [(span.lane, span.state, span.epoch, span.end_s) for span in found] == [
        ("broker", "active", None, 3.0)
    ]


def test_stalls_have_a_lane_whoever_tells_of_them() -> None:
    """What a Java wrote down has the node's own time, though it was read from a disk."""

    def stall(at_s: float, lasted_s: float, **more: Any) -> processes.Stalled:
        return processes.Stalled(**known(at_s), part="p", lasted_ns=int(lasted_s * S), **more)

    found = list(
        spans(
            [
                stall(2.0, 0.5, source="disk"),
                stall(3.0, 0.09, source="disk"),
                stall(4.0, 0.1),
                stall(5.0, 1.0, source="harness"),
            ]
        )
    )
    assert [(span.lane, span.state, span.start_s, span.end_s) for span in found] == [
        ("stalls", "stood still", 1.5, 2.0),
        ("stalls", "stood still", 3.9, 4.0),
    ]


def test_what_lies_on_a_disk_prolongs_no_life() -> None:
    found = spans(
        [
            processes.Booted(**known(1.0)),
            processes.Ticked(**known(2.0)),
            quorum.SnapshotFile(
                node="c1", source="disk", end_offset=1, epoch=1, records=(), wrong=None
            ),
        ]
    )
    assert [(span.state, span.start_s, span.end_s) for span in found] == [("starting", 1.0, 2.0)]
