"""What Kafka's metadata logs keep to, beside logs that controllers of 3.3.2 and 4.2.0 wrote."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

from checkers.folds.replayed.log_rules import Rules
from checkers.replay_invariants import Fold
from framework.evidence.changes import Change
from framework.evidence.systems import LogRule
from nodes.kafka.disk import METADATA, left_on_disk
from nodes.kafka.log_rules import rules_of
from nodes.kafka.promises.rules import ELIGIBLE_LEADERS, METADATA_VERSION

STORED: Final = Path(__file__).parent / "stored"
LOGS: Final = {"4.2.0": STORED / "__cluster_metadata-0", "3.3.2": STORED / "3.3.2"}
SOME: Final[tuple[LogRule, ...]] = (
    "configured-after-creation",
    "epoch-is-offset",
    "registering-fences",
    "process-keeps-standing",
    "registering-renews-epoch",
    "process-keeps-epoch",
    "moved-before-registering",
)
"""Rules that releases differ in."""


def of(releases: str) -> Rules:
    return Rules(rules_of({"versions": {"Apache Kafka": releases}}).rules)


@pytest.mark.parametrize(
    ("releases", "held"),
    [
        ("3.3.2", (2, 4)),
        ("3.4.0", (0, 2, 4)),
        ("3.5.1", (0, 2, 4)),
        ("3.6.1", (0, 1, 2, 4)),
        ("3.7.0", (0, 1, 2, 4)),
        ("3.7.1", (0, 1, 3, 4)),
        ("3.8.0", (0, 1, 3, 4)),
        ("3.9.1", (0, 1, 3, 5)),
        ("4.0.0", (0, 1, 3, 5, 6)),
        ("4.2.0", (0, 1, 3, 5, 6)),
        ("4.3.0-SNAPSHOT", (0, 1, 3, 5, 6)),
        ("3.6.1, 3.7.1", (0, 1, 4)),
        ("3.7.0, 3.7.1", (0, 1, 4)),
        ("3.8.1, 3.9.1", (0, 1, 3)),
        ("3.9.1, 4.2.0", (0, 1, 3, 5)),
        ("3.7.1, 4.2.0", (0, 1, 3)),
        ("3.3.2, 4.2.0", ()),
        ("", ()),
    ],
)
def test_releases_have_rules_and_of_several_those_of_all_hold(
    releases: str, held: Iterable[int]
) -> None:
    rules = of(releases)
    assert [each for each in SOME if rules.hold(each, {})] == [SOME[at] for at in held]
    assert rules.hold("moved-before-fencing", {}) and rules.hold("replicas-change", {})
    assert not rules.may_hold("moved-after-fencing")


def test_a_plan_of_before_releases_were_kept_has_what_all_have() -> None:
    assert rules_of({}).rules == rules_of({"versions": {}}).rules


def test_levels_are_the_log_s() -> None:
    rules = of("4.2.0")
    for level, held in ((11, True), (12, False)):
        assert rules.hold("shrinking-raises-leader-epoch", {METADATA_VERSION: level}) is held
    for level in (0, 1):
        assert rules.hold("eligible-leaders", {ELIGIBLE_LEADERS: level}) is bool(level)


def replayed(release: str, home: Path, rules: Rules) -> Fold:
    """A controller's log of that release."""
    (home / METADATA).mkdir(parents=True)
    path = LOGS[release] / "00000000000000000000.log"
    (home / METADATA / path.name).write_bytes(path.read_bytes())
    changes: dict[int, Change] = {
        each.offset: each for each in left_on_disk(home.parents[1]) if isinstance(each, Change)
    }
    fold = Fold(rules=rules)
    for _, each in sorted(changes.items()):
        fold.feed(each)
    return fold


@pytest.mark.parametrize("release", LOGS)
def test_what_controllers_wrote_keeps_to_the_rules_of_their_release(
    release: str, tmp_path: Path
) -> None:
    fold = replayed(release, tmp_path / "nodes" / "c1", of(release))
    assert [each.message for each in fold.findings] == []
    assert fold.compared["partitions"] > 50
    assert fold.compared["brokers"] > 5
    assert fold.compared["whole"] > 5
    assert bool(fold.compared["eligible-leaders"]) is (release == "4.2.0")


def test_what_an_older_release_writes_does_not_keep_to_those_of_a_newer_one(tmp_path: Path) -> None:
    fold = replayed("3.3.2", tmp_path / "nodes" / "c1", of("4.2.0"))
    for words in ("configures topic", "registers broker"):
        assert any(words in each.message for each in fold.findings), words
