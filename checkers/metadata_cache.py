"""Each answer of a broker's metadata is a point of the committed log, and its points never go back
(D.13; KIP-631, "Broker Metadata Management").

A broker applies the metadata log in order, and answers from what it has applied. So each answer has
a point of the committed log at which all was true that it shows; no answer of a process has a point
before that of one which had ended before it was asked for; and in peace none has a point before
what had been acknowledged, or was shown to be committed, longer ago than recovery takes. In turn,
each answer is given the first point that is left to it: no other choice leaves more to those that
follow.

The log is that of the disks. An answer that lists all topics may have looked for their names a
little earlier than at the topics themselves, and at brokers a little later, as Kafka's brokers do.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Final

from checkers.folds.cluster.registered_places import told_where_registered
from checkers.folds.history.lives import Lives
from checkers.folds.history.peace import FOREVER_NS
from checkers.folds.history.values import cluster_view
from checkers.folds.metadata_log.committed_log import known_log, surest
from checkers.folds.metadata_log.disk_logs import DISK_KINDS
from checkers.folds.metadata_log.log_points import LogPoints, Spans
from checkers.folds.metadata_log.shown_ends import SHOWS, all_ends
from checkers.folds.requests.owed import Acknowledged, Latest, Peace, acknowledged, shown_committed
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import Change
from framework.evidence.kinds import either_of
from framework.evidence.run_events import RunEvents
from framework.history.event import Recorded
from framework.history.pairing import Operation
from framework.plugins.capabilities import NODE_ANSWERS
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, LEDGER, Clause, Count, Finding

ONE_TOPIC: Final = "metadata"
ALL_TOPICS: Final = "describe-topics"
BROKERS: Final = "describe-cluster"
CHANGES: Final = ("create", "delete")
ENOUGH: Final = 2
"""Changes: with fewer there is hardly anything to show."""
FS: Final = (ONE_TOPIC, *CHANGES, *SHOWS)

ONE_POINT: Final = Clause(
    name="one-point",
    says="All that an answer shows is true at one point of the committed log",
    compares="answers that show something of a topic, or leave out one that others showed",
    floor=4,
    because="two brokers, each asked about two topics or twice",
    sources=(LEDGER, CLIENTS, DISKS, EVENTS),
    blind="a point between two records that were written together; brokers that no answer of the "
    "run lists, and topics' configurations",
)
NO_WAY_BACK: Final = Clause(
    name="points-rise",
    says="No answer of a process is of an earlier point than one that it had given before",
    compares="answers of a process after another of its own that needed records",
    floor=4,
    because="two brokers, each asked twice more",
    sources=(LEDGER, CLIENTS, DISKS, EVENTS),
    blind="what went back to a point at which the same was true",
)
KEEPS_UP: Final = Clause(
    name="keeps-up",
    says="In peace an answer shows what had been acknowledged, or shown to be committed, longer "
    "ago than recovery takes; once the cluster has settled, all that had been acknowledged before, "
    "and what was shown to be committed 2 s ago",
    compares="answers in peace, after something had been acknowledged, or shown to be committed, "
    "that they must show",
    floor=2,
    because="what one broker says once is no state",
    sources=(LEDGER, CLIENTS, DISKS, EVENTS),
    blind="answers that show nothing of what is owed, and might be of any point; what was "
    "committed after the last answer that shows how far the log is",
)

PLACES: Final = Clause(
    name="registered-places",
    says="Where an answer says that a broker is, that broker had registered",
    compares="places of brokers that answers tell, of those whom the log registers",
    floor=4,
    because="two brokers, each told of twice",
    sources=(LEDGER, DISKS, EVENTS),
    blind="which of its registrations a place is of; places that nobody tells; security protocols",
)


def metadata_cache(events: RunEvents) -> Outcome:
    records, by = surest(known_log(events))
    points, peace, asked = LogPoints.of(records), Peace.of(events), _asked(events)
    changed = [each for each in events.operations if each.f in CHANGES and each.ok]
    answers = _answers([*asked, *_lists(events)], points) if records else []
    placed = list(_placed(answers, Lives(events.faults)))
    shown = shown_committed(all_ends(events))
    owing = list(_owing(placed, peace, acknowledged(changed, points), shown))
    found = {
        ONE_POINT: sum(each.of_topics for each in answers),
        NO_WAY_BACK: sum(each.answer.of_topics and each.low.point > 0 for each in placed),
        KEEPS_UP: sum(each.answer.of_topics for each, _ in owing),
    }
    occasions = {NO_WAY_BACK: _seldom(asked), KEEPS_UP: _no_peace(asked, changed, peace)}
    counts: dict[str, Count] = {
        each.name: each.count(found[each], _no_topics(changed) or occasions.get(each, ""))
        for each in found
    }
    counts[PLACES.name], misplaced = told_where_registered(events.observations, records, by)
    findings = [
        *_unexplained(placed, by),
        *_behind(owing, by),
        *(replace(each, clause=PLACES.name) for each in misplaced),
    ]
    figures = {
        "answers": sum(each.of_topics for each in answers),
        "lists of brokers": sum(bool(each.brokers) for each in answers),
    }
    return weighed(counts, findings, figures)


# --- answers ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Statement:
    """Something that an answer says, and when it was true."""

    says: str
    true: Spans


@dataclass(frozen=True, slots=True)
class Answer:
    """All that `shown` says is true at one point; what it says by leaving topics out was so at that
    point or, of a process, since its answer before. All that it says of `brokers` is true at that
    point or at a later one."""

    operation: Operation
    shown: Sequence[Statement] = ()
    left_out: Sequence[Statement] = ()
    brokers: Sequence[Statement] = ()

    @property
    def of_topics(self) -> bool:
        return bool(self.shown or self.left_out)

    def first(self, low: int) -> int | None:
        """The first point from `low` on by which all of it is explained; None: there is none."""
        point = latest([low, *(each.true.first(low) for each in self.left_out)])
        return together(self.brokers, together(self.shown, point))

    def untrue(self, low: int) -> str:
        """What of it is true nowhere from `low` on; if each is somewhere, all."""
        said = [*self.shown, *self.left_out, *self.brokers]
        wrong = [each.says for each in said if each.true.first(low) is None]
        return "; ".join(wrong or [*(each.says for each in said), "never all of it together"])

    def __str__(self) -> str:
        return f"{self.operation.node} (operation {self.operation.index})"


def together(said: Sequence[Statement], point: int | None) -> int | None:
    """The first point from there on at which all of it is true; None: there is none."""
    while point is not None:
        later = latest([point, *(each.true.first(point) for each in said)])
        if later == point:
            return point
        point = later
    return None


def latest(points: Sequence[int | None]) -> int | None:
    """The last of them; None: one of them never comes."""
    last = 0
    for each in points:
        if each is None:
            return None
        last = max(last, each)
    return last


def _asked(events: RunEvents) -> list[Operation]:
    """What brokers were asked of topics, by clients and observers."""
    asked = [each for each in events.operations if each.f == ONE_TOPIC]
    asked += [each for each in events.observations if each.f == ALL_TOPICS]
    return sorted(asked, key=lambda each: each.index)


def _lists(events: RunEvents) -> list[Operation]:
    """What they were asked of brokers alone."""
    return [each for each in events.observations if each.f == BROKERS]


def _answers(asked: Iterable[Operation], points: LogPoints) -> list[Answer]:
    """Those that say something, in the order in which they were asked for."""
    answered = sorted((each for each in asked if each.ok), key=lambda each: each.index)
    of_all = [each for each in answered if each.f != ONE_TOPIC]
    named = {topic["name"] for each in of_all for topic in cluster_view(each).get("topics") or ()}
    listed = {broker["id"] for each in of_all for broker in cluster_view(each).get("brokers") or ()}
    listing: dict[int, Listing] = {each: _listing(each, points) for each in sorted(listed)}
    found = (
        _of_one(each, points) if each.f == ONE_TOPIC else _of_all(each, points, named, listing)
        for each in answered
    )
    return [each for each in found if each.of_topics or each.brokers]


@dataclass(frozen=True, slots=True)
class Listing:
    """What an answer may say of a broker."""

    there: Statement
    missing: Statement


def _listing(broker: int, points: LogPoints) -> Listing:
    there = points.in_service(broker)
    return Listing(
        Statement(f"broker {broker} is listed", there),
        Statement(f"broker {broker} is not listed", there.others),
    )


def _of_one(operation: Operation, points: LogPoints) -> Answer:
    name, result = str(operation.key), operation.result
    if result is None:
        return Answer(operation, [Statement(f"no topic {name}", points.absent(name))])
    return Answer(operation, list(_topic(name, result, points)))


def _of_all(
    operation: Operation, points: LogPoints, named: Set[str], listing: Mapping[int, Listing]
) -> Answer:
    """`named`, `listing`: the topics and brokers that any such answer has; others may be nobody's
    to see."""
    topics = {str(topic["name"]): topic for topic in cluster_view(operation).get("topics") or ()}
    whole = operation.f == ALL_TOPICS and not cluster_view(operation).get("others")
    left_out = sorted(named - topics.keys()) if whole else ()
    return Answer(
        operation,
        [each for name, topic in topics.items() for each in _topic(name, topic, points)],
        [Statement(f"no topic {name}", points.absent(name)) for name in left_out],
        list(_brokers(operation, listing)) if "brokers" in operation.result else (),
    )


def _brokers(operation: Operation, listing: Mapping[int, Listing]) -> Iterator[Statement]:
    there = {broker["id"] for broker in cluster_view(operation).get("brokers") or ()}
    for broker, each in listing.items():
        yield each.there if broker in there else each.missing


def _topic(name: str, shown: Mapping[str, Recorded], points: LogPoints) -> Iterator[Statement]:
    topic_id = shown["topic_id"]
    yield Statement(f"{name} is topic {topic_id}", points.topic(name, topic_id))
    partitions = shown.get("partitions")
    if partitions is not None:
        numbers = {each["partition"] for each in partitions}
        yield Statement(
            f"{name} has partitions {sorted(numbers)}", points.partitions(topic_id, numbers)
        )
    for each in partitions or ():
        yield Statement(
            f"{name}/{each['partition']} has leader {each['leader']} in epoch "
            f"{each['leader_epoch']}, ISR {list(each['isr'])}",
            points.state(topic_id, each),
        )


# --- points -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Low:
    """No answer may be of an earlier point. `answer`: the one that had been of this."""

    point: int
    answer: Answer | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """An answer, and the first point that is left to it; None: there is none."""

    answer: Answer
    low: Low
    point: int | None


def _placed(answers: Iterable[Answer], lives: Lives) -> Iterator[Placed]:
    """Of one process after the other. Of which process an answer is, if the harness ended one
    meanwhile, nobody knows: it is by itself."""
    own: dict[tuple[str, int], list[Answer]] = defaultdict(list)
    for each in answers:
        life = lives.of(each.operation)
        if life is None:
            yield Placed(each, Low(0), each.first(0))
        else:
            own[life].append(each)
    for _, of_process in sorted(own.items()):
        yield from _in_turn(of_process)


def _in_turn(answers: Sequence[Answer]) -> Iterator[Placed]:
    """Of one process, in the order in which they were asked for."""
    ended: list[tuple[int, int, Answer]] = []
    low = Low(0)
    for each in answers:
        while ended and ended[0][0] < each.operation.index:
            _, point, earlier = heappop(ended)
            if point > low.point:
                low = Low(point, earlier)
        first = each.first(low.point)
        yield Placed(each, low, first)
        if first is not None:
            heappush(ended, (_end(each.operation), first, each))


def _end(operation: Operation) -> int:
    assert operation.end is not None, "it was answered"
    return operation.end


def _unexplained(placed: Iterable[Placed], by: str) -> Iterator[Finding]:
    for each in placed:
        if each.point is not None:
            continue
        answer, before = each.answer, each.low.answer
        if answer.first(0) is None or before is None:
            yield finding(
                f"{answer} shows what the committed log says at none of its points: "
                f"{answer.untrue(0)}",
                [answer.operation],
                by=[by],
                clause=ONE_POINT.name,
            )
        else:
            yield finding(
                f"{answer} shows what was over at point {each.low.point} of the committed log, "
                f"which the same process had reached in operation {before.operation.index}: "
                f"{answer.untrue(each.low.point)}",
                [before.operation, answer.operation],
                by=[by],
                clause=NO_WAY_BACK.name,
            )


# --- peace --------------------------------------------------------------------------------


def _owing(
    placed: Iterable[Placed],
    peace: Peace,
    changes: Iterable[Acknowledged],
    shown: Iterable[Acknowledged],
) -> Iterator[tuple[Placed, Acknowledged]]:
    """The answers that have a point, and the last that they have to show. `shown`: to be
    committed."""
    given, committed = (Latest(known, lambda each: each.at_ns) for known in (changes, shown))
    for each in placed:
        operation = each.answer.operation
        owed_ns = peace.owed_ns(operation)
        if each.point is None or owed_ns is None:
            continue
        followed_ns = peace.followed_ns(operation, owed_ns)
        known = [given.before(owed_ns), committed.before(followed_ns)]
        due = max((one for one in known if one), key=lambda one: one.point, default=None)
        if due is not None:
            yield each, due


def _behind(owing: Iterable[tuple[Placed, Acknowledged]], by: str) -> Iterator[Finding]:
    for each, due in owing:
        low = max(each.low.point, due.point)
        if each.answer.first(low) is None:
            yield finding(
                f"{each.answer} shows what was over at point {due.point} of the committed log, "
                f"{_known(due)} at {due.at_ns / 1e9:.1f} s, long before: {each.answer.untrue(low)}",
                [due.operation, each.answer.operation],
                by=[by],
                clause=KEEPS_UP.name,
            )


def _known(due: Acknowledged) -> str:
    """Who says that the log is committed up to there, in words that follow the point."""
    told = due.operation
    if told.f in CHANGES:
        return f"which {told.f} of {told.key} (operation {told.index}) had been acknowledged"
    return f"which {told.node} had shown to be committed (operation {told.index})"


# --- occasions ----------------------------------------------------------------------------


def _no_topics(changed: Sequence[Operation]) -> str:
    """Why there may be nothing to show; empty: there is something."""
    return "" if len(changed) >= ENOUGH else "clients were acknowledged hardly a change of topics"


def _seldom(asked: Iterable[Operation]) -> str:
    brokers = Counter(each.node for each in asked)
    again = brokers.total() - len(brokers)
    return "hardly a broker was asked again" if again < NO_WAY_BACK.floor else ""


def _no_peace(asked: Iterable[Operation], changed: Sequence[Operation], peace: Peace) -> str:
    ends = [each.completed_ns for each in changed if each.completed_ns is not None]
    owed = (peace.owed_ns(each) for each in asked)
    due = sum(each is not None and each > min(ends, default=FOREVER_NS) for each in owed)
    return "hardly a broker was asked in peace" if due < KEEPS_UP.floor else ""


class MetadataCache(RunChecker):
    name = "metadata-cache"
    summary = (
        "Each answer of a broker's metadata is a point of the committed log; the points of a "
        "process never go back, in peace they keep up with what was committed, and brokers are "
        "told to be where they registered"
    )
    requires = frozenset({NODE_ANSWERS}) | either_of(Change)
    clauses = (ONE_POINT, NO_WAY_BACK, KEEPS_UP, PLACES)
    check_run = RunCheck(
        metadata_cache,
        evidence=(Change,),
        disk=DISK_KINDS,
        fs=FS,
        observations=True,
        nemesis=True,
        faults=True,
    )
