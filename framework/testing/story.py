"""Small runs written by hand, for rules: operations, evidence, the nemesis and its faults.

    >>> story = Story()
    >>> story.op("write", "x", 1)
    >>> story.tell(Elected, "n1", epoch=3)
    >>> with story.fault():
    ...     story.op("read", "x", result=1)
    >>> my_rule(story.run_events())

Everything is on one clock, and what follows is a ms later.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, TypeVar

from framework.evidence.kinds import Evidence
from framework.evidence.run_events import FaultRecord, NemesisEvent, RunEvents
from framework.history.event import CompletionType, Json, observer_of
from framework.history.pairing import Operation, Phase

MS: Final = 1_000_000
Kind = TypeVar("Kind", bound=Evidence)


@dataclass
class Story:
    """Appends what happens, in order. Methods return what they added."""

    index: int = 0
    now_ns: int = 0
    operations: list[Operation] = field(default_factory=list)
    observations: list[Operation] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    nemesis: list[NemesisEvent] = field(default_factory=list)
    faults: list[FaultRecord] = field(default_factory=list)
    plan: dict[str, Any] = field(default_factory=dict)
    phase: Phase = "main"
    lives: dict[str, int] = field(default_factory=dict)
    """Node -> how often it was restarted."""
    HOME: ClassVar[str] = "n1"
    """The node that clients talk to, where nothing else is said."""

    def wait(self, ms: float) -> None:
        """Let time pass in which nothing happens."""
        self.now_ns += round(ms * MS)

    # --- clients

    def invoke(self, f: str, key: Json, value: Json = None, *, node: str = "") -> Operation:
        """By a process of its own. Pending, until it is completed."""
        operation = Operation(
            index=self._next(),
            process=len(self.operations),
            f=f,
            key=key,
            value=value,
            node=node or self.HOME,
            invoked_ns=self.now_ns,
            phase=self.phase,
        )
        self.operations.append(operation)
        return operation

    def complete(
        self,
        operation: Operation,
        type: CompletionType = "ok",
        result: Json = None,
        error: str | None = None,
        ext: Mapping[str, Json] | None = None,
    ) -> Operation:
        """The end of what was invoked; `error` is a code."""
        done = replace(
            operation,
            end=self._next(),
            type=type,
            result=result,
            error=None if error is None else (error, ""),
            ext=ext or {},
            completed_ns=self.now_ns,
        )
        self.operations[self.operations.index(operation)] = done
        return done

    def op(
        self,
        f: str,
        key: Json,
        value: Json = None,
        result: Json = None,
        *,
        type: CompletionType = "ok",
        error: str | None = None,
        node: str = "",
        ext: Mapping[str, Json] | None = None,
    ) -> Operation:
        """Invoked and completed, with nothing between."""
        return self.complete(self.invoke(f, key, value, node=node), type, result, error, ext)

    # --- observers

    def ask(
        self,
        node: str,
        f: str,
        result: Json = None,
        *,
        type: CompletionType = "ok",
        error: str | None = None,
    ) -> Operation:
        """The node's observer asks, and is answered, with nothing between."""
        asked = self.op(f, None, None, result, type=type, error=error, node=node)
        self.operations.remove(asked)
        asked = replace(asked, process=observer_of(node))
        self.observations.append(asked)
        return asked

    # --- nodes

    def tell(self, kind: type[Kind], node: str, **fields: Any) -> Kind:
        """Evidence of what a node does now. `fields`: those of the kind, and any other of
        `Evidence`."""
        self._next()
        common = {
            "incarnation": f"{node}-{self.lives.get(node, 0)}",
            "seq": sum(each.node == node for each in self.evidence),
            "at_ns": self.now_ns,
            "ref": f"nodes/{node}:{len(self.evidence) + 1}",
        }
        reported = kind(node=node, **{**common, **fields})
        self.evidence.append(reported)
        return reported

    def restart(self, node: str) -> None:
        """What the node tells from now on is of another process."""
        self.lives[node] = self.lives.get(node, 0) + 1

    # --- the nemesis

    def mark(self, f: str, value: Json = None, type: str = "info") -> NemesisEvent:
        """An event of the nemesis process."""
        event = NemesisEvent(index=self._next(), time_ns=self.now_ns, type=type, f=f, value=value)
        self.nemesis.append(event)
        return event

    @contextmanager
    def fault(self, name: str = "partition", **fields: Any) -> Iterator[int]:
        """A fault that holds meanwhile; its id. `fields`: others of `FaultRecord`, as
        `effective=None`."""
        number = len(self.faults) + 1
        self.mark(f"start-{name}")
        since = self.now_ns
        yield number
        self.mark(f"stop-{name}")
        known = {"effective": True, "healed": True, "injected_ns": since, "healed_ns": self.now_ns}
        self.faults.append(FaultRecord(id=number, fault=name, **{**known, **fields}))

    def final(self, *, settled: bool = True) -> None:
        """The end of the main phase: what follows are final reads."""
        self.mark("phase", "settle")
        missing = None if settled else "n1 is silent"
        self.mark("settle", {"settled": settled, "missing": missing, "looks": 2 * settled})
        self.mark("phase", "final")
        self.phase = "final"

    # --- all of it

    def run_events(self) -> RunEvents:
        """The run as a rule is given it."""
        return RunEvents(
            operations=sorted(self.operations, key=lambda operation: operation.index),
            observations=list(self.observations),
            evidence=sorted(self.evidence, key=lambda reported: reported.place),
            nemesis=list(self.nemesis),
            faults=list(self.faults),
            plan=self.plan,
        )

    def _next(self) -> int:
        self.index += 1
        self.now_ns += MS
        return self.index - 1
