"""What groups were told that they had committed, beside what had been committed before."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from checkers.folds.groups.group_runs import Commit, CommittedAnswer, GroupRun, Place


@dataclass(frozen=True, slots=True)
class Settled:
    """Of the commits that had been taken before a question: the one that began last, and the one
    of the newest generation. `deleted`: by node, the deletion of what was committed that began last
    of those that it had acknowledged."""

    last: Commit
    newest: Commit
    deleted: Mapping[str | None, Commit] = field(default_factory=dict)

    def without(self, deletion: Commit) -> "Settled":
        """After that one, too."""
        node = deletion.operation.node
        last = max(self.deleted.get(node, deletion), deletion, key=_began)
        return replace(self, deleted={**self.deleted, node: last})

    def overwrote(self, commit: Commit) -> Commit | None:
        """A commit, or a deletion, that must have come after this one. Who was followed by another
        coordinator, and does not know it, has nothing to delete of what that one took, and may say
        so: where nothing is to be written, nobody else is asked."""
        if commit.end < self.last.operation.index:
            return self.last
        deletion = None if commit.offset is None else self.deleted.get(commit.operation.node)
        if deletion is not None and commit.end < deletion.operation.index:
            return deletion
        if 0 <= commit.generation < self.newest.generation:
            return self.newest
        return None


def questions(run: GroupRun) -> Iterator[tuple[CommittedAnswer, Sequence[Commit], Settled | None]]:
    """Each with the commits that may be its answer, and what was committed before it."""
    commits: dict[Place, list[Commit]] = defaultdict(list)
    reported: dict[Place, list[CommittedAnswer]] = defaultdict(list)
    for commit in (*run.commits, *run.forgets):
        commits[commit.place].append(commit)
    for each in run.answers:
        reported[each.place].append(each)
    for place, questions in reported.items():
        own = commits[place]
        by_offset: dict[int | None, list[Commit]] = defaultdict(list)
        for commit in own:
            by_offset[commit.offset].append(commit)
        ended = sorted((each for each in own if each.taken), key=lambda each: each.end)
        at, before = 0, None
        for question in sorted(questions, key=lambda each: each.operation.index):
            while at < len(ended) and ended[at].end < question.operation.index:
                before = _with(before, ended[at])
                at += 1
            answers = by_offset.get(question.offset, [])
            begun = [each for each in answers if each.operation.index < question.end]
            yield question, begun, before


def _with(before: Settled | None, commit: Commit) -> Settled | None:
    """None: nothing was committed that could be deleted."""
    if commit.offset is None:
        return None if before is None else before.without(commit)
    if before is None:
        return Settled(commit, commit)
    return replace(
        before,
        last=max(before.last, commit, key=_began),
        newest=max(before.newest, commit, key=lambda each: each.generation),
    )


def _began(commit: Commit) -> int:
    return commit.operation.index
