"""What a run shows of consumer groups: who was told its part of which generation, what was
committed, deleted of that, and read, and where partitions ended."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from checkers.folds.groups.instances import of_instances
from checkers.folds.history.group_values import group_request, joined
from checkers.folds.history.log_values import (
    fetch_from,
    fetched,
    list_offsets,
    log_answer,
    produce_of,
)
from framework.history.pairing import FINAL, Operation
from framework.plugins.outcomes import ABSENT, PRESENT, STALE

JOINS: Final = ("join", "assignment")
NEVER: Final = 2**62
Place: TypeAlias = tuple[str, str]
"""(group, key of a partition)."""


@dataclass(frozen=True, slots=True)
class Membership:
    """Somebody was told its part of a generation. `late`: at any time before it said so. `since`:
    the operation, from the join on to which it was told. `owner`: the member, or its instance, of
    which one process follows another."""

    operation: Operation
    since: Operation
    group: str
    member: str
    generation: int
    assigned: Sequence[str]
    owner: str
    late: bool


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit. `generation`: negative of who is no member. `offset`: None of a deletion of what
    was committed, which is as a commit of nothing by who is no member."""

    operation: Operation
    place: Place
    generation: int
    offset: int | None

    @property
    def taken(self) -> bool:
        return self.operation.ok

    @property
    def end(self) -> int:
        """The index by which it had taken effect."""
        end = self.operation.end
        return end if self.taken and end is not None else NEVER


@dataclass(frozen=True, slots=True)
class CommittedAnswer:
    """A group was told what it has committed. None: nothing."""

    operation: Operation
    place: Place
    offset: int | None

    @property
    def end(self) -> int:
        return NEVER if self.operation.end is None else self.operation.end


@dataclass(frozen=True, slots=True)
class Read:
    """A member was handed the records at these offsets, and goes on from `position`."""

    operation: Operation
    place: Place
    offsets: Sequence[int]
    position: int
    end: int | None
    """Where the partition ended meanwhile, if that was told."""


@dataclass(frozen=True, slots=True)
class End:
    """An answer shows that a partition goes up to `offset`; `whole`: and no further, then."""

    operation: Operation
    offset: int
    whole: bool


@dataclass(frozen=True, slots=True)
class GroupRun:
    """What a run shows of groups. `commits`: those that may have been taken; `forgets`: likewise,
    deletions; `refused`: commits that were refused as stale; `withheld`: deletions that were
    refused as the group has members. `began`: places at whose beginning a member has begun;
    `static`: all operations of groups with static members; `ends`, `acknowledged`: by key."""

    memberships: Sequence[Membership]
    commits: Sequence[Commit]
    refused: Sequence[Commit]
    answers: Sequence[CommittedAnswer]
    reads: Sequence[Read]
    began: frozenset[Place]
    forgets: Sequence[Commit] = ()
    withheld: Sequence[Commit] = ()
    static: Sequence[Operation] = ()
    ends: Mapping[str, Sequence[End]] = field(default_factory=dict)
    acknowledged: Mapping[str, Sequence[tuple[int, Operation]]] = field(default_factory=dict)


def group_run(operations: Iterable[Operation]) -> GroupRun:
    """Of clients' operations."""
    by_f: dict[str, list[Operation]] = defaultdict(list)
    for each in operations:
        by_f[each.f].append(each)
    joins = [each for f in JOINS for each in by_f[f] if each.ok and isinstance(each.result, dict)]
    positions = [each for join in joins for each in _positions(join)]
    reads = [each for each in by_f["fetch"] if each.ok and "group" in fetch_from(each)]
    return GroupRun(
        memberships=list(_memberships(joins, by_f["join"])),
        commits=[commit_of(each) for each in by_f["commit"] if not each.failed],
        refused=[
            commit_of(each) for each in by_f["commit"] if each.failed and each.asserts == STALE
        ],
        forgets=[_forget_of(each) for each in by_f["forget"] if not each.failed],
        withheld=[
            _forget_of(each) for each in by_f["forget"] if each.failed and each.asserts == PRESENT
        ],
        answers=[
            *(_committed_answer(each) for each in by_f["committed"] if each.ok),
            # Where there is no such group it has committed nothing.
            *(
                CommittedAnswer(each, _place(each), None)
                for each in by_f["forget"]
                if each.failed and each.asserts == ABSENT
            ),
            # What a member says late may have been committed over since.
            *(each for each in positions if each.operation.f == "join"),
        ],
        reads=[_read(each) for each in reads],
        began=frozenset(each.place for each in positions if each.offset is None),
        static=of_instances(each for own in by_f.values() for each in own),
        ends=_ends([*by_f["produce"], *by_f["fetch"], *by_f["list-offsets"]]),
        acknowledged=_acknowledged(by_f["produce"]),
    )


def _memberships(answered: Iterable[Operation], joins: Iterable[Operation]) -> Iterator[Membership]:
    """`answered`: joins and assignments that say a part; `joins`: all. Who is told by an assignment
    first was given that, or an older part, after it began to join."""
    begun: dict[tuple[str, str], Operation] = {}
    for each in joins:
        begun.setdefault(_who(each), each)
    for each in sorted(answered, key=lambda each: each.index):
        join = begun.pop(_who(each), None)
        if each.f == "join" or join is None or not join.failed or not join.precedes(each):
            yield _membership(each, each, late=each.f != "join")
        else:
            yield _membership(each, replace(each, index=join.index), late=False)


def _who(operation: Operation) -> tuple[str, str]:
    return str(group_request(operation)["group"]), str(group_request(operation)["member"])


def _membership(join: Operation, since: Operation, *, late: bool) -> Membership:
    return Membership(
        join,
        since,
        *_who(join),
        int(joined(join)["generation"]),
        [str(key) for key in joined(join).get("assigned") or ()],
        group_request(join).get("instance") or _who(join)[1],
        late=late,
    )


def _positions(join: Operation) -> Iterator[CommittedAnswer]:
    """Where the member begins. The beginning is where one begins that is told of no commit."""
    for key, position in joined(join).get("positions") or ():
        yield CommittedAnswer(
            join, (str(group_request(join)["group"]), str(key)), int(position) or None
        )


def commit_of(operation: Operation) -> Commit:
    asked = group_request(operation)
    return Commit(operation, _place(operation), int(asked.get("generation", -1)), asked["offset"])


def _forget_of(operation: Operation) -> Commit:
    return Commit(operation, _place(operation), -1, None)


def _committed_answer(operation: Operation) -> CommittedAnswer:
    answer = log_answer(operation) if isinstance(operation.result, dict) else {}
    return CommittedAnswer(operation, _place(operation), answer.get("offset"))


def _read(operation: Operation) -> Read:
    result = fetched(operation)
    offsets = [each[0] for each in result.get("records") or ()]
    after = offsets[-1] + 1 if offsets else fetch_from(operation)["from"]
    position = result.get("position", after)
    return Read(operation, _place(operation), offsets, position, result.get("high_watermark"))


def _place(operation: Operation) -> Place:
    return str(group_request(operation)["group"]), str(operation.key)


def read_to_the_end(reads: Iterable[Read]) -> Read | None:
    """The read of the final phase that came to the partition's end."""
    ends = (
        each
        for each in reads
        if each.operation.phase == FINAL and each.end is not None and each.position >= each.end
    )
    return max(ends, key=lambda each: each.position, default=None)


def _ends(operations: Iterable[Operation]) -> Mapping[str, Sequence[End]]:
    found: dict[str, list[End]] = defaultdict(list)
    for each in operations:
        if not each.ok or not isinstance(each.result, dict):
            continue
        shown: list[tuple[int | None, bool]] = []
        if each.f == "produce" and log_answer(each).get("offset") is not None:
            shown.append((log_answer(each)["offset"] + 1, False))
        elif each.f == "list-offsets" and list_offsets(each).get("at") == "latest":
            shown.append((log_answer(each).get("offset"), True))
        elif each.f == "fetch":
            shown += [(offset + 1, False) for offset, *_ in fetched(each).get("records") or ()]
            shown.append((fetched(each).get("high_watermark"), True))
        found[str(each.key)] += [
            End(each, offset, whole) for offset, whole in shown if isinstance(offset, int)
        ]
    return found


def _acknowledged(produces: Iterable[Operation]) -> Mapping[str, Sequence[tuple[int, Operation]]]:
    """(offset, produce) of acks=all, which alone promises a place, by key."""
    found: dict[str, list[tuple[int, Operation]]] = defaultdict(list)
    for each in produces:
        offset = log_answer(each).get("offset") if isinstance(each.result, dict) else None
        if each.ok and produce_of(each).get("acks", "all") == "all" and isinstance(offset, int):
            found[str(each.key)].append((offset, each))
    return found
