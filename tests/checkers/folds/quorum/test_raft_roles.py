"""The roles of one replica (`folds/quorum/raft_roles.py`)."""

from itertools import product
from typing import Any, Final, get_args

import pytest

from checkers.folds.quorum.raft_roles import ROLE_TRIGGERS, ROLES, roles, with_triggers
from framework.evidence.kinds import Evidence
from framework.evidence.processes import Booted
from framework.evidence.quorum import Elected, EpochSaved, Role, RoleTaken

ME: Final = 1
SECOND_NS: Final = 1_000_000_000


def booted(voters: tuple[int, ...] = (1, 2, 3), **saved: int) -> Booted:
    found: dict[str, Any] = {f"saved_{name}": value for name, value in saved.items()}
    if "saved_last_epoch" in found:
        found["last_epoch"] = found.pop("saved_last_epoch")
    return Booted(node="c1", replica_id=ME, voters=voters, **found)  # type: ignore[arg-type]


def took(role: Role, epoch: int, leader: int | None = None, at_ns: int = 0) -> RoleTaken:
    return RoleTaken(node="c1", role=role, epoch=epoch, leader=leader, at_ns=at_ns)  # type: ignore[arg-type]


def elected(epoch: int, *votes: int) -> Elected:
    return Elected(node="c1", epoch=epoch, votes=votes)  # type: ignore[arg-type]


def saved(epoch: int, vote: int) -> EpochSaved:
    return EpochSaved(node="c1", epoch=epoch, leader=None, vote=vote)  # type: ignore[arg-type]


def undrawn(*life: Evidence) -> list[str]:
    """What is wrong with its changes of roles."""
    return [each.message for each in roles(life, killed=False) if each.clause == ROLES.name]


def untriggered(*life: Evidence) -> list[str]:
    """What is wrong with what was before them."""
    return [each.message for each in roles(life, killed=False) if each.clause != ROLES.name]


DRAWN: Final = """
in one epoch
    unattached: unattached prospective follower
    prospective: prospective unattached follower
    follower: follower prospective unattached
    candidate: candidate leader follower prospective
    leader: leader resigned
    resigned: resigned follower
in a higher one
    unattached: unattached candidate follower
    prospective: unattached candidate follower
    follower: unattached candidate follower
    candidate: unattached candidate follower
    leader: unattached follower
    resigned: unattached candidate follower prospective
"""


def drawn(text: str) -> set[tuple[str, str, bool]]:
    """(before, after, whether the epoch is higher)."""
    found, higher = set(), False
    for line in text.strip().splitlines():
        before, colon, after = line.strip().partition(": ")
        higher = higher if colon else before == "in a higher one"
        found |= {(before, each, higher) for each in after.split()}
    return found


def test_the_transitions_that_are_drawn_and_no_others() -> None:
    accepted = {
        (before, after, higher)
        for before, after, higher in product(get_args(Role), get_args(Role), (False, True))
        if not undrawn(booted(), took(before, 5), took(after, 5 + higher))
    }
    assert accepted == drawn(DRAWN)


@pytest.mark.parametrize(("voters", "right"), [((1,), True), ((1, 2), False)])
def test_who_votes_alone_wins_at_once(voters: tuple[int, ...], right: bool) -> None:
    assert bool(undrawn(booted(voters), took("unattached", 5), took("leader", 6, ME))) != right
    assert undrawn(booted(voters), took("unattached", 5), took("resigned", 6, ME))


def test_who_does_not_vote_observes_and_nothing_else() -> None:
    boot = booted((2, 3))
    assert not undrawn(boot, took("observer", 5, 2), took("observer", 6), took("observer", 6, 3))
    (wrong, back) = undrawn(boot, took("follower", 5, 2), took("observer", 5, 2))
    assert "is no voter" in wrong and "from follower" in back
    (wrong, back) = undrawn(booted(), took("observer", 5, 2), took("follower", 5, 2))
    assert "is a voter" in wrong and "from observer" in back


def test_epochs_do_not_fall() -> None:
    (found,) = undrawn(booted(), took("follower", 5, 2), took("follower", 4, 2))
    assert "epochs do not fall" in found


@pytest.mark.parametrize(
    ("after", "wrong"),
    [
        (took("follower", 5, 2), False),
        (took("follower", 6, 3), False),
        (took("follower", 5, 3), True),
        (took("follower", 5), True),
        (took("unattached", 5), False),
        (took("unattached", 5, 3), True),
        (took("prospective", 5), False),
    ],
)
def test_the_leader_of_an_epoch_stays_or_is_forgotten(after: RoleTaken, wrong: bool) -> None:
    assert bool(undrawn(booted(), took("follower", 5, 2), after)) == wrong


def test_an_observer_forgets_too() -> None:
    assert not undrawn(booted((2, 3)), took("observer", 5, 2), took("observer", 5))


# --- after a restart ----------------------------------------------------------------------

RESIGNED = booted(epoch=5, leader=ME, vote=ME)
CANDIDATE = booted(epoch=5, vote=ME)
FOLLOWER = booted(epoch=5, leader=2, vote=ME)
VOTED = booted(epoch=5, vote=2)
AHEAD = booted(epoch=5, leader=2, vote=ME, last_epoch=6)
NEW = booted()


@pytest.mark.parametrize(
    ("boot", "first", "wrong"),
    [
        (RESIGNED, took("leader", 5, ME), True),
        (RESIGNED, took("resigned", 5, ME), False),
        (CANDIDATE, took("leader", 5, ME), False),
        (CANDIDATE, took("unattached", 5), True),
        (FOLLOWER, took("follower", 5, 2), False),
        (FOLLOWER, took("unattached", 5), False),
        (FOLLOWER, took("follower", 5, 3), True),
        (FOLLOWER, took("follower", 4, 2), True),
        (VOTED, took("unattached", 5), False),
        (AHEAD, took("follower", 6, 3), False),
        (AHEAD, took("follower", 5, 2), True),
        (booted(epoch=5, leader=2, last_epoch=5), took("follower", 5, 3), True),
        (booted((2, 3), epoch=5, leader=ME), took("observer", 5, ME), False),
        (NEW, took("follower", 0, 2), False),
        (NEW, took("unattached", 9), False),
    ],
)
def test_what_was_saved_is_where_it_begins(boot: Booted, first: RoleTaken, wrong: bool) -> None:
    assert bool(undrawn(boot, first)) == wrong


@pytest.mark.parametrize("life", [(), (took("leader", 5, ME), took("candidate", 4))])
def test_a_process_of_which_the_beginning_is_not_known_is_not_judged(life: Any) -> None:
    assert list(roles(life, killed=False)) == [] and with_triggers(life, killed=False) == 0


# --- triggers -----------------------------------------------------------------------------

FOUR = (1, 2, 3, 4)


@pytest.mark.parametrize(
    ("life", "says"),
    [
        ((booted(), took("leader", 5, ME), elected(5, 1, 2)), ""),
        ((booted(), took("leader", 5, ME), elected(4, 1, 2)), "without having been elected"),
        ((booted(FOUR), took("leader", 5, ME), elected(5, 1, 2)), "the votes of [1, 2] only"),
        ((booted(), took("leader", 5, ME), elected(5, 1, 8, 9)), "the votes of [1, 8, 9] only"),
        ((booted(()), took("leader", 5, ME), elected(5, 1)), ""),
        ((booted(), took("candidate", 5), saved(5, ME)), ""),
        ((booted(epoch=5, vote=ME), took("candidate", 5)), ""),
        ((booted(epoch=5, vote=2), took("candidate", 5)), "saved no vote for itself"),
        ((booted(epoch=4, vote=ME), took("candidate", 5)), "saved no vote for itself"),
        ((booted(), took("candidate", 5), saved(4, ME), saved(5, 2)), "saved no vote for itself"),
        ((booted(), took("follower", 5, 2)), ""),
        ((booted(), took("follower", 5)), "follows nobody"),
        ((booted(), took("unattached", 5)), ""),
    ],
)
def test_what_has_to_have_been_before(life: Any, says: str) -> None:
    found = untriggered(*life)
    assert [says in each for each in found] == ([True] if says else [])


@pytest.mark.parametrize("role", get_args(Role))
def test_roles_that_need_something(role: Role) -> None:
    needs = role in ("leader", "candidate", "follower")
    assert with_triggers((booted(), took(role, 5)), killed=False) == needs


@pytest.mark.parametrize(
    ("at_ns", "killed", "judged"),
    [(SECOND_NS, True, 1), (SECOND_NS + 1, True, 0), (SECOND_NS + 1, False, 1)],
)
def test_what_a_killed_process_did_last_may_have_left_nothing(
    at_ns: int, killed: bool, judged: int
) -> None:
    life = [booted(), took("follower", 5, None, at_ns), took("unattached", 6, at_ns=2 * SECOND_NS)]
    found = [each for each in roles(life, killed=killed) if each.clause == ROLE_TRIGGERS.name]
    assert len(found) == with_triggers(life, killed=killed) == judged
