"""The report without a mouse, in the dark, and on paper."""

import sys
from base64 import b64decode
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "report"))
from devtools import Browser
from sample_runs import write_run

from framework.report.render import render

READABLE = 4.5
"""WCAG 2.2's least contrast of text (success criterion 1.4.3)."""
FAINT = """(() => {
  const rgba = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((each) => each / 255)
    .map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
    .reduce((sum, each, i) => sum + each * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (it) => {
    for (; it; it = it.parentElement) {
      const [r, g, b, a = 1] = rgba(getComputedStyle(it).backgroundColor);
      if (a === 1 && b !== undefined) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const found = [];
  let looked = 0;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const it = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !it.getClientRects().length) continue;
    if (it.closest(".barlayer, .hoverlayer, .annotation")) continue;  // on a colour of their own
    const style = getComputedStyle(it);
    if (style.visibility === "hidden") continue;
    const ink = light(rgba(it.closest("svg") ? style.fill : style.color));
    const [low, high] = [ink, light(behind(it))].sort((a, b) => a - b);
    const contrast = (high + 0.05) / (low + 0.05);
    looked += 1;
    if (contrast < LEAST) found.push(`${texts.currentNode.data.trim().slice(0, 30)}: `
      + `${contrast.toFixed(2)}, ${it.tagName} ${it.getAttribute("class")}`);
  }
  return [looked, [...new Set(found)]];
})()""".replace("LEAST", str(READABLE))
"""How many texts can be seen, and those that can hardly be read."""
FOCUS = "document.activeElement"
SPAN = "plots.timeline.layout.xaxis.range"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = write_run(tmp_path_factory.mktemp("runs") / "1", seconds=20, invalid=True)
    return render(folder).as_uri()


@pytest.fixture
def page(browser: Browser, address: str) -> Browser:
    """All of its figures are drawn."""
    browser.open("about:blank")
    browser.open(address)
    browser.until("Object.keys(plots).length === 4")
    return browser


def tab_to(page: Browser, condition: str) -> None:
    """As often as is needed. `condition`: of `it`, which has the focus."""
    for _ in range(100):
        page.press("Tab")
        if page.evaluate(f"((it) => {condition})({FOCUS})"):
            return
    raise AssertionError(f"by Tab nothing is reached of which is true: {condition}")


# --- by keys ------------------------------------------------------------------------------


def test_a_checker_opens_and_closes_by_keys(page: Browser) -> None:
    page.press("Tab")
    assert page.evaluate(f"{FOCUS}.className") == "skip"
    assert page.evaluate(f"{FOCUS}.getBoundingClientRect().left >= 0")
    page.press("Enter")
    page.until("location.hash === '#main'")
    tab_to(page, "it.matches('#checkers summary')")
    assert page.evaluate(f"getComputedStyle({FOCUS}).outlineStyle") == "solid"
    seen = f"{FOCUS}.parentElement.querySelector('.opened').checkVisibility()"
    for key, opened in (("Enter", True), (" ", False)):
        page.press(key)
        page.until(f"{FOCUS}.parentElement.open === {str(opened).lower()}")
        assert page.evaluate(seen) is opened


def test_keys_zoom_all_figures_and_move_in_them(page: Browser) -> None:
    tab_to(page, "it.id === 'timeline'")
    begin, end = page.evaluate(SPAN)
    width = end - begin
    steps = (
        ("+", begin + width / 4, end - width / 4),
        ("ArrowRight", begin + width * 3 / 8, end - width / 8),
        ("ArrowLeft", begin + width / 4, end - width / 4),
        ("-", begin, end),
        ("+", begin + width / 4, end - width / 4),
        ("0", begin, end),
    )
    for key, start, stop in steps:
        page.press(key)
        page.until(f"Math.hypot({SPAN}[0] - {start}, {SPAN}[1] - {stop}) < 1e-6")
        lanes = SPAN.replace("timeline", "lanes")
        page.until(f"Math.hypot({lanes}[0] - {start}, {lanes}[1] - {stop}) < 1e-6")


def test_from_a_finding_to_its_moment_and_back_by_keys(page: Browser) -> None:
    tab_to(page, "it.matches('.finding button.show')")
    finding = page.evaluate(f"{FOCUS}.dataset.finding")
    page.press("Enter")
    page.until(f"{FOCUS}.id === 'around' && document.querySelector('#around svg.spacetime')")
    page.press("Tab")
    assert page.text("#around a") == "back to the finding"
    page.press("Enter")
    page.until(f"{FOCUS}.id === '{finding}'")
    tab_to(page, "it.matches('.finding a[href^=\"#op-\"]')")
    page.press("Enter")
    page.until("location.hash.startsWith('#op-') && plots.timeline.detailed")


# --- in the dark --------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(page: Browser, scheme: str) -> None:
    page.seen_as("screen", scheme)
    page.click(".finding button.show")
    page.until("document.querySelector('#around svg.spacetime')")
    page.evaluate("document.querySelectorAll('details').forEach((it) => { it.open = true; })")
    looked, faint = page.evaluate(FAINT)
    assert looked > 300
    assert faint == []
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(246, 247, 249)"
    assert dark is (scheme == "dark")


# --- on paper -----------------------------------------------------------------------------


def test_paper_is_light_and_has_no_buttons(page: Browser) -> None:
    page.seen_as("print", "dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    looked, faint = page.evaluate(FAINT)
    assert looked > 100 and faint == []
    hidden = "nav, button, .skip, #around, kbd"
    shown = f"[...document.querySelectorAll('{hidden}')].filter((it) => it.checkVisibility())"
    assert page.evaluate(f"{shown}.length") == 0
    page.seen_as("screen", "dark")
    assert page.evaluate(f"{shown}.length") > 0  # so it is the paper that has none


def test_all_of_it_is_printed_and_folded_again(page: Browser) -> None:
    page.evaluate(
        "window.addEventListener('beforeprint', () => { window.printed = {"
        " checkers: document.querySelectorAll('#checkers details').length,"
        " opened: [...document.querySelectorAll('#checkers .opened')]"
        ".filter((it) => it.checkVisibility()).length}; })"
    )
    page.click("#checkers summary")
    paper = b64decode(page.call("Page.printToPDF", printBackground=True)["data"])
    assert paper.startswith(b"%PDF")
    printed = page.evaluate("window.printed")
    assert printed["opened"] == printed["checkers"] > 1
    page.until("document.querySelectorAll('#checkers details[open]').length === 1")


def test_nothing_sticks_out_of_the_paper(page: Browser) -> None:
    page.seen_as("print", "light")
    a4 = {"width": 718, "height": 1047}  # of 96 dots an inch, less the browser's margins
    page.call("Emulation.setDeviceMetricsOverride", **a4, deviceScaleFactor=1, mobile=False)
    try:
        page.evaluate("document.querySelectorAll('details').forEach((it) => { it.open = true; })")
        outside = page.evaluate(
            "[...document.querySelectorAll('main *')].filter((it) => it.checkVisibility()"
            " && !it.closest('svg') && it.getBoundingClientRect().right > innerWidth + 1)"
            ".map((it) => `${it.tagName} ${it.className} ${it.textContent.slice(0, 40)}`)"
        )
        cut = page.evaluate(
            "[...document.querySelectorAll('.scroll')].filter((it) => it.checkVisibility()"
            " && getComputedStyle(it).overflowY !== 'visible').length"
        )
        assert (outside, cut) == ([], 0)
    finally:
        page.call("Emulation.clearDeviceMetricsOverride")
