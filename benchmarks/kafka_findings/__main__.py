"""What was found in Apache Kafka, reduced to programs of some lines that use a release's classes:
no cluster, no clock, no fault, the same each time. Prints a table, as docs/kafka.md has it.

    python -m benchmarks.kafka_findings [RELEASE ...]

A program, in `java/`, does one thing twice, in a way that is right and in one that is not, and
prints a line for each. Releases have to be on this machine (`kraft-proof get kafka RELEASE`); by
default all are asked that are.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.compiling import class_path, compiled
from framework.errors import EngineError, UsageError
from nodes.kafka.releases import is_since, versions
from nodes.kafka.software import VERSION, asked_for

SOURCES: Final = Path(__file__).parent / "java"
LONGEST_S: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A program, by the name of its class, and what it shows where the finding is. `since`: the
    first release whose classes it can use."""

    program: str
    title: str
    since: str


FINDINGS: Final = (
    Finding(
        program="LeftConfiguration",
        title="A topic's configuration outlives the topic, where a broker replays its creation and "
        "its removal at once",
        since="3.4.1",
    ),
    Finding(
        program="ForgottenEligible",
        title="A broker that tells of its directories makes the controller forget who is eligible",
        since="3.7.0",
    ),
    Finding(
        program="StillRemoved",
        title="A wish for replicas overrides a move, and who was on its way out still goes",
        since="3.8.1",
    ),
    Finding(
        program="SkippedVoters",
        title="Who cuts its log back does not see voters that change where its tail was",
        since="3.9.1",
    ),
)


def shown(finding: Finding, release: str) -> Mapping[str, str]:
    """What the program prints of a release: way -> what came of it. Raises `UsageError` where the
    release or the compiler are not on this machine, `EngineError` for a program that fails."""
    libs = asked_for({VERSION: release}).libs
    source = SOURCES / f"{finding.program}.java"
    with tempfile.TemporaryDirectory(prefix="kraft-proof-") as folder:
        compiled([source], libs, Path(folder), source)
        said = _said_by(["java", "-cp", f"{class_path(libs)}:{folder}", finding.program])
    ways = dict(line.split(": ", 1) for line in said.splitlines())
    if len(ways) != 2:
        raise EngineError(f"{finding.program} on {release} does not tell of two ways: {said!r}")
    return ways


def _said_by(argv: Sequence[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=LONGEST_S)
    if done.returncode != 0:
        first = next(iter(done.stderr.splitlines()), "")
        raise EngineError(f"{argv[-1]} ended with {done.returncode}: {first[:300]}")
    return done.stdout


def differs(ways: Mapping[str, str]) -> bool:
    """Whether the finding is there: what should be the same is not."""
    return len(set(ways.values())) > 1


def table(releases: Sequence[str]) -> str:
    """A row a release, a column a finding: whether it is there, and what came of both ways."""
    lines = [
        "| release | " + " | ".join(f"{each.title} (`{each.program}`)" for each in FINDINGS) + " |",
        "| --- |" + " --- |" * len(FINDINGS),
    ]
    for release in releases:
        cells = " | ".join(_cell(finding, release) for finding in FINDINGS)
        lines.append(f"| {release} | {cells} |")
    return "\n".join(lines)


def _cell(finding: Finding, release: str) -> str:
    if not is_since(release, finding.since):
        return "its classes are others"
    ways = shown(finding, release)
    came = ", ".join(f"{way} `{came}`" for way, came in ways.items())
    return f"{'yes' if differs(ways) else 'no'}: {came}"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", nargs="*", metavar="RELEASE")
    asked = parser.parse_args(arguments).releases
    try:
        print(table(asked or [each for each in versions() if _is_here(each)]))
    except UsageError as error:
        print(error, file=sys.stderr)
        return 254
    return 0


def _is_here(release: str) -> bool:
    try:
        asked_for({VERSION: release})
    except UsageError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
