"""How a check spreads over executors: the work of each, skew, and what more of them would give.

    python -m benchmarks.executors check --model kafka HISTORY --spark-master local[2]
    python -m benchmarks.executors check results/ --again --spark-master spark://HOST:PORT

Runs that command of the framework's with Spark's event log, and prints what that says
(`benchmarks.spark_log`), beside the time of the whole command.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.spark_log import logging, report, tasks_of


def main(command: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="executors-") as scratch:
        environment, logs = logging(Path(scratch))
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "framework", *command],
            env={**os.environ, **environment},
            check=False,
        )
        wall_s = time.monotonic() - began
        found = list(logs.iterdir())
        if not found:
            print("it ran without Spark: name a master with --spark-master")
            return done.returncode or 1
        for log in found:
            report(tasks_of(log), wall_s)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
