"""Every model's verdicts, witnesses and evidence against brute force."""

import pytest

from tests.checkers.linearizability.agreement import NAMES, compare


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_brute_force(name: str) -> None:
    verdicts = [compare(name, seed) for seed in range(1_000)]
    assert 100 < sum(verdicts) < 900
