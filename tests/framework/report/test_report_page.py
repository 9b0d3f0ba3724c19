"""The page as a browser's parser sees it: its facts, and that nothing of a history runs."""

import base64
import errno
import gzip
import json
import re
import shutil
from dataclasses import replace
from datetime import datetime, timedelta
from html.parser import HTMLParser
from itertools import accumulate
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
from sample_runs import EVIL, write_run

from framework.errors import UsageError
from framework.report.data import read_run
from framework.report.nodes import Span
from framework.report.payload import PLOTLY, unpacked
from framework.report.render import FILE, MAX_FINDINGS, draw, render
from framework.report.story import story


class Page(HTMLParser):
    """Texts of a page by the id of the innermost element that has one; all its elements."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.packed: dict[str, str] = {}
        """Compressed parts by name."""
        self._ids: list[str] = []
        self._texts: dict[str, list[str]] = {}
        self._script = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._script = tag == "script"
        if self._script:
            self.scripts.append("")
        if tag == "section" or dict(attrs).get("id") == "verdict":
            self._ids.append(str(dict(attrs).get("id")))

    def handle_endtag(self, tag: str) -> None:
        self._script = False
        if tag == "section" or (tag == "div" and self._ids[-1:] == ["verdict"]):
            self._ids.pop()

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts[-1] += data
            kind, ident = (self.elements[-1][1].get(name) for name in ("type", "id"))
            if kind == "application/gzip":
                part = str(ident).removeprefix("packed-")
                self.packed[part] = self.packed.get(part, "") + data
        for each in self._ids:
            self._texts.setdefault(each, []).append(data)

    def text(self, ident: str) -> str:
        return " ".join(" ".join(self._texts.get(ident, ())).split())

    def attributes(self, name: str) -> list[str]:
        return [value for _, found in self.elements if (value := found.get(name))]

    def figures(self) -> dict[str, Any]:
        names = ("timeline", "lanes", "latency", "rate")
        return {name: unpacked(self.packed[name]) for name in names}


def drawn(folder: Path) -> Page:
    return Page(render(folder).read_text())


@pytest.fixture(scope="module")
def invalid_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "invalid", invalid=True, seconds=30)


@pytest.fixture(scope="module")
def invalid(invalid_folder: Path) -> Page:
    return drawn(invalid_folder)


def test_valid_run_says_so_and_how_to_repeat_it(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", seconds=20)
    page = drawn(folder)
    assert page.text("verdict") == "VALID"
    assert "--nemesis partition,kill --seed 7 --hosts namespaces" in page.text("again")
    assert f"replay {folder}" in page.text("again")
    assert not page.text("findings")
    assert not page.text("missing")


def test_size_of_an_ordinary_run(tmp_path: Path) -> None:
    page = render(write_run(tmp_path / "run", seconds=60))
    assert page.name == FILE
    assert page.stat().st_size < 1_500_000


def test_plotly_is_in_the_page_as_it_is_vendored(invalid: Page) -> None:
    code = gzip.decompress(base64.b64decode(invalid.packed["plotly"]))
    assert b"plotly.js (basic" in code[:100]
    assert b"MIT" in (PLOTLY.parent / "LICENSE").read_bytes()


def test_checkers_are_listed_worst_first(invalid: Page) -> None:
    text = invalid.text("checkers")
    assert text.index("INVALID topic-linearizability") < text.index("VALID one-leader-per-epoch")
    assert "1,702" in text
    assert "worst recovery, s 1.42" in text


def test_order_of_the_page(invalid: Page) -> None:
    sections = [attributes["id"] for tag, attributes in invalid.elements if tag == "section"]
    assert sections == [
        *("story", "findings", "timeline-part", "latency-part", "checkers", "again", "faults"),
        "plan",
    ]


def test_page_begins_with_the_story_of_the_run(invalid: Page, invalid_folder: Path) -> None:
    lines = story(read_run(invalid_folder))
    assert lines
    for line in lines:
        assert f"{line.about} {' '.join(line.says.split())}." in invalid.text("story")


def test_drawing_gives_the_story(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", seconds=10)
    assert draw(folder) == story(read_run(folder))
    assert draw(tmp_path / "nowhere") == ()


def test_figures_of_checkers_are_tables(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", seconds=10)
    verdict = json.loads((folder / "verdict.json").read_text())
    verdict["checkers"][2]["figures"] = {"fault.1.lasted_s": 2, "fault.2.lasted_s": 4, "x": EVIL}
    (folder / "verdict.json").write_text(json.dumps(verdict))
    page = drawn(folder)
    assert "lasted, s fault.1 2 fault.2 4" in page.text("checkers")
    styles = [style for style in page.attributes("style") if "--share" in style]
    assert styles == ["--share: 0.500", "--share: 1.000"]
    assert any(EVIL in title for title in page.attributes("title"))


def test_findings_show_their_operations(invalid: Page, invalid_folder: Path) -> None:
    stored = json.loads((invalid_folder / "verdict.json").read_text())
    history = [json.loads(line) for line in (invalid_folder / "history.jsonl").open()]
    text = invalid.text("findings")
    links = invalid.attributes("href")
    for finding in stored["checkers"][1]["findings"]:
        assert " ".join(finding["message"].split()) in text
        for index in finding["operations"]:
            op = history[index]
            assert f"#op-{index}" in links
            row = rf"{index} {op['time'] / 1e9:.4f} \S+ {op['process']} \w+ {op['f']} {op['key']} "
            assert re.search(row, text), row
    assert "31.2500 c2 apply" in text  # the event's clock is the machine's, the page's the run's


def test_links_to_operations_have_places_on_the_timeline(invalid: Page) -> None:
    linked = {href.removeprefix("#op-") for href in invalid.attributes("href") if "#op-" in href}
    assert linked
    marks = invalid.figures()["timeline"]["data"][-1]
    assert {str(index) for index in marks["customdata"]} == linked
    indices = accumulate(unpacked(invalid.packed["operations"])["index"])
    assert linked <= set(map(str, indices))


def test_page_has_every_operation_and_what_it_shows_under_the_pointer(
    invalid: Page, invalid_folder: Path
) -> None:
    columns, hovers = (unpacked(invalid.packed[name]) for name in ("operations", "hovers"))
    operations = read_run(invalid_folder).operations
    assert list(accumulate(columns["index"])) == [op.index for op in operations]
    for op, text in zip(operations, hovers, strict=True):
        assert text.startswith(f"<b>{op.f}</b> {op.type} · process {op.process} · node {op.node}")
        assert "<script" not in text


@pytest.mark.parametrize("share", [0.05, 0.25])
def test_what_the_machine_took_and_why_a_run_went_on(tmp_path: Path, share: float) -> None:
    folder = write_run(tmp_path / "run", seconds=30)
    took = round(read_run(folder).end_s * 1000 * share)
    plan = json.loads((folder / "plan.json").read_text())
    plan |= {"machine": {"cores": 2, "took": [[0, 9_000, took]]}, "went_on": "9 operations ok"}
    (folder / "plan.json").write_text(json.dumps(plan))
    html = render(folder).read_text()
    assert ("25% of the time" in html) == (share > 0.1)
    assert "went on for" in html and "9 operations ok" in html


def test_findings_lead_to_their_moment(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", invalid=True, seconds=30)
    plan = json.loads((folder / "plan.json").read_text())
    plan["time_zero"] = "2026-11-21T11:49:05+00:00"
    (folder / "plan.json").write_text(json.dumps(plan))
    at_s = read_run(folder).operations
    verdict = json.loads((folder / "verdict.json").read_text())
    verdict["checkers"][1]["findings"][1]["operations"] = [at_s[100].index]
    (folder / "verdict.json").write_text(json.dumps(verdict))
    when = datetime(2026, 11, 21, 11, 49, 5) + timedelta(seconds=(at_s[100].invoked_ns or 0) / 1e9)
    log = f"{when:%Y-%m-%d %H:%M:%S},{when.microsecond // 1000:03} WARN {EVIL}\n"
    (folder / "nodes" / "c1" / "node.log").write_text(log)
    page = drawn(folder)
    buttons = [attributes for tag, attributes in page.elements if tag == "button"]
    articles = [attributes for tag, attributes in page.elements if tag == "article"]
    assert [each["data-finding"] for each in buttons] == [each["id"] for each in articles]
    second = buttons[1]
    assert float(str(second["data-from"])) == (at_s[100].invoked_ns or 0) / 1e9
    moments = unpacked(page.packed["around"])[second["data-finding"]]
    assert [(each["who"], each["what"]) for each in moments if each["kind"] == "log"] == [
        ("c1", f"WARN {EVIL}")
    ]


def test_older_run_has_findings_without_logs(invalid: Page) -> None:
    moments = unpacked(invalid.packed["around"])
    assert len(moments) == 2
    assert not any(each["kind"] == "log" for found in moments.values() for each in found)


def test_page_can_be_used_by_keys(invalid: Page) -> None:
    """What scrolls or zooms can have the focus, and every figure has a name."""
    plots = [attributes for _, attributes in invalid.elements if attributes.get("class") == "plot"]
    assert len(plots) == 4
    scrolling = [
        attributes
        for _, attributes in invalid.elements
        if str(attributes.get("class", "")).split()[:1] == ["scroll"]
    ]
    assert scrolling
    assert all(each.get("tabindex") == "0" and each.get("aria-label") for each in plots)
    assert all(each.get("tabindex") == "0" and each.get("aria-label") for each in scrolling)


def test_nothing_of_a_history_becomes_markup(invalid: Page) -> None:
    scripts = [attributes for tag, attributes in invalid.elements if tag == "script"]
    assert [each for each in scripts if each.get("type") != "application/gzip"] == [{}]
    assert all(re.fullmatch("[A-Za-z0-9+/=]+", text) for text in invalid.packed.values())
    assert all("onclick" not in attributes for _, attributes in invalid.elements)
    assert EVIL in invalid.text("findings")
    hovers = [
        text
        for trace in invalid.figures()["timeline"]["data"]
        for text in trace.get("hovertext", ())
    ]
    assert any("&lt;/script&gt;" in text for text in hovers)
    assert not any("<script" in text for text in hovers)


def test_page_loads_nothing(invalid: Page) -> None:
    for tag, attributes in invalid.elements:
        assert tag not in ("link", "img", "iframe")
        assert not attributes.get("src")
        assert not str(attributes.get("href", "")).startswith(("http", "//"))


def test_long_values_are_short_with_all_on_hover(invalid: Page) -> None:
    titles = invalid.attributes("title")
    assert any("no answer in 300 ms" in title and "10.66.0.4" in title for title in titles)
    assert "10.66.0.4" not in invalid.text("faults")


def test_ledger_says_what_bit(invalid: Page) -> None:
    text = invalid.text("faults")
    for heading in ("Planned", "Before", "Injected", "During", "Healed", "After", "Did it bite"):
        assert heading in text
    assert "partition" in text
    assert "yes yes" in text


def test_figures_are_valid_plotly(invalid: Page) -> None:
    figures = invalid.figures()
    assert set(figures) == {"timeline", "lanes", "latency", "rate"}
    for figure in figures.values():
        assert go.Figure(figure).data


def test_fault_that_did_not_bite_is_reported(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", seconds=20)
    path = folder / "faults.jsonl"
    path.write_text(path.read_text().replace('"bites": true', '"bites": false'))
    assert " no " in drawn(folder).text("faults").split("Evidence")[1]


def test_killed_run_is_drawn_and_says_what_is_missing(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", killed=True, seconds=30)
    page = drawn(folder)
    assert page.text("verdict") == "UNKNOWN"
    missing = page.text("missing")
    assert "verdict.json" in missing
    assert "the last line is cut short" in missing
    assert "no events of c1, c2, c3, b1, b2, b3" in missing
    assert page.figures()["timeline"]["data"][1]["x"]


def test_nodes_that_should_write_no_events_are_not_missed(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", killed=True, seconds=30)
    plan = json.loads((folder / "plan.json").read_text())
    (folder / "plan.json").write_text(json.dumps({**plan, "capabilities": ["disk:appended"]}))
    assert "no events of" not in drawn(folder).text("missing")


@pytest.mark.parametrize(
    "gone", ["plan.json", "history.jsonl", "faults.jsonl", "verdict.json", "nodes"]
)
def test_any_part_may_be_missing(tmp_path: Path, gone: str) -> None:
    folder = write_run(tmp_path / "run", seconds=10, invalid=True)
    path = folder / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    page = drawn(folder)
    named = "c1, c2, c3" if gone == "nodes" else gone
    assert named in page.text("missing")
    assert page.text("verdict") == ("UNKNOWN" if gone == "verdict.json" else "INVALID")


def test_empty_folder(tmp_path: Path) -> None:
    page = drawn(tmp_path)
    assert page.text("verdict") == "UNKNOWN"
    assert "No operation was recorded" in page.text("timeline-part")


def test_broken_parts_are_named(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", seconds=10)
    (folder / "verdict.json").write_text('{"verdict": "VAL')
    (folder / "faults.jsonl").write_text('{"id": 1}\n[]\n{"id":')
    page = drawn(folder)
    assert page.text("verdict") == "UNKNOWN"
    for part in ("verdict.json", "faults.jsonl"):
        assert part in page.text("missing")


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        render(tmp_path / "nowhere")


def test_drawing_changes_nothing_that_is_stored(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", seconds=10, invalid=True)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    page = render(folder)
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert after.pop(page)
    assert after == before


def test_many_findings_are_capped_on_the_page(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", seconds=10, invalid=True)
    verdict = json.loads((folder / "verdict.json").read_text())
    verdict["checkers"][1]["findings"] *= MAX_FINDINGS
    (folder / "verdict.json").write_text(json.dumps(verdict))
    page = drawn(folder)
    assert len([tag for tag, _ in page.elements if tag == "article"]) == MAX_FINDINGS
    assert f"{MAX_FINDINGS} more" in page.text("findings")


def test_processes_beside_a_node_have_lanes_of_their_own(tmp_path: Path) -> None:
    """A workload's own brokers run on the nodes' hosts; their lives are not the nodes'."""
    write_run(tmp_path / "run")
    beside = tmp_path / "run/nodes/b1/extra/301a"
    beside.mkdir(parents=True)
    lines = (tmp_path / "run/nodes/b1/events.jsonl").read_text().splitlines()
    extra = [json.dumps({**json.loads(line), "node": "g301a"}) for line in lines]
    (beside / "events.jsonl").write_text("\n".join(extra) + "\n")
    by_node: dict[str, list[Span]] = {}
    for span in read_run(tmp_path / "run").spans:
        by_node.setdefault(span.node, []).append(replace(span, node=""))
    assert by_node["g301a"] == by_node["b1"]


def test_a_page_that_cannot_be_written_is_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As on a disk that is full: the story is told, nothing half-written stays."""
    folder = write_run(tmp_path / "full")

    def full(self: Path, *_: object, **__: object) -> int:
        self.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    assert draw(folder)
    (told,) = caplog.records
    assert "could not be written: No space left on device" in told.message and not told.exc_info
    assert not list(folder.glob("*.tmp")) and not (folder / FILE).exists()
