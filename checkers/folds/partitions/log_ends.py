"""What leaders tell of where a partition begins and ends: in one leader epoch neither goes back, a
ListOffsets never (KIP-207), and a beginning moves only where something may remove records.

An answer is of the epoch by which its leader was asked, for one that is in another refuses. A
leader that was deposed without knowing it answers in its own epoch, and may lag behind newer ones;
a new leader's high watermark may lag for a moment, and its ListOffsets waits for it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from checkers.folds.history.log_values import (
    delete_records,
    deleted,
    fetched,
    list_offsets,
    log_answer,
)
from checkers.folds.history.values import changed_configs
from checkers.folds.requests.configured import OF_BROKERS, OF_TOPICS, configs_asked
from framework.checking.findings import finding
from framework.evidence.ids import Offset
from framework.history.event import Recorded
from framework.history.pairing import Operation
from framework.plugins.checker import Finding

REMOVES: Final = ("retention", "cleanup.policy")
"""In a setting's name: it may make a log begin later."""
ALL: Final = -1
"""Of delete-records: up to the high watermark, wherever that is."""

Limit: TypeAlias = Literal["begin", "end"]


@dataclass(frozen=True, slots=True)
class LimitAnswer:
    """A leader answered that the log begins, or ends, at `offset`. `epoch`: None where the answer
    does not say by which it was asked."""

    operation: Operation
    limit: Limit
    offset: int
    epoch: int | None

    @property
    def lists(self) -> bool:
        return self.operation.f == "list-offsets"

    def __str__(self) -> str:
        what = "beginning" if self.limit == "begin" else "end"
        epoch = "" if self.epoch is None else f" in leader epoch {self.epoch}"
        return f"{self.offset} for its {what}{epoch} (operation {self.operation.index})"


def answered_limits(operations: Iterable[Operation]) -> Iterator[LimitAnswer]:
    """By fetches, ListOffsets and deletes of records."""
    for operation in operations:
        if not operation.ok or not isinstance(operation.result, dict):
            continue
        result, epoch = fetched(operation), fetched(operation).get("leader_epoch")
        limits: dict[Limit, Offset | None]
        if operation.f == "fetch":
            limits = {
                "begin": result.get("log_start"),
                "end": result.get("high_watermark"),
            }
        elif operation.f == "list-offsets":
            at = list_offsets(operation).get("at")
            limits = {"begin" if at == "earliest" else "end": log_answer(operation).get("offset")}
        elif operation.f == "delete-records":
            limits = {"begin": deleted(operation).get("low_watermark")}
        else:
            continue
        for limit, offset in limits.items():
            if isinstance(offset, int) and offset >= 0:
                yield LimitAnswer(operation, limit, offset, epoch)


def goes_back(answers: Iterable[LimitAnswer]) -> Iterator[Finding]:
    """Answers below what an earlier one promised them to be. One finding an answer."""
    known = [each for each in answers if each.epoch is not None]
    for limit in ("begin", "end"):
        own = [each for each in known if each.limit == limit]
        for before, after in _falls(own):
            yield finding(
                f"the log went back: a leader told {after}, after one had told {before}",
                [before.operation, after.operation],
            )


def _falls(answers: Sequence[LimitAnswer]) -> Iterator[tuple[LimitAnswer, LimitAnswer]]:
    """Sweeps over invocations with the greatest offset of each epoch that had been told by then."""
    ended = sorted(answers, key=lambda each: each.operation.end or 0)
    at = 0
    best: dict[int, LimitAnswer] = {}
    for each in sorted(answers, key=lambda each: each.operation.index):
        while at < len(ended) and ended[at].operation.precedes(each.operation):
            epoch = ended[at].epoch or 0
            if epoch not in best or ended[at].offset > best[epoch].offset:
                best[epoch] = ended[at]
            at += 1
        bound = [before for before in best.values() if _binds(before, each)]
        before = max(bound, key=lambda each: each.offset, default=None)
        if before is not None and each.offset < before.offset:
            yield before, each


def _binds(before: LimitAnswer, after: LimitAnswer) -> bool:
    """Whether the later answer must not be below the earlier one. Replicas remove old records each
    for itself, so that beginnings compare within an epoch only."""
    one, other = before.epoch or 0, after.epoch or 0
    return one == other or (after.limit == "end" and after.lists and one < other)


# --- beginnings ---------------------------------------------------------------------------


def hidden(
    answers: Iterable[LimitAnswer], operations: Iterable[Operation], plan: Mapping[str, Recorded]
) -> Iterator[Finding]:
    """The first answer by which the log begins where nothing that was asked for can have brought
    it. What moves it by itself is a setting, of the run or of a topic."""
    operations = list(operations)
    if may_remove(plan, operations):
        return
    removals = [each for each in operations if each.f == "delete-records" and not each.failed]
    for each in answers:
        if each.limit == "begin" and each.offset > _removed(removals, each.operation):
            yield finding(
                f"the log begins at {each.offset} by operation {each.operation.index} "
                f"({each.operation.f}), though neither retention nor a delete-records can have "
                "removed what was before",
                [each.operation],
            )
            return


def may_remove(plan: Mapping[str, Recorded], operations: Iterable[Operation]) -> bool:
    """Whether the run, a create or a change set something by which brokers remove records. (What
    they do where nobody sets anything takes days.)"""
    return any(word in name for name, _ in configured(plan, operations) for word in REMOVES)


def configured(
    plan: Mapping[str, Recorded], operations: Iterable[Operation]
) -> Iterator[tuple[str, Recorded]]:
    """Names and values of what the run set, and what creates and changes asked for."""
    for of_node in (plan.get("settings") or {}).values():
        yield from dict(of_node or ()).items()
    for each in operations:
        if each.f == "create":
            yield from configs_asked(each).items()
        elif each.f in (OF_TOPICS, OF_BROKERS):
            yield from changed_configs(each)


def may_be_removed(operations: Iterable[Operation]) -> float:
    """Up to where records may have been removed, by what of these operations deletes some."""
    asked = [
        delete_records(each)["before"]
        for each in operations
        if each.f == "delete-records" and not each.failed
    ]
    return float("inf") if ALL in asked else max(asked, default=0)


def _removed(operations: Iterable[Operation], answer: Operation) -> float:
    """Likewise, when it answered."""
    end = answer.end
    return may_be_removed(each for each in operations if end is not None and each.index < end)
