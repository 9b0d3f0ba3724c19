"""When records on disks were committed, against brute force and against small quorums."""

from dataclasses import dataclass, field
from random import Random

from hypothesis import example, given
from hypothesis import strategies as st
from planted_runs import Story

from checkers.folds.metadata_log.commit_dates import CommitDates, commit_dates
from checkers.folds.metadata_log.disk_logs import CommittedOnDisks
from checkers.folds.metadata_log.shown_ends import ShownEnd, leaders_word
from framework.history.pairing import Operation


def shown(index: int, lasts: int, end: int) -> ShownEnd:
    return ShownEnd(end, None, None, Operation(index=index, end=index + lasts, type="ok"))


SHOWN = st.lists(
    st.builds(shown, st.integers(0, 9), st.integers(1, 4), st.integers(1, 6)), max_size=6
)


@given(SHOWN, SHOWN, st.integers(0, 6))
@example([], [shown(0, 1, 4), shown(1, 1, 4), shown(2, 1, 3), shown(3, 1, 5)], 3)
def test_dates_are_the_narrowest(some: list[ShownEnd], whole: list[ShownEnd], offset: int) -> None:
    dates = CommitDates.of([*some, *whole], whole)
    ends = [each.operation.end or 0 for each in (*some, *whole) if each.end > offset]
    begins = [each.operation.index for each in whole if each.end <= offset]
    by, after = dates.by(offset), dates.after(offset)
    assert (None if by is None else by.operation.end) == min(ends, default=None)
    assert (None if after is None else after.operation.index) == max(begins, default=None)


# --- a quorum -----------------------------------------------------------------------------


@dataclass
class Quorum:
    """A log, the epoch of each of its records, of which so many are committed; and the leaders that
    were deposed and do not know it: (epoch, high watermark, end of the log), by epoch."""

    dice: Random
    log: list[int] = field(default_factory=lambda: [1])
    committed: int = 1
    deposed: list[tuple[int, int, int]] = field(default_factory=list)
    known: int = 1
    """So many the leader knows to be committed."""
    commits: dict[int, int] = field(default_factory=dict)
    """Offset -> the index of the event before which it was committed."""

    @property
    def epoch(self) -> int:
        return self.log[-1]

    def step(self, story: Story) -> None:
        self.dice.choice([self.append, self.commit, self.elect, self.mislead])()
        for offset in range(self.committed):
            self.commits.setdefault(offset, story.index)

    def append(self) -> None:
        self.log.append(self.epoch)

    def commit(self) -> None:
        """A leader commits first a record of its own."""
        own = self.log.index(self.epoch)
        self.committed = self.dice.randint(max(own + 1, self.committed), len(self.log))
        self.known = self.committed

    def elect(self) -> None:
        """Its log may lack what was not committed, and it may have heard of little that was."""
        self.deposed.append((self.epoch, self.known, len(self.log)))
        self.known = self.dice.randint(0, self.committed)
        epoch = self.epoch + 1
        del self.log[self.dice.randint(self.committed, len(self.log)) :]
        self.log.append(epoch)

    def mislead(self) -> None:
        """Who was deposed writes on, in vain."""
        if self.deposed:
            at = self.dice.randrange(len(self.deposed))
            epoch, high_watermark, end = self.deposed[at]
            self.deposed[at] = epoch, high_watermark, end + 1

    def view(self) -> tuple[int, int, int]:
        """Of somebody who leads, or thinks so."""
        now = (self.epoch, self.known, len(self.log))
        return self.dice.choice([now, now, *self.deposed])

    def on_disks(self) -> CommittedOnDisks:
        return CommittedOnDisks(len(self.log), (), {at: (e, 0) for at, e in enumerate(self.log)})


def run(quorum: Quorum) -> Story:
    """Observers ask whom they take for the leader, and clients read at who surely is."""
    story = Story()
    for _ in range(quorum.dice.randint(5, 25)):
        quorum.step(story)
        epoch, high_watermark, end = quorum.view()
        ask, read = quorum.dice.random() < 0.5, quorum.dice.random() < 0.3
        if ask:
            answer = {"leader": 1, "leader_epoch": epoch, "high_watermark": high_watermark}
            story.ask("c1", "describe-quorum", {**answer, "voters": [[2, 0], [1, end]]})
        if read:
            asked = story.invoke("describe", "t")
            ext = {"epoch": quorum.epoch, "offset": quorum.committed}
            quorum.step(story)
            story.complete(asked, ext=ext)
    return story


@given(st.integers(0, 10**9))
def test_no_record_was_committed_outside_its_dates(seed: int) -> None:
    quorum = Quorum(Random(seed))
    story = run(quorum)
    dates = commit_dates(story.run_events(), quorum.on_disks())
    for offset in range(len(quorum.log)):
        by, after = dates.by(offset), dates.after(offset)
        moment = quorum.commits.get(offset)
        if by is not None:
            assert moment is not None and moment <= (by.operation.end or 0)
        if after is not None:
            assert moment is None or moment > after.operation.index


def test_who_wrote_afterwards_led_when_it_answered() -> None:
    quorum = Quorum(Random(0), log=[1, 1, 2], committed=3)
    for end, words in ((1, 1), (2, 0), (3, 0)):
        story = Story()
        answer = {"leader": 1, "leader_epoch": 1, "high_watermark": 1}
        story.ask("c1", "describe-quorum", {**answer, "voters": [[1, end]]})
        assert len(leaders_word(story.run_events(), quorum.on_disks())) == words
