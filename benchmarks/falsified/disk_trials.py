"""What is tried on the disks of a run: for each kind of evidence that they give, each field of it
and each way to lie, some rows, each on one disk, and on all disks that say the same. A seed fixes
which."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Final, TypeAlias

from benchmarks.falsified.disks import Disks, Facts, grouped
from benchmarks.falsified.judging import Judged, Retold
from benchmarks.falsified.lies import drawn
from benchmarks.falsified.telling import Lie, Telling, Trial, tellings
from framework.evidence.changes import Change
from framework.evidence.kinds import DISK, Evidence
from framework.evidence.partitions import PartitionAppended, PartitionOffsetSaved
from framework.evidence.processes import Failed
from framework.evidence.quorum import Appended

ALL: Final = "(all of it)"
"""The field that is all that a row says."""
EVERYWHERE: Final = "on all: "
Told: TypeAlias = Callable[[int], Retold]
"""By the number of a row, what is there instead, and what goes with it."""
Way: TypeAlias = Callable[[Disks, int, Random], Told]
"""Of a row, by its number, and chance: what is told instead of all that say the same."""
NEVER_THERE: Final[Facts] = {"wrong": ["nothing from 7 to 8"]}
"""What clean runs have nowhere."""
_MOST_TRIES: Final = 20
"""Rows that are looked at for one in which a change changes something."""


# --- all that a row says ------------------------------------------------------------------


def _missing(disks: Disks, number: int, chance: Random) -> Told:
    return disks.without


def _left_out(disks: Disks, number: int, chance: Random) -> Told:
    return disks.left_out


def _twice(disks: Disks, number: int, chance: Random) -> Told:
    return disks.again


def _cut(disks: Disks, number: int, chance: Random) -> Told:
    return disks.cut


def _earlier(disks: Disks, number: int, chance: Random) -> Told:
    """As it was when another process had ended."""
    return partial(disks.told, facts=drawn(disks.others(number)[0], chance))


def _anothers(disks: Disks, number: int, chance: Random) -> Told:
    """As another disk has it."""
    return partial(disks.told, facts=drawn(disks.others(number)[1], chance))


def _another_record(disks: Disks, number: int, chance: Random) -> Told:
    """Another of its kind stands there."""
    own = disks.facts[number]
    others = (disks.facts[each] for each in disks.kinds[type(disks.rows[number])])
    return partial(disks.told, facts=drawn((each for each in others if each != own), chance))


OF_LOGS: Final[Mapping[str, Way]] = {
    "missing": _missing,
    "left out": _left_out,
    "twice": _twice,
    "cut off here": _cut,
}
"""Of a record, with the batch that it is in."""
OF_FILES: Final[Mapping[str, Way]] = {
    "missing": _missing,
    "earlier": _earlier,
    "another's": _anothers,
}


def _ways(kind: type[Evidence]) -> Mapping[str, Way]:
    if issubclass(kind, Change):
        return {**OF_LOGS, "another's": _another_record}
    if issubclass(kind, PartitionAppended):
        return OF_LOGS
    return {} if issubclass(kind, Appended) else OF_FILES


# --- trials -------------------------------------------------------------------------------


def tried_on_disks(
    run: Judged, samples: int, seed: int, only: Sequence[str] = ()
) -> Iterator[Trial]:
    """All trials of a run; `only`: those of these kinds of evidence, in that order."""
    disks = Disks(run.left)
    named = grouped(map(_name, run.left))
    for kind in only or sorted({each.kind for each in disks.kinds}):
        for name in (each for each in sorted(named) if each.partition(" ")[0] == kind):
            for lie, retold in _lies(disks, name, named[name], samples, seed):
                where = sorted({run.left[number].ref for number in retold})
                yield Trial(lie, where, run.judge_disks(retold))
    if not only or Failed.kind in only:
        yield from _failed(run, seed)


def _name(row: Evidence) -> str:
    """Its kind; of offsets, which of them it is, too: each has a file of its own."""
    return f"{row.kind} {row.what}" if isinstance(row, PartitionOffsetSaved) else row.kind


def _lies(
    disks: Disks, name: str, numbers: Sequence[int], samples: int, seed: int
) -> Iterator[tuple[Lie, Retold]]:
    facts = [disks.facts[each] for each in numbers]
    for change, way in _ways(type(disks.rows[numbers[0]])).items():
        yield from _each(disks, Lie(("disk", name), ALL, change), numbers, samples, seed, way)
    unheard = {field: value for field, value in NEVER_THERE.items() if field in facts[0]}
    for telling in tellings([*facts, unheard]):
        if telling.field != "what":
            lie = Lie(("disk", name), telling.field, telling.name)
            yield from _each(disks, lie, numbers, samples, seed, _of_field(telling))


def _of_field(telling: Telling) -> Way:
    def way(disks: Disks, number: int, chance: Random) -> Told:
        return partial(disks.told, facts=telling(disks.facts[number], chance))

    return way


def _each(
    disks: Disks, lie: Lie, numbers: Sequence[int], samples: int, seed: int, way: Way
) -> Iterator[tuple[Lie, Retold]]:
    """On one disk, so many times, and the same on all that say the same."""
    chance = Random(f"{seed} {lie}")
    for number in chance.sample(numbers, min(len(numbers), _MOST_TRIES)):
        if not samples:
            return
        try:
            told = way(disks, number, chance)
        except LookupError:
            continue
        samples -= 1
        yield lie, told(number)
        alike = disks.alike(number)
        if len(alike) > 1:
            everywhere = {key: rows for each in alike for key, rows in told(each).items()}
            yield replace(lie, change=EVERYWHERE + lie.change), everywhere


def _failed(run: Judged, seed: int) -> Iterator[Trial]:
    """A traceback behind all else in a node's log."""
    lie = Lie(("disk", Failed.kind), ALL, "one too many")
    number = Random(f"{seed} {lie}").randrange(len(run.left))
    last = run.left[number]
    told = Failed(
        node=last.node,
        incarnation=last.incarnation,
        seq=last.seq,
        source=DISK,
        within_ns=last.within_ns,
        ref=f"nodes/{last.node}/node.log:1",
        where="node.log",
        message="it gave up: RuntimeError",
    )
    yield Trial(lie, [told.ref], run.judge_disks({number: [last, told]}))
