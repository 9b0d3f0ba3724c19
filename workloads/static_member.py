"""One static member (KIP-345), alone in its group: it joins, lives, is restarted, and comes back;
and what an earlier process of it says afterwards.

Nobody else is in its group, so that whatever begins a new generation there is the member's own
doing, or its silence.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Final

from framework.generators import op
from framework.history.event import Event, Invocation, Process
from workloads.kafka.operations.groups import Assigned, Commit, InstanceAct, InstanceJoin

RETURN_SHARE, ZOMBIE_SHARE, LEAVE_SHARE = 0.35, 0.35, 0.03
"""Of what is done of a member; the rest are commits and heartbeats of its process."""
FENCED: Final = "fenced"
FORMER: Final = 4
"""Processes that are remembered after their end."""
OFFSET: Final = 0
"""What is committed: the beginning, which every partition has."""


@dataclass(frozen=True, slots=True)
class Life:
    """Of one process of the instance, since the coordinator let it in."""

    name: str
    id: str
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticMember:
    """What is known of it. `key`: of the partition of which it commits. `now`: None until a process
    is let in. `asking`: the operation that is under way, None where there is none; `lives`:
    processes that were begun."""

    group: str
    key: str
    session_ms: int
    now: Life | None = None
    former: tuple[Life, ...] = ()
    asking: Invocation | None = None
    lives: int = 0

    @property
    def instance(self) -> str:
        return f"{self.group}-instance"

    @property
    def asked_by(self) -> Process | None:
        """Who does something for it at the moment."""
        return None if self.asking is None else self.asking.process

    def next(self, rng: random.Random) -> Invocation:
        """What is done of it next."""
        draw = rng.random()
        if self.now is None or draw < RETURN_SHARE:
            return self._join()
        if draw < RETURN_SHARE + ZOMBIE_SHARE and self.former:
            return self._lives(rng, rng.choice(self.former), FENCED)
        if draw > 1 - LEAVE_SHARE:
            return op("leave", value=self._act(self.now).to_json())
        return self._lives(rng, self.now)

    def _join(self) -> Invocation:
        value = InstanceJoin(
            group=self.group,
            member=f"{self.group}-{self.lives}",
            instance=self.instance,
            session_ms=self.session_ms,
        )
        return op("join", value=value.to_json())

    def _lives(self, rng: random.Random, process: Life, zombie: str | None = None) -> Invocation:
        """A commit or a heartbeat, by that process."""
        if rng.random() < 0.5:
            return op("beat", value=self._act(process, zombie).to_json())
        value = Commit(
            group=self.group,
            member=process.name,
            generation=process.generation,
            offset=OFFSET,
            id=process.id,
            instance=self.instance,
            zombie=zombie,
        )
        return op("commit", key=self.key, value=value.to_json())

    def _act(self, process: Life, zombie: str | None = None) -> InstanceAct:
        return InstanceAct(
            group=self.group,
            member=process.name,
            instance=self.instance,
            generation=process.generation,
            id=process.id,
            zombie=zombie,
        )

    def begun(self, chosen: Invocation) -> StaticMember:
        """With that operation under way."""
        lives = self.lives + (chosen.f == "join")
        return replace(self, asking=chosen, lives=lives)

    def after(self, event: Event) -> StaticMember:
        """After its end. Who leaves is no process of it any more, and who joins follows another;
        where it is not known whether one did, the next one joins again."""
        assert self.asking is not None
        over = replace(self, asking=None)
        if self.asking.f not in ("join", "leave"):
            return over
        gone = () if self.now is None else (self.now,)
        if self.asking.f == "leave" or event.type != "ok":
            return replace(over, now=None, former=(*self.former, *gone)[-FORMER:])
        given = Assigned.from_json(event.value)
        process = Life(str(self.asking.value["member"]), given.id, given.generation)
        return replace(over, now=process, former=(*self.former, *gone)[-FORMER:])
