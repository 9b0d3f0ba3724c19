"""Whether a run has done enough to be judged when its time is over.

On a busy machine little succeeds within the time that a quiet one needs for much more, and what
checkers have too little of is UNKNOWN. So such a run goes on (`Test.longer_s`); without faults,
once those that bit are enough: what was down nearly all the time answers nobody. What is enough is
said by checkers, each for itself; this is only what most of them begin with. A fault that bit often
enough makes way for those that did not: they wait for nodes that it has taken down.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from framework.history.event import NEMESIS, Event, Invocation, Json
from framework.plugins.fault import FaultOp
from framework.plugins.outcomes import NEEDLESS

ENOUGH: Final = 10
"""Successes a kind of operation, on average; answers of each, of which half of those that were
asked for will do; and of those a quarter that say what is, rather than that somebody else is to be
asked, or of all that were asked for a sixth."""
_OK: Final = 2
"""Successes of each kind, one where hardly any was asked for: no clause goes by one sighting. What
need not be done is done."""
_TRIES: Final = 3
"""Of a kind that hardly anybody asks for, so many have to meet no fault before it is to succeed."""
_BITTEN: Final = 2
"""Injections that bit, of all faults together."""


@dataclass(slots=True, kw_only=True)
class Enough:
    """What clients and faults of a run have come to so far. Fed with its events, as they happen;
    `say` is given, once, why it goes on. `faults`: those that were asked for. `longer_s`: how long
    it goes on at most."""

    say: Callable[[str], None]
    longer_s: float
    faults: Sequence[str] = ()
    went_on: str = ""
    """Why; empty: it did not."""
    _asked: Counter[str] = field(default_factory=Counter)
    _answered: Counter[str] = field(default_factory=Counter)
    _telling: Counter[str] = field(default_factory=Counter)
    _ok: Counter[str] = field(default_factory=Counter)
    _fair: Counter[str] = field(default_factory=Counter)
    """That were ok, or met no fault."""
    _since: Counter[str] = field(default_factory=Counter)
    _ok_since: Counter[str] = field(default_factory=Counter)
    """That ended since the first fault, and those that were ok."""
    _undisturbed: set[int] = field(default_factory=set)
    """Clients whose operation has met no fault yet."""
    _held: set[str] = field(default_factory=set)
    """Faults that hold."""
    _injected: Counter[str] = field(default_factory=Counter)
    _bit: Counter[str] = field(default_factory=Counter)

    def event(self, event: Event) -> None:
        if event.process == NEMESIS:
            self._fault(event)
        elif isinstance(event.process, int) and event.type == "invoke":
            self._asked[event.f] += 1
            if not self._held:
                self._undisturbed.add(event.process)
        elif isinstance(event.process, int):
            self._completed(event, event.process in self._undisturbed)
            self._undisturbed.discard(event.process)

    def _completed(self, event: Event, undisturbed: bool) -> None:
        f, done = event.f, event.type == "ok" or event.asserts == NEEDLESS
        self._answered[f] += event.type in ("ok", "fail")
        self._telling[f] += event.type == "ok" or event.asserts is not None
        self._ok[f] += done
        self._fair[f] += done or undisturbed
        if self._injected:
            self._since[f] += 1
            self._ok_since[f] += done

    def _fault(self, event: Event) -> None:
        fault = FaultOp.parse(event.f)
        value: Json = event.value
        if fault is None:
            return
        if fault.verb == "start":
            self._held.add(fault.fault)
            self._undisturbed.clear()
        if event.type == "invoke":
            return
        if fault.verb == "stop":
            self._held.discard(fault.fault)
        elif isinstance(value, Mapping) and "skipped" not in value:
            self._injected[fault.fault] += 1
            self._bit[fault.fault] += value.get("bit") is True

    def wanting(self) -> list[str]:
        """What there is too little of, in a few words each."""
        return [*self._few_operations(), *self._few_faults()]

    def wants_faults(self) -> bool:
        """Whether it is faults that there are too few of, too."""
        return any(self._few_faults())

    def goes_on(self) -> bool:
        """Whether it does, now that its time is over."""
        wanting = self.wanting()
        if wanting and not self.went_on:
            self.went_on = "; ".join(wanting)
            most = f"{self.longer_s:g} s at most"
            self.say(f"too little was done, it goes on ({most}): {self.went_on}")
        return bool(wanting)

    def lets(self, asked: Invocation) -> bool:
        """Whether the nemesis may do that: what begins a fault, once the time is over, only where
        too few of that one bit, or of all together."""
        fault = FaultOp.parse(asked.f)
        if not self.went_on or fault is None or fault.verb != "start":
            return True
        owed = self._owed()
        return not owed or fault.fault in owed

    def _owed(self) -> list[str]:
        """Faults that bit in too few of their injections."""
        asked_for = sorted({*self.faults, *self._injected})
        return [
            fault
            for fault in asked_for
            if self._bit[fault] < max(1, -(-self._injected[fault] // 2))
        ]

    def _few_operations(self) -> Iterator[str]:
        for f, asked in sorted(self._asked.items()):
            if asked < ENOUGH and self._fair[f] < min(_TRIES, asked):
                continue  # whether it works cannot be said of so few: others met faults
            answered = self._answered[f]
            least = max(1, min(ENOUGH, asked // 2))
            telling = min(ENOUGH, max(answered // 4, asked // 6))
            if answered < least:
                yield f"{answered} of {asked} {f} answered, {least} are enough"
            elif self._telling[f] < telling:
                yield f"{self._telling[f]} of {asked} {f} told anything, {telling} are enough"
            elif self._ok[f] < (wanted := _OK if asked > ENOUGH else 1):
                yield f"{self._ok[f]} of {asked} {f} ok, {wanted} are enough"
            elif self._since[f] >= _TRIES and not self._ok_since[f]:
                yield f"no {f} ok since the first fault"
        least = ENOUGH * len(self._asked)
        if self._ok.total() < least:
            yield f"{self._ok.total()} operations ok, {least} are enough"

    def _few_faults(self) -> Iterator[str]:
        for fault in self._owed():
            yield f"{fault} bit in {self._bit[fault]} of {self._injected[fault]} injections"
        if self._injected and self._bit.total() < _BITTEN:
            yield f"{self._bit.total()} injections bit, {_BITTEN} are enough"
