"""Who judges what: a run, and the checkers by which one task of Spark's judges it.

Where there are as many runs as cores, one task judges a run by all that are asked: what it looks at
is read once, and nothing of it is sent anywhere. Of fewer runs each has several tasks, and of a
long one each checker is a task's, or several, where it says by what a run can be cut.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import pyarrow as pa

from framework.checking.dealing import dealt, rows_looked_at
from framework.checking.stored import Held, Openable
from framework.plugins.checker import Batch, Checker, Judge, JudgesRuns, RunData, Table

SHORT_ROWS: Final = 1 << 16
"""Operations that are judged by key where they are read: with more, other cores could take some."""
_MOST_TASKS: Final = 4
"""Of rules over one short run: more cost more, as each reads it, than their parallelism gains."""
Members: TypeAlias = Mapping[str, Checker]
"""Checkers by their names."""


@dataclass(frozen=True, slots=True)
class ByItself:
    """One checker that is no member of a batch."""

    name: str
    checker: JudgesRuns
    budget_s: float

    @property
    def names(self) -> Sequence[str]:
        return [self.name]

    def rows(self, run: RunData) -> Iterator[Table]:
        found = self.checker.judge_run(run, self.budget_s)
        named = pa.repeat(pa.scalar(self.name, pa.string()), len(found))
        yield found.set_column(found.schema.get_field_index("checker"), "checker", named)

    def apart(self) -> Sequence["ByItself"]:
        return [self]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What one task is to do. `number`: of the run, among those that are checked together."""

    number: int
    run: str
    place: Openable
    judges: Sequence[Judge]

    @property
    def names(self) -> Sequence[str]:
        """Checkers, each as often as it judges here: once, or a part of the run each time."""
        return [name for judge in self.judges for name in judge.names]

    def apart(self) -> list["Assignment"]:
        """The same, a checker at a time."""
        return [replace(self, judges=[each]) for judge in self.judges for each in judge.apart()]


@dataclass(slots=True)
class Assigning:
    """Deals runs out. `cores`: that each run has to itself; `budget_s`: what `--budget` says."""

    cores: int
    budget_s: float
    _alike: dict[Any, Sequence[Judge]] = field(default_factory=dict)
    """Runs that are judged alike have the same judges, which travel once."""

    def split(self, held: Held, plugins: Members) -> tuple[list[Sequence[Judge]], Members]:
        """Of one run, what its tasks do; and the checkers that want a frame of many runs instead,
        from which Spark brings together what belongs together."""
        short = held.manifest.counts.rows <= SHORT_ROWS
        batches: dict[Batch, dict[str, Checker]] = {}
        alone: dict[str, Checker] = {}
        framed: dict[str, Checker] = {}
        for name, checker in sorted(plugins.items()):
            batch: Batch | None = getattr(checker, "batch", None)
            if batch is not None:
                batches.setdefault(batch, {})[name] = checker
            elif short and hasattr(checker, "judge_run"):
                alone[name] = checker
            else:
                framed[name] = checker
        if self.cores <= 1 and held.evidence_parts == 1:
            every = self._by_one_task(batches, alone)
            return ([every] if every else []), framed
        return self._by_several(held, batches, alone), framed

    def _by_one_task(self, batches: Mapping[Batch, Members], alone: Members) -> Sequence[Judge]:
        asked = tuple(id(each) for own in [*batches.values(), alone] for each in own.values())
        if asked not in self._alike:
            self._alike[asked] = [
                *(judge for batch, own in batches.items() for judge in batch.judges(own, 1)),
                *(self._by_itself(name, each) for name, each in alone.items()),
            ]
        return self._alike[asked]

    def _by_several(
        self, held: Held, batches: Mapping[Batch, Members], alone: Members
    ) -> list[Sequence[Judge]]:
        """The heaviest first: one that begins last keeps all waiting."""
        counts, parts = held.manifest.counts, held.evidence_parts
        found: list[tuple[int, Sequence[Judge]]] = [
            (counts.rows, [self._by_itself(name, each)]) for name, each in alone.items()
        ]
        for batch, members in batches.items():
            loads = {name: rows_looked_at(each, counts) for name, each in members.items()}
            tasks = len(members) if parts > 1 else min(_MOST_TASKS, self.cores)
            for names in dealt(members, loads, max(1, tasks)):
                own = {name: members[name] for name in names}
                judges = batch.judges(own, parts)
                load = sum(loads[name] for name in names) // len(judges)
                found += [(load, [each]) for each in judges]
        return [judges for _, judges in sorted(found, key=lambda each: -each[0])]

    def _by_itself(self, name: str, checker: Any) -> ByItself:
        return ByItself(name, checker, self.budget_s)
