"""Who surely was in a group while what it had committed was to be deleted (KIP-496)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from checkers.folds.groups.group_runs import Commit, GroupRun
from checkers.folds.history.group_values import group_request
from checkers.folds.history.operations import end_of
from checkers.folds.history.topic_ids import topic_of_key
from framework.history.pairing import Operation

Who: TypeAlias = tuple[str, str, int]
"""(group, member, generation)."""


@dataclass(frozen=True, slots=True)
class Stay:
    """A member was in one generation of a group by the end of `since`, and still was when a commit
    of it was taken that began with `until`: nobody comes back to a generation. `topics`: some of
    those that it reads."""

    group: str
    member: str
    since: Operation
    until: Operation
    topics: frozenset[str]

    def spans(self, operation: Operation) -> bool:
        """Whether it was there all the while."""
        return self.since.precedes(operation) and operation.precedes(self.until)


def stays(run: GroupRun) -> Iterator[Stay]:
    """Of each member in each generation, the longest."""
    seen: dict[Who, list[Operation]] = defaultdict(list)
    commits: dict[Who, list[Operation]] = defaultdict(list)
    topics: dict[Who, set[str]] = defaultdict(set)
    for each in run.memberships:
        who = each.group, each.member, each.generation
        seen[who].append(each.operation)
        topics[who] |= {topic_of_key(key) for key in each.assigned}
    for commit in run.commits:
        if commit.taken and commit.generation >= 0:
            member = str(group_request(commit.operation).get("member"))
            who = commit.place[0], member, commit.generation
            seen[who].append(commit.operation)
            commits[who].append(commit.operation)
            topics[who].add(topic_of_key(commit.place[1]))
    for who, own in commits.items():
        since = min(seen[who], key=end_of)
        until = max(own, key=lambda each: each.index)
        yield Stay(who[0], who[1], since, until, frozenset(topics[who]))


def meanwhile(deletions: Iterable[Commit], known: Iterable[Stay]) -> Iterator[tuple[Commit, Stay]]:
    """Deletions that somebody asked for, and was answered, while a member was in the group that
    reads the topic, and one such member."""
    by_group: dict[str, list[Stay]] = defaultdict(list)
    for stay in known:
        by_group[stay.group].append(stay)
    for each in deletions:
        group, key = each.place
        for stay in by_group[group]:
            if topic_of_key(key) in stay.topics and stay.spans(each.operation):
                yield each, stay
                break
