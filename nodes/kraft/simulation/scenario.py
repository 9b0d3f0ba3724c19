"""A story told by hand: what is done to a cluster and when, and what comes of it.

    run = scenario(
        Operation(at=1500, client=1, f="create", topic="a", via=11),
        Crash(at=2500, victim=LEADER, down_ms=500, keep=0.0),
        brokers=1,
    )
    run.check()
    assert run.when("c2", "leads epoch 2") > 2500

Nothing happens but what is listed: messages take `delay_ms`, none is lost, and nobody writes
snapshots unless asked to. Afterwards there is peace, as in every run, in which the cluster has to
become whole again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Final

from nodes.kraft.simulation.schedule import Item, Profile, Schedule
from nodes.kraft.simulation.violation import Violation
from nodes.kraft.simulation.world import World

SEED: Final = 1
"""Of delays and election timeouts, which are drawn in a scenario as well."""
_quiet: Final[Callable[..., Profile]] = partial(Profile, snapshot_records=1000, batches_a_fetch=100)


@dataclass(frozen=True, slots=True)
class Event:
    """`who`: c1 is a controller, b11 a broker, b11' a second process with its id."""

    at_ms: int
    who: str
    what: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Of a client's operation: type (ok, fail, info) and error code. `f`, `topic`: which."""

    f: str
    topic: str
    type: str
    error_code: str | None


@dataclass(frozen=True, slots=True)
class Run:
    """What came of a scenario. `violation`: the first rule that was broken."""

    violation: Violation | None
    events: tuple[Event, ...]
    answers: tuple[Answer, ...]

    def check(self) -> None:
        """Raises `AssertionError` with the whole story where a rule was broken."""
        assert self.violation is None, f"{self.violation}\n{self}"

    def when(self, who: str, what: str) -> int:
        """At how many ms that was first said of a machine. Raises `AssertionError` where it never
        was."""
        for event in self.events:
            if event.who == who and what in event.what:
                return event.at_ms
        raise AssertionError(f"never: {who} {what}\n{self}")

    def types(self, f: str, topic: str) -> list[str]:
        """How the operations of that kind on the topic ended, in the order of their beginning."""
        return [each.type for each in self.answers if (each.f, each.topic) == (f, topic)]

    def __str__(self) -> str:
        return "\n".join(f"{each.at_ms:6d} ms  {each.who}: {each.what}" for each in self.events)


def scenario(
    *items: Item,
    seed: int = SEED,
    broken: Callable[[], AbstractContextManager[object]] = nullcontext,
    **profile: float,
) -> Run:
    """Play the items. `profile`: fields of `Profile`. `broken`: a variant's, to see a rule
    break."""
    schedule = Schedule(seed, _quiet(**profile), tuple(items))
    events: list[Event] = []
    violation = None
    with broken():
        world = World(schedule, trace=lambda *event: events.append(Event(*event)))
        try:
            world.run()
        except Violation as error:
            violation = error
    answers = (
        Answer(row["f"], row["key"].strip('"'), row["type"], row["error_code"])
        for row in world.clients.rows
    )
    return Run(violation, tuple(events), tuple(answers))
