"""Operations a second that the runner sustains with real nodes.

    python benchmarks/node.py [--hosts namespaces|docker] [--seconds 15]

A 3+3 cluster, the topics workload, no faults, and no rate limit but the cluster's own pace.
"""

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path

from framework.history.event import Event
from framework.run.options import Options, resolve
from framework.run.recording import record


class Quiet:
    """A progress that says nothing."""

    def phase(self, name: str) -> None: ...

    def event(self, event: Event) -> None: ...

    def fault(self, text: str | None) -> None: ...

    def say(self, line: str) -> None: ...


def measure(hosts: str, threads: int, seconds: float, results: Path) -> None:
    options = Options(
        hosts=hosts,
        workload="topics",
        rate=100_000,
        concurrency=str(threads),
        time_limit_s=seconds,
        seed=1,
        name="benchmark",
        results=results,
    )
    folder = record(resolve(options), ["benchmarks/node.py"], Quiet())  # type: ignore[arg-type]
    outcomes: Counter[str] = Counter()
    for line in (folder.path / "history.jsonl").read_text().splitlines():
        event = json.loads(line)
        if isinstance(event["process"], int) and event["time"] < seconds * 1e9:
            outcomes[event["type"]] += 1
    done = outcomes["ok"] + outcomes["fail"] + outcomes["info"]
    print(
        f"{hosts}: {threads} clients: {done / seconds:.0f} operations/s "
        f"(ok {outcomes['ok']}, fail {outcomes['fail']}, info {outcomes['info']})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", default="namespaces")
    parser.add_argument("--seconds", type=float, default=15.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as results:
        for threads in (1, 6, 24):
            measure(arguments.hosts, threads, arguments.seconds, Path(results))


if __name__ == "__main__":
    main()
