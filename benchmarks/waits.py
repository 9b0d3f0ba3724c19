"""The waits of a user and where they come from, from stored runs.

    python -m benchmarks.waits [results]

For each kind of hosts a line for each wait - start to first operation, last operation to verdict -
and for each phase of a run, in their order: number of runs, then minimum, median and maximum, s.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from framework.timings import PHASE

WAITS: Final = ("start_to_first_operation_s", "last_operation_to_verdict_s")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="?", type=Path, default=Path("results"))
    found: dict[str, dict[str, list[float]]] = {}
    for verdict in sorted(parser.parse_args(arguments).results.rglob("verdict.json")):
        if verdict.parent.is_symlink() or "latest" in verdict.parts:
            continue
        timings = json.loads(verdict.read_text())["timings"]
        hosts = json.loads((verdict.parent / "plan.json").read_text())["hosts"]
        for name, value in timings.items():
            if name in WAITS or name.startswith(PHASE):
                found.setdefault(hosts, {}).setdefault(name, []).append(value)
    for hosts, timings in sorted(found.items()):
        for name, values in timings.items():
            print(
                f"{hosts}: {name}: {len(values)} runs: "
                f"min {min(values):.1f} median {median(values):.1f} max {max(values):.1f}"
            )


if __name__ == "__main__":
    main()
