"""Which request took a broker off the cluster (`folds/unregistered.py`): against all that might be.
Stories of it are in test_asked_is_made."""

from collections.abc import Sequence
from itertools import permutations
from typing import Final, TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from checkers.folds.committed_log import CommittedLog
from checkers.folds.unregistered import matched
from framework.evidence.changes import BrokerRegistered, BrokerUnregistered, Change
from framework.history.event import CompletionType
from framework.history.pairing import Operation

BROKER: Final = 9
Asked: TypeAlias = tuple[CompletionType, int]
"""How it ended, and when it began."""


def ask(index: int, ended: CompletionType, began_ns: int) -> Operation:
    return Operation(
        index=index,
        f="unregister",
        key=f"broker-{BROKER}",
        type=ended,
        end=100 + index,
        invoked_ns=began_ns,
    )


def log_of(by_ns: Sequence[int]) -> CommittedLog:
    """The broker's registration, and so many records that take it off, by when each was applied."""
    head = {"node": "c1", "incarnation": "1", "seq": 1, "epoch": 1, "broker_id": BROKER}
    first = BrokerRegistered(
        **head,
        offset=0,
        broker_epoch=0,
        process=None,
        end_points=(),
        rack=None,
        fenced=True,
        leaving=False,
    )
    gone: list[Change] = [
        BrokerUnregistered(**head, offset=at, broker_epoch=0) for at in range(1, len(by_ns) + 1)
    ]
    return CommittedLog([first, *gone], [0] * (1 + len(gone)), [0, *by_ns], None, [])


def least(asks: Sequence[Operation], by_ns: Sequence[int]) -> tuple[int, int]:
    """Of all ways to give each record an ask of its own or none: how few records are left, and how
    few of those that were granted."""
    slots: list[Operation | None] = [*asks, *[None] * len(by_ns)]
    left = []
    for given_to in permutations(slots, len(by_ns)):
        pairs = zip(given_to, by_ns, strict=True)
        if all(each is None or each.began_ns <= by for each, by in pairs):
            had = [each for each in given_to if each is not None]
            left.append((len(by_ns) - len(had), sum(a.ok and a not in had for a in asks)))
    return min(each for each, _ in left), min(each for _, each in left)


@given(
    st.lists(st.tuples(st.sampled_from(["ok", "info", "fail"]), st.integers(0, 3)), max_size=4),
    st.lists(st.integers(0, 3), max_size=3),
)
def test_agrees_with_all_ways_to_explain_a_log(asked: list[Asked], by_ns: list[int]) -> None:
    asks = [ask(at, ended, began_ns) for at, (ended, began_ns) in enumerate(asked)]
    found = matched(log_of(by_ns), asks, once=True)
    may = [each for each in asks if not each.failed]
    assert (len(found.unasked), len(found.missing)) == least(may, by_ns)
    assert found.compared == len(by_ns) + sum(each.ok for each in asks)
