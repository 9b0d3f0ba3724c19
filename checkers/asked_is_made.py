"""What was asked is what was made: a topic is as its create asked for it.

So many partitions, numbered from 0, each on so many brokers or on those that were assigned, and
configured so and not otherwise: by the create's own answer, by every read that shows the topic's
id, and by the committed log. An id that no create was answered with is that of one which has no
answer: it fits at least one of them. A read that promises to show all shows all of a topic, as a
create is one step; a broker's cache may lag, and has to show all once the cluster has settled.

No operation makes a topic grow. Some give partitions other replicas: each such change of the log is
one that somebody asked for, each wish that was granted is there, and once the cluster has settled
partitions are where the last ones wanted them. Some raise the level of a feature: no level falls,
and in the end nodes tell what was granted. Where levels may be lowered, too, the log has those that
were asked for, and nodes tell what it has. Some change configurations, of topics and of brokers:
the log has those that were acknowledged, and no others than were asked for, and in the end each
setting is what a change asked for, or the create, that may have been the last one. Some take a
broker off the cluster: each record of that is one that somebody asked for, each that was granted
has its record, and once the cluster has settled nobody tells of that broker until it is back. Some
have preferred leaders elected: each time that this was granted the log has it. Some only try a
create: that makes nothing, and what is answered, as all that controllers answer of topics, is true
at a point of the log.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from checkers.folds.history.sent_again import carried_out_once
from checkers.folds.history.values import topic_answer
from checkers.folds.metadata_log.committed_log import CommittedLog, known_log
from checkers.folds.metadata_log.disk_logs import DISK_KINDS
from checkers.folds.requests.asked_topics import (
    Ask,
    Asks,
    Shown,
    answered_otherwise,
    difference,
    tells,
)
from checkers.folds.requests.config_changes import by_brokers, by_the_log, granted_changes
from checkers.folds.requests.configured import CHANGES, Changes, Writes, changes_of, last_writes
from checkers.folds.requests.controller_reads import DRY_RUNS, controller_reads
from checkers.folds.requests.controller_reads import READS as READS_BY_CONTROLLERS
from checkers.folds.requests.dry_runs import came_to_nothing, tried_by_name, would_make
from checkers.folds.requests.elected import ELECT, elected, hardly_asked
from checkers.folds.requests.levels import FEATURES, UPDATE, levels_kept
from checkers.folds.requests.lowered_levels import courses_of, levels_made, levels_told
from checkers.folds.requests.lowered_levels import wishes_of as levels_wished
from checkers.folds.requests.reassigned import (
    MOVES,
    Wishes,
    arrived,
    last_goals,
    moves_made,
    wishes_of,
)
from checkers.folds.requests.shown_topics import asked_for_configs, configs_of, reads_of, records_of
from checkers.folds.requests.unregistered import UNREGISTERS, still_told, taken_off
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import Change
from framework.evidence.run_events import RunEvents, settled, unable, unshown
from framework.history.pairing import Operation
from framework.plugins.capabilities import FEATURE_LEVELS, LOWERED_LEVELS
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, LEDGER, Clause, Count, Finding

FS: Final = (
    "create",
    "delete",
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
    *READS_BY_CONTROLLERS,
)

ANSWERS: Final = Clause(
    name="answers",
    says="A create's answer tells of the topic that it asked for, and so does a dry run's",
    compares="answers to creates and dry runs that tell what was, or would be, made",
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
    blind="in which order wishes that were under way together were granted; how often one was, "
    "where forwarded requests have no ids",
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
LEVELS_MADE: Final = Clause(
    name="levels-made",
    says="Where levels of features may fall, the committed log sets one only as somebody asked "
    "for, and not only tried, and has each that was granted, one behind the other",
    compares="levels that were granted, and records that set one since brokers are there",
    floor=2,
    because="a wish, and what it made",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="a wish that is carried out twice; the levels with which the cluster begins",
)
LEVELS_TOLD: Final = Clause(
    name="levels-told",
    says="A broker tells the level of a feature that the committed log has at the offset that it "
    "names, and where levels may fall, in the end the one that was asked for last",
    compares="levels that brokers told of features that clients gave others",
    floor=2,
    because="one may be right by chance",
    sources=(CLIENTS, LEDGER, DISKS, EVENTS),
    blind="how far behind a broker is while the run goes on; what a broker does by a level",
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
    says="In the end a broker tells, of itself and of all brokers, the configuration that changes "
    "of it asked for that may have been the last ones, and no other",
    compares="settings of brokers that were changed, as they tell them in the end",
    floor=2,
    because="one may be right by chance",
    sources=(CLIENTS, LEDGER),
    blind="what a broker does by a setting",
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
DRY: Final = Clause(
    name="dry-runs",
    says="No topic is made for which nobody but a dry run asked",
    compares="dry runs that were told that the topic would be made, of names that were looked for",
    floor=2,
    because="one may have come to nothing by chance",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="of a name for which creates ask, too, a topic that one of them may have made: where "
    "requests have no ids, any; what else a dry run may do but change a configuration",
)
TOLD: Final = Clause(
    name="controllers",
    says="What a controller answers of a topic - a dry run, or how it is configured - is true at "
    "one point of the committed log, none that came later, and none before what that process had "
    "answered so; an active one's, nor before what it had acknowledged itself, and in peace all "
    "know what was acknowledged longer ago than recovery takes",
    compares="answers of controllers of names that the log has",
    floor=2,
    because="an answer that is compared with one before it",
    sources=(CLIENTS, LEDGER, DISKS, EVENTS),
    blind="what others had acknowledged while faults hold, where a deposed controller may answer; "
    "what was under way, and not committed yet; which controller a broker asked",
)
SHOWN: Final = 5
"""Dry runs that a finding names."""
OFTEN: Final = 10
"""Questions: of fewer all may have met faults, or names that had a topic."""

CLAUSES: Final = (
    ANSWERS,
    READS,
    LOGGED,
    CONFIGURED,
    MOVED,
    ARRIVED,
    LEVELS,
    LEVELS_MADE,
    LEVELS_TOLD,
    CHANGED,
    BROKERS,
    UNREGISTERED,
    UNTOLD,
    ELECTED,
    DRY,
    TOLD,
)


Judgement: TypeAlias = tuple[Count, Sequence[Finding]]
"""What was compared, and found; findings are without a clause."""
NOTHING: Final[Judgement] = (0, ())
Sight: TypeAlias = tuple[Clause, Shown, Sequence[Ask]]
"""A clause, what was shown, and the creates of which one has asked for it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What clients asked for, but for what was refused."""

    creates: Sequence[Operation]
    changes: Changes
    moves: Wishes
    levels: Writes

    @classmethod
    def of(cls, operations: Sequence[Operation]) -> "Wanted":
        creates = [each for each in operations if each.f == "create" and not each.failed]
        changes, moves = changes_of(operations), wishes_of(operations)
        return cls(creates, changes, moves, levels_wished(operations))


def asked_is_made(events: RunEvents) -> Outcome:
    wanted, log = Wanted.of(events.operations), known_log(events)
    asks = Asks(wanted.creates, once=carried_out_once(events))
    tried = tried_by_name(events.operations)
    seen = Counter[str]()
    findings: dict[tuple[str, str], Finding] = {}
    for ask, topic_id in [*asks.answered(), *would_make(tried)]:
        seen[ANSWERS.name] += tells(topic_answer(ask.operation))
        wrong = answered_otherwise(ask)
        if wrong is not None:
            shown = Shown(str(ask.operation.key), topic_id, ask.operation)
            findings[ANSWERS.name, topic_id] = _finding(ANSWERS, shown, [ask], wrong)
    for clause, shown, group in _sights(events, log, asks, wanted.changes):
        if group:
            seen[clause.name] += 1
            differences = [difference(ask, shown) for ask in group]
            if None not in differences:
                finding_ = _finding(clause, shown, group, str(differences[0]))
                findings.setdefault((clause.name, shown.topic_id), finding_)
        elif shown.name in tried:
            finding_ = _made_by_trying(shown, tried[shown.name])
            findings.setdefault((DRY.name, shown.topic_id), finding_)
    seen[DRY.name] = came_to_nothing(tried, log, events.operations)
    every = [*findings.values()]
    counts: dict[str, Count] = {each.name: seen[each.name] for each in CLAUSES}
    for judged, (count, found) in _judged(events, log, wanted).items():
        counts[judged.name] = count
        every += [replace(each, clause=judged.name) for each in found]
    figures = {name: float(count) for name, count in counts.items() if isinstance(count, int)}
    return weighed({**counts, **_no_occasion(events, wanted, counts)}, every, figures)


def _judged(events: RunEvents, log: CommittedLog, wanted: Wanted) -> Mapping[Clause, Judgement]:
    """What is judged apart from what creates made."""
    agreed, changes = settled(events.nemesis) is True, wanted.changes
    return {
        MOVED: moves_made(wanted.moves, log, once=carried_out_once(events)),
        ARRIVED: _arrived(events, wanted.moves) if agreed else NOTHING,
        **_levels(events, log, wanted.levels, agreed),
        CHANGED: by_the_log(log, changes, wanted.creates, once=carried_out_once(events)),
        BROKERS: by_brokers(events.operations, changes) if agreed else NOTHING,
        UNREGISTERED: taken_off(events, log),
        UNTOLD: still_told(events),
        ELECTED: elected(events, log),
        TOLD: controller_reads(events, log),
    }


def _levels(
    events: RunEvents, log: CommittedLog, wishes: Writes, agreed: bool
) -> Mapping[Clause, Judgement]:
    """The log says what they are, and where the system lets them fall, what they are to be."""
    rise, fall = _levels_change(events)
    found: dict[Clause, Judgement] = {}
    if rise:
        found[LEVELS] = levels_kept(events.operations, agreed)
    if rise or fall:
        courses, owed = courses_of(log), agreed and fall
        if fall:
            found[LEVELS_MADE] = levels_made(log, courses, wishes)
        told = levels_told(events.operations, log, courses, wishes, agreed=owed, ends=not fall)
        found[LEVELS_TOLD] = told
    return found


def _levels_change(events: RunEvents) -> tuple[bool, bool]:
    """Whether administrators raise them, and never lower them; whether they do both."""
    return not unable(events.plan, FEATURE_LEVELS), not unable(events.plan, LOWERED_LEVELS)


def _arrived(events: RunEvents, wishes: Wishes) -> Judgement:
    compared, found = arrived(events.operations, wishes)
    reads, keys = [read.index for read, _ in compared], [key for _, key in compared]
    return min(ARRIVED.sightings(reads), ARRIVED.sightings(keys)), found


def _no_occasion(
    events: RunEvents, wanted: Wanted, seen: Mapping[str, Count]
) -> Mapping[str, Count]:
    """Clauses for which nobody asked, or of which nobody could tell."""
    asked = {each.f for each in events.operations}
    if "create" not in asked:
        apart = (UNREGISTERED, UNTOLD)
        return {each.name: "nobody asked for a topic" for each in CLAUSES if each not in apart}
    found: dict[str, Count] = {}
    made = (each for each in events.operations if each.f == "create" and each.ok)
    if len({str(each.key) for each in made}) == 1:
        few = (each.name for each in (ANSWERS, LOGGED) if seen[each.name] == 1)
        found |= dict.fromkeys(few, "clients were acknowledged one topic alone")
    if why := unshown(events.plan, Change):
        found |= {LOGGED.name: why, MOVED.name: why, CHANGED.name: why, ELECTED.name: why}
    found |= _nothing_moved(events, wanted.moves, seen)
    found |= _nothing_changed(events, seen)
    found |= _below(_nothing_tried(events), (DRY, TOLD), seen)
    if why := hardly_asked(events.operations):
        found[ELECTED.name] = why
    found |= _no_levels(events, wanted.levels, seen)
    if "describe-configs" not in asked:
        found[CONFIGURED.name] = "nobody asked how topics are configured"
    elif settled(events.nemesis) is not True:
        found[CONFIGURED.name] = "the cluster was not seen to settle"
    elif asked_for_configs(events) < CONFIGURED.floor:
        found[CONFIGURED.name] = "of what clients asked in the end too few topics were left"
    return found


def _sights(events: RunEvents, log: CommittedLog, asks: Asks, changes: Changes) -> Iterator[Sight]:
    agreed = settled(events.nemesis) is True
    reads = list(reads_of(events.operations, agreed))
    for shown in reads:
        yield READS, shown, asks.of(shown)
    for shown, by_ns in records_of(log):
        yield LOGGED, shown, asks.of(shown, by_ns)
    if agreed:
        for shown in configs_of(events.operations, reads, changes):
            # A create without an answer may have taken effect between the two reads.
            yield CONFIGURED, shown, [*asks.of(shown), *asks.unanswered(shown.name)]


# --- other replicas -----------------------------------------------------------------------


def _nothing_moved(
    events: RunEvents, wishes: Wishes, seen: Mapping[str, Count]
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
    return _below(found, (MOVED, ARRIVED), seen)


# --- levels of features -------------------------------------------------------------------


def _no_levels(events: RunEvents, wishes: Writes, seen: Mapping[str, Count]) -> Mapping[str, Count]:
    if {each.f for each in events.operations}.isdisjoint({FEATURES, UPDATE}):
        clauses = (LEVELS, LEVELS_MADE, LEVELS_TOLD)
        return {each.name: "nobody asked for levels of features" for each in clauses}
    rise, fall = _levels_change(events)
    found: dict[str, Count] = {} if rise else {LEVELS.name: "levels of features may fall"}
    not_held = [LEVELS_MADE] * (not fall) + [LEVELS_TOLD] * (not fall and not rise)
    found |= {each.name: "no level of a feature may fall" for each in not_held}
    by_log = [each for each in (LEVELS_MADE, LEVELS_TOLD) if each not in not_held]
    granted = sum(wish.operation.ok for own in wishes.values() for wish in own)
    if why := unshown(events.plan, Change):
        found |= {each.name: why for each in by_log}
    elif granted < LEVELS_MADE.floor:
        few = {each.name: "hardly a level of a feature was granted" for each in by_log}
        found |= _below(few, by_log, seen)
    return found


# --- configurations that are changed ------------------------------------------------------


def _nothing_changed(events: RunEvents, seen: Mapping[str, Count]) -> Mapping[str, Count]:
    granted, of_brokers = granted_changes(events.operations)
    found: dict[str, Count] = {}
    if granted < CHANGED.floor:
        found[CHANGED.name] = "hardly a change of a configuration was granted"
    if of_brokers < BROKERS.floor:
        found[BROKERS.name] = "hardly a configuration of a broker was changed"
    elif settled(events.nemesis) is not True:
        found[BROKERS.name] = "the cluster was not seen to settle"
    return _below(found, (CHANGED, BROKERS), seen)


# --- what controllers are asked -----------------------------------------------------------


def _nothing_tried(events: RunEvents) -> Mapping[str, Count]:
    asked = Counter(each.f for each in events.operations if each.f in READS_BY_CONTROLLERS)
    if why := unshown(events.plan, Change):
        return dict.fromkeys((DRY.name, TOLD.name), why)
    found: dict[str, Count] = {}
    if asked.total() < OFTEN:
        found[TOLD.name] = "controllers were hardly asked for topics"
    if sum(asked[f] for f in DRY_RUNS) < OFTEN:
        found[DRY.name] = "hardly a create was only tried"
    return found


def _below(
    reasons: Mapping[str, Count], clauses: Sequence[Clause], seen: Mapping[str, Count]
) -> Mapping[str, Count]:
    """Of these reasons those of clauses that saw less than is enough."""
    counts = {each: seen[each.name] for each in clauses if each.name in reasons}
    return {
        each.name: reasons[each.name]
        for each, count in counts.items()
        if isinstance(count, int) and count < each.floor
    }


# --- in words -----------------------------------------------------------------------------


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


def _made_by_trying(shown: Shown, tried: Sequence[Operation]) -> Finding:
    message = (
        f"topic {shown.name}, id {shown.topic_id}, was made, and nobody but dry runs asked for it, "
        f"operation {tried[0].index} the first of {len(tried)}"
    )
    by = [] if shown.operation is None else [shown.operation]
    return finding(message, [*tried[:SHOWN], *by], shown.records, clause=DRY.name)


class AskedIsMade(RunChecker):
    name = "asked-is-made"
    summary = (
        "Topics have the partitions, replicas and configuration that their create asked for, by "
        "its answer, all reads and the log; what is only tried makes none"
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
        faults=True,
    )
