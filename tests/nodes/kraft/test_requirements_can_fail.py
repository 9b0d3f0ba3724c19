"""Rows of docs/requirements.md that are false where the node is broken: the tests that a row names
fail with a defect that the line forbids. What a docstring claims, this shows."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from test_requirements_table import NAMED, ROOT, rows

WITH_DEFECT = """
import importlib, json, sys
import pytest

class Failed:
    def __init__(self):
        self.names = set()
    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.names.add(report.nodeid.partition("[")[0])

defect, *tests = sys.argv[1:]
importlib.import_module("nodes.kraft.defects." + defect.replace("-", "_")).install()
failed = Failed()
pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", "--tb=no", *tests], plugins=[failed])
print(json.dumps(sorted(failed.names)))
"""

FORBIDDEN = {
    "answer-before-commit": ("A.1.29", "A.1.61"),
    "acknowledge-before-replication": ("A.5.3",),
    "forget-vote": ("B.2.18",),
    "grant-shutdown-at-once": ("A.1.60", "A.1.61", "A.5.6"),
    "ignore-broker-epoch": ("A.3.8", "A.3.10", "A.5.14"),
    "ignore-leader-epoch": ("B.6", "D.10"),
    "ignore-member-epochs": ("B.6",),
    "isr-applied-twice": ("D.2",),
    "one-queue": ("A.2.10", "A.2.11"),
    "serve-after-lease": ("A.1.55", "A.7.7"),
    "undelete-on-failover": ("A.1.25",),
}
"""Defect -> lines that it breaks."""

SLOW = re.compile("process|end_to_end|simulation|test_partition_replication")


@pytest.mark.parametrize("defect", FORBIDDEN)
def test_what_a_row_names_fails_with_the_defect_that_it_forbids(defect: str) -> None:
    shown = {
        line: [f"{path}::{name}" for path, name in NAMED.findall(by)] for line, by in by_line()
    }
    cores = {
        line: [each for each in shown[line] if not SLOW.search(each)] for line in FORBIDDEN[defect]
    }
    tests = sorted({each for named in cores.values() for each in named})
    run = [sys.executable, "-c", WITH_DEFECT, defect, *tests]
    ended = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=200)
    failed = set(json.loads(ended.stdout.splitlines()[-1]))
    unshaken = [line for line, named in cores.items() if not failed & set(named)]
    assert unshaken == [], f"no test that these rows name fails with {defect}: {ended.stdout}"


def by_line() -> list[tuple[str, str]]:
    return [(line, by) for line, _, by in rows()]
