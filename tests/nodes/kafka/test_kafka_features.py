"""Levels of features that a cluster of Apache Kafka begins with: what is asked for and refused, and
what it is formatted with. The StorageTool here is a Java that says what it was told."""

import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from framework.cli.app import main
from framework.errors import EngineError, UsageError
from nodes.adapting.layout import layout
from nodes.kafka import features, formatting, settings
from nodes.kafka.features import AS_RELEASED, Levels
from nodes.kafka.formatting import bootstrap, first_voters, last_words
from nodes.kafka.log_rules import features_of
from nodes.kafka.promises.page import state
from nodes.kafka.promises.rules import ELIGIBLE_LEADERS, RULES
from nodes.kafka.promises.table import PROMISES
from nodes.kafka.software import Software
from nodes.kafka.system import KafkaSystem

ELIGIBLE = f"feature.{ELIGIBLE_LEADERS}"
METADATA = "feature.metadata.version"
TOOL = """#!/bin/sh
echo "$@" >> "{said}"
case "$*" in *=7*) echo 'Exception in thread "main" java.lang.RuntimeException: no level 7' >&2
  printf '\\tat kafka.tools.StorageTool\\n' >&2; exit 1;; esac
case "$*" in *initial-controllers*--feature*|*--feature*initial-controllers*)
  echo 'a dynamic quorum cannot have that' >&2; exit 1;; esac
while [ "$1" != -c ]; do shift; done
data=$(sed -n 's/^log.dirs=//p' "$2"); mkdir -p "$data/__cluster_metadata-0"
{{ cat "$2"; echo "$@"; }} > "$data/bootstrap.checkpoint"
: > "$data/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
"""


class Tool:
    """A Java of which every main class is this StorageTool, and a cache of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(formatting, "CACHE", folder / "cache")
        self.said = folder / "said"
        self.command = str(folder / "java")
        Path(self.command).write_text(TOOL.format(said=self.said))
        Path(self.command).chmod(stat.S_IRWXU)
        self.found = Software("4.0.0", folder)

    @property
    def calls(self) -> int:
        return len(self.said.read_text().splitlines()) if self.said.exists() else 0


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    return Tool(tmp_path, monkeypatch)


def test_a_run_asks_for_levels_by_settings() -> None:
    wanted = {"heap": "1g", "feature.b": "2", "feature.a": "1", "release_version": "4.0"}
    levels = features.asked_for(wanted)
    assert levels == Levels("4.0", (("a", "1"), ("b", "2")))
    assert levels.arguments == ["--release-version", "4.0", "--feature=a=1", "--feature=b=2"]
    assert str(levels) == "--set release_version=4.0 --set feature.a=1 --set feature.b=2"
    assert levels.asked and not AS_RELEASED.asked
    assert features.asked_for({"heap": "1g"}) == AS_RELEASED
    assert AS_RELEASED.arguments == []


def test_unstable_levels_count_where_levels_are_asked_for() -> None:
    allowed = {features.UNSTABLE: "true"}
    assert features.asked_for(allowed) == AS_RELEASED
    assert features.asked_for({**allowed, "feature.a": "1"}).unstable
    assert not features.asked_for({features.UNSTABLE: "false", "feature.a": "1"}).unstable


def test_what_a_cluster_begins_with_is_no_configuration_of_a_node() -> None:
    spec, *_ = nodes = layout("3", one_id=True)
    wanted = {ELIGIBLE: "1", "release_version": "4.0", "feature.x": "2", "feature": "own"}
    made = settings.node_settings(
        spec.name,
        {each.name: each for each in nodes},
        {each.name: "10.0.0.1" for each in nodes},
        wanted,
        workdir="/w",
    )
    assert not made.keys() & (wanted.keys() - {"feature"})
    assert made["feature"] == "own"


@pytest.mark.parametrize(
    ("asked", "versions", "says"),
    [
        ({"feature.a": "x"}, ["4.2.0"], "--set feature.a=x: a level is a whole number from 0 up"),
        ({"feature.a": "-1"}, ["4.2.0"], "a level is a whole number"),
        ({"feature.kraft.version": "1"}, ["4.2.0"], "--set quorum=dynamic says that"),
        (
            {"feature.a": "1"},
            ["4.2.0", "3.8.1"],
            "of Apache Kafka 3.8.1 has no --feature, releases",
        ),
    ],
)
def test_levels_that_cannot_be_asked_for_are_refused(
    asked: Mapping[str, str], versions: list[str], says: str
) -> None:
    with pytest.raises(UsageError) as refused:
        features.check([asked] * len(versions), versions)
    assert says in str(refused.value)


@pytest.mark.parametrize("other", [{}, {"feature.a": "2"}, {"feature.a": "1", "heap": "1g"}])
def test_all_nodes_begin_with_the_same(other: Mapping[str, str]) -> None:
    asked = [{"feature.a": "1"}, other]
    if other.get("feature.a") == "1":
        features.check(asked, ["3.9.1", "4.2.0"])
    else:
        with pytest.raises(UsageError, match="it is of no node or role"):
            features.check(asked, ["3.9.1", "4.2.0"])


def test_levels_of_another_release_every_release_may_have() -> None:
    features.check([{"release_version": "3.3-IV3"}], ["3.3.2"])


@pytest.mark.parametrize(
    ("asked", "able"),
    [
        ({"feature.a": "1"}, True),
        ({"release_version": "3.9-IV0"}, True),
        ({"release_version": "3.8"}, False),
        ({METADATA: "21"}, True),
        ({METADATA: "20"}, False),
    ],
)
def test_a_dynamic_quorum_takes_levels_that_have_it(asked: Mapping[str, str], able: bool) -> None:
    features.check([asked], ["4.2.0"])
    if able:
        features.check([{**asked, "quorum": "dynamic"}], ["4.2.0"])
    else:
        with pytest.raises(UsageError, match=r"it takes levels of 3\.9 or newer"):
            features.check([{**asked, "quorum": "dynamic"}], ["4.2.0"])


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("feature.a=one",), "--set feature.a=one: a level is a whole number"),
        (("c1:release_version=3.9",), "it is of no node or role"),
        (("feature.kraft.version=0",), "--set quorum=dynamic says that"),
        (("feature.no-such=1",), "4.2.0 does not format: Unsupported feature: no-such."),
        ((f"{ELIGIBLE}=9",), "4.2.0 does not format: No feature:eligible.leader.replicas.version"),
        (("release_version=9.9",), "4.2.0 does not format: Unknown metadata.version '9.9'."),
        (("release_version=3.8", "quorum=dynamic"), "--set quorum=dynamic: it takes levels of 3.9"),
    ],
)
def test_bad_levels_are_one_line_before_anything_starts(
    capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], says: str
) -> None:
    """By the StorageTool of the release, where that is needed."""
    asked = [word for each in argv for word in ("--set", each)]
    assert main(["run", "--system", "kafka", *asked, "--workload", "no-such"]) == 254
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


# --- formatting ---------------------------------------------------------------------------


def test_disks_are_formatted_once_for_each_set_of_levels(tool: Tool) -> None:
    one, other = Levels(each=(("a", "1"),)), Levels(each=(("a", "2"),))
    made = {
        levels: [bootstrap(tool.found, tool.command, levels) for _ in range(2)]
        for levels in (AS_RELEASED, one, other, Levels("4.0"), Levels("4.0", unstable=True))
    }
    assert tool.calls == 5
    for levels, (first, again) in made.items():
        assert first == again and first is not None
        assert all(each in first.decode() for each in levels.arguments), levels
        assert (b"unstable.feature.versions.enable=true" in first) is levels.unstable
    assert b"--feature" not in (bootstrap(tool.found, tool.command) or b"")
    kept = {path.name for path in (formatting.CACHE / "kafka" / "formatted").iterdir()}
    assert len(kept) == 5 and tool.found.key in kept


def test_levels_that_the_tool_refuses_are_named_and_nothing_is_kept(tool: Tool) -> None:
    levels = Levels(each=(("a", "7"),))
    with pytest.raises(UsageError) as refused:
        formatting.check(tool.found, tool.command, levels, dynamic=False)
    assert str(refused.value) == (
        "--set feature.a=7: Apache Kafka 4.0.0 does not format: no level 7"
    )
    assert list((formatting.CACHE / "kafka" / "formatted").iterdir()) == []
    with pytest.raises(EngineError):
        bootstrap(tool.found, tool.command, levels)


def test_what_a_dynamic_quorum_cannot_have_is_refused_too(tool: Tool) -> None:
    levels = Levels(each=(("a", "1"),))
    formatting.check(tool.found, tool.command, levels, dynamic=False)
    with pytest.raises(UsageError, match="a dynamic quorum cannot have that"):
        formatting.check(tool.found, tool.command, levels, dynamic=True)
    assert first_voters(tool.found, tool.command, "1@127.0.0.1:9093:A", Levels("4.0")) == b""
    assert "--release-version 4.0 --initial-controllers" in tool.said.read_text()


@pytest.mark.parametrize(
    ("stderr", "says"),
    [
        ("", "it does not say why"),
        ("Unsupported feature: x.\n", "Unsupported feature: x."),
        ("usage: it\n   [more]\nerror: what\n", "error: what"),
        (
            'VM warning: x\nException in thread "main" a.b.C$D: why: so\n\tat e\nCaused by: f\n',
            "why: so",
        ),
        ('Exception in thread "main" just so\n', "just so"),
    ],
)
def test_why_a_tool_ended_is_one_line(stderr: str, says: str) -> None:
    assert last_words(stderr) == says


# --- what rests on them -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "wanted", "is_on"),
    [
        ("3.9.1", {}, False),
        ("4.0.1", {}, False),
        ("4.0.1", {ELIGIBLE: "1"}, True),
        ("4.1.1", {}, True),
        ("4.2.0", {"feature.group.version": "1"}, True),
        ("4.2.0", {ELIGIBLE: "0"}, False),
        ("4.2.0", {"release_version": "4.0-IV3"}, False),
        ("4.2.0", {"release_version": "4.1-IV0"}, True),
        ("4.2.0", {"release_version": "4.0", ELIGIBLE: "1"}, True),
        ("4.2.0", {METADATA: "25"}, False),
        ("4.2.0", {METADATA: "26"}, True),
        ("4.2.0", {METADATA: "25", ELIGIBLE: "1"}, True),
        ("4.2.0", {METADATA: "26", ELIGIBLE: "0"}, False),
    ],
)
def test_eligible_leaders_are_on_by_level(
    release: str, wanted: Mapping[str, str], is_on: bool
) -> None:
    """As StorageTool of 4.0.0 and 4.2.0 has it."""
    assert features.on(release, wanted) == ({ELIGIBLE_LEADERS} if is_on else frozenset())


@pytest.mark.parametrize(
    ("release", "wanted", "raises"),
    [
        ("3.3.2", {}, True),
        ("3.5.2", {}, True),
        ("3.6.0", {}, False),
        ("4.2.0", {}, False),
        ("3.7.1", {"release_version": "3.5"}, True),
        ("3.7.1", {"release_version": "3.6-IV0"}, False),
        ("3.9.1", {METADATA: "11"}, True),
        ("3.9.1", {METADATA: "12"}, False),
    ],
)
def test_shrinking_an_isr_begins_a_leader_epoch_by_level(
    release: str, wanted: Mapping[str, str], raises: bool
) -> None:
    """KAFKA-15021: as `replay-invariants` has it of the log's own level."""
    assert features.shrinking_raises(release, wanted) is raises
    (rule,) = (each.rule for each in RULES if each.name == "shrinking-raises-leader-epochs")
    assert rule is not None and rule.below == features.SHRINKING_RAISES_BELOW


@pytest.mark.parametrize(
    ("releases", "wanted", "says"),
    [
        ("4.0.1", {}, False),
        ("4.0.1", {ELIGIBLE: "1"}, True),
        ("4.2.0", {}, True),
        ("4.2.0", {ELIGIBLE: "0"}, False),
        ("4.0.1, 4.2.0", {}, False),
        ("4.0.1, 4.2.0", {ELIGIBLE: "1"}, True),
        ("", {}, False),
    ],
)
def test_a_clause_rests_on_them_where_they_are_on(
    releases: str, wanted: Mapping[str, str], says: bool
) -> None:
    """By the plan of a run: any of its nodes may be the first to lead."""
    plan = {"versions": {"Apache Kafka": releases}, "settings": {"c1": wanted, "b1": wanted}}
    assert features_of(plan) == ({ELIGIBLE_LEADERS} if says else frozenset())
    promise = KafkaSystem().promises(plan)["isr-chain/clean-election"]
    assert promise.made
    assert ("KIP-966" in promise.source) is says


@pytest.mark.parametrize(
    ("wanted", "able"),
    [
        ({}, True),
        ({ELIGIBLE: "0"}, True),
        ({METADATA: "14"}, False),
        ({METADATA: "15"}, True),
        ({"release_version": "3.6"}, False),
        ({"release_version": "3.7-IV0"}, True),
        ({"release_version": "3.6", METADATA: "15"}, False),
    ],
)
def test_controllers_tell_of_each_other_where_they_register(
    wanted: Mapping[str, str], able: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the levels that the cluster begins with, of releases whose controllers do (KIP-919)."""
    found = Software("4.2.0", Path())
    monkeypatch.setattr("nodes.kafka.software.asked_for", lambda _: found)
    nodes = layout("1+1", one_id=True)
    have = KafkaSystem().capabilities_with(nodes, {spec.name: wanted for spec in nodes})
    assert ("told-controllers" in have) is able


def test_a_plan_of_before_settings_were_kept_has_what_its_release_begins_with() -> None:
    assert features_of({"versions": {"Apache Kafka": "4.2.0"}}) == {ELIGIBLE_LEADERS}
    assert features_of({}) == frozenset()


def test_the_page_says_where_it_takes_a_level() -> None:
    (eligible,) = (each for each in PROMISES if each.name == "eligible-leaders")
    assert [state(eligible, each) for each in ("3.9.1", "4.0.1", "4.1.1")] == [
        "-",
        "where on",
        "yes",
    ]
