"""What answers tell of the quorum, in one form, whoever asked: the harness's observer, or a client
that wants to know who votes. So one rule holds all of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checkers.folds.history.observations import OWN_VIEW, VIEWS
from checkers.folds.history.roles import CONTROLLER, ids_in
from checkers.folds.history.values import log_ends, log_part, quorum_view, voters_view
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation

WHO_VOTES: Final = "describe-voters"
"""What clients ask."""
NEW_RECORDS: Final = "metadata-log"
"""What an observer asks, and who leads answers: what is new in the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The quorum by an answer. `leader`: -1, there is none. `end`: of the leader's log; None: not
    told. `voters`: as it names them, maybe one twice; empty: it names none. `held`: how far a
    majority of them may have the log; None: as far as you like, by what it does not know.
    `its_own`: the process that answered tells what it knows itself; `of_leader`: what the leader
    does."""

    operation: Operation
    leader: int
    epoch: int
    high_watermark: int
    end: int | None = None
    voters: Sequence[int] = ()
    held: int | None = None
    its_own: bool
    of_leader: bool

    def __str__(self) -> str:
        return (
            f"leader {self.leader} in epoch {self.epoch}, high watermark {self.high_watermark}, by "
            f"{self.operation.node} (operation {self.operation.index})"
        )


def quorum_views(events: RunEvents) -> list[View]:
    """In the order in which they were asked for."""
    ids = ids_in(events.plan, CONTROLLER)
    return sorted(_views(events, ids), key=lambda view: view.operation.index)


def _views(events: RunEvents, ids: Mapping[str, int]) -> Iterator[View]:
    for each in events.observations:
        if each.ok and each.f in VIEWS:
            yield _described(each)
        elif each.ok and each.f == NEW_RECORDS and str(each.node) in ids:
            yield _given(each, ids[str(each.node)])
    yield from (_to_a_client(each) for each in events.operations if each.ok and each.f == WHO_VOTES)


def _described(answer: Operation) -> View:
    """`describe-quorum` is answered by its leader, whoever was asked."""
    told = quorum_view(answer)
    end = log_ends(told).get(told["leader"], -1)
    own = answer.f == OWN_VIEW
    return View(
        operation=answer,
        leader=told["leader"],
        epoch=told["leader_epoch"],
        high_watermark=told["high_watermark"],
        end=end if end >= 0 else None,
        voters=[number for number, _ in told.get("voters") or ()],
        held=most_have([end for _, end in told.get("voters") or ()]),
        its_own=own,
        of_leader=not own,
    )


def _given(answer: Operation, leader: int) -> View:
    """A node gives records of the log while it leads, and of the epoch that it was asked in."""
    told = log_part(answer)
    return View(
        operation=answer,
        leader=leader,
        epoch=told["leader_epoch"],
        high_watermark=told.get("high_watermark", -1),
        its_own=True,
        of_leader=True,
    )


def _to_a_client(answer: Operation) -> View:
    """By a controller that leads itself: who does not sends elsewhere."""
    told = voters_view(answer)
    return View(
        operation=answer,
        leader=told["leader"],
        epoch=told["leader_epoch"],
        high_watermark=told["high_watermark"],
        end=told["log_end"],
        voters=[each["id"] for each in told["voters"]],
        its_own=True,
        of_leader=True,
    )


def most_have(ends: Sequence[int]) -> int | None:
    """Up to where a majority has the log; who is not known to have less (-1) may have all."""
    known = sorted((each for each in ends if each >= 0), reverse=True)
    last_needed = len(ends) // 2 - (len(ends) - len(known))
    return known[last_needed] if known and last_needed >= 0 else None
