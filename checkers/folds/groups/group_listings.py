"""Which groups brokers list (ListGroups: KIP-518, KIP-848), against those of which clients know."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checkers.folds.history.group_values import group_request, list_groups, listed
from checkers.folds.history.log_values import log_answer
from framework.checking.findings import finding, named
from framework.evidence.run_events import RunEvents
from framework.history.pairing import FINAL, Operation
from framework.plugins.checker import Finding

LIST: Final = "groups"
CLASSIC: Final = "classic"
ROUNDS: Final = 2
"""A group that gets another coordinator while brokers are asked in turn may be listed by none of
them, or by two; not so the next time as well."""

TRANSACTIONS: Final = "transaction-operations"
"""What runs provide whose consumers have groups that no operation names."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A broker's answer: of each group its state and type. `states`, `types`: of which alone it was
    asked, in lower case; empty: of all."""

    operation: Operation
    groups: Mapping[str, tuple[str | None, str | None]]
    states: frozenset[str]
    types: frozenset[str]

    @property
    def whole(self) -> bool:
        return not self.states and not self.types


def listings(operations: Iterable[Operation]) -> Sequence[Listing]:
    return [
        Listing(
            each,
            {group: (state, type_) for group, state, type_ in listed(each)["groups"]},
            frozenset(state.lower() for state in list_groups(each).get("states") or ()),
            frozenset(type_.lower() for type_ in list_groups(each).get("types") or ()),
        )
        for each in operations
        if each.f == LIST and each.ok and isinstance(each.result, dict)
    ]


def rounds(lists: Iterable[Listing], brokers: Collection[str]) -> Sequence[Sequence[Listing]]:
    """Of the final phase: the first answer of each of these brokers, the second of each, and so on,
    as long as all of them gave one."""
    by_node: dict[str, list[Listing]] = {broker: [] for broker in sorted(brokers)}
    for each in lists:
        node = each.operation.node
        if each.operation.phase == FINAL and each.whole and node in by_node:
            by_node[node].append(each)
    return list(zip(*by_node.values(), strict=False))


def settled_groups(operations: Sequence[Operation]) -> Mapping[str, Operation]:
    """Group -> the answer of the final phase by which it had something committed, which nobody can
    have deleted since."""
    deletes: dict[tuple[str, object], list[Operation]] = defaultdict(list)
    for each in operations:
        if each.f == "forget" and not each.failed:
            deletes[_place(each)].append(each)
    return {
        group_request(each)["group"]: each
        for each in operations
        if each.f == "committed"
        and each.ok
        and each.phase == FINAL
        and log_answer(each).get("offset") is not None
        and all(one.ok and one.precedes(each) for one in deletes[_place(each)])
    }


def _place(operation: Operation) -> tuple[str, object]:
    return group_request(operation)["group"], operation.key


def missing(
    groups: Iterable[str], seen: Sequence[Sequence[Listing]]
) -> Iterator[tuple[str, Sequence[Listing]]]:
    """Groups that no broker listed in any of these rounds, and the last round."""
    for group in groups:
        if not any(group in one.groups for answers in seen for one in answers):
            yield group, seen[-1]


def doubled(seen: Sequence[Sequence[Listing]]) -> Iterator[tuple[str, Sequence[Listing]]]:
    """Groups that several brokers listed in each of these rounds, and who did in the last."""
    for group in sorted({group for one in seen[-1] for group in one.groups}):
        who = [[one for one in answers if group in one.groups] for answers in seen]
        if all(len(each) > 1 for each in who):
            yield group, who[-1]


def unasked(lists: Iterable[Listing]) -> Iterator[tuple[str, str, Listing]]:
    """Groups that are listed in a state, or of a type, other than was asked for, and that. Brokers
    that tell no types cannot choose by them."""
    for each in lists:
        for group, (state, type_) in each.groups.items():
            if each.states and (state or "").lower() not in each.states:
                yield group, f"in state {state}", each
            if each.types and type_ is not None and type_.lower() not in each.types:
                yield group, f"of type {type_}", each


def mistyped(lists: Iterable[Listing]) -> Iterator[tuple[str, str, Listing]]:
    """Groups of another type than the classic one, which is that of all members here."""
    for each in lists:
        for group, (_, type_) in each.groups.items():
            if type_ is not None and type_.lower() != CLASSIC:
                yield group, type_, each


def unnamed(
    lists: Iterable[Listing], operations: Iterable[Operation]
) -> Iterator[tuple[str, Listing]]:
    """Groups that no operation had named which had begun before they were listed."""
    since: dict[str, int] = {}
    for each in operations:
        value = each.value
        if isinstance(value, dict) and "group" in value:
            group = str(value["group"])
            since[group] = min(since.get(group, each.index), each.index)
    for answer in lists:
        end = answer.operation.end
        for group in answer.groups:
            if group not in since or (end is not None and since[group] > end):
                yield group, answer


def ill_placed(
    groups: Mapping[str, Operation], seen: Sequence[Sequence[Listing]]
) -> Iterator[Finding]:
    for group, answers in missing(groups, seen):
        yield finding(
            f"group {group} had something committed in the end (operation {groups[group].index}), "
            f"and no broker listed it in {len(seen)} rounds, the last of them "
            f"{named(each.operation for each in answers)}",
            [groups[group], *(each.operation for each in answers)],
        )
    for group, answers in doubled(seen):
        who = " and ".join(f"{each.operation.node}" for each in answers)
        yield finding(
            f"group {group} is listed by {who}, in each of {len(seen)} rounds, the last of them "
            f"{named(each.operation for each in answers)}",
            [each.operation for each in answers],
        )


def ill_listed(lists: Sequence[Listing]) -> Iterator[Finding]:
    wrong = [
        (group, f"{what}, which was not asked for", each) for group, what, each in unasked(lists)
    ]
    wrong += [
        (group, f"as of type {type_}, and its members are of the classic one", each)
        for group, type_, each in mistyped(lists)
    ]
    for group, what, each in wrong:
        yield finding(
            f"group {group} is listed {what}, by {each.operation.node} (operation "
            f"{each.operation.index})",
            [each.operation],
        )


def from_nowhere(events: RunEvents, lists: Sequence[Listing]) -> Iterator[Finding]:
    """Where it is known who may name groups."""
    provided = events.plan.get("provides")
    if provided is None or TRANSACTIONS in provided:
        return
    for group, each in unnamed(lists, events.operations):
        yield finding(
            f"group {group} is listed by {each.operation.node} (operation "
            f"{each.operation.index}), and nobody had named it",
            [each.operation],
        )
