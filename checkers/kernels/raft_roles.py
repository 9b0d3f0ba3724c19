"""The roles of one replica follow KIP-595's transitions, with KIP-996's prospective (D.14, B.2).

A `role` event tells what a step of the core came to, so an edge may be several of the drawn ones
at once (a voter that wins alone; one that hears of a newer epoch and of its leader). Epochs
never fall. Within an epoch a leader, once known, stays the leader.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from checkers.kernels.evidence import NodeEvent, finding
from framework.plugins.checker import Finding

EVENTS: Final = ("boot", "exit", "role", "elected", "epoch")

SAME_EPOCH: Final[dict[str, frozenset[str]]] = {
    "unattached": frozenset({"unattached", "prospective", "follower"}),
    "prospective": frozenset({"prospective", "unattached", "follower"}),
    "follower": frozenset({"follower", "prospective", "unattached"}),
    "candidate": frozenset({"candidate", "leader", "follower", "prospective"}),
    "leader": frozenset({"leader", "resigned"}),
    "resigned": frozenset({"resigned", "follower"}),
}
"""What may follow a role in the same epoch."""

NEXT_EPOCH: Final[dict[str, frozenset[str]]] = {
    "unattached": frozenset({"unattached", "candidate", "follower"}),
    "prospective": frozenset({"unattached", "candidate", "follower"}),
    "follower": frozenset({"unattached", "candidate", "follower"}),
    "candidate": frozenset({"unattached", "candidate", "follower"}),
    "leader": frozenset({"unattached", "follower"}),
    "resigned": frozenset({"unattached", "candidate", "follower", "prospective"}),
}
"""What may follow it in a higher one."""

FORGETFUL: Final = frozenset({"unattached", "prospective", "observer"})
"""Roles that may have lost sight of the epoch's leader."""
NONE: Final = -1
LOST_NS: Final = 1_000_000_000
"""What a killed process did in its last moments may have left no line (D.0)."""


def roles(life: Sequence[NodeEvent], *, killed: bool) -> Iterator[Finding]:
    """The events of one process, in order. `killed`: it did not end in an orderly way."""
    boot = life[0] if life and life[0].type == "boot" else None
    if boot is None:
        return
    me = boot.fields.get("replica_id")
    voters = boot.fields.get("voters") or []
    before: NodeEvent | None = None
    role, epoch, leader = _at_start(boot)
    certain_ns = life[-1].time_ns - LOST_NS if killed else life[-1].time_ns
    for event in life:
        if event.type != "role":
            continue
        fields = event.fields
        to = fields["role"]
        witnesses = [before or boot, event]
        what = (
            f"{event.node} went from {role or 'its start'} of epoch {epoch} to {to} of epoch "
            f"{fields['epoch']}"
        )
        if fields["epoch"] < epoch:
            yield finding(f"{what}: epochs do not fall", events=witnesses)
        elif (to == "observer") != (me not in voters):
            who = "a voter" if me in voters else "no voter"
            yield finding(f"{what}, and is {who}", events=witnesses)
        elif role is not None and not _drawn(role, to, fields["epoch"] - epoch, len(voters)):
            yield finding(f"{what}: no such transition is drawn", events=witnesses)
        forgets = fields["leader_id"] == NONE and to in FORGETFUL
        if fields["epoch"] == epoch and leader not in (NONE, fields["leader_id"]) and not forgets:
            yield finding(
                f"{what}, and takes {fields['leader_id']} for its leader after {leader}",
                events=witnesses,
            )
        if event.time_ns <= certain_ns:
            yield from _trigger(event, life, boot)
        before, role, epoch, leader = event, to, fields["epoch"], fields["leader_id"]


def _at_start(boot: NodeEvent) -> tuple[str | None, int, int]:
    """(role, epoch, leader) after a restart, by what was saved (B.2.16). A log that is ahead of
    the saved epoch counts instead of it."""
    saved = boot.fields.get("quorum")
    last = boot.fields.get("last_epoch") or 0
    if saved is None or saved["epoch"] < last:
        return None, last if saved is not None else 0, NONE
    me = boot.fields.get("replica_id")
    if me not in (boot.fields.get("voters") or []):
        return None, saved["epoch"], saved["leader_id"]
    if saved["leader_id"] == me:
        return "resigned", saved["epoch"], saved["leader_id"]
    if saved["voted_id"] == me and saved["leader_id"] == NONE:
        return "candidate", saved["epoch"], saved["leader_id"]
    return None, saved["epoch"], saved["leader_id"]


def _drawn(role: str, to: str, raised: int, voters: int) -> bool:
    if role == "observer" or to == "observer":
        return role == to
    if voters == 1 and to == "leader":
        return True
    return to in (NEXT_EPOCH if raised else SAME_EPOCH).get(role, frozenset())


def _trigger(event: NodeEvent, life: Sequence[NodeEvent], boot: NodeEvent) -> Iterator[Finding]:
    """A leader was elected; a candidate has voted for itself, and saved that; a follower has
    somebody to follow."""
    fields, me = event.fields, boot.fields.get("replica_id")
    match fields["role"]:
        case "leader":
            won = [
                each
                for each in life
                if each.type == "elected" and each.fields["epoch"] == fields["epoch"]
            ]
            voters = set(boot.fields.get("voters") or ())
            if not won:
                yield finding(
                    f"{event.node} leads epoch {fields['epoch']} without having been elected",
                    events=[event],
                )
            elif voters and 2 * len(voters & set(won[0].fields["votes"])) <= len(voters):
                yield finding(
                    f"{event.node} leads epoch {fields['epoch']} with the votes of "
                    f"{won[0].fields['votes']} only, of voters {sorted(voters)}",
                    events=[won[0], event],
                )
        case "candidate":
            saved = [each.fields for each in life if each.type == "epoch"]
            saved.append(boot.fields.get("quorum") or {})
            if not any(
                (each.get("epoch"), each.get("voted_id")) == (fields["epoch"], me) for each in saved
            ):
                yield finding(
                    f"{event.node} is a candidate of epoch {fields['epoch']}, and has saved no "
                    f"vote for itself",
                    events=[event],
                )
        case "follower" if fields["leader_id"] == NONE:
            yield finding(f"{event.node} follows nobody in epoch {fields['epoch']}", events=[event])
