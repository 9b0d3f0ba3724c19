"""Which topic an operation on a partition was on, where one name has belonged to several.

Requests name topics, so that an answer may be of a topic that took the name meanwhile. What an
answer says that it is of holds as long as no delete can have removed that topic.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from checkers.folds.history.values import topic_answer
from framework.history.pairing import Operation

LIVES = ("create", "delete")
"""Operations by which topics come and go."""


@dataclass(frozen=True, slots=True)
class TopicLives:
    """The deletes of each name that did not fail, and the creates by the ids that they made."""

    deletes: Mapping[str, Sequence[Operation]]
    creates: Mapping[str, Operation]

    def of(self, operation: Operation) -> str | None:
        """The id of the topic that an answered operation was on for certain; None: not known."""
        reported = _reported(operation)
        if reported is None or any(self._may_end(each, reported) for each in self._by(operation)):
            return None
        return reported

    def may_be_deleted(self, topic: str, topic_id: str | None = None) -> bool:
        """Whether something can have removed it (any topic of that name), at any time."""
        deletes = self.deletes.get(topic, ())
        return any(topic_id is None or self._may_end(each, topic_id) for each in deletes)

    def _by(self, operation: Operation) -> Iterable[Operation]:
        """The deletes that may have taken effect before its end."""
        deletes = self.deletes.get(topic_of(operation), ())
        return (each for each in deletes if operation.end is None or each.index < operation.end)

    def _may_end(self, delete: Operation, topic_id: str) -> bool:
        reported, create = _reported(delete), self.creates.get(topic_id)
        if reported is not None:
            return reported == topic_id
        return not (delete.ok and create is not None and delete.precedes(create))


def topic_lives(operations: Iterable[Operation]) -> TopicLives:
    """Of all topics."""
    deletes: dict[str, list[Operation]] = defaultdict(list)
    creates: dict[str, Operation] = {}
    for each in operations:
        if each.f == "delete" and not each.failed:
            deletes[str(each.key)].append(each)
        elif each.f == "create" and (topic_id := _reported(each)) is not None:
            creates[topic_id] = each
    return TopicLives(deletes, creates)


def by_topic_id(lives: TopicLives, own: Sequence[Operation]) -> dict[str | None, list[Operation]]:
    """The operations on one partition name, by the topics that they were on; all under None where
    there is but one. What has no answer may have been on any of them; an answer of which it is not
    certain which topic gave it is no answer."""
    if not own or not lives.may_be_deleted(topic_of(own[0])):
        return {None: list(own)}
    ids: Sequence[str | None] = sorted(
        {reported for each in own if (reported := _reported(each)) is not None}
    )
    found: dict[str | None, list[Operation]] = {topic_id: [] for topic_id in ids or [None]}
    for each in own:
        of = lives.of(each)
        if of is not None:
            found[of].append(each)
            continue
        if each.ok and each.f != "seek":
            each = replace(each, type="info", result=None)
        for group in found.values():
            group.append(each)
    return found if len(ids) > 1 else {None: next(iter(found.values()))}


def topic_of(operation: Operation) -> str:
    """The topic's name in the key of a partition."""
    return topic_of_key(str(operation.key))


def topic_of_key(key: str) -> str:
    """The same, of the key."""
    return key.rpartition("/")[0]


def _reported(operation: Operation) -> str | None:
    answered = operation.ok and isinstance(operation.result, dict)
    reported = topic_answer(operation).get("topic_id") if answered else None
    return reported if isinstance(reported, str) else None
