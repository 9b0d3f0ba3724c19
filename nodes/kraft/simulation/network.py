"""A simulated network of requests and answers, in which messages are lost, late, doubled and
overtake each other, and links are dead for a while.

The fate of a message is drawn from a stream of its own link (sender, receiver), two numbers a
message, so that leaving something out of a schedule disturbs other links little.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from nodes.kraft.simulation.schedule import Mishap, Schedule

if TYPE_CHECKING:
    from nodes.kraft.simulation.machine import Machine
    from nodes.kraft.simulation.world import World

Reply = TypeVar("Reply")
Answer: TypeAlias = Callable[[Reply], None]
Handler: TypeAlias = Callable[["Machine", Answer[Reply]], None]
Settle: TypeAlias = Callable[[Reply | None, bool], None]
"""Called once with the reply, or None; and whether the request may have arrived."""

Link: TypeAlias = tuple[int, int]
_DELAYS: Final = 1 << 20


class Network:
    """`mishaps` is what became of messages, for a schedule that plays it again."""

    def __init__(self, world: World, schedule: Schedule) -> None:
        self._world = world
        self._profile = schedule.profile
        self._seed = schedule.seed
        self._streams: dict[Link, random.Random] = {}
        self._numbers: Counter[Link] = Counter()
        self._dead: Counter[Link] = Counter()
        self._reported = schedule.mishaps is not None
        self._given = {(m.sender, m.receiver, m.number): m for m in schedule.mishaps or ()}
        self.mishaps: list[Mishap] = []

    def cut(self, links: Iterable[Link], for_ms: int) -> None:
        """These links are dead for a while; what is on its way arrives."""
        links = tuple(links)
        self._dead.update(links)
        self._world.later(for_ms, lambda: self._dead.subtract(links))

    def heal(self) -> None:
        self._dead.clear()

    def call(
        self,
        caller: Machine,
        callee: Machine,
        handle: Handler[Reply],
        settle: Settle[Reply],
        *,
        timeout_ms: int,
        may_repeat: bool = False,
    ) -> None:
        """Send a request: `handle` at the callee, then `settle` at the caller, once. A process
        that is down refuses the connection. `may_repeat`: the request may arrive twice."""
        done = False
        incarnation = caller.incarnation

        def finish(reply: Reply | None, sent: bool) -> None:
            nonlocal done
            if not done and caller.incarnation == incarnation and caller.up:
                done = True
                settle(reply, sent)

        def answer(reply: Reply) -> None:
            self._carry(callee, caller, lambda: finish(reply, True), repeat=False)

        def arrive() -> None:
            handle(callee, answer)

        def refuse() -> None:
            self._carry(callee, caller, lambda: finish(None, False), repeat=False)

        self._world.at_machine(caller, timeout_ms, lambda: finish(None, True))
        self._carry(caller, callee, arrive, repeat=may_repeat, refuse=refuse)

    def _carry(
        self,
        sender: Machine,
        receiver: Machine,
        action: Callable[[], None],
        *,
        repeat: bool,
        refuse: Callable[[], None] | None = None,
    ) -> None:
        link = (sender.key, receiver.key)
        delay, mishap = self._fate(link)
        if self._dead[link] > 0:
            return
        kind = mishap.kind if mishap is not None else ""
        if kind == "lost":
            return
        if mishap is not None and kind == "late":
            delay += mishap.late_ms
        self._world.deliver(receiver, delay, action, refuse)
        if kind == "twice" and repeat:
            self._world.deliver(receiver, delay + 1 + delay // 2, action, None)

    def _fate(self, link: Link) -> tuple[int, Mishap | None]:
        """The delay of the link's next message, and what else happens to it."""
        stream = self._streams.get(link)
        if stream is None:
            stream = self._streams[link] = random.Random(f"{self._seed}/{link[0]}/{link[1]}")
        draw, spread = stream.random(), stream.random()
        number = self._numbers[link] = self._numbers[link] + 1
        delay = 1 + int(spread**3 * self._profile.delay_ms)
        if self._reported:
            return delay, self._given.get((*link, number))
        if not self._world.hostile:
            return delay, None
        profile = self._profile
        kind, late_ms = "", 0
        if draw < profile.lost:
            kind = "lost"
        elif draw < profile.lost + profile.twice:
            kind = "twice"
        elif draw < profile.lost + profile.twice + profile.late:
            kind, late_ms = "late", 1 + int(spread * profile.late_ms)
        if not kind:
            return delay, None
        mishap = Mishap(link[0], link[1], number, kind, late_ms, self._world.now)
        self.mishaps.append(mishap)
        return delay, mishap
