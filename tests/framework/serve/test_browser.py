"""`serve` and the report in a browser: from the list of runs to a finding to its operations."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "report"))
from devtools import Browser
from sample_runs import write_run

from framework.checking.outcomes_table import write_outcomes
from framework.history.pairing import Operation
from framework.report.data import read_run
from framework.report.figures import hover
from framework.report.render import render
from framework.serve.app import app_of
from framework.serve.server import listener, serving


@dataclass(frozen=True)
class Site:
    root: Path
    address: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    root = tmp_path_factory.mktemp("results")
    render(write_run(root / "nightly" / "1", seconds=20, invalid=True))
    render(write_run(root / "nightly" / "2", seconds=20, seed=8))
    write_run(root / "other" / "3", seconds=10, seed=9)
    at = listener("127.0.0.1", 0)
    with serving(app_of(root, "127.0.0.1"), at):
        yield Site(root, f"http://127.0.0.1:{at.getsockname()[1]}/")


def test_from_the_list_to_a_finding_to_its_operations(browser: Browser, site: Site) -> None:
    browser.open(site.address)
    browser.click('#rows a[href="/run/nightly/1/"]')
    browser.until("document.getElementById('verdict')?.textContent === 'INVALID'")
    browser.click('#findings a[href*="#finding-topic-linearizability-1"]')
    browser.until("document.querySelector('.finding button.show')")
    assert "Topic orders-1 was deleted" in browser.text("#finding-topic-linearizability-1")
    browser.click("#finding-topic-linearizability-1 button.show")
    browser.until("document.querySelector('#around svg.spacetime')")
    indices = "[...document.querySelectorAll('{} a[href^=\"#op-\"]')].map((a) => a.textContent)"
    shown = browser.evaluate(indices.format("#around"))
    assert shown == browser.evaluate(indices.format("#finding-topic-linearizability-1"))
    verdict = json.loads((site.root / "nightly/1/verdict.json").read_text())
    finding = verdict["checkers"][1]["findings"][0]
    assert [int(index) for index in shown] == sorted(finding["operations"])
    # The timeline goes to that moment, and from there to an operation.
    browser.until("typeof plots === 'object' && plots.timeline && shown")
    browser.click('#around a[href^="#op-"]')
    browser.until("plots.timeline.detailed")
    begin, end = browser.evaluate("plots.timeline.layout.xaxis.range")
    assert end - begin < 11  # an operation takes 5 s at most
    assert browser.evaluate("location.hash") == f"#op-{shown[0]}"
    drawn = dict(
        browser.evaluate(
            "plots.timeline.data.slice(1, 4).flatMap((trace) => trace.customdata.map("
            "(index, i) => [index, [trace.base[i], trace.hovertext[i]]]))"
        )
    )
    first = by_index(site.root / "nightly/1")[int(shown[0])]
    begin_s, text = drawn[first.index]
    assert text == hover(first)
    assert begin_s == pytest.approx((first.invoked_ns or 0) / 1e9, abs=1e-6)


def by_index(folder: Path) -> dict[int, Operation]:
    return {op.index: op for op in read_run(folder).operations}


def test_the_list_is_narrowed_sorted_and_compared(browser: Browser, site: Site) -> None:
    browser.open(site.address)
    runs = "[...document.querySelectorAll('#rows input')].map((box) => box.value)"
    assert browser.evaluate(runs) == ["other/3", "nightly/2", "nightly/1"]
    browser.click('thead a[href="/?sort=seed"]')
    browser.until("location.search === '?sort=seed'")
    assert browser.evaluate(runs) == ["nightly/1", "nightly/2", "other/3"]
    browser.evaluate(
        "(() => { const it = document.querySelector('select[name=series]'); it.value = 'nightly';"
        " it.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
    browser.until("location.search.includes('series=nightly')")
    assert browser.evaluate(runs) == ["nightly/1", "nightly/2"]
    assert browser.evaluate("document.getElementById('compare').disabled") is True
    for run in ("nightly/1", "nightly/2"):
        browser.click(f'#rows input[value="{run}"]')
    browser.click("#compare:not(:disabled)")
    browser.until("location.pathname === '/compare'")
    assert "topic-linearizability INVALID VALID" in browser.text("main")


def test_a_run_that_begins_is_there_without_asking(browser: Browser, site: Site) -> None:
    browser.open(f"{site.address}?q=live")
    browser.until("document.querySelector('#rows').textContent.includes('None of 3 runs')")
    folder = site.root / "live" / "4"
    folder.mkdir(parents=True)
    plan = {"harness_pid": os.getpid(), "started": datetime.now(UTC).isoformat()}
    (folder / "plan.json").write_text(json.dumps(plan))
    browser.click('#rows input[value="live/4"]')
    line = {"type": "invoke", "process": 1, "f": "read", "time": 61_000_000_000}
    (folder / "history.jsonl").write_text(f"{json.dumps(line)}\n")
    browser.until("document.querySelector('#rows').textContent.includes('61 s')")
    assert browser.evaluate("document.querySelector('#rows input').checked") is True
    browser.click('#rows a[href="/run/live/4/"]')
    browser.until("document.querySelector('#live')?.textContent.includes('61.0 s')")
    (folder / "verdict.json").write_text('{"verdict": "VALID", "checkers": []}')
    browser.until("document.getElementById('verdict')?.textContent === 'VALID'")


def test_a_report_draws_itself_from_a_file(browser: Browser, site: Site) -> None:
    browser.open((site.root / "nightly/2/report.html").as_uri())
    for name in ("timeline", "lanes", "latency", "rate"):
        browser.evaluate(f"document.getElementById('{name}').scrollIntoView()")
        browser.until(f"document.querySelector('#{name} svg.main-svg')")


def test_trends_draw_themselves(browser: Browser, site: Site) -> None:
    for run in ("nightly/1", "nightly/2"):
        folder = site.root / run
        plan = json.loads((folder / "plan.json").read_text()) | {"name": folder.parent.name}
        (folder / "plan.json").write_text(json.dumps(plan))
        verdict = json.loads((folder / "verdict.json").read_text())
        for checker in verdict["checkers"]:
            checker["clauses"] = []
        write_outcomes(folder, verdict)
    browser.open(site.address)
    browser.click('nav a[href="/trends"]')
    browser.until("document.querySelector('#verdicts svg.main-svg')")
    browser.until("document.querySelector('#seen svg.main-svg')")
    assert "2 runs in 1 night" in browser.text("main")
