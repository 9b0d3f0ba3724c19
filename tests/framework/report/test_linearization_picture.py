"""The picture of a partial linearization, the page of histories, and that neither can break."""

import json
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from checkers.linearizability.decision import Decision
from checkers.linearizability.evidence.explain import explain
from framework.checking.results import CheckerResult, RunResult, checker_result, run_result
from framework.cli.check import check, json_line, verdict_text
from framework.errors import UsageError
from framework.history.pairing import Operation
from framework.plugins.checker import Finding
from framework.report.histories import draw, to_html
from framework.report.linearization import MAX_LANES, bars_of, lay_out, svg
from framework.report.render import render
from framework.verdict import Verdict
from tests.checkers.linearizability.test_explanations import R, W, history, table_of
from tests.framework.report.sample_runs import EVIL, write_run


def picture(*bars: dict[str, Any]) -> dict[str, Any]:
    usual = {"from_ns": None, "to_ns": None, "outcome": "ok", "member": True}
    return {
        "bars": [
            usual | {"process": str(n), "label": f"write {n}", "place": None, "fails": None} | bar
            for n, bar in enumerate(bars)
        ],
        "state": "the value is 2",
        "others": 7,
    }


STALE = picture(
    {"index": 0, "end": 1, "member": False},
    {"index": 4, "end": 9, "place": 1},
    {"index": 5, "end": None, "place": 2, "member": False},
    {"index": 7, "end": 8, "place": 3, "label": "read -> 2"},
    {"index": 10, "end": 12, "label": "read -> 0", "fails": "needs 0, but the value is 2"},
)


def drawn(of: dict[str, Any]) -> ElementTree.Element:
    """The picture, which has to be well-formed."""
    return ElementTree.fromstring(svg(of))


def classes(root: ElementTree.Element) -> list[str]:
    return [name for each in root.iter() if (name := each.get("class"))]


def test_every_operation_takes_effect_within_its_bar_and_after_the_one_before() -> None:
    layout = lay_out(bars_of(STALE))
    latest = 0.0
    for bar, x in layout.points:
        assert layout.x[bar.index] < x < layout.x[bar.end]
        assert x > latest
        latest = x
    ((stuck, x),) = layout.stuck
    assert stuck.label == "read -> 0" and x > latest
    assert layout.x[stuck.index] < x < layout.x[stuck.end]


def test_events_rise_and_labels_of_a_lane_do_not_overlap() -> None:
    bars = [
        {"index": 2 * n, "end": 2 * n + 1, "process": "p", "label": "write " + "9" * n}
        for n in range(12)
    ]
    layout = lay_out(bars_of(picture(*bars)))
    places = [layout.x[event] for event in sorted(layout.x)]
    assert places == sorted(set(places))
    drawn_bars = bars_of(picture(*bars))
    for bar, following in pairwise(drawn_bars):
        room = layout.x[following.index] - layout.x[bar.index]
        assert room >= 6 * min(len(bar.label), 30)


def test_the_parts_of_the_picture() -> None:
    root = drawn(STALE)
    found = classes(root)
    assert found.count("bar beside") == 1
    assert found.count("bar member") == 2
    assert found.count("bar other") == 1
    assert found.count("bar fails") == 1
    assert found.count("point fails") == 1
    assert [each for each in found if each.startswith("point") and "fails" not in each] == [
        "point member",
        "point other",
        "point member",
    ]
    texts = [each.text for each in root.iter() if each.text]
    assert {"1", "2", "3", "✕", "▸", "process 0"} <= set(texts)
    titles = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}title")]
    titles += [each.text or "" for each in root.iter("title")]
    assert any("cannot come next: needs 0, but the value is 2" in text for text in titles)
    assert any("never returned" in text for text in titles)


def test_what_histories_hold_is_only_text() -> None:
    evil = picture(
        {"index": 0, "end": 1, "label": EVIL, "process": EVIL, "place": 1},
        {"index": 2, "end": 3, "label": EVIL, "process": '"><svg onload=1>', "fails": EVIL},
    )
    text = svg(evil)
    assert "<script" not in text and "<b " not in text and "<svg onload" not in text
    assert drawn(evil).tag.endswith("svg")


def test_lanes_are_limited_and_those_of_the_few_stay() -> None:
    many = [{"index": 2 * n, "end": 2 * n + 1, "member": n >= 90} for n in range(100)]
    bars = bars_of(picture(*many))
    lanes = {bar.process for bar in bars}
    assert len(lanes) == MAX_LANES
    assert {str(n) for n in range(90, 100)} <= lanes


def test_a_long_label_keeps_what_was_asked_and_what_came_of_it() -> None:
    label = 'create {"partitions":1,"replication":3} -> fail TOPIC_ALREADY_EXISTS'
    root = drawn(picture({"index": 0, "end": 1, "label": label}))
    (shown,) = (each for each in root.iter() if each.get("class", "").startswith("label"))
    assert "".join(title.tail or "" for title in shown) == 'create {"partiti… -> fail TOPIC_A…'


def test_nothing_to_draw_is_nothing() -> None:
    assert svg({"bars": []}) == ""


# Pages


def found(message: str = "wrong\nbecause\n  of this", **more: Any) -> Finding:
    return Finding(message=message, operations=[4, 10], **more)


def checked(finding: Finding) -> CheckerResult:
    row = {
        "key": "x",
        "verdict": "INVALID",
        "seen": 5,
        "findings": json.dumps([asdict(finding)]),
        "figures": json.dumps({"unique writes": 3}),
        "note": "",
    }
    return checker_result("register", "linearizable as a register, key by key", [row])


def results(finding: Finding, path: str = "some.jsonl") -> RunResult:
    operations = [
        Operation(index=4, process=1, f="write", key="x", value=2, type="ok", end=9),
        Operation(index=10, process=4, f="read", key="x", type="ok", end=12, result=0),
    ]
    return run_result(path, Path(path), [checked(finding)], operations=operations)


def test_a_picture_travels_through_the_results() -> None:
    result = results(found(picture=STALE))
    assert result.checkers[0].findings[0].picture == STALE
    assert json.loads(json_line(result))["findings"][0]["picture"] == STALE
    assert "picture" not in json.loads(json_line(results(found())))["findings"][0]


def test_a_page_of_histories(tmp_path: Path) -> None:
    valid = RunResult(run="ok", path=Path("fine.jsonl"), verdict=Verdict.VALID, checkers=[])
    target = tmp_path / "new" / "page.html"
    assert draw([valid, results(found(picture=STALE))], target)
    page = target.read_text()
    assert '<div class="verdict" id="verdict">INVALID</div>' in page
    assert page.count('<svg class="linearization"') == 1
    assert '<p class="message">wrong</p>' in page
    assert '<pre class="why">because\n  of this</pre>' in page
    assert "unique writes" in page and "some.jsonl" in page
    assert "http://" not in page and "https://" not in page


def test_evil_histories_on_the_page() -> None:
    evil = picture({"index": 4, "end": 9, "label": EVIL, "process": EVIL, "fails": EVIL})
    page = to_html([results(found(EVIL + "\n" + EVIL, picture=evil), path=EVIL)])
    assert "<script" not in page and "<b onclick" not in page


@pytest.mark.parametrize(
    "broken",
    [
        {"bars": [{"index": 1}]},
        {"bars": "none"},
        {"bars": [None]},
        {"no": "bars"},
        {"bars": [STALE["bars"][1] | {"place": "first"}, STALE["bars"][2]]},
        {"bars": [STALE["bars"][1] | {"end": 2}]},
    ],
)
def test_a_picture_that_is_none_is_left_out(broken: Any, tmp_path: Path) -> None:
    page = to_html([results(found(picture=broken))])
    assert "wrong" in page and "because" in page and 'id="verdict">INVALID' in page


def test_a_page_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not draw([results(found())], tmp_path / "file" / "page.html")


def test_the_report_of_a_run_shows_the_picture(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", invalid=True)
    verdict = json.loads((folder / "verdict.json").read_text())
    finding = next(
        finding for checker in verdict["checkers"] for finding in checker.get("findings", ())
    )
    before = render(folder).read_text()
    finding["picture"] = STALE
    (folder / "verdict.json").write_text(json.dumps(verdict))
    page = render(folder).read_text()
    assert '<svg class="linearization"' not in before
    assert page.count('<svg class="linearization"') == 1


# The command


def test_reported_with_line_breaks() -> None:
    lines = verdict_text(results(found(picture=STALE))).splitlines()
    assert lines[2:] == ["    x: wrong", "      because", "        of this"]


def test_a_page_that_cannot_be_written_is_refused_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for report, wrong in ((tmp_path, "name a file"), (tmp_path / "file" / "x", "written there")):
        with pytest.raises(UsageError, match=f"--report .*{wrong}"):
            check([tmp_path], model="register", report=report)


def test_an_explanation_becomes_a_picture() -> None:
    encoded = history((0, 1, W, 1), (2, 3, W, 2), (4, 5, R, 1), (6, None, W, 1))
    finding = explain(
        table_of(encoded, {2: {"process": EVIL, "f": EVIL}}),
        encoded,
        Decision(Verdict.INVALID, "by hand", culprit=2),
    )
    assert finding.picture is not None
    bars = {bar.index: bar for bar in bars_of(finding.picture)}
    assert sorted(bars) == [0, 2, 4]
    assert (bars[2].place, bars[2].member, bars[2].fails) == (1, True, None)
    assert (bars[0].place, bars[0].member) == (None, False)
    assert bars[4].fails and bars[4].fails.startswith("needs 1, but the value is 2")
    assert (bars[4].from_ns, bars[4].to_ns) == (4000, 5000)
    assert "<script" not in to_html([results(finding)])
