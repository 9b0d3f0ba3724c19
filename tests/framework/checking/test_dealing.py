"""Dealing checkers out: what each looks at, and shares that are about as long."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.topic_linearizability import TopicLinearizability
from framework.checking.dealing import dealt, rows_looked_at
from framework.checking.keyed import judged
from framework.checking.run_checks import RunCheck, RunChecker
from framework.checking.sealing import Counts
from framework.evidence.processes import Booted
from framework.evidence.quorum import Voted

COUNTS = Counts(
    operations={"create": 3, "fetch": 5},
    observations=7,
    evidence={"booted": {"disk": 10, "event": 1}, "voted": {"disk": 200, "event": 20}},
)


@pytest.mark.parametrize(
    ("looks_at", "rows"),
    [
        ({}, 0),
        ({"evidence": (Booted,)}, 1),
        ({"disk": (Booted, Voted)}, 210),
        ({"evidence": (Voted,), "disk": (Voted,)}, 220),
        ({"fs": ("fetch",)}, 5),
        ({"fs": None, "observations": True}, 15),
        ({"as_rows": True}, 8),
    ],
)
def test_what_a_rule_looks_at_is_counted(looks_at: dict[str, Any], rows: int) -> None:
    class Checker(RunChecker):
        check_run = RunCheck(lambda events: judged(1), **looks_at)

    assert rows_looked_at(Checker(), COUNTS) == rows


def test_who_does_not_say_what_it_looks_at_counts_nothing() -> None:
    assert rows_looked_at(TopicLinearizability(), COUNTS) == 0


@given(
    st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(0, 1000), max_size=12),
    st.integers(1, 4),
)
def test_each_is_dealt_once_and_no_share_is_longer_than_it_must_be(
    loads: dict[str, int], count: int
) -> None:
    shares = dealt(loads, loads, count)
    assert sorted(name for share in shares for name in share) == sorted(loads)
    assert len(shares) == min(count, len(loads))
    heaviest = max(loads.values(), default=0) + 1
    total = [sum(loads[name] + 1 for name in share) for share in shares]
    assert all(each <= (sum(total) / count) + heaviest for each in total)


def test_without_loads_all_shares_have_as_many() -> None:
    assert dealt("edcba", {}, 2) == [["a", "c", "e"], ["b", "d"]]
