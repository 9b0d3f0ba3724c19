"""Levels of features by the log (KIP-584): what it made of what was asked for where they rise and
fall, and what brokers tell of them.

A feature's level is a register, as a configuration's setting is (`configured`); 0: none. The
records before any broker is registered are how the cluster began.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, TypeAlias

from checkers.folds.history.values import features, update_feature
from checkers.folds.metadata_log.committed_log import CommittedLog
from checkers.folds.requests.configured import Write, Writes, last_writes, may_be, ungranted
from checkers.folds.requests.levels import UPDATE, level_answers
from framework.checking.findings import finding
from framework.evidence.changes import BrokerRegistered, FeatureSet
from framework.history.pairing import FINAL, Operation
from framework.plugins.checker import Finding

NONE: Final = "0"
Judged: TypeAlias = tuple[int, list[Finding]]


def wishes_of(operations: Iterable[Operation]) -> Writes:
    """By feature: not those that were refused, nor those that were only to be tried."""
    found: dict[str, list[Write]] = defaultdict(list)
    for each in operations:
        if each.f == UPDATE and not each.failed and not update_feature(each).get("dry"):
            found[str(each.key)].append(Write(each, str(update_feature(each)["level"])))
    return found


@dataclass(frozen=True, slots=True)
class Course:
    """Of one feature. `first`: the level with which the cluster began; `sets`: the records that
    set it since, and when somebody had applied each; `levels`: all that it had, from which offset
    on."""

    first: str
    sets: Sequence[tuple[FeatureSet, int]]
    levels: Sequence[tuple[int, str]]

    def at(self, offset: int) -> str:
        """With all records up to that one, and it."""
        place = bisect_right(self.levels, offset, key=itemgetter(0))
        return self.levels[place - 1][1] if place else NONE


Courses: TypeAlias = Mapping[str, Course]
"""By feature."""
NEVER: Final = Course(NONE, (), ())
"""Of a feature that the log does not have."""


def courses_of(log: CommittedLog) -> Courses:
    """Of the features that the log has."""
    first: dict[str, str] = defaultdict(lambda: NONE)
    sets: dict[str, list[tuple[FeatureSet, int]]] = defaultdict(list)
    levels: dict[str, list[tuple[int, str]]] = defaultdict(list)
    begun = False
    for change, by_ns in zip(log.records, log.by_ns, strict=True):
        begun = begun or isinstance(change, BrokerRegistered)
        if not isinstance(change, FeatureSet):
            continue
        levels[change.name].append((change.offset, str(change.level)))
        if begun:
            sets[change.name].append((change, by_ns))
        else:
            first[change.name] = str(change.level)
    return {name: Course(first[name], sets[name], own) for name, own in levels.items()}


# --- by the log ---------------------------------------------------------------------------


def levels_made(log: CommittedLog, courses: Courses, wishes: Writes) -> Judged:
    """How many records and granted wishes were held against each other, and what is wrong: what
    nobody asked for, and in a log without a gap what was granted and is not there."""
    compared = sum(len(course.sets) for course in courses.values())
    found = [
        finding(
            f"the record at offset {record.offset} sets {record.name} to level {record.level}, and "
            "nobody had asked for that",
            [wish.operation for wish in wishes.get(record.name, ())],
            [record],
        )
        for course in courses.values()
        for record, by_ns in course.sets
        if not _asked(record, by_ns, wishes.get(record.name, ()))
    ]
    if log.gap is not None or not log.records:
        return compared, found
    for name, own in wishes.items():
        course = courses.get(name, NEVER)
        held = [course.first, *(str(record.level) for record, _ in course.sets)]
        compared += sum(wish.operation.ok for wish in own)
        found += ungranted(own, held, "level ")
    return compared, found


def _asked(record: FeatureSet, by_ns: int, wishes: Iterable[Write]) -> bool:
    """As often as one likes: who forwards a request may do so again."""
    level = str(record.level)
    return any(wish.value == level and wish.operation.began_ns <= by_ns for wish in wishes)


# --- by brokers ---------------------------------------------------------------------------


def levels_told(
    operations: Iterable[Operation],
    log: CommittedLog,
    courses: Courses,
    wishes: Writes,
    *,
    agreed: bool,
    ends: bool,
) -> Judged:
    """How many levels brokers told of what clients had asked to change; and what they told
    otherwise than the log has it, as of the offset that they named, and in the end, once the
    cluster has settled (`agreed`), otherwise than was asked for last. `ends`: the offset that a
    broker names may be the one behind all that it knows."""
    compared, found = 0, list[Finding]()
    for read in level_answers(operations):
        epoch = features(read)["epoch"]
        if not 0 <= epoch < len(log.records):
            continue
        compared += sum(each["name"] in wishes for each in features(read)["features"])
        for name, level, says in _told(read, courses):
            own = wishes.get(name, ())
            course = courses.get(name, NEVER if own else None)
            if course is None:
                continue
            who = f"{read.node or 'a broker'} {says}, operation {read.index}"
            if level not in {course.at(epoch), course.at(epoch - ends)}:
                message = f"{who}, and the log has {course.at(epoch)} at offset {epoch}"
                records = [record for record, _ in course.sets]
                found.append(finding(message, [read], records))
            elif agreed and read.phase == FINAL:
                values = may_be(course.first, None, own, read)
                if level not in values:
                    asked = [wish.operation for wish in last_writes(own, read)]
                    message = f"{who}, in the end, not {' or '.join(map(str, values))}"
                    found.append(finding(message, [*asked, read]))
    return compared, found


def _told(read: Operation, courses: Courses) -> Iterator[tuple[str, str, str]]:
    """Of each feature its level, and how that is said: one that is not named has none, for a broker
    tells of all that it supports, and is none of a cluster whose levels it does not (KIP-584)."""
    named = features(read)["features"]
    for each in named:
        level = str(each["level"] or NONE)
        yield each["name"], level, f"tells level {level} of {each['name']}"
    for name in sorted(courses.keys() - {each["name"] for each in named}):
        yield name, NONE, f"leaves out {name}"
