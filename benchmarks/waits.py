"""The two waits of a user, from stored runs: start to first operation, last operation to verdict.

    python benchmarks/waits.py [results]

A line for each kind of hosts: number of runs, then minimum, median and maximum, s.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from statistics import median

WAITS = ("start_to_first_operation_s", "last_operation_to_verdict_s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="?", type=Path, default=Path("results"))
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for verdict in sorted(parser.parse_args().results.rglob("verdict.json")):
        if verdict.parent.is_symlink() or "latest" in verdict.parts:
            continue
        timings = json.loads(verdict.read_text())["timings"]
        hosts = json.loads((verdict.parent / "plan.json").read_text())["hosts"]
        for wait in WAITS:
            if wait in timings:
                found[hosts, wait].append(timings[wait])
    for (hosts, wait), values in sorted(found.items()):
        print(
            f"{hosts}: {wait}: {len(values)} runs: "
            f"min {min(values):.1f} median {median(values):.1f} max {max(values):.1f}"
        )


if __name__ == "__main__":
    main()
