"""The story of small runs: every line where there is something to say, and none where not."""

from collections.abc import Mapping
from typing import Any

import pytest
from test_report_figures import fault, operation, run_of

from framework.report.data import Injection, Run
from framework.report.nodes import Span
from framework.report.story import MAX_LINES, recoveries, story, troubles

BITES = {"probed-during": {"bites": True}, "probed-after": {"bites": False}}


def lines(run: Run) -> Mapping[str, str]:
    return {line.about: line.says for line in story(run)}


def bit(ident: int, start_s: float, end_s: float | None, **more: Any) -> Injection:
    return fault(ident, start_s, end_s, **({"probes": BITES} | more))


def checker(verdict: str = "VALID", **more: Any) -> dict[str, Any]:
    return {"name": "one-vote", "verdict": verdict, "seen": 1200, "findings": []} | more


def ends_ok(*times_s: float) -> list[Any]:
    """Operations of 10 ms that succeed, each invoked at one of these."""
    return [operation(2 * i, time_s, time_s + 0.01) for i, time_s in enumerate(times_s)]


def test_nothing_known_is_short_and_claims_nothing() -> None:
    assert lines(run_of()) == {
        "done": "No operation was recorded.",
        "broken": "Nothing: no fault was planned",
        "checked": "Not checked",
    }


def test_what_was_done() -> None:
    plan = {
        "workloads": ["isr", "topics"],
        "threads": 12,
        "nodes": {"c1": {}, "b1": {}},
        "system": "kraft",
        "hosts": "docker",
        "seed": 7,
    }
    run = run_of(plan=plan, operations=[operation(0, 1.0, 2.0), operation(2, 1.0, 20.0)])
    assert lines(run)["done"] == (
        "isr and topics: 2 operations in 20.0 s by 12 threads against 2 nodes of kraft on docker "
        "(seed 7)"
    )


def test_what_makes_a_run_another_is_said() -> None:
    operations = [operation(0, 1.0, 2.0)]
    assert (
        "interrupted" in lines(run_of(operations=operations, verdict={"interrupted": True}))["done"]
    )
    plan = {"ended_early": "OSError: no\nspace", "options": {"defect": "two-leaders"}}
    said = lines(run_of(operations=operations, plan=plan))["done"]
    assert "It ended early: OSError: no space" in said
    assert "with the defect two-leaders put in" in said
    plain = lines(run_of(operations=operations, verdict={"interrupted": False}))["done"]
    assert not any(word in plain for word in ("interrupted", "early", "defect"))


def test_answers_and_how_long_they_took() -> None:
    operations = [operation(2 * i, i, i + 0.002) for i in range(98)]
    operations += [
        operation(300, 1, 3.5),
        operation(302, 1, 61.0, type="fail"),
        operation(304, 1, None, type="info"),
    ]
    said = lines(run_of(operations=operations))["answered"]
    assert said == (
        "99 ok (98 %), 1 fail, 1 info; of the ok, half took at most 2.0 ms, 99 of 100 at most 2.5 s"
    )


@pytest.mark.parametrize(("ok", "share"), [(1000, "100 %"), (999, "99 %"), (1, "1 %"), (0, "0 %")])
def test_shares_say_all_or_nothing_only_where_it_is_so(ok: int, share: str) -> None:
    operations = [operation(2 * i, 1, 2, type="ok" if i < ok else "fail") for i in range(1000)]
    assert f"({share})" in lines(run_of(operations=operations))["answered"]


def test_faults_are_counted_by_kind_and_shape() -> None:
    run = run_of(
        injections=[
            bit(1, 2.0, 5.0),
            bit(2, 4.0, 6.0, fault="kill", shape="one"),
            bit(3, 10.0, 11.0),
            bit(4, 1.0, None, steps={"planned": 1.0}),
        ],
        operations=ends_ok(20.0),
    )
    assert lines(run)["broken"] == (
        "3 faults: 2 partitions (halves x2) and 1 kill (one), 5.0 s in all with faults active"
    )
    assert lines(run)["effect"] == "All were seen to bite; all were seen to be gone after healing"


def test_faults_that_were_not_seen_are_named() -> None:
    run = run_of(
        injections=[
            bit(1, 2.0, 5.0),
            bit(2, 6.0, 7.0, probes={**BITES, "probed-during": {"bites": False}}),
            bit(3, 8.0, 9.0, probes={"probed-during": {"bites": True}}),
        ]
    )
    assert lines(run)["effect"] == (
        "Not seen to bite: fault 2 (partition halves); "
        "not seen to be gone after healing: fault 3 (partition halves)"
    )


def test_faults_that_never_began_are_no_faults() -> None:
    run = run_of(injections=[bit(1, 1.0, None, steps={"planned": 1.0})])
    assert lines(run)["broken"] == "Nothing: none of 1 planned fault began"
    assert "effect" not in lines(run)


def test_faults_that_overlap_are_one_trouble() -> None:
    found = troubles([bit(2, 4.0, 6.0), bit(1, 2.0, 5.0), bit(3, 8.0, 9.0), bit(4, 8.5, None)])
    assert [(each.from_s, each.to_s) for each in found] == [(2.0, 6.0), (8.0, None)]
    assert [[fault.id for fault in each.faults] for each in found] == [[1, 2], [3, 4]]


def test_longer_fault_within_which_another_was_healed_is_one_trouble() -> None:
    (found,) = troubles([bit(1, 2.0, 9.0), bit(2, 3.0, 4.0), bit(3, 8.0, 8.5)])
    assert (found.from_s, found.to_s) == (2.0, 9.0)


def test_success_inside_and_outside_of_faults() -> None:
    operations = [
        *(operation(2 * i, 2.5, 3.0, type="ok" if i else "fail") for i in range(4)),
        *(operation(20 + 2 * i, 7.0, 7.5) for i in range(5)),
    ]
    said = lines(run_of(operations=operations, injections=[bit(1, 2.0, 5.0)]))["suffered"]
    assert said == "75 % of operations succeeded while faults were active, 100 % otherwise"
    assert "suffered" not in lines(run_of(operations=operations))


def test_recovery_is_of_operations_invoked_after_healing() -> None:
    operations = [
        operation(0, 4.9, 5.1),  # invoked before: its success shows nothing of afterwards
        operation(2, 5.2, 5.4, type="fail"),
        operation(4, 5.5, 6.2),
        operation(6, 5.6, 6.0),
        operation(8, 20.0, 20.1),
    ]
    run = run_of(operations=operations, injections=[bit(1, 2.0, 5.0), bit(2, 10.0, 19.0)])
    assert [round(after or 0, 6) for _, after in recoveries(run)] == [1.0, 1.1]
    assert lines(run)["recovery"] == (
        "first success 1.1 s after healing at the worst (fault 2 (partition halves)), 1.1 s in "
        "the middle of 2"
    )


def test_success_in_the_next_fault_is_no_recovery() -> None:
    operations = [operation(0, 5.5, 7.0, type="fail"), operation(2, 11.0, 11.5)]
    run = run_of(operations=operations, injections=[bit(1, 2.0, 5.0), bit(2, 10.0, 12.0)])
    assert [after for _, after in recoveries(run)] == [None]
    assert lines(run)["recovery"] == (
        "nothing succeeded after fault 1 (partition halves) before the next fault or the end"
    )


def test_recovery_where_nothing_was_healed_or_tried() -> None:
    operations = ends_ok(1.0)
    assert lines(run_of(operations=operations, injections=[bit(1, 2.0, None)]))["recovery"] == (
        "Not known: faults were never healed"
    )
    assert "recovery" not in lines(run_of(operations=operations, injections=[bit(1, 2.0, 5.0)]))
    assert "recovery" not in lines(run_of(operations=operations))


def test_longest_gap_and_what_was_active() -> None:
    run = run_of(
        operations=[*ends_ok(1.0, 1.5, 9.0), operation(90, 3.0, 4.0, type="fail")],
        injections=[bit(1, 2.0, 5.0), bit(2, 9.5, 9.8)],
    )
    assert lines(run)["longest gap"] == (
        "6.0 s without a success, from 3.0 s on, fault 1 (partition halves) active"
    )


def test_time_in_which_nothing_was_tried_is_no_gap() -> None:
    said = lines(run_of(operations=ends_ok(1.0, 1.4, 30.0)))["longest gap"]
    assert said.startswith("10 ms without a success")


def span(state: str, start_s: float, end_s: float, **more: Any) -> Span:
    fields = {"node": "c1", "lane": "role", "epoch": None} | more
    return Span(state=state, start_s=start_s, end_s=end_s, **fields)


def test_nodes() -> None:
    run = run_of(
        spans=[
            span("down", -3.0, -1.0),
            span("down", 2.0, 5.0),
            span("down", 2.0, 5.0, lane="broker"),
            span("down", 8.0, 8.5, node="c2"),
            span("leader", 0.0, 2.0, epoch=4),
            span("leader", 5.0, 6.0, epoch=5, node="c2"),
            span("fenced", 2.0, 3.0, lane="broker"),
        ]
    )
    assert lines(run)["nodes"] == "down twice (longest 3.0 s), 2 leader epochs, fenced once"
    assert lines(run_of(spans=[span("follower", 0, 5)]))["nodes"] == "none went down"
    stalls = [span("stood still", begin, begin + lasted) for begin, lasted in ((1, 0.3), (3, 0.2))]
    assert lines(run_of(spans=stalls))["nodes"] == "stood still twice (longest 300 ms)", (
        "of nodes that tell nothing else nobody knows whether they went down"
    )
    both = lines(run_of(spans=[span("follower", 0, 5), *stalls[:1]]))["nodes"]
    assert both == "none went down, stood still once (longest 300 ms)"


def test_processes_beside_the_nodes_are_no_nodes() -> None:
    spans = [span("down", 2.0, 5.0, node="extra"), span("down", 2.0, 3.0, node="b1")]
    said = lines(run_of(spans=spans, plan={"nodes": {"b1": {}}}))["nodes"]
    assert said == "down once (longest 1.0 s)"


def test_verdicts_are_counted_and_bad_ones_named() -> None:
    verdict = {
        "checkers": [
            checker(),
            checker("UNKNOWN", name="availability", seen=4),
            checker("INVALID", name="isr-chain", seen=0, findings=[{"message": "a\nb"}] * 2),
        ],
        "not_applicable": {"x": "why"},
    }
    said = lines(run_of(verdict=verdict))
    assert said["checked"] == (
        "1 of 3 checkers VALID from 1,204 observations; INVALID: isr-chain; "
        "UNKNOWN: availability; 1 not applicable"
    )
    assert said["found"] == "isr-chain: a, and 1 more"


def test_long_findings_are_cut_and_clean_runs_have_none() -> None:
    verdict = {"checkers": [checker("INVALID", findings=[{"message": "x" * 5000}])]}
    assert len(lines(run_of(verdict=verdict))["found"]) < 300
    assert lines(run_of(verdict={"checkers": [checker()]}))["found"] == "Nothing wrong"
    assert "found" not in lines(run_of(verdict={"checkers": []}))


def test_many_names_are_counted() -> None:
    verdict = {"checkers": [checker("UNKNOWN", name=f"c{i}") for i in range(9)]}
    assert "UNKNOWN: c0, c1, c2 and 6 more" in lines(run_of(verdict=verdict))["checked"]


def test_never_more_than_ten_lines() -> None:
    run = run_of(
        plan={"threads": 2},
        operations=ends_ok(1.0, 3.0, 8.0),
        injections=[bit(1, 2.0, 5.0)],
        spans=[span("down", 2.0, 5.0)],
        verdict={"checkers": [checker("INVALID", findings=[{"message": "m"}])]},
    )
    assert len(story(run)) == MAX_LINES
