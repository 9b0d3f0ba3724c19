"""What clients are told of topics' partitions fits together, whoever tells it (D.2, D.13).

A partition's state changes under a version, the partition epoch, which linearizable reads and ISR
changes show; a broker's cache shows the state without it, late, but in order. Leaders show
themselves by answering a fetch or ListOffsets in a leader epoch, for one that leads in no such
epoch refuses. Judged from answers to clients and to the harness's observer, with the marks of the
harness and its ledger:

1. In an answer a partition is told of once; its ISR is of the replicas, each named once, and the
   leader is in it.
2. One leader epoch has one leader; one version has one state.
3. Replicas stay those that they were; where others were asked for, all of what was there before or
   of what was asked for is there.
4. A higher version has no lower leader epoch; no linearizable read goes back.
5. What one broker's cache shows goes back only over a restart: leader epochs, topics, of which one
   that has gone does not come again, and the partitions that a topic has.
6. Once the cluster was seen to settle, no cache shows what was over before that: an older leader
   epoch, a topic that had gone, or another state than that of a version which held all the time.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from operator import attrgetter
from typing import Final, TypeAlias

from checkers.folds.history.kept_states import about, as_shown, kept_so_far, states_by_partition
from checkers.folds.history.lives import Lives
from checkers.folds.history.observations import with_observations
from checkers.folds.history.sights import (
    READS,
    SHOW_STATES,
    Partition,
    Sight,
    Topic,
    sights_of,
    topics_named,
)
from checkers.folds.history.sweeps import falls
from checkers.folds.history.topic_ids import LIVES
from checkers.folds.history.values import partitions_shown, topic_answer
from checkers.folds.requests.reassigned import Wishes, wanted_by, wishes_of
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker, SoFar
from framework.evidence.changes import NO_LEADER
from framework.evidence.run_events import RunEvents, settle_marks, settled, unhealed
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, LEDGER, Clause, Count, Finding

FS: Final = (*READS, "alter-isr", "fetch", "list-offsets", "reassign", *LIVES)
VERSIONED: Final = ("describe", "alter-isr")
"""What shows versions."""

ISR: Final = Clause(
    name="isr",
    says="An answer tells of a partition once; its ISR is of the replicas, names each once, and "
    "has the leader in it",
    compares="states of partitions in answers",
    floor=10,
    because="one topic of three partitions, read some times",
    sources=(CLIENTS,),
)
LEADER: Final = Clause(
    name="one-leader",
    says="One leader epoch of a partition has one leader",
    compares="answers beside another of the same partition and leader epoch",
    floor=6,
    because="two partitions, each shown by four answers",
    sources=(CLIENTS,),
    blind="a second leader that answers no client",
)
VERSIONS: Final = Clause(
    name="versions",
    says="One version of a partition has one state; a higher one has no lower leader epoch, and no "
    "linearizable read shows a lower one than an earlier read",
    compares="answers with a version beside another of the same partition",
    floor=4,
    because="two partitions, each shown by three answers",
    sources=(CLIENTS,),
    blind="versions that nobody was shown",
)
REPLICAS: Final = Clause(
    name="replicas",
    says="A partition's replicas stay those that they were, unless somebody asked for others, and "
    "then it has all of one of both",
    compares="answers with replicas beside another of the same partition",
    floor=6,
    because="two partitions, each shown by four answers",
    sources=(CLIENTS,),
    blind="among which of the brokers that clients asked for: asked-is-made has that; what it had "
    "before, of a partition that was first shown where somebody wanted it",
)
CACHES: Final = Clause(
    name="caches",
    says="What one broker's cache shows goes back only over a restart, and loses no partition of a "
    "topic",
    compares="answers of a broker's cache, beside an earlier one of the same process",
    floor=2,
    because="one may be as the one before by chance; without an observer each broker is asked of a "
    "topic in the end, and rarely before",
    sources=(CLIENTS, LEDGER),
    blind="what went back between two answers",
)
SETTLED: Final = Clause(
    name="settled-caches",
    says="Once the cluster was seen to settle, no cache shows what was over before that",
    compares="answers of caches after settling about what had been shown before",
    floor=2,
    because="two brokers",
    sources=(CLIENTS, LEDGER),
    blind="what changed after the last read before settling, and without linearizable reads other "
    "states in one leader epoch (metadata-cache has both, by the log on the disks); who goes on to "
    "answer as the leader of an epoch that is over, where caches show the next one",
)


Counting: TypeAlias = Callable[[Clause, Iterable[Hashable]], Count]
"""Of a clause, by the answers that were compared."""


@dataclass(frozen=True, slots=True)
class Told:
    """An answer tells of so many partitions of a topic."""

    operation: Operation
    partitions: int


def metadata_answers(events: RunEvents) -> Outcome:
    events = with_observations(events)
    sights, topics = list(sights_of(events)), list(topics_named(events))
    partitions: dict[Partition, list[Sight]] = defaultdict(list)
    for sight in sights:
        partitions[sight.key].append(sight)
    lives, settled_at = Lives(events.faults), _settled_at(events)
    wishes = wishes_of(events.operations)
    findings = [*_gone_again(topics, lives), *_lost_partitions(events.operations, lives)]
    findings += _stale_topics(topics, settled_at)
    for (topic_id, number), own in sorted(partitions.items()):
        where = f"{topic_id}/{number}"
        findings += _within(own)
        findings += _one_leader(where, own)
        findings += _one_state(where, own)
        findings += _replicas(where, number, own, wishes)
        findings += _versions(where, own)
        findings += _caches(where, own, lives)
        findings += _stale(where, own, settled_at)
    settled_caches = [each for each in sights if each.cached and _is_after(each, settled_at)]
    figures = {
        "answers": len({each.operation.index for each in sights}),
        "partitions": len(partitions),
        "caches_after_settling": len(settled_caches),
    }
    counts = _counts(events, partitions, topics, lives, settled_at)
    return weighed(counts, findings, figures)


def _counts(
    events: RunEvents,
    partitions: Mapping[Partition, Sequence[Sight]],
    topics: Sequence[Topic],
    lives: "Lives",
    settled_at: float,
) -> Mapping[str, Count]:
    """Of each clause. A system may have no reads that show versions, and no caches to be asked."""
    sights = [each for own in partitions.values() for each in own]
    asked = {each.f for each in events.operations}
    caches: Count = "nobody asked for a broker's cache"
    settling: Count = "the cluster was not seen to settle"
    states = _states_compared(sights)
    if asked.isdisjoint(VERSIONED):
        states[VERSIONS.name] = "nobody asked for versions"
    if "metadata" in asked:
        shown: list[tuple[Operation, Hashable]] = [
            *((each.operation, each.operation.key) for each in topics),
            *((each.operation, each.key) for each in sights),
        ]
        cached = (
            (operation, (what, life))
            for operation, what in shown
            if operation.f == "metadata" and (life := lives.of(operation)) is not None
        )
        caches = _beside(CACHES, cached)
        if _asked_again(events.operations) < CACHES.floor:
            caches = "hardly a broker was asked again of a topic"
        if settled_at < float("inf"):
            known = (_known_before(own, settled_at) for own in partitions.values())
            answers = chain(_read_before(topics, settled_at), *known)
            settling = SETTLED.sightings(each.index for each in answers)
    else:
        settling = caches
    led = (
        (each.operation, (each.key, each.leader_epoch))
        for each in sights
        if each.leader != NO_LEADER
    )
    return {
        **states,
        LEADER.name: _beside(LEADER, led),
        CACHES.name: caches,
        SETTLED.name: settling,
    }


def _states_compared(
    sights: Sequence[Sight], count: Counting = Clause.sightings
) -> dict[str, Count]:
    """Of the clauses about states, whoever asked for them."""
    versions = ((each.operation, each.key) for each in sights if each.version is not None)
    replicas = ((each.operation, each.key) for each in sights if each.replicas is not None)
    return {
        ISR.name: count(ISR, (each.operation.index for each in sights if each.isr is not None)),
        VERSIONS.name: count(VERSIONS, _again(versions)),
        REPLICAS.name: count(REPLICAS, _again(replicas)),
    }


def _beside(clause: Clause, shown: Iterable[tuple[Operation, Hashable]]) -> int:
    return clause.sightings(_again(shown))


def _again(shown: Iterable[tuple[Operation, Hashable]]) -> Iterator[int]:
    """By which answers something was shown that others had shown before them. By answer: what it
    is of."""
    known: dict[Hashable, int] = {}
    for operation, what in shown:
        if known.setdefault(what, operation.index) != operation.index:
            yield operation.index


def _asked_again(operations: Iterable[Operation]) -> int:
    """How often a broker's cache was asked of a topic of which it had been asked, answered or
    not."""
    asked = Counter((each.key, each.node) for each in operations if each.f == "metadata")
    return asked.total() - len(asked)


def _read_before(topics: Sequence[Topic], settled_at: float) -> Iterator[Operation]:
    """Answers of caches after settling about names of topics that had been read before."""
    read = {
        each.operation.key
        for each in topics
        if each.operation.f == "describe" and _is_before(each, settled_at)
    }
    after = (each.operation for each in topics if _is_after(each, settled_at))
    return (each for each in after if each.f == "metadata" and each.key in read)


def _known_before(sights: Sequence[Sight], settled_at: float) -> Iterator[Operation]:
    """Answers of caches that what was shown before settling could contradict."""
    if any(_is_before(each, settled_at) for each in sights):
        for each in sights:
            if each.cached and _is_after(each, settled_at):
                yield each.operation


def _is_before(shown: Sight | Topic, settled_at: float) -> bool:
    """It had been answered by then."""
    return (shown.operation.end or 0) < settled_at


def _is_after(shown: Sight | Topic, settled_at: float) -> bool:
    """It was asked for later."""
    return shown.operation.index > settled_at


# --- 1-4: whoever tells it ----------------------------------------------------------------


def _within(sights: Iterable[Sight]) -> Iterator[Finding]:
    """Of one partition, in the order of the answers."""
    before: Operation | None = None
    for sight in sights:
        isr, replicas, again = sight.isr, sight.replicas, sight.operation is before
        before = sight.operation
        if isr is None:
            continue
        wrong = None
        if again:
            wrong = "is told twice in one answer"
        elif len(set(isr)) < len(isr) or (replicas and len(set(replicas)) < len(replicas)):
            wrong = "names a replica twice"
        elif replicas is not None and not set(isr) <= set(replicas):
            wrong = f"has others in it than the replicas {list(replicas)}"
        elif sight.leader != NO_LEADER and sight.leader not in isr:
            wrong = "is without the leader"
        if wrong is not None:
            yield finding(
                f"{sight.operation.key}: the ISR of partition {sight.key[1]} {wrong}: {sight}",
                [sight.operation],
                clause=ISR.name,
            )


def _one_leader(where: str, sights: Iterable[Sight]) -> Iterator[Finding]:
    led = [sight for sight in sights if sight.leader != NO_LEADER]
    for one, other in _differ(led, attrgetter("leader_epoch"), attrgetter("leader")):
        yield finding(
            f"{where} has two leaders in one leader epoch: {one}; {other}",
            [one.operation, other.operation],
            clause=LEADER.name,
        )


def _one_state(where: str, sights: Iterable[Sight]) -> Iterator[Finding]:
    versioned = [sight for sight in sights if sight.version is not None]
    for one, other in _differ(versioned, attrgetter("version"), attrgetter("state")):
        yield finding(
            f"{where} has two states under partition epoch {one.version}: {one}; {other}",
            [one.operation, other.operation],
            clause=VERSIONS.name,
        )


def _differ(
    sights: Iterable[Sight], number: Callable[[Sight], int], value: Callable[[Sight], object]
) -> Iterator[tuple[Sight, Sight]]:
    """Of each number the first two that show it with different values."""
    known: dict[int, Sight] = {}
    reported: set[int] = set()
    for sight in sights:
        other = known.setdefault(number(sight), sight)
        if value(other) != value(sight) and number(sight) not in reported:
            reported.add(number(sight))
            yield other, sight


def _replicas(
    where: str, number: int, sights: Iterable[Sight], wishes: Wishes
) -> Iterator[Finding]:
    shown = [
        (list(sight.replicas), sight.operation) for sight in sights if sight.replicas is not None
    ]
    for replicas, operation in shown:
        first, by = shown[0]
        key = f"{operation.key}/{number}"
        if replicas != first and not _moved(wishes, key, first, by, replicas, operation):
            yield finding(
                f"{where}: the replicas {first} of operation {by.index} are {replicas} by "
                f"operation {operation.index}, and nobody moved them",
                [by, operation],
                clause=REPLICAS.name,
            )
            return


def _moved(
    wishes: Wishes,
    key: str,
    first: Sequence[int],
    by: Operation,
    replicas: Sequence[int],
    operation: Operation,
) -> bool:
    """Whether these may be on the way to what somebody wanted, or there: none goes before all that
    come are in sync (KIP-455). `first`: what `by` showed, which may itself be on the way."""
    goals = [each.goal for each in wishes.get(key, ()) if each.goal is not None]
    on_the_way = wanted_by(wishes, key, by) is not None
    if on_the_way and any(set(goal) <= set(first) for goal in goals):
        return True  # it had arrived: what a cache that lags shows later, nobody had shown before
    wanted = wanted_by(wishes, key, operation)
    if wanted is None or not set(replicas) <= {*first, *wanted}:
        return False
    return on_the_way or any(set(goal) <= set(replicas) for goal in (first, *goals))


def _versions(where: str, sights: Iterable[Sight]) -> Iterator[Finding]:
    """ISR changes show what they made, and are no reads."""
    shown = [sight for sight in sights if sight.version is not None]
    by_version = sorted(shown, key=attrgetter("version"))
    for one, other in pairwise(by_version):
        if other.leader_epoch < one.leader_epoch:
            yield finding(
                f"{where}: partition epoch {other.version} has a lower leader epoch than "
                f"{one.version}: {one}; {other}",
                [one.operation, other.operation],
                clause=VERSIONS.name,
            )
            break
    reads = [sight for sight in shown if sight.operation.f == "describe"]
    for one, other in falls(reads, attrgetter("version")):
        yield finding(
            f"{where}: operation {other.operation.index} read partition epoch {other.version}, "
            f"after operation {one.operation.index} had read {one.version}",
            [one.operation, other.operation],
            clause=VERSIONS.name,
        )


# --- 5: a broker's cache ------------------------------------------------------------------


def _caches(where: str, sights: Iterable[Sight], lives: Lives) -> Iterator[Finding]:
    by_life: dict[tuple[str, int], list[Sight]] = defaultdict(list)
    for sight in sights:
        life = lives.of(sight.operation) if sight.cached else None
        if life is not None:
            by_life[life].append(sight)
    for (node, _), own in sorted(by_life.items()):
        for before, after in falls(own, lambda sight: sight.leader_epoch):
            yield finding(
                f"{node}'s metadata of {where} went back, though it was not restarted: {before}; "
                f"then {after}",
                [before.operation, after.operation],
                clause=CACHES.name,
            )


def _lost_partitions(operations: Iterable[Operation], lives: Lives) -> Iterator[Finding]:
    """Of a topic, which only grows. Answers that tell of no partition at all tell nothing."""
    told: dict[tuple[str, tuple[str, int]], list[Told]] = defaultdict(list)
    for each in operations:
        shown = partitions_shown(each) if each.f == "metadata" and each.ok else ()
        life = lives.of(each) if shown else None
        if life is not None:
            numbers = {one["partition"] for one in shown}
            told[str(topic_answer(each).get("topic_id")), life].append(Told(each, len(numbers)))
    for (topic_id, (node, _)), own in sorted(told.items()):
        for before, after in falls(own, attrgetter("partitions")):
            yield finding(
                f"{node}'s metadata of {topic_id} lost partitions, though it was not restarted: it "
                f"showed {before.partitions} in operation {before.operation.index}, and "
                f"{after.partitions} in {after.operation.index}",
                [before.operation, after.operation],
                clause=CACHES.name,
            )


def _gone_again(topics: Iterable[Topic], lives: Lives) -> Iterator[Finding]:
    named: dict[tuple[str, tuple[str, int]], list[Topic]] = defaultdict(list)
    for each in topics:
        life = lives.of(each.operation) if each.operation.f == "metadata" else None
        if life is not None:
            named[str(each.operation.key), life].append(each)
    for (name, (node, _)), own in sorted(named.items()):
        for shown, gone, again in _returns(own, own, own):
            yield finding(
                f"{node}'s metadata of {name} went back, though it was not restarted: it showed "
                f"{again.topic_id} in operation {again.operation.index}, which it had shown in "
                f"{shown.operation.index}, and no longer in {gone.operation.index}",
                [shown.operation, gone.operation, again.operation],
                clause=CACHES.name,
            )


def _returns(
    first: Sequence[Topic], then: Sequence[Topic], last: Sequence[Topic]
) -> Iterator[tuple[Topic, Topic, Topic]]:
    """For each id an answer that shows it, a later one that does not, and one still later that
    does again, if there are such. Ids are never used twice."""
    ids = sorted({each.topic_id for each in last if each.topic_id is not None})
    for topic_id in ids:
        shown = _first_to_end(each for each in first if each.topic_id == topic_id)
        gone = shown and _first_to_end(
            each
            for each in then
            if each.topic_id != topic_id and shown.operation.precedes(each.operation)
        )
        for again in last:
            if (
                shown is not None
                and gone is not None
                and again.topic_id == topic_id
                and gone.operation.precedes(again.operation)
            ):
                yield shown, gone, again
                break


def _first_to_end(topics: Iterable[Topic]) -> Topic | None:
    return min(topics, key=lambda each: each.operation.end or 0, default=None)


# --- 6: once settled ----------------------------------------------------------------------


def _settled_at(events: RunEvents) -> float:
    """The index of the mark that all nodes agreed; infinite: nobody saw that they did."""
    if settled(events.nemesis) is not True or unhealed(events.faults):
        return float("inf")
    return max(each.index for each in settle_marks(events.nemesis))


def _stale(where: str, sights: Sequence[Sight], settled_at: float) -> Iterator[Finding]:
    earlier = [each for each in sights if _is_before(each, settled_at)]
    if not earlier:
        return
    newest = max(earlier, key=lambda each: each.leader_epoch)
    held = _held(sights, earlier)
    for cache in sights:
        if not cache.cached or not _is_after(cache, settled_at):
            continue
        if cache.leader_epoch < newest.leader_epoch:
            yield _stale_finding(where, cache, newest)
        for before, after in held:
            if cache.operation.precedes(after.operation) and cache.state != before.state:
                yield _stale_finding(where, cache, before)
                break


def _held(sights: Iterable[Sight], earlier: Iterable[Sight]) -> list[tuple[Sight, Sight]]:
    """By version, one that showed it before the cluster settled, and the last read that did."""
    first = {each.version: each for each in earlier if each.version is not None}
    reads = [each for each in sights if each.operation.f == "describe"]
    last = {each.version: each for each in sorted(reads, key=lambda each: each.operation.index)}
    return [(first[version], last[version]) for version in first if version in last]


def _stale_finding(where: str, cache: Sight, known: Sight) -> Finding:
    return finding(
        f"{cache.operation.node}'s metadata of {where} is stale after the cluster had settled: "
        f"{cache}; before that, {known}",
        [known.operation, cache.operation],
        clause=SETTLED.name,
    )


def _stale_topics(topics: Sequence[Topic], settled_at: float) -> Iterator[Finding]:
    named: dict[str, list[Topic]] = defaultdict(list)
    for each in topics:
        named[str(each.operation.key)].append(each)
    for name, own in sorted(named.items()):
        reads = [
            each for each in own if each.operation.f == "describe" and _is_before(each, settled_at)
        ]
        caches = [
            each for each in own if each.operation.f == "metadata" and _is_after(each, settled_at)
        ]
        for shown, gone, again in _returns(own, reads, caches):
            yield finding(
                f"{again.operation.node}'s metadata of {name} is stale after the cluster had "
                f"settled: it shows {again.topic_id}, which operation {shown.operation.index} had "
                f"shown, and operation {gone.operation.index} no longer",
                [shown.operation, gone.operation, again.operation],
                clause=SETTLED.name,
            )


# --- while a run goes on ------------------------------------------------------------------


def states_so_far(events: RunEvents) -> Outcome:
    """Of answers that show the state of a partition."""
    events = with_observations(events)
    wishes = wishes_of(events.operations)
    partitions = states_by_partition(events.operations)
    findings = list[Finding]()
    for (topic_id, number), own in sorted(partitions.items()):
        where = f"{topic_id}/{number}"
        findings += _within(own)
        findings += _one_state(where, own)
        findings += _replicas(where, number, own, wishes)
        findings += _versions(where, own)
    counts = _states_compared([*chain(*partitions.values())], Clause.seen)
    return weighed(counts, findings)


class MetadataAnswers(RunChecker):
    name = "metadata-answers"
    summary = (
        "What clients are told of partitions fits together: an epoch has one leader, a version one "
        "state, replicas stay, no broker's metadata goes back, and none is stale after settling"
    )
    requires = frozenset({"topic-operations"})
    clauses = (ISR, LEADER, VERSIONS, REPLICAS, CACHES, SETTLED)
    live = (ISR, VERSIONS, REPLICAS)
    check_run = RunCheck(metadata_answers, fs=FS, observations=True, nemesis=True, faults=True)
    so_far = SoFar(
        RunCheck(states_so_far, fs=(*SHOW_STATES, "reassign"), observations=True),
        kept_so_far,
        shown=as_shown,
        about=about,
    )
