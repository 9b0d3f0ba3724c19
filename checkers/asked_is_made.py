"""What was asked is what was made: a topic is as its create asked for it.

So many partitions, numbered from 0, each on so many brokers or on those that were assigned, and
configured so and not otherwise: by the create's own answer, by every read that shows the topic's
id, and by the committed log. An id that no create was answered with is that of one which has no
answer: it fits at least one of them. A read that promises to show all shows all of a topic, as a
create is one step; a broker's cache may lag, and has to show all once the cluster has settled.

No operation makes a topic grow. Some give partitions other replicas: each such change of the log is
one that somebody asked for, each wish that was granted is there, and once the cluster has settled
partitions are where the last ones wanted them. Some raise the level of a feature: no level falls,
and in the end nodes tell what was granted. Some change configurations, of topics and of brokers:
the log has those that were acknowledged, and no others than were asked for, and in the end each
setting is what a change asked for, or the create, that may have been the last one. Some take a
broker off the cluster: each record of that is one that somebody asked for, each that was granted
has its record, and once the cluster has settled nobody tells of that broker until it is back. Some
have preferred leaders elected: each time that this was granted the log has it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self, TypeAlias

from checkers.folds.committed_log import CommittedLog, known_log
from checkers.folds.config_changes import (
    MayBe,
    by_brokers,
    by_the_log,
    either,
    granted_changes,
)
from checkers.folds.configured import (
    CHANGES,
    Changes,
    Configs,
    Writes,
    changes_of,
    configs_asked,
    last_writes,
    may_be,
)
from checkers.folds.disk_logs import DISK_KINDS
from checkers.folds.elected import ELECT, elected, hardly_asked
from checkers.folds.levels import (
    FEATURES,
    UPDATE,
    fallen,
    forgotten,
    granted,
    lowered,
    told,
)
from checkers.folds.reassigned import (
    MOVES,
    Wishes,
    goals,
    last_goals,
    misplaced,
    still_moving,
    unasked,
    ungranted,
    wanted_by,
    wishes_of,
)
from checkers.folds.unregistered import UNREGISTERS, still_told, taken_off
from checkers.folds.values import TopicAnswer, create_topic, topic_answer
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import (
    TOPIC_RESOURCE,
    Change,
    ConfigSet,
    EligibleForgotten,
    OtherChange,
    PartitionCreated,
    TopicCreated,
    VotersNamed,
)
from framework.evidence.run_events import RunEvents, settled, unshown
from framework.history.pairing import Operation
from framework.plugins.capabilities import REQUEST_IDS
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, LEDGER, Clause, Count, Finding

FS: Final = (
    "create",
    "describe",
    "follow",
    "metadata",
    "describe-configs",
    *MOVES,
    FEATURES,
    UPDATE,
    *CHANGES,
    *UNREGISTERS,
    ELECT,
)

ANSWERS: Final = Clause(
    name="answers",
    says="A create's answer tells of the topic that it asked for",
    compares="answers to creates that tell what was made",
    floor=2,
    because="two creates are the least that can be confused",
    sources=(CLIENTS,),
    blind="it is an echo: what was made is another question",
)
READS: Final = Clause(
    name="reads",
    says="Every read shows a topic with the partitions and replicas that its create asked for",
    compares="reads of topics whose creates are known",
    floor=4,
    because="two topics that were read twice",
    sources=(CLIENTS,),
    blind="topics that nobody read; a cache's missing partitions before the cluster settled",
)
LOGGED: Final = Clause(
    name="log",
    says="The committed log makes a topic as its create asked for it",
    compares="topics in the committed log whose creates are known",
    floor=2,
    because="as for answers",
    sources=(DISKS, EVENTS),
    blind="the topic with which the known log ends",
)
CONFIGURED: Final = Clause(
    name="configurations",
    says="In the end a topic is configured as its create asked for, or later changes that may have "
    "been the last ones, and not otherwise",
    compares="configurations that were read in the end",
    floor=2,
    because="as for answers; where fewer topics were left to be asked of, there was no occasion",
    sources=(CLIENTS, LEDGER),
    blind="topics that are gone by then",
)

MOVED: Final = Clause(
    name="moves",
    says="The committed log gives a partition other replicas only as somebody asked for, once for "
    "each wish, and does so for each wish that was granted",
    compares="wishes for other replicas that were granted, and changes of replicas in the log",
    floor=2,
    because="a wish, and what it made",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="in which order wishes that were under way together were granted",
)
ARRIVED: Final = Clause(
    name="moved",
    says="Once the cluster has settled, no move is under way, and a partition is where the last "
    "wish that was granted wanted it",
    compares="partitions that were moved, in the final reads",
    floor=2,
    because="as for answers: two partitions, and not in one read alone",
    sources=(CLIENTS, LEDGER),
    blind="partitions whose last move may have been cancelled",
)

LEVELS: Final = Clause(
    name="levels",
    says="No level of a feature falls, by what was granted and by what brokers tell, and in the "
    "end all tell what was granted",
    compares="levels that brokers told after others had",
    floor=2,
    because="two brokers, or one that was asked twice more",
    sources=(CLIENTS, LEDGER),
    blind="a level that nobody asked for",
)

CHANGED: Final = Clause(
    name="changes",
    says="The committed log changes a configuration only as somebody asked for, once for each wish "
    "where requests have ids, and has each change that was acknowledged, one behind the other",
    compares="changes that were acknowledged, and records that configure what they change",
    floor=2,
    because="a change, and what it made",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="in which order changes that were under way together took effect; a change to what there "
    "was already; the configuration of what no client changes",
)
BROKERS: Final = Clause(
    name="broker-configurations",
    says="In the end a broker tells of itself the configuration that changes of it asked for that "
    "may have been the last ones, and no other",
    compares="settings of brokers that were changed, as they tell them in the end",
    floor=2,
    because="one may be right by chance",
    sources=(CLIENTS, LEDGER),
    blind="what a broker does by a setting; settings of all brokers",
)
UNREGISTERED: Final = Clause(
    name="unregistered",
    says="The committed log takes a broker off only as somebody asked, once for each request, and "
    "does so for each that was granted; none is refused since a broker that is registered is not",
    compares="unregistrations of brokers that were granted, and those in the log",
    floor=2,
    because="a request, and what it made",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="refusals where the request itself may have made them true; what a broker leads, or is "
    "in sync of, then and until it registers anew: replay-invariants has that",
)
UNTOLD: Final = Clause(
    name="untold",
    says="Once the cluster has settled, brokers soon tell no more of one that was unregistered, "
    "until it may have registered anew",
    compares="brokers that told who is there, and left one out that was unregistered",
    floor=2,
    because="who is asked must be told by the log, and not by the one who was asked to change it",
    sources=(CLIENTS, LEDGER),
    blind="who is asked while faults go on; lists without those that are fenced, where that one "
    "had been for long",
)

ELECTED: Final = Clause(
    name="elected",
    says="Each election of a preferred leader that was granted is a record of its own by which a "
    "partition's first replica becomes its leader, and none is refused as needless while another "
    "one leads",
    compares="elections that were granted, or refused as needless, held against the log",
    floor=2,
    because="of one record one election may be made, and two be granted",
    sources=(CLIENTS, LEDGER, DISKS, EVENTS),
    blind="a record that the controller made of its own accord at that time; refusals for another "
    "reason; where a deposed controller may refuse by what it knew, who led before; a log whose "
    "begin nobody has",
)

CLAUSES: Final = (
    ANSWERS,
    READS,
    LOGGED,
    CONFIGURED,
    MOVED,
    ARRIVED,
    LEVELS,
    CHANGED,
    BROKERS,
    UNREGISTERED,
    UNTOLD,
    ELECTED,
)

_BESIDE: Final = (OtherChange, EligibleForgotten, VotersNamed)
"""What may stand among a topic's records and says nothing of it."""
_FAR: Final = 2**62

Replicas: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """What a create asked for. None: what the system likes."""

    operation: Operation
    partitions: int | None
    replication: int | None
    assignment: Sequence[Replicas] | None
    configs: Configs

    @classmethod
    def of(cls, create: Operation) -> Self:
        value = create_topic(create) if isinstance(create.value, dict) else {}
        assignment = value.get("assignment")
        placed = None if assignment is None else [tuple(each) for each in assignment]
        return cls(
            operation=create,
            partitions=_asked(value.get("partitions")) if placed is None else len(placed),
            replication=_asked(value.get("replication")),
            assignment=placed,
            configs=configs_asked(create),
        )


def _asked(number: object) -> int | None:
    """Kafka's -1 leaves it to the system."""
    return number if isinstance(number, int) and number > 0 else None


@dataclass(frozen=True, slots=True)
class Shown:
    """What an operation or some records showed of a topic. `partitions`: number -> replicas, where
    they are told; `whole`: these are all. None: nothing of that kind. `changes`: of its
    configuration, whenever they were asked for."""

    name: str
    topic_id: str
    operation: Operation | None = None
    records: Sequence[Change] = ()
    partitions: Mapping[int, Replicas | None] | None = None
    whole: bool = False
    configs: Configs | None = None
    changes: Writes = field(default_factory=dict)


Sight: TypeAlias = tuple[Clause, Shown, Sequence[Ask]]
"""A clause, what was shown, and the creates of which one has asked for it."""


def asked_is_made(events: RunEvents) -> Outcome:
    asks = _Asks(each for each in events.operations if each.f == "create" and not each.failed)
    seen = Counter[str]()
    findings: dict[tuple[str, str], Finding] = {}
    for ask, topic_id in asks.answered():
        seen[ANSWERS.name] += _tells(topic_answer(ask.operation))
        wrong = _answered_otherwise(ask)
        if wrong is not None:
            shown = Shown(str(ask.operation.key), topic_id, ask.operation)
            findings[ANSWERS.name, topic_id] = _finding(ANSWERS, shown, [ask], wrong)
    log, changes = known_log(events), changes_of(events.operations)
    for clause, shown, group in _sights(events, log, asks, changes):
        if group:
            seen[clause.name] += 1
            differences = [_difference(ask, shown) for ask in group]
            if None not in differences:
                finding_ = _finding(clause, shown, group, str(differences[0]))
                findings.setdefault((clause.name, shown.topic_id), finding_)
    wishes = wishes_of(events.operations)
    moved = [*_moved(wishes, log, seen), *_arrived(events, wishes, seen)]
    changed = _changed(events, log, changes, seen)
    every = [*findings.values(), *moved, *_levels(events, seen), *changed]
    seen[ELECTED.name], elections = elected(events, log)
    every += (replace(each, clause=ELECTED.name) for each in elections)
    counts: dict[str, Count] = {each.name: seen[each.name] for each in CLAUSES}
    for judged, (count, found) in (
        (UNREGISTERED, taken_off(events, log)),
        (UNTOLD, still_told(events)),
    ):
        counts[judged.name] = count
        every += [replace(each, clause=judged.name) for each in found]
    figures = {name: float(count) for name, count in counts.items() if isinstance(count, int)}
    return weighed({**counts, **_no_occasion(events, wishes, seen)}, every, figures)


def _no_occasion(events: RunEvents, wishes: Wishes, seen: Mapping[str, int]) -> Mapping[str, Count]:
    """Clauses for which nobody asked, or of which nobody could tell."""
    asked = {each.f for each in events.operations}
    if "create" not in asked:
        apart = (UNREGISTERED, UNTOLD)
        return {each.name: "nobody asked for a topic" for each in CLAUSES if each not in apart}
    found: dict[str, Count] = {}
    if len({str(each.key) for each in events.operations if each.f == "create"}) == 1:
        few = (each.name for each in (ANSWERS, LOGGED) if seen[each.name] == 1)
        found |= dict.fromkeys(few, "clients asked for one topic alone")
    if why := unshown(events.plan, Change):
        found |= {LOGGED.name: why, MOVED.name: why, CHANGED.name: why, ELECTED.name: why}
    found |= _nothing_moved(events, wishes, seen)
    found |= _nothing_changed(events, seen)
    if why := hardly_asked(events.operations):
        found[ELECTED.name] = why
    if asked.isdisjoint({FEATURES, UPDATE}):
        found[LEVELS.name] = "nobody asked for levels of features"
    if "describe-configs" not in asked:
        found[CONFIGURED.name] = "nobody asked how topics are configured"
    elif settled(events.nemesis) is not True:
        found[CONFIGURED.name] = "the cluster was not seen to settle"
    elif _asked_for_configs(events) < CONFIGURED.floor:
        found[CONFIGURED.name] = "of what clients asked in the end too few topics were left"
    return found


def _sights(
    events: RunEvents, log: CommittedLog, asks: "_Asks", changes: Changes
) -> Iterator[Sight]:
    agreed = settled(events.nemesis) is True
    reads = list(_reads(events.operations, agreed))
    for shown in reads:
        yield READS, shown, asks.of(shown)
    for shown, by_ns in _records(log):
        yield LOGGED, shown, asks.of(shown, by_ns)
    if agreed:
        for shown in _configs(events.operations, reads, changes):
            # A create without an answer may have taken effect between the two reads.
            yield CONFIGURED, shown, [*asks.of(shown), *asks.unanswered(shown.name)]


class _Asks:
    """Creates that were not refused, by the ids that they were answered with, and by name."""

    def __init__(self, creates: Iterable[Operation]) -> None:
        self._by_id: dict[tuple[str, str], Ask] = {}
        self._others: dict[str, list[Ask]] = defaultdict(list)
        for create in creates:
            topic_id = _id_of(create) if create.ok else None
            if topic_id is None:
                self._others[str(create.key)].append(Ask.of(create))
            else:
                self._by_id.setdefault((str(create.key), topic_id), Ask.of(create))

    def answered(self) -> Iterator[tuple[Ask, str]]:
        """Those that were answered with an id, and it."""
        return ((ask, topic_id) for (_, topic_id), ask in self._by_id.items())

    def of(self, shown: Shown, by_ns: int = _FAR) -> Sequence[Ask]:
        """The create that was answered with the id; else those that may have made it by then."""
        own = self._by_id.get((shown.name, shown.topic_id))
        if own is not None:
            return [own]
        end = _FAR if shown.operation is None else shown.operation.end or _FAR
        return [
            ask
            for ask in self.unanswered(shown.name)
            if ask.operation.index < end and (ask.operation.invoked_ns or 0) <= by_ns
        ]

    def unanswered(self, name: str) -> Sequence[Ask]:
        """Creates of the name that told no id."""
        return self._others.get(name, ())


# --- what was shown -----------------------------------------------------------------------


def _id_of(operation: Operation) -> str | None:
    answered = isinstance(operation.result, dict)
    topic_id = topic_answer(operation).get("topic_id") if answered else None
    return None if topic_id is None else str(topic_id)


def _reads(operations: Sequence[Operation], final: bool) -> Iterator[Shown]:
    wishes = wishes_of(operations)
    for operation in operations:
        topic_id = _id_of(operation) if operation.ok else None
        if operation.f not in ("describe", "follow", "metadata") or topic_id is None:
            continue
        reported = topic_answer(operation).get("partitions")
        if reported is not None:
            partitions = {
                each["partition"]: None
                if wanted_by(wishes, f"{operation.key}/{each['partition']}", operation) is not None
                else _replicas(each.get("replicas"))
                for each in reported
            }
            whole = operation.f in ("describe", "follow") or (final and operation.phase == "final")
            yield Shown(str(operation.key), topic_id, operation, partitions=partitions, whole=whole)


def _replicas(reported: Sequence[int] | None) -> Replicas | None:
    return None if reported is None else tuple(reported)


def _records(log: CommittedLog) -> Iterator[tuple[Shown, int]]:
    """Each topic with what stands around its record: its configuration before it or behind it, and
    what Kafka clears as that is set, then its partitions; and when somebody had applied that."""
    for change, by_ns in zip(log.records, log.by_ns, strict=True):
        if not isinstance(change, TopicCreated):
            continue
        before = _configured_before(log, change)
        configs: dict[str, str] = {}
        for each in before:
            _configure(configs, each)
        made: list[Change] = [*before, change]
        partitions: dict[int, Replicas | None] = {}
        after = log.at(change.offset + 1)
        while isinstance(after, (ConfigSet, PartitionCreated, *_BESIDE)):
            if isinstance(after, PartitionCreated) and after.topic_id == change.topic_id:
                partitions.setdefault(after.partition, after.replicas)
            elif partitions or not (isinstance(after, _BESIDE) or _configures(after, change)):
                break
            elif isinstance(after, ConfigSet):
                _configure(configs, after)
            made.append(after)
            after = log.at(after.offset + 1)
        if after is not None:  # else nobody tells where it ends
            shown = Shown(
                change.name,
                change.topic_id,
                records=made,
                partitions=partitions,
                whole=True,
                configs=configs,
            )
            yield shown, by_ns


def _configured_before(log: CommittedLog, topic: TopicCreated) -> Sequence[ConfigSet]:
    """Configurations are by name, so a create may set them first: in the order of the log."""
    found: list[ConfigSet] = []
    before = log.at(topic.offset - 1)
    while isinstance(before, ConfigSet) and _configures(before, topic):
        found.insert(0, before)
        before = log.at(before.offset - 1)
    return found


def _configure(configs: dict[str, str], change: ConfigSet) -> None:
    """No value takes one away."""
    if change.value is None:
        configs.pop(change.name, None)
    else:
        configs[change.name] = change.value


def _configures(change: Change, topic: TopicCreated) -> bool:
    return isinstance(change, ConfigSet) and (
        (change.resource_type, change.resource) == (TOPIC_RESOURCE, topic.name)
    )


def _final_ids(reads: Iterable[Shown]) -> Mapping[str, set[str]]:
    """The ids under which the final phase shows each topic."""
    ids: dict[str, set[str]] = defaultdict(set)
    for read in reads:
        if read.operation is not None and read.operation.phase == "final":
            ids[read.name].add(read.topic_id)
    return ids


def _asked_for_configs(events: RunEvents) -> int:
    """Topics that are there in the end and whose configurations were asked for, answered or not."""
    ids = _final_ids(_reads(events.operations, final=True))
    asked = {
        str(each.key)
        for each in events.operations
        if each.f == "describe-configs" and each.phase == "final"
    }
    return sum(len(ids.get(name, ())) == 1 for name in asked)


def _configs(
    operations: Iterable[Operation], reads: Iterable[Shown], changes: Changes
) -> Iterator[Shown]:
    """Configurations in the final phase, of topics that its other reads show, under one id."""
    ids = _final_ids(reads)
    for operation in operations:
        name = str(operation.key)
        if operation.f != "describe-configs" or not operation.ok or operation.phase != "final":
            continue
        if isinstance(operation.result, dict) and len(ids.get(name, ())) == 1:
            (topic_id,) = ids[name]
            yield Shown(
                name,
                topic_id,
                operation,
                configs=dict(topic_answer(operation)["configs"]),
                changes=changes.get((TOPIC_RESOURCE, name), {}),
            )


# --- other replicas -----------------------------------------------------------------------


def _nothing_moved(
    events: RunEvents, wishes: Wishes, seen: Mapping[str, int]
) -> Mapping[str, Count]:
    asked = [each for each in events.operations if each.f == "reassign"]
    if not asked:
        return dict.fromkeys((MOVED.name, ARRIVED.name), "nobody asked for other replicas")
    found: dict[str, Count] = {}
    if sum(each.ok for each in asked) < MOVED.floor:
        found = dict.fromkeys((MOVED.name, ARRIVED.name), "hardly a wish for replicas was granted")
    elif settled(events.nemesis) is not True:
        found[ARRIVED.name] = "the cluster was not seen to settle"
    elif sum(bool(last_goals(own)) for own in wishes.values()) < ARRIVED.floor:
        found[ARRIVED.name] = "of hardly a partition is known where it was to be in the end"
    return {
        each.name: found[each.name]
        for each in (MOVED, ARRIVED)
        if each.name in found and seen[each.name] < each.floor
    }


def _moved(wishes: Wishes, log: CommittedLog, seen: Counter[str]) -> Iterator[Finding]:
    made = list(goals(log))
    seen[MOVED.name] += sum(not each.first for each in made)
    for goal in unasked(made, wishes):
        asked = [each.operation for each in wishes.get(goal.key, ())]
        yield finding(
            f"the record at offset {goal.change.offset} moves {goal.key} to {list(goal.replicas)}, "
            "and nobody asked for that, or not so often",
            asked,
            [goal.change],
            clause=MOVED.name,
        )
    if log.gap is not None:
        return
    granted, missing = ungranted(made, wishes)
    seen[MOVED.name] += granted
    for wish in missing:
        yield finding(
            f"operation {wish.operation.index} was granted replicas {list(wish.goal or ())} of "
            f"{wish.operation.key}, and the log never has them",
            [wish.operation],
            by=[EVENTS],
            clause=MOVED.name,
        )


def _arrived(events: RunEvents, wishes: Wishes, seen: Counter[str]) -> Iterator[Finding]:
    if settled(events.nemesis) is not True:
        return
    if (moving := still_moving(events.operations)) is not None:
        look, late = moving
        if late:
            message = f"moves are under way long after the cluster had settled: {look.index}"
            yield finding(message, [look], clause=ARRIVED.name)
        return
    compared, elsewhere = misplaced(events.operations, wishes)
    seen[ARRIVED.name] += min(
        ARRIVED.sightings(read.index for read, _ in compared),
        ARRIVED.sightings(key for _, key in compared),
    )
    for read, key, replicas in elsewhere:
        last = last_goals(wishes[key])
        wanted = " or ".join(str(list(each.goal or ())) for each in last)
        yield finding(
            f"{key} is on {list(replicas)} in the end, operation {read.index}; the last wish that "
            f"was granted was for {wanted}",
            [*(each.operation for each in last), read],
            clause=ARRIVED.name,
        )


# --- levels of features -------------------------------------------------------------------


def _levels(events: RunEvents, seen: Counter[str]) -> Iterator[Finding]:
    levels, grants = told(events.operations), granted(events.operations)
    seen[LEVELS.name] += len(levels) - len({each.name for each in levels})
    for before, after in fallen(levels):
        yield finding(
            f"feature {after.name} is at level {after.level} by operation {after.operation.index}, "
            f"as of {after.epoch} in the log, and at {before.level} by operation "
            f"{before.operation.index}, as of {before.epoch}",
            [before.operation, after.operation],
            clause=LEVELS.name,
        )
    for before, after in lowered(grants):
        yield finding(
            f"feature {after.name} was granted level {after.level} by operation "
            f"{after.operation.index}, after {before.level} by operation {before.operation.index}",
            [before.operation, after.operation],
            clause=LEVELS.name,
        )
    if settled(events.nemesis) is True:
        for before, after in forgotten(levels, grants):
            yield finding(
                f"feature {after.name} was granted level {before.level} by operation "
                f"{before.operation.index}, and is at {after.level} in the end, operation "
                f"{after.operation.index}",
                [before.operation, after.operation],
                clause=LEVELS.name,
            )


# --- configurations that are changed ------------------------------------------------------


def _nothing_changed(events: RunEvents, seen: Mapping[str, int]) -> Mapping[str, Count]:
    granted, of_brokers = granted_changes(events.operations)
    found: dict[str, Count] = {}
    if granted < CHANGED.floor:
        found[CHANGED.name] = "hardly a change of a configuration was granted"
    if of_brokers < BROKERS.floor:
        found[BROKERS.name] = "hardly a configuration of a broker was changed"
    elif settled(events.nemesis) is not True:
        found[BROKERS.name] = "the cluster was not seen to settle"
    return {
        each.name: found[each.name]
        for each in (CHANGED, BROKERS)
        if each.name in found and seen[each.name] < each.floor
    }


def _changed(
    events: RunEvents, log: CommittedLog, changes: Changes, seen: Counter[str]
) -> Iterator[Finding]:
    creates = [each for each in events.operations if each.f == "create" and not each.failed]
    once = REQUEST_IDS in (events.plan.get("capabilities") or ())
    judged = {CHANGED.name: by_the_log(log, changes, creates, once=once)}
    if settled(events.nemesis) is True:
        judged[BROKERS.name] = by_brokers(events.operations, changes)
    for clause, (compared, found) in judged.items():
        seen[clause] += compared
        yield from (replace(each, clause=clause) for each in found)


# --- the rule -----------------------------------------------------------------------------


def _tells(answer: TopicAnswer) -> bool:
    """Whether a create's answer says what was made."""
    reported = (
        answer.get("num_partitions"),
        answer.get("replication_factor"),
        answer.get("configs"),
    )
    return any(each is not None for each in reported)


def _answered_otherwise(ask: Ask) -> str | None:
    """How the create's own answer is not what was asked for, as far as it tells."""
    answer = topic_answer(ask.operation)
    width = len(ask.assignment[0]) if ask.assignment else ask.replication
    for what, reported, asked in (
        ("num_partitions", answer.get("num_partitions"), ask.partitions),
        ("replication_factor", answer.get("replication_factor"), width),
    ):
        if None not in (reported, asked) and reported != asked:
            return f"has {what} {reported}, not {asked}"
    configs = answer.get("configs")
    return None if configs is None else _configured_otherwise(ask, dict(configs))


def _configured_otherwise(ask: Ask, configs: Configs, changed: MayBe | None = None) -> str | None:
    """`changed`: what settings may be that were changed."""
    wanted: MayBe = {**{name: [value] for name, value in ask.configs.items()}, **(changed or {})}
    names = {*configs, *wanted}
    if all(configs.get(name) in wanted.get(name, [None]) for name in names):
        return None
    asked = {name: either(each) for name, each in wanted.items() if set(each) != {None}}
    return f"is configured to {dict(configs)}, not to {asked}"


def _may_be(ask: Ask, shown: Shown) -> MayBe:
    """What settings may be that were changed, of a topic that was made so."""
    if shown.operation is None:
        return {}
    return {
        name: may_be(ask.configs.get(name), ask.operation, writes, shown.operation)
        for name, writes in shown.changes.items()
    }


def _difference(ask: Ask, shown: Shown) -> str | None:
    """How a topic is not what was asked for, in words."""
    partitions = shown.partitions or {}
    if shown.partitions is not None and ask.partitions is not None:
        numbers, right = set(partitions), set(range(ask.partitions))
        if numbers != right if shown.whole else not numbers <= right:
            return f"has the partitions {sorted(numbers)}, not 0 to {ask.partitions - 1}"
    for number, replicas in partitions.items():
        if replicas is None:
            continue
        if ask.assignment is not None:
            if number < len(ask.assignment) and replicas != ask.assignment[number]:
                wanted = list(ask.assignment[number])
                return f"has partition {number} on {list(replicas)}, not on {wanted}"
        elif ask.replication is not None and not (
            len(replicas) == len(set(replicas)) == ask.replication
        ):
            return f"has partition {number} on {list(replicas)}, not on {ask.replication} brokers"
    if shown.configs is None:
        return None
    return _configured_otherwise(ask, shown.configs, _may_be(ask, shown))


def _finding(clause: Clause, shown: Shown, asks: Sequence[Ask], wrong: str) -> Finding:
    creates = list({ask.operation.index: ask.operation for ask in asks}.values())
    who = " or ".join(str(create.index) for create in creates)
    what = f"topic {shown.name}, id {shown.topic_id}, that operation {who} asked for, {wrong}"
    if shown.operation is not None:
        where = f"operation {shown.operation.index}"
        changes = {
            each.operation.index: each.operation
            for writes in shown.changes.values()
            for each in last_writes(writes, shown.operation)
        }
        shows = [*creates, *changes.values(), shown.operation]
        return finding(f"{what}: {where}", shows, clause=clause.name)
    return finding(f"{what}: the log", creates, shown.records, clause=clause.name)


class AskedIsMade(RunChecker):
    name = "asked-is-made"
    summary = (
        "Topics have the partitions, replicas and configuration that their create asked for, by "
        "its answer, all reads and the log"
    )
    requires = frozenset({"topic-operations"})
    clauses = CLAUSES
    check_run = RunCheck(
        asked_is_made,
        evidence=(Change,),
        disk=DISK_KINDS,
        fs=FS,
        observations=True,
        nemesis=True,
    )
