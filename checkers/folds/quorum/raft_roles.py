"""The roles of one replica follow KIP-595's transitions, with KIP-996's prospective (D.14, B.2).

What is told of a role is what a step of the core came to, so an edge may be several of the drawn
ones at once (a voter that wins alone; one that hears of a newer epoch and of its leader). Epochs
never fall. Within an epoch a leader, once known, stays the leader.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from framework.checking.findings import finding
from framework.evidence.kinds import Evidence
from framework.evidence.processes import Booted, Exited
from framework.evidence.quorum import Elected, EpochSaved, Role, RoleTaken
from framework.plugins.checker import EVENTS, Clause, Finding

KINDS: Final = (Booted, Exited, RoleTaken, Elected, EpochSaved)

SAME_EPOCH: Final[dict[Role, frozenset[Role]]] = {
    "unattached": frozenset({"unattached", "prospective", "follower"}),
    "prospective": frozenset({"prospective", "unattached", "follower"}),
    "follower": frozenset({"follower", "prospective", "unattached"}),
    "candidate": frozenset({"candidate", "leader", "follower", "prospective"}),
    "leader": frozenset({"leader", "resigned"}),
    "resigned": frozenset({"resigned", "follower"}),
}
"""What may follow a role in the same epoch."""

NEXT_EPOCH: Final[dict[Role, frozenset[Role]]] = {
    "unattached": frozenset({"unattached", "candidate", "follower"}),
    "prospective": frozenset({"unattached", "candidate", "follower"}),
    "follower": frozenset({"unattached", "candidate", "follower"}),
    "candidate": frozenset({"unattached", "candidate", "follower"}),
    "leader": frozenset({"unattached", "follower"}),
    "resigned": frozenset({"unattached", "candidate", "follower", "prospective"}),
}
"""What may follow it in a higher one."""

FORGETFUL: Final = frozenset[Role]({"unattached", "prospective", "observer"})
"""Roles that may have lost sight of the epoch's leader."""
LOST_NS: Final = 1_000_000_000
"""What a killed process did in its last moments may have left nothing (D.0)."""
TRIGGERED: Final = frozenset[Role]({"leader", "candidate", "follower"})

ROLES: Final = Clause(
    name="drawn-roles",
    says="Each change of a replica's role is one that is drawn; epochs do not fall, and an epoch "
    "has one leader",
    compares="voters of the plan whose roles were followed",
    floor=2,
    because="all of the plan's: each took a role at least",
    sources=(EVENTS,),
    blind="roles that came and went within one step",
)
ROLE_TRIGGERS: Final = Clause(
    name="triggered-roles",
    says="A leader was elected by a majority, a candidate has saved its vote for itself, and a "
    "follower knows whom it follows",
    compares="such roles held against what their process had done",
    floor=2,
    because="one may have met its trigger by chance",
    sources=(EVENTS,),
    blind="the last second of a killed process",
)


def roles(life: Sequence[Evidence], *, killed: bool) -> Iterator[Finding]:
    """What is known of one process, in order. `killed`: it did not end in an orderly way."""
    boot = life[0] if life else None
    if not isinstance(boot, Booted):
        return
    me, voters = boot.replica_id, boot.voters
    before: RoleTaken | None = None
    role, epoch, leader = _at_start(boot)
    certain_ns = _certain_ns(life, killed=killed)
    for each in life:
        if not isinstance(each, RoleTaken):
            continue
        to = each.role
        witnesses = [before or boot, each]
        what = (
            f"{each.node} went from {role or 'its start'} of epoch {epoch} to {to} of epoch "
            f"{each.epoch}"
        )
        if each.epoch < epoch:
            yield finding(f"{what}: epochs do not fall", evidence=witnesses, clause=ROLES.name)
        elif (to == "observer") != (me not in voters):
            who = "a voter" if me in voters else "no voter"
            yield finding(f"{what}, and is {who}", evidence=witnesses, clause=ROLES.name)
        elif role is not None and not _drawn(role, to, each.epoch - epoch, len(voters)):
            yield finding(
                f"{what}: no such transition is drawn", evidence=witnesses, clause=ROLES.name
            )
        forgets = each.leader is None and to in FORGETFUL
        if each.epoch == epoch and leader not in (None, each.leader) and not forgets:
            yield finding(
                f"{what}, and takes {each.leader} for its leader after {leader}",
                evidence=witnesses,
                clause=ROLES.name,
            )
        if each.at_ns <= certain_ns:
            yield from _trigger(each, life, boot)
        before, role, epoch, leader = each, to, each.epoch, each.leader


def with_triggers(life: Sequence[Evidence], *, killed: bool) -> int:
    """How many of its roles need something to have been before."""
    if not life or not isinstance(life[0], Booted):
        return 0
    certain_ns = _certain_ns(life, killed=killed)
    return sum(
        isinstance(each, RoleTaken) and each.role in TRIGGERED and each.at_ns <= certain_ns
        for each in life
    )


def _certain_ns(life: Sequence[Evidence], *, killed: bool) -> int:
    """Until when all that the process did was told."""
    return life[-1].at_ns - LOST_NS if killed else life[-1].at_ns


def _at_start(boot: Booted) -> tuple[Role | None, int, int | None]:
    """(role, epoch, leader) after a restart, by what was saved (B.2.16). A log that is ahead of
    the saved epoch counts instead of it."""
    epoch, last = boot.saved_epoch, boot.last_epoch or 0
    if epoch is None:
        return None, 0, None
    if epoch < last:
        return None, last, None
    me = boot.replica_id
    if me in boot.voters:
        if boot.saved_leader == me:
            return "resigned", epoch, boot.saved_leader
        if boot.saved_vote == me and boot.saved_leader is None:
            return "candidate", epoch, None
    return None, epoch, boot.saved_leader


def _drawn(role: Role, to: Role, raised: int, voters: int) -> bool:
    if role == "observer" or to == "observer":
        return role == to
    if voters == 1 and to == "leader":
        return True
    return to in (NEXT_EPOCH if raised else SAME_EPOCH)[role]


def _trigger(taken: RoleTaken, life: Sequence[Evidence], boot: Booted) -> Iterator[Finding]:
    """A leader was elected; a candidate has voted for itself, and saved that; a follower has
    somebody to follow."""
    me, epoch = boot.replica_id, taken.epoch
    match taken.role:
        case "leader":
            won = [each for each in life if isinstance(each, Elected) and each.epoch == epoch]
            voters = set(boot.voters)
            if not won:
                yield finding(
                    f"{taken.node} leads epoch {epoch} without having been elected",
                    evidence=[taken],
                    clause=ROLE_TRIGGERS.name,
                )
            elif voters and 2 * len(voters & set(won[0].votes)) <= len(voters):
                yield finding(
                    f"{taken.node} leads epoch {epoch} with the votes of {list(won[0].votes)} "
                    f"only, of voters {sorted(voters)}",
                    evidence=[won[0], taken],
                    clause=ROLE_TRIGGERS.name,
                )
        case "candidate":
            saved = {(each.epoch, each.vote) for each in life if isinstance(each, EpochSaved)}
            if (epoch, me) not in saved | {(boot.saved_epoch, boot.saved_vote)}:
                yield finding(
                    f"{taken.node} is a candidate of epoch {epoch}, and has saved no vote for "
                    f"itself",
                    evidence=[taken],
                    clause=ROLE_TRIGGERS.name,
                )
        case "follower" if taken.leader is None:
            yield finding(
                f"{taken.node} follows nobody in epoch {epoch}",
                evidence=[taken],
                clause=ROLE_TRIGGERS.name,
            )
