"""ISR changes that name a member which is certainly out of service (KIP-841), by what the clients
that play brokers asked for themselves.

A broker is fenced from its registration until it asks to be active, and again once it was let go;
nobody but its client asks for it. What is under way at the same time may come first, and what had
no answer may come at any time: it excuses whoever was taken in.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from checkers.folds.history.operations import end_of
from checkers.folds.history.values import alter_isr, heartbeat, heartbeat_answer
from framework.history.pairing import Operation

Life: TypeAlias = tuple[int, int]
"""A broker's id, and the epoch that it works under."""
NO_EPOCH = -1


@dataclass(slots=True)
class _Asked:
    """Of one life. `registered`: its first answer; `let_go`: those that granted its leave;
    `active`: where it asked to be active."""

    registered: Operation | None = None
    let_go: list[Operation] = field(default_factory=list)
    active: list[Operation] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Unfit:
    """`broker_id` was out of service under `epoch`, as the answer to `since` shows."""

    broker_id: int
    epoch: int
    since: Operation

    def __str__(self) -> str:
        how = "let go" if _leaves(self.since) else "registered, and had not asked to be active,"
        return (
            f"broker {self.broker_id} of epoch {self.epoch} had been {how} by operation "
            f"{self.since.index}"
        )


@dataclass(frozen=True, slots=True)
class UnfitMembers:
    """By what heartbeats asked for and were answered."""

    lives: Mapping[Life, _Asked]

    @classmethod
    def of(cls, operations: Iterable[Operation]) -> "UnfitMembers":
        lives: dict[Life, _Asked] = defaultdict(_Asked)
        for each in operations:
            if each.f == "heartbeat" and isinstance(each.value, dict):
                _learn(lives, each)
        return cls(dict(lives))

    def named_by(self, change: Operation) -> Iterator[Unfit]:
        """Members of the ISR that it asks for which may be in none, from before it began until
        it ended."""
        asked = alter_isr(change)
        for member, epoch in zip(asked["isr"], asked.get("isr_epochs") or (), strict=False):
            own = self.lives.get((member, epoch))
            since = None if own is None else _since(own, change)
            if since is not None:
                yield Unfit(member, epoch, since)


def _learn(lives: dict[Life, _Asked], operation: Operation) -> None:
    asked = heartbeat(operation)
    broker_id, epoch = asked["broker_id"], asked.get("broker_epoch", NO_EPOCH)
    if epoch != NO_EPOCH:
        life = lives[broker_id, epoch]
        if _leaves(operation):
            if operation.ok and heartbeat_answer(operation).get("next_state") == "leaving":
                life.let_go.append(operation)
        elif not operation.failed:
            life.active.append(operation)
    elif operation.ok and heartbeat_answer(operation).get("next_state") in ("starting", "fenced"):
        given = heartbeat_answer(operation).get("broker_epoch", NO_EPOCH)
        life = lives[broker_id, given]
        life.registered = life.registered or operation


def _leaves(operation: Operation) -> bool:
    return heartbeat(operation).get("target", "active") == "leaving"


def _since(life: _Asked, change: Operation) -> Operation | None:
    """What shows that it was out of service all the while."""
    earlier = [each for each in life.active if each.index < end_of(change)]
    first = life.registered
    if first is not None and first.precedes(change) and not earlier:
        return first
    gone = [each for each in life.let_go if each.precedes(change)]
    return next((each for each in gone[::-1] if _all_before(earlier, each)), None)


def _all_before(active: Sequence[Operation], let_go: Operation) -> bool:
    return all(each.ok and each.precedes(let_go) for each in active)
