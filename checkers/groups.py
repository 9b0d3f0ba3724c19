"""Consumer groups keep what they promise their members, whoever coordinates them (D.18 for groups).

Judged from clients' operations alone. A member has joined once it was told its part of a generation
(`join`, or, where that was not told in time, the first `assignment`; by others it tells later what
it had been told); by then the generation is on its
coordinator's disk. What a group has committed in a partition is told by a question (`committed`),
and by where a new member begins. The clauses:

1. In one generation a partition has one owner.
2. No commit of an older generation is taken once somebody has joined, or committed in, a newer one.
3. Who joins is not given an older generation than another had joined before.
4. What a group is told is what was committed last: no commit is lost, none that was overwritten
   comes back, also not as one of an older generation that took effect late; nor one that was
   deleted, and nothing is deleted that nobody asked for (KIP-496).
5. Nobody is told an offset that nobody had begun to commit.
6. No committed offset is beyond the end of its partition.
7. What was acknowledged below where the group has read to its end was handed to a member.
8. Once a process has joined under an instance id, an earlier one of the instance is refused.
9. A static member that comes back in time goes on in its generation, with its part (KIP-345).
10. Nothing that a group committed is deleted while a member is in it that reads the topic.
11. No two members of a group are told one id.
12. In the end a group with something committed is listed by one broker; nobody lists one that there
   is not.

Generations are those of the classic protocol, one for all members. A group that does not begin at a
partition's beginning is not asked for what it read there; offsets that are committed otherwise
than by the history's operations are not for these clauses.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from checkers.folds.groups.group_commits import questions
from checkers.folds.groups.group_generations import invoked_late, lasting, old_commits
from checkers.folds.groups.group_ids import ids_of_two, told_ids
from checkers.folds.groups.group_listings import (
    LIST,
    ROUNDS,
    from_nowhere,
    ill_listed,
    ill_placed,
    listings,
    rounds,
    settled_groups,
)
from checkers.folds.groups.group_runs import (
    JOINS,
    CommittedAnswer,
    End,
    GroupRun,
    Membership,
    Place,
    Read,
    group_run,
    read_to_the_end,
)
from checkers.folds.groups.group_stays import meanwhile, stays
from checkers.folds.groups.instances import acts_of_the_fenced, timely_returns
from checkers.folds.history.group_values import group_request, joined
from checkers.folds.history.roles import BROKER, with_roles
from checkers.folds.history.topic_ids import topic_of_key
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.run_events import RunEvents, settled, unable
from framework.history.pairing import FINAL, Operation
from framework.plugins.capabilities import KEPT_GROUPS
from framework.plugins.checker import CLIENTS, LEDGER, Clause, Count, Finding
from framework.plugins.outcomes import STALE

ONE_OWNER: Final = Clause(
    name="one-owner",
    says="In one generation of a group a partition belongs to one member",
    compares="partitions of members in generations of which two members tell",
    floor=2,
    because="it takes two members of one generation, each with something to read",
    sources=(CLIENTS,),
    blind="what a member is given whose join is not answered; a member that is given another part "
    "within its generation; where groups do not last without members, who joined before anything "
    "was committed",
)
OLD_GENERATIONS: Final = Clause(
    name="old-generations-refused",
    says="No commit of an older generation is taken once somebody has joined, or committed in, a "
    "newer one",
    compares="commits of an older generation, taken or refused as stale",
    floor=2,
    because="each alone would have been enough; the second one is not the first one's luck",
    sources=(CLIENTS,),
    blind="such a commit whose answer is lost and that nobody is told of afterwards; commits of "
    "who is no member, taken while others are",
)
RISE: Final = Clause(
    name="generations-rise",
    says="Who joins a group is not given an older generation than another had joined before",
    compares="joins after the group had been in a generation",
    floor=2,
    because="a member of the final phase joins in any case, after one of the main phase",
    sources=(CLIENTS,),
)
KEPT: Final = Clause(
    name="commits-kept",
    says="What a group is told is what was committed last: none is lost, and none comes back that "
    "was overwritten or deleted",
    compares="questions after a commit; partitions asked of after one, where any is left out",
    floor=4,
    because="the final member and the final questions ask for each partition, of which there are "
    "four by default; where there are fewer, the main phase asks as often",
    sources=(CLIENTS,),
    blind="two questions that only together contradict a commit without an answer; a deletion that "
    "another node acknowledged than had taken the commit",
)
MADE: Final = Clause(
    name="commits-made",
    says="Nobody is told an offset that nobody had begun to commit",
    compares="offsets that were told",
    floor=4,
    because="as above",
    sources=(CLIENTS,),
)
WITHIN_END: Final = Clause(
    name="within-end",
    says="No committed offset is beyond the end of its partition",
    compares="offsets that were told of partitions whose end is known",
    floor=4,
    because="as above",
    sources=(CLIENTS,),
    blind="in the main phase an end that goes back and comes again",
)
DELIVERED: Final = Clause(
    name="delivered",
    says="What was acknowledged below where the group has read to its end was handed to a member",
    compares="acknowledged records below that end; partitions read to theirs, where any is not",
    floor=20,
    because="a second of the workload acknowledges as many",
    sources=(CLIENTS,),
    blind="partitions of topics of which the group was given none",
)

FENCED: Final = Clause(
    name="instances-fenced",
    says="Once a process has joined under an instance id, no commit or heartbeat of an earlier "
    "process of the instance is taken",
    compares="commits and heartbeats of such a process, taken or refused as stale",
    floor=2,
    because="each alone would have been enough; the second one is not the first one's luck",
    sources=(CLIENTS,),
    blind="such a commit whose answer is lost; heartbeats that another node takes than the one "
    "that had let the later process in",
)
RETURNS: Final = Clause(
    name="returns-keep-the-part",
    says="A static member that comes back in time goes on in its generation, with its part",
    compares="joins of an instance, alone in its group, while the session of its process before "
    "surely ran",
    floor=2,
    because="each alone would have been enough; the second one is not the first one's luck",
    sources=(CLIENTS,),
    blind="groups of several members, where others may have begun a generation",
)

WITHHELD: Final = Clause(
    name="deletions-withheld",
    says="No deletion of what a group committed is acknowledged while a member is in it that reads "
    "the topic",
    compares="such deletions, acknowledged or refused for the member, who joined or committed "
    "before, and committed after it in the same generation",
    floor=2,
    because="each alone would have been enough; the second one is not the first one's luck",
    sources=(CLIENTS,),
    blind="a member that commits nothing afterwards",
)
OWN_IDS: Final = Clause(
    name="own-ids",
    says="No two members of a group are told one id",
    compares="ids that were told in groups, to several members",
    floor=2,
    because="it takes two members",
    sources=(CLIENTS,),
    blind="members of different groups",
)
LISTED: Final = Clause(
    name="listed",
    says="In the end a group with something committed is listed by one broker; nobody lists one "
    "that nobody named, or one of another state or type than was asked for, or than it is of",
    compares="groups with something committed in the end, looked for where all brokers had listed "
    "theirs twice",
    floor=2,
    because="the members' own and another one: one may be where it is by chance",
    sources=(CLIENTS, LEDGER),
    blind="groups that have committed nothing; groups that nobody named, where there are "
    "transactions, whose consumers have groups of their own",
)

FS: Final = (
    *JOINS,
    LIST,
    "beat",
    "commit",
    "committed",
    "fetch",
    "forget",
    "leave",
    "list-offsets",
    "produce",
)
WORDS: Final = {"beat": "heartbeat", "commit": "commit"}
MOST: Final = 5
"""Findings of a clause that are told; figures count all."""


class Seen(NamedTuple):
    """What a clause compared, and found."""

    compared: Count
    findings: Sequence[Finding]


Rule: TypeAlias = Callable[[GroupRun], Seen]


def groups(events: RunEvents) -> Outcome:
    """All clauses over one run."""
    run = group_run(events.operations)
    numbered = lasting(run) if unable(events.plan, KEPT_GROUPS) else run
    seen = {
        clause.name: rule(numbered if clause in OF_GENERATIONS else run)
        for clause, rule in RULES.items()
    }
    seen[LISTED.name] = _listed(events)
    findings = [
        replace(each, clause=name) for name, one in seen.items() for each in one.findings[:MOST]
    ]
    figures = {f"{name} broken": float(len(each.findings)) for name, each in seen.items()}
    counts: dict[str, Count] = {name: each.compared for name, each in seen.items()}
    tried = old_commits(numbered, events.operations)
    if not isinstance(counts[OLD_GENERATIONS.name], str) and tried < OLD_GENERATIONS.floor:
        counts[OLD_GENERATIONS.name] = "clients hardly committed in older generations"
    return weighed(counts, findings, figures)


# --- 1: owners ----------------------------------------------------------------------------


def one_owner(run: GroupRun) -> Seen:
    members: dict[tuple[str, int], set[str]] = defaultdict(set)
    first: dict[tuple[str, int, str], Membership] = {}
    found: dict[tuple[str, int, str], Finding] = {}
    for each in run.memberships:
        members[each.group, each.generation].add(each.owner)
        for key in each.assigned:
            where = (each.group, each.generation, key)
            owner = first.setdefault(where, each)
            if owner.owner != each.owner and where not in found:
                found[where] = finding(
                    f"in generation {each.generation} of group {each.group}, {key} belongs to "
                    f"{owner.member} by operation {owner.operation.index}, and to {each.member} by "
                    f"operation {each.operation.index}",
                    [owner.operation, each.operation],
                )
    shared = sum(len(members[group, generation]) > 1 for group, generation, _ in first)
    if members and not _side_by_side(run) and all(len(each) == 1 for each in members.values()):
        return Seen("no generation of which two members tell", [])
    return Seen(shared, list(found.values()))


def _side_by_side(run: GroupRun) -> bool:
    """Whether members of a group told of it in turns, again and again: it might have been one
    generation, but that its coordinator made one for each."""
    last: dict[str, str] = {}
    known: dict[str, set[str]] = defaultdict(set)
    turns: Counter[str] = Counter()
    for each in sorted(run.memberships, key=lambda each: each.operation.index):
        group, member = each.group, each.member
        turns[group] += member in known[group] and last[group] != member
        known[group].add(member)
        last[group] = member
    return any(count >= ONE_OWNER.floor for count in turns.values())


# --- 2, 3: generations --------------------------------------------------------------------


def old_generations_refused(run: GroupRun) -> Seen:
    older = [each for each in invoked_late(run) if each[2].commits]
    found = [
        finding(
            f"group {group}: a commit of generation {after.generation} was taken (operation "
            f"{after.operation.index}), after {before.what} in generation {before.generation} "
            f"(operation {before.witness.index})",
            [before.witness, after.witness],
        )
        for group, before, after in older
        if after.operation.ok
    ]
    if len({each.generation for each in run.memberships}) == 1:
        return Seen("no second generation was joined", found)
    return Seen(len(older), found)


def generations_rise(run: GroupRun) -> Seen:
    found = [
        finding(
            f"group {group} went back: operation {after.witness.index} joined it in generation "
            f"{after.generation}, after {before.what} in generation {before.generation} "
            f"(operation {before.witness.index})",
            [before.witness, after.witness],
        )
        for group, before, after in invoked_late(run)
        if not after.commits
    ]
    joins = [each for each in run.memberships if not each.late]
    few = max(Counter(each.group for each in joins).values(), default=0) <= RISE.floor
    first: dict[str, int] = {}
    for each in run.memberships:
        end = each.operation.end
        if end is not None:
            first[each.group] = min(first.get(each.group, end), end)
    after = sum(first[each.group] < each.since.index for each in joins)
    return Seen(RISE.count(after, "clients joined no group three times" if few else ""), found)


# --- 4, 5: what was committed -------------------------------------------------------------


def commits_kept(run: GroupRun) -> Seen:
    count, found = 0, []
    asked: set[Place] = set()
    for question, answers, before in questions(run):
        if before is not None:
            asked.add(question.place)
        if before is None or (question.offset is not None and not answers):
            continue  # nothing to keep; or the next clause's
        count += 1
        overwrote = [before.overwrote(each) for each in answers] or [before.last]
        if None not in overwrote:
            kept = overwrote[-1]
            assert kept is not None
            answer = "nothing is" if question.offset is None else f"{question.offset} is"
            what = "nothing any more" if kept.offset is None else f"{kept.offset}"
            found.append(
                finding(
                    f"group {question.place[0]} had committed {what} in {question.place[1]} "
                    f"(operation {kept.operation.index}), and is told that {answer} committed "
                    f"(operation {question.operation.index})",
                    [
                        kept.operation,
                        question.operation,
                        *(each.operation for each in answers[-1:]),
                    ],
                )
            )
    return Seen(_of_all(count, {each.place for each in run.commits if each.taken}, asked), found)


def _of_all(count: int, places: set[Place], seen: set[Place]) -> Count:
    """So many; of which nothing can be told where one of the places was not seen."""
    return count if places <= seen else (len(places & seen), len(places))


def commits_made(run: GroupRun) -> Seen:
    count, found = 0, []
    for question, answers, _ in questions(run):
        if question.offset is None:
            continue
        count += 1
        if not answers:
            found.append(
                finding(
                    f"group {question.place[0]} is told that {question.offset} is committed in "
                    f"{question.place[1]} (operation {question.operation.index}), which nobody "
                    "had begun to commit",
                    [question.operation],
                )
            )
    return Seen(count, found)


# --- 6: ends ------------------------------------------------------------------------------


def within_end(run: GroupRun) -> Seen:
    count, found = 0, []
    for question in run.answers:
        ends = run.ends.get(question.place[1], ())
        limit = _limit(question, ends)
        if question.offset is None or limit is None:
            continue
        count += 1
        if question.offset > limit.offset:
            found.append(
                finding(
                    f"group {question.place[0]} has committed {question.offset} in "
                    f"{question.place[1]} (operation {question.operation.index}), which ends at "
                    f"{limit.offset} (operation {limit.operation.index})",
                    [question.operation, limit.operation],
                )
            )
    return Seen(count, found)


def _limit(question: CommittedAnswer, ends: Iterable[End]) -> End | None:
    """How far the partition went at most; None: nobody knows. In the final phase nothing is
    produced any more, so that what it shows then is all that there is."""
    begun = [each for each in ends if each.operation.index < question.end]
    if question.operation.phase == FINAL:
        begun = [each for each in ends if each.whole and each.operation.phase == FINAL] or begun
    return max(begun, key=lambda each: each.offset, default=None)


# --- 7: deliveries ------------------------------------------------------------------------


def delivered(run: GroupRun) -> Seen:
    count, found = 0, []
    reads: dict[Place, list[Read]] = defaultdict(list)
    for read in run.reads:
        reads[read.place].append(read)
    ended: set[Place] = set()
    for place, own in reads.items():
        last = read_to_the_end(own)
        if last is None or place not in run.began:
            continue
        ended.add(place)
        handed = {offset for read in own for offset in read.offsets}
        for offset, produce in run.acknowledged.get(place[1], ()):
            if offset >= last.position:
                continue
            count += 1
            if offset not in handed:
                found.append(
                    finding(
                        f"{place[1]} at {offset} was acknowledged (operation {produce.index}), "
                        f"and handed to no member of group {place[0]}, which has read up to "
                        f"{last.position} (operation {last.operation.index})",
                        [produce, last.operation],
                    )
                )
    return Seen(_of_all(count, _owed(run), ended), found)


def _owed(run: GroupRun) -> set[Place]:
    """Where something was acknowledged that a group is to be handed: where it began at the
    beginning, and where none of its members was let in, of the same topics."""
    given = {(each.group, key) for each in run.memberships for key in each.assigned}
    topics = {(group, topic_of_key(key)) for group, key in run.began}
    return {
        (group, key)
        for group, topic in topics
        for key in run.acknowledged
        if topic_of_key(key) == topic and ((group, key) in run.began or (group, key) not in given)
    }


# --- 8, 9: static members -----------------------------------------------------------------


def instances_fenced(run: GroupRun) -> Seen:
    late = list(acts_of_the_fenced(run.static))
    judged = [each for each in late if each[1].ok or (each[1].failed and each[1].asserts == STALE)]
    found = [
        finding(
            f"group {group_request(act)['group']}: a {WORDS[act.f]} (operation {act.index}) was "
            f"taken from a former process of {group_request(act).get('instance')}, "
            f"{group_request(act).get('member')}, after {group_request(join).get('member')} had "
            f"joined in its place (operation {join.index})",
            [join, act],
        )
        for join, act in judged
        if act.ok
    ]
    hardly = "clients hardly spoke for a former process of an instance"
    return Seen(hardly if len(late) < FENCED.floor else len(judged), found)


def returns_keep_the_part(run: GroupRun) -> Seen:
    returns = list(timely_returns(run.static))
    found = [
        finding(
            f"group {group_request(after)['group']}: {group_request(after).get('instance')} came "
            f"back in generation {joined(after)['generation']} with the part "
            f"{joined(after).get('part')} (operation {after.index}), and had the part "
            f"{joined(before).get('part')} in generation {joined(before)['generation']} (operation "
            f"{before.index}), which its session had not outlived",
            [before, after],
        )
        for before, after in returns
        if _given(before) != _given(after)
    ]
    joins = Counter(
        (group_request(each)["group"], group_request(each)["instance"])
        for each in run.static
        if each.f == "join" and "instance" in group_request(each)
    )
    few = max(joins.values(), default=0) <= RETURNS.floor
    why = "no static member was restarted twice" if few else ""
    return Seen(RETURNS.count(len(returns), why), found)


def _given(join: Operation) -> tuple[int, str | None]:
    return joined(join)["generation"], joined(join).get("part")


# --- 10: deletions ------------------------------------------------------------------------


def deletions_withheld(run: GroupRun) -> Seen:
    asked = [each for each in run.forgets if each.taken]
    judged = list(meanwhile([*asked, *run.withheld], stays(run)))
    found = [
        finding(
            f"group {stay.group}: what it had committed in {each.place[1]} was deleted (operation "
            f"{each.operation.index}) while {stay.member} was in it, from operation "
            f"{stay.since.index} to operation {stay.until.index}",
            [stay.since, each.operation, stay.until],
        )
        for each, stay in judged
        if each.taken
    ]
    hardly = "hardly anybody asked to delete what a group with members had committed"
    return Seen(WITHHELD.count(len(judged), hardly), found)


# --- 11: ids ------------------------------------------------------------------------------


def own_ids(run: GroupRun) -> Seen:
    told = told_ids(run.memberships)
    found = [
        finding(
            f"group {after.group}: {before.member} and {after.member} are told one id, {name} "
            f"(operations {before.operation.index} and {after.operation.index})",
            [before.operation, after.operation],
        )
        for name, before, after in ids_of_two(told)
    ]
    return Seen(len(told) or "no two members of a group were told their ids", found)


# --- 12: lists ----------------------------------------------------------------------------


def _listed(events: RunEvents) -> Seen:
    lists = listings(events.operations)
    groups = settled_groups(events.operations)
    found = [*ill_listed(lists), *from_nowhere(events, lists)]
    if why := _no_occasion(events, groups):
        return Seen(why, found)
    seen = rounds(lists, with_roles(events.plan, BROKER))
    if len(seen) < ROUNDS:
        return Seen(0, found)
    return Seen(len(groups), [*found, *ill_placed(groups, seen)])


def _no_occasion(events: RunEvents, groups: Mapping[str, Operation]) -> str:
    """Why brokers' lists cannot be held against each other; empty: they can."""
    if all(each.f != LIST for each in events.operations):
        return "nobody asked brokers for their groups"
    if not with_roles(events.plan, BROKER):
        return "the plan does not say who the brokers are"
    if settled(events.nemesis) is not True:
        return "the cluster was not seen to settle"
    if len(groups) < LISTED.floor:
        return "fewer than two groups had anything committed in the end"
    return ""


RULES: Final[Mapping[Clause, Rule]] = {
    ONE_OWNER: one_owner,
    OLD_GENERATIONS: old_generations_refused,
    RISE: generations_rise,
    KEPT: commits_kept,
    MADE: commits_made,
    WITHIN_END: within_end,
    DELIVERED: delivered,
    FENCED: instances_fenced,
    RETURNS: returns_keep_the_part,
    WITHHELD: deletions_withheld,
    OWN_IDS: own_ids,
}


OF_GENERATIONS: Final = (ONE_OWNER, OLD_GENERATIONS, RISE)
"""They hold generations of a group against each other."""


class Groups(RunChecker):
    name = "groups"
    summary = (
        "A partition has one owner in a generation, no old generation commits or comes back, "
        "commits are kept and within the log, a group is handed all that was acknowledged, a "
        "static member has its place over a restart, and its coordinator alone lists a group"
    )
    requires = frozenset({"group-operations"})
    clauses = (*RULES, LISTED)
    check_run = RunCheck(groups, fs=FS, nemesis=True)
