"""Space-time diagrams: what of a run is in them, and where."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from sample_runs import EVIL, write_run
from test_messages import ELECTION, PLAN, at, role

from framework.evidence.kinds import Evidence
from framework.evidence.quorum import Appended, Truncated
from framework.history.pairing import Operation
from framework.report.answers import Answers
from framework.report.data import Run, read_run
from framework.report.nodes import Span
from framework.report.payload import unpacked
from framework.report.render import render
from framework.report.spacetime import MAX_MESSAGES, Proof, SpaceTime

RUN = Run(
    folder=Path("a/run"),
    plan=PLAN,
    verdict=None,
    operations=(),
    answers=Answers.of(()),
    phases=(),
    injections=(),
    spans=[
        Span(node="c1", lane="role", state="leader", epoch=3, start_s=1.3, end_s=9.0),
        Span(node="c9", lane="role", state="leader", epoch=3, start_s=1.3, end_s=9.0),
    ],
    missing=(),
    evidence=[*ELECTION, at(1.25, Truncated(node="c3", end_offset=7))],
)


def parsed(text: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(text.replace("→", "-")).iter())


def titles(text: str) -> list[str]:
    return [each.text or "" for each in parsed(text) if each.tag == "title"]


def lines(text: str, kind: str) -> list[tuple[float, ...]]:
    ends = ("x1", "y1", "x2", "y2")
    return [
        tuple(float(each.attrib[end]) for end in ends)
        for each in parsed(text)
        if each.attrib.get("class") == f"message {kind}" and len(each)
    ]


def test_an_arrow_goes_from_lane_to_lane_and_to_the_right() -> None:
    text = SpaceTime(RUN).drawn(Proof(1.0, 1.4))
    lanes = {
        each.text: float(each.attrib["y"]) - 4
        for each in parsed(text)
        if each.tag == "text" and each.attrib["class"] == "lane"
    }
    assert list(lanes) == ["c1", "c2", "c3", "b1"]
    asked, granted = lines(text, "vote")
    assert (asked[1], asked[3]) == (lanes["c1"], lanes["c2"])
    assert (granted[1], granted[3]) == (lanes["c2"], lanes["c1"])
    assert asked[0] < asked[2] == granted[0] < granted[2]
    assert "c1 - c2: asks for a vote, epoch 3, 100.0 ms, at 1.1000 s" in titles(text)
    assert "leader e3" in text and "c9" not in text
    assert any("log cut back to 7" in title for title in titles(text))


def test_only_what_is_near_is_drawn() -> None:
    drawing = SpaceTime(RUN)
    assert drawing.drawn(Proof(5.0, 6.0)) == ""
    assert lines(drawing.drawn(Proof(1.4, 1.4)), "vote") == []
    assert len(lines(drawing.drawn(Proof(1.4, 1.4)), "leader")) == 1


def test_what_a_finding_names_is_marked_and_its_operations_are_bars() -> None:
    op = Operation(
        index=7,
        process=1,
        f="create",
        key=EVIL,
        type="ok",
        end=8,
        node="c2",
        invoked_ns=1_100_000_000,
        completed_ns=1_300_000_000,
    )
    event = {"time_s": 1.1, "node": "c2", "type": "voted", "fields": {"x": EVIL}, "all": {}}
    nowhere = {**event, "time_s": None}
    text = SpaceTime(RUN).drawn(Proof(1.1, 1.3, [op], [event, nowhere]))
    (mark,) = (each for each in parsed(text) if each.attrib.get("class") == "mark at-proof")
    (bar,) = (each for each in parsed(text) if each.attrib.get("class") == "op ok")
    assert float(mark.attrib["cx"]) == pytest.approx(float(bar.attrib["x"]))
    assert "<script>" not in text and "7 create" in titles(text)[0]
    open_ended = replace(op, completed_ns=None, end=None, type="info")
    text = SpaceTime(RUN).drawn(Proof(1.1, 1.3, [open_ended]))
    (bar,) = (each for each in parsed(text) if each.attrib.get("class") == "op info")
    assert float(bar.attrib["x"]) + float(bar.attrib["width"]) == pytest.approx(1216, abs=1)


def test_of_too_many_messages_the_rarer_kinds_stay_and_the_others_are_counted() -> None:
    many = [at(1.3 + n / 1e5, role("c3", "follower", 3, leader=1)) for n in range(1)]
    beats = [
        replace(each, epoch=epoch)
        for epoch in range(4, 4 + MAX_MESSAGES)
        for each in (ELECTION[3], at(1.35, role("c2", "follower", 3, leader=1)))
    ]
    run = replace(RUN, evidence=[*RUN.evidence, *many, *beats])
    text = SpaceTime(run).drawn(Proof(1.0, 1.4))
    drawn = sum(len(lines(text, kind)) for kind in ("vote", "refusal", "leader"))
    assert drawn == MAX_MESSAGES
    assert len(lines(text, "vote")) == 2 and len(lines(text, "refusal")) == 1
    assert re.search(r"(\d+) more messages in this time are not drawn", text)


def test_what_arrives_much_later_leaves_room_for_what_is_there_from_end_to_end() -> None:
    """As the log does at a broker that starts when all of it is long written."""
    sent = [append("c1", 1.42 + n / 1e4, n, leading=True) for n in range(MAX_MESSAGES + 1)]
    late = [at(7.9, role("c3", "follower", 3, leader=1))]
    late += [append("c3", 8 + n / 1e4, n, leading=False) for n in range(MAX_MESSAGES + 1)]
    early = [append("c2", 1.5 + n / 1e4, n, leading=False) for n in range(MAX_MESSAGES - 4)]
    run = replace(RUN, evidence=[*ELECTION, *sent, *early, *late])
    text = SpaceTime(run).drawn(Proof(1.0, 1.6))
    arrows = lines(text, "append")
    later = [each for each in arrows if each[2] > 1216]
    assert len(arrows) - len(later) == len(early)
    assert len(later) < 5 and "more messages in this time are not drawn" in text


def append(node: str, at_s: float, offset: int, *, leading: bool) -> Evidence:
    record = Appended(
        node=node,
        base_offset=offset,
        end_offset=offset + 1,
        epoch=3,
        control=False,
        crcs=(),
        leading=leading,
    )
    return at(at_s, record)


def test_no_moment_is_less_than_nothing() -> None:
    text = SpaceTime(RUN).drawn(Proof(-0.1, 2.0), room_s=0.1)
    ticks = [each.text for each in parsed(text) if each.attrib.get("class") == "time"]
    assert ticks == ["0.0 s", "0.5 s", "1.0 s", "1.5 s", "2.0 s"]


def test_a_page_has_diagrams_of_findings_alone(tmp_path: Path) -> None:
    def diagrams(folder: Path) -> dict[str, str]:
        page = render(folder).read_text()
        packed = re.search(r'id="packed-spacetime">([^<]*)<', page)
        assert packed is not None
        found: dict[str, str] = unpacked(packed[1])
        return found

    invalid = write_run(tmp_path / "invalid", seconds=20, invalid=True)
    found = diagrams(invalid)
    assert set(found) <= {f"finding-topic-linearizability-{n}" for n in (1, 2)} and found
    for text in found.values():
        ElementTree.fromstring(text)
        assert "<script>" not in text
    valid = write_run(tmp_path / "valid", seconds=20)
    assert diagrams(valid) == {} and read_run(valid).evidence == ()
