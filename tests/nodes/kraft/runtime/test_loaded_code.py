"""A node loads what its roles need: six of them start side by side on two cores."""

import subprocess
import sys

import pytest

CONTROL, DATA = "nodes.kraft.runtime.control", "nodes.kraft.runtime.data"
ASK = "import sys; {first}; import nodes.kraft.server; print(*sys.modules)"


@pytest.mark.parametrize(
    ("first", "has"),
    [("pass", set()), (f"import {CONTROL}", {CONTROL}), (f"import {DATA}", {DATA})],
)
def test_no_role_brings_what_only_the_other_needs(first: str, has: set[str]) -> None:
    argv = [sys.executable, "-c", ASK.format(first=first)]
    loaded = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    assert "nodes.kraft.runtime.replica" in loaded
    assert {CONTROL, DATA} & set(loaded) == has
