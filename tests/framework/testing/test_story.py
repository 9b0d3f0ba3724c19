"""Runs written by hand, as rules are given them."""

import pytest

from checkers.one_leader_per_epoch import OneLeaderPerEpoch
from framework.evidence.quorum import Elected
from framework.evidence.run_events import phase_ns, settled, unhealed
from framework.testing.judging import clause_of, judged
from framework.testing.story import MS, Story
from framework.verdict import Verdict


def test_one_clock_orders_all_that_happens() -> None:
    story = Story()
    first = story.op("write", "x", 1)
    pending = story.invoke("read", "x")
    reported = story.tell(Elected, "n1", epoch=1, votes=(1, 2))
    story.wait(5)
    story.complete(pending, result=1)
    events = story.run_events()
    assert [operation.index for operation in events.operations] == [0, 2]
    assert [operation.type for operation in events.operations] == ["ok", "ok"]
    assert (first.end, events.operations[1].end) == (1, 4)
    assert events.operations[1].invoked_ns == reported.at_ns - MS
    assert events.operations[1].completed_ns == reported.at_ns + 6 * MS
    assert first.precedes(events.operations[1])


def test_what_is_never_completed_is_pending() -> None:
    story = Story()
    story.invoke("write", "x", 1)
    (operation,) = story.run_events().operations
    assert (operation.type, operation.end) == ("info", None)


def test_evidence_has_its_place_in_the_life_of_its_node() -> None:
    story = Story()
    for node in ("n2", "n1", "n1"):
        story.tell(Elected, node, epoch=1, votes=())
    story.restart("n1")
    story.tell(Elected, "n1", epoch=2, votes=())
    places = [each.place for each in story.run_events().evidence]
    assert places == [("n1", "n1-0", 0), ("n1", "n1-0", 1), ("n1", "n1-1", 2), ("n2", "n2-0", 0)]


def test_a_fault_holds_between_its_marks() -> None:
    story = Story()
    with story.fault() as number:
        inside = story.op("read", "x")
    with story.fault("kill", healed=None):
        pass
    story.final(settled=False)
    after = story.op("read", "x")
    events = story.run_events()
    cut, killed = events.faults
    assert (cut.id, cut.fault, cut.effective, cut.healed) == (number, "partition", True, True)
    assert cut.injected_ns is not None and cut.healed_ns is not None
    assert inside.invoked_ns is not None and inside.completed_ns is not None
    assert cut.injected_ns < inside.invoked_ns < inside.completed_ns < cut.healed_ns
    assert unhealed(events.faults) == [killed]
    assert settled(events.nemesis) is False
    assert (
        after.invoked_ns is not None and (phase_ns(events.nemesis, "final") or 0) < after.invoked_ns
    )
    assert [operation.phase for operation in events.operations] == ["main", "final"]


@pytest.mark.parametrize(
    ("epochs", "verdict"), [((1, 2), Verdict.UNKNOWN), ((1, 1), Verdict.INVALID)]
)
def test_a_checker_judges_it(epochs: tuple[int, int], verdict: Verdict) -> None:
    """Two winners of two epochs are nothing wrong, and too little to be called right."""
    story = Story()
    for node, epoch in zip(("n1", "n2"), epochs, strict=True):
        story.tell(Elected, node, epoch=epoch, votes=(1, 2))
    result = judged(OneLeaderPerEpoch(), story)
    assert result.verdict is verdict
    assert clause_of(result, "one-claim").verdict is verdict
