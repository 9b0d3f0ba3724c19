"""Apache Kafka's jars and Java: what is there, what is brought, and what is refused."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from framework.cli.app import main
from framework.errors import EngineError, UsageError
from framework.plugins.capabilities import TOPICS_ON_DEMAND, UNFORCED, unmet
from framework.plugins.system import NodeSpec
from nodes.adapting.layout import layout
from nodes.kafka import archive, command_line, java, quorum, releases, settings, software
from nodes.kafka.defects import tools
from nodes.kafka.releases import Release
from nodes.kafka.system import KafkaSystem
from workloads.isr import Isr
from workloads.lifecycle import Lifecycle
from workloads.voters import Voters
from workloads.zombie import Zombie

JARS = {"kafka-clients-9.9.9.jar": b"clients", "scala.jar": b"scala"}
KNOWN = Release(
    "9.9.9", 17, {name: hashlib.sha256(data).hexdigest() for name, data in JARS.items()}
)


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, bytes]], None]:
    """A cache of its own, a release that is known, and an `mvn` that brings what it is told."""
    monkeypatch.setattr(software, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(software, "release", lambda version: KNOWN)
    monkeypatch.setattr(software, "newest", lambda: KNOWN.version)
    source = tmp_path / "central"
    source.mkdir()
    script = tmp_path / "bin" / "mvn"
    script.parent.mkdir()
    script.write_text(
        "#!/bin/sh\n"
        'for each in "$@"; do case "$each" in -DoutputDirectory=*) into="${each#*=}";; esac; done\n'
        f'mkdir -p "$into" && cp {source}/* "$into"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")

    def brings(jars: dict[str, bytes]) -> None:
        for name, data in jars.items():
            (source / name).write_bytes(data)

    return brings


def test_a_release_is_brought_once(
    maven: Callable[[dict[str, bytes]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    maven(JARS)
    found = software.get("9.9.9")
    assert {path.name for path in found.libs.iterdir()} == JARS.keys()
    monkeypatch.setenv("PATH", "")
    assert software.get("9.9.9") == found == software.asked_for({})


@pytest.mark.parametrize(
    ("jars", "says"),
    [
        ({**JARS, "scala.jar": b"another"}, "scala.jar is not the one of Apache Kafka 9.9.9"),
        ({**JARS, "more.jar": b""}, "more.jar is not the one of"),
        ({"scala.jar": b"scala"}, "kafka-clients-9.9.9.jar did not come"),
    ],
)
def test_what_is_not_on_the_list_is_not_kept(
    maven: Callable[[dict[str, bytes]], None], jars: dict[str, bytes], says: str
) -> None:
    maven(jars)
    with pytest.raises(EngineError, match=says):
        software.get("9.9.9")
    assert list((software.CACHE / "kafka").iterdir()) == []


def test_what_defects_are_made_with_is_brought_once_and_held_against_its_list(
    maven: Callable[[dict[str, bytes]], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(tools, "LIST", tmp_path / "list.txt")
    tools.LIST.write_text("".join(f"{digest}  {name}\n" for name, digest in KNOWN.jars.items()))
    maven({**JARS, "scala.jar": b"another"})
    with pytest.raises(EngineError, match=r"scala\.jar is not the one of the agent of defects"):
        tools.get()
    maven(JARS)
    tools.get()
    monkeypatch.setenv("PATH", "")
    tools.get()
    (home,) = (tmp_path / "cache" / "kafka" / "defects").iterdir()
    assert {path.name for path in home.iterdir()} == JARS.keys()


def test_kafkas_tools_come_with_a_release_once_and_are_used_without_maven(
    maven: Callable[[dict[str, bytes]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """None but `get` asks Maven: whoever wants a tool that is not there is told so."""
    jar = {command_line.JAR: b"tools"}
    digest = hashlib.sha256(b"tools").hexdigest()
    monkeypatch.setattr(command_line, "SHA256", digest)
    monkeypatch.setattr(command_line, "VERSION", KNOWN.version)
    monkeypatch.setattr(tools, "get", lambda: None)
    maven(JARS)
    software.get(KNOWN.version)
    with pytest.raises(UsageError, match="is not on this machine: kraft-proof get kafka brings it"):
        command_line.command("a.Tool")
    with pytest.raises(EngineError, match=r"is not the one of Kafka's tools"):
        KafkaSystem().get(KNOWN.version)
    for name in JARS:
        (software.CACHE.parent / "central" / name).unlink()
    maven(jar)
    KafkaSystem().get(KNOWN.version)
    monkeypatch.setenv("PATH", "")
    KafkaSystem().get(KNOWN.version)
    argv = command_line.command("a.Tool", "--list")
    assert argv[-2:] == ["a.Tool", "--list"]
    libs = software.CACHE / "kafka" / KNOWN.version / "libs"
    assert f"{libs}/*:{command_line.tools()}" in argv


def test_kafkas_tools_go_with_the_release_that_is_brought_by_default() -> None:
    assert releases.newest() == command_line.VERSION


def test_maven_that_fails_or_is_not_there_is_named(
    maven: Callable[[dict[str, bytes]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EngineError, match="Maven failed"):
        software.get("9.9.9")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match="there is no mvn"):
        software.get("9.9.9")


def test_a_release_that_is_not_there_is_refused_with_the_command_that_brings_it(
    maven: Callable[[dict[str, bytes]], None],
) -> None:
    with pytest.raises(UsageError, match=r"kraft-proof get kafka 9\.9\.9 brings it"):
        software.asked_for({})


def test_each_release_of_the_table_is_whole_and_runs_on_a_java() -> None:
    known = releases.versions()
    assert known[-1] == releases.newest()
    assert {"3.3.2", "3.6.1", "3.7.1", "3.9.1", "4.0.1", "4.1.1", "4.2.0"} <= set(known)
    for version in known:
        found = releases.release(version)
        own = {
            f"kafka_2.13-{version}.jar",
            f"kafka-clients-{version}.jar",
            "slf4j-simple-1.7.36.jar",
        }
        assert own <= found.jars.keys(), version
        assert all(len(bytes.fromhex(each)) == 32 for each in found.jars.values()), version
        assert found.java == (11 if version.startswith("3.") else 17)


def test_a_build_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs" / "kafka-clients-5.0.0-SNAPSHOT.jar").touch()
    found = software.asked_for({"home": str(tmp_path)})
    assert (found.version, found.home) == ("5.0.0-SNAPSHOT", tmp_path)
    assert releases.java_of(found.version) == 17
    assert releases.java_of("3.9.1") == 11


@pytest.mark.parametrize(
    ("versions", "able"),
    [(("3.9.1", "4.2.0"), True), (("4.10.0", "4.2.0"), True), (("4.2.0", "3.7.1"), False)],
)
def test_brokers_are_added_where_every_node_is_new_enough_and_played_everywhere(
    monkeypatch: pytest.MonkeyPatch, versions: tuple[str, ...], able: bool
) -> None:
    monkeypatch.setattr(
        software, "asked_for", lambda asked: SimpleNamespace(version=asked["version"])
    )
    system = KafkaSystem()
    nodes = [*system.layout("1+1")]
    asked = {spec.name: {"version": version} for spec, version in zip(nodes, versions, strict=True)}
    has = system.capabilities_with(nodes, asked)
    assert (unmet(Lifecycle().requires, has) is None) == able
    assert all(unmet(workload.requires, has) is None for workload in (Isr(), Zombie()))


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("--set", "version=0.8"), "Apache Kafka 0.8: known are"),
        (("--set", "home=/nowhere"), "no libs/kafka-clients-VERSION.jar in it"),
        (("--set", "home=/nowhere", "--set", "version=4.2.0"), "one of them says what runs"),
        (("--set", "node.id=3"), "the layout of the cluster decides that"),
        (("--set", "java_home=/nowhere"), "needs Java 17, and /nowhere/bin/java does not start"),
        (("--set", "defect=none-such"), "--set defect=none-such: known are acknowledge-before-"),
        (("--defect", "none-such"), "unknown defect: 'none-such' (known: acknowledge-before-"),
        (("--set", "quorum=large"), "--set quorum=large: it is static or dynamic"),
        (("--set", "c1:quorum=dynamic"), "all nodes have one quorum, so it is of no node or role"),
        (("--set", "controller.quorum.bootstrap.servers=a:1"), "the layout of the cluster decides"),
        (("--workload", "voters"), "the system has no voters that administrators add and remove"),
        (("--workload", "voters:away_s=-1"), "away_s=-1: it is from 0 to 3600 s"),
        (("--nodes", "many"), "CONTROLLERS+BROKERS"),
    ],
)
def test_bad_settings_are_one_line_before_anything_starts(
    capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], says: str
) -> None:
    assert main(["run", "--system", "kafka", *argv]) == 254
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def test_a_release_without_dynamic_quorums_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs" / "kafka-clients-3.8.1.jar").touch()
    asked = ("--set", "quorum=dynamic", "--set", f"b1:home={tmp_path}")
    assert main(["run", "--system", "kafka", *asked]) == 254
    (line,) = capsys.readouterr().err.splitlines()
    assert "quorum=dynamic: Apache Kafka 3.8.1 has none, releases from 3.9 on have" in line
    quorum.check(
        [{quorum.QUORUM: quorum.DYNAMIC}, {quorum.QUORUM: quorum.DYNAMIC}], ["3.9.0", "4.2.0"]
    )


@pytest.mark.parametrize(("setting", "able"), [("dynamic", True), ("static", False), (None, False)])
def test_voters_change_in_a_dynamic_quorum_alone(setting: str | None, able: bool) -> None:
    """Where somebody asks for that by name: under faults less is owed."""
    system = KafkaSystem()
    nodes = [*system.layout("3+3")]
    wanted = {} if setting is None else {quorum.QUORUM: setting}
    capabilities = system.capabilities_with(nodes, {spec.name: wanted for spec in nodes})
    assert (unmet(Voters.requires, capabilities) is None) == able
    assert set(Voters.requires) & set(system.costly)


def test_voters_are_three_at_least(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--set", "quorum=dynamic", "--workload", "voters", "--nodes", "2+1")
    assert main(["run", "--system", "kafka", *asked]) == 254
    (line,) = capsys.readouterr().err.splitlines()
    assert "workload voters cannot be had with system kafka" in line and "controller" in line


def test_what_needs_a_newer_java_is_refused(tmp_path: Path) -> None:
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    old.chmod(0o755)
    wanted = {"java_home": str(tmp_path)}
    java.check(wanted, "3.9.1")
    with pytest.raises(UsageError, match=r"needs Java 17 or newer, and .* is 11"):
        java.check(wanted, "4.2.0")


def test_systems_that_have_nothing_to_get_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["get", "kraft"]) == 254
    assert "there is nothing to get" in capsys.readouterr().err


# --- a cluster's settings -----------------------------------------------------------------


@pytest.mark.parametrize(("nodes", "ids"), [("3", [1, 2, 3]), ("3+3", [1, 2, 3, 4, 5, 6])])
def test_each_node_has_one_id(nodes: str, ids: list[int]) -> None:
    assert [settings.node_id(spec) for spec in layout(nodes, one_id=True)] == ids


def of(spec: NodeSpec, wanted: dict[str, str]) -> dict[str, str]:
    nodes = {each.name: each for each in layout("3+3", one_id=True)}
    addresses = {name: f"10.0.0.{number}" for number, name in enumerate(nodes, 1)}
    return settings.node_settings(spec.name, nodes, addresses, wanted, workdir="/w")


def test_settings_are_kafkas_own_and_those_that_are_wanted() -> None:
    spec = layout("3+3", one_id=True)[3]
    asked = {
        "version": "4.2.0",
        "defect": "vote-twice",
        "heap": "1g",
        "java_flags": "-Xint -ea",
        "broker.session.timeout.ms": "9000",
    }
    made = of(spec, asked)
    assert made["process.roles"] == "broker"
    assert made["node.id"] == "4"
    assert made["listeners"] == "CLIENT://10.0.0.4:9092"
    assert made["controller.quorum.voters"] == "1@10.0.0.1:9093,2@10.0.0.2:9093,3@10.0.0.3:9093"
    assert made["broker.session.timeout.ms"] == "9000"
    assert not made.keys() & settings.OURS


def test_nodes_of_a_dynamic_quorum_are_told_where_to_ask_who_votes() -> None:
    spec = layout("3+3", one_id=True)[3]
    made = of(spec, {"quorum": "dynamic"})
    static = of(spec, {"quorum": "static"})
    servers = "10.0.0.1:9093,10.0.0.2:9093,10.0.0.3:9093"
    assert made == {
        "controller.quorum.bootstrap.servers": servers,
        **{key: value for key, value in static.items() if key != "controller.quorum.voters"},
    }
    assert static == of(spec, {})


def test_a_dynamic_quorum_is_formatted_with_its_voters_and_their_directories() -> None:
    nodes = {each.name: each for each in layout("2+1", one_id=True)}
    addresses = {name: f"10.0.0.{number}" for number, name in enumerate(nodes, 1)}
    directories = {name: settings.directory_id(spec, 7) for name, spec in nodes.items()}
    first, second = quorum.initial_controllers(nodes, addresses, directories).split(",")
    assert first == f"1@10.0.0.1:9093:{directories['c1']}"
    assert second == f"2@10.0.0.2:9093:{directories['c2']}"
    for name, spec in nodes.items():
        assert f"directory.id={directories[name]}\n" in settings.meta_properties(spec, 7)


def test_ids_of_clusters_are_none_that_kafkas_tools_take_for_options() -> None:
    ids = {settings.cluster_id(seed) for seed in range(300)}
    assert len(ids) == 300
    assert all(len(each) == 22 and each[0] not in "-_" for each in ids)


def test_a_longer_session_is_a_longer_recovery() -> None:
    system, specs = KafkaSystem(), layout("3+3", one_id=True)
    longer = {spec.name: {"broker.session.timeout.ms": "9000"} for spec in specs}
    assert system.recovery_s(specs, longer) == pytest.approx(system.recovery_s(specs, {}) + 6)


def test_a_silent_broker_is_fenced_a_session_later() -> None:
    system, specs = KafkaSystem(), layout("3+3", one_id=True)
    assert 3 < system.fencing_s(specs, {}) < system.recovery_s(specs, {})
    longer = {specs[-1].name: {"broker.session.timeout.ms": "7000"}}
    assert system.fencing_s(specs, longer) == pytest.approx(system.fencing_s(specs, {}) + 5)


def test_flags_for_java_come_after_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two that contradict each other Java takes the later one."""
    monkeypatch.setattr(software, "asked_for", lambda _: software.Software("4.2.0", tmp_path))
    monkeypatch.setattr(archive, "flags", lambda *_: ["-XX:SharedArchiveFile=some"])
    (spec,) = layout("1", one_id=True)
    host = SimpleNamespace(software="", workdir="/w")
    cluster: Any = SimpleNamespace(
        host=lambda _: host,
        settings={spec.name: {"java_flags": "-XX:TieredStopAtLevel=4 -ea"}},
    )
    argv = KafkaSystem().command(cluster, spec.name, "/w/server.properties")
    first = argv.index("-XX:TieredStopAtLevel=1")
    assert first < argv.index("-XX:SharedArchiveFile=some") < argv.index("-cp")
    assert argv[argv.index("-XX:TieredStopAtLevel=4") :][:3] == [
        "-XX:TieredStopAtLevel=4",
        "-ea",
        "-cp",
    ]


def test_topics_are_made_on_demand_where_all_brokers_do_that() -> None:
    system, nodes = KafkaSystem(), layout("3", one_id=True)
    given = {each.name: {"auto.create.topics.enable": "true"} for each in nodes}
    assert TOPICS_ON_DEMAND in system.capabilities_with(nodes, given)
    given[nodes[2].name] = {}
    assert TOPICS_ON_DEMAND not in system.capabilities_with(nodes, given)


@pytest.mark.parametrize("forcing", sorted(settings.FORCING))
def test_of_logs_that_brokers_force_nobody_knows_what_is_not_on_the_disk(forcing: str) -> None:
    system, nodes = KafkaSystem(), layout("3", one_id=True)
    given: dict[str, dict[str, str]] = {each.name: {} for each in nodes}
    assert UNFORCED in system.capabilities_with(nodes, given)
    given[nodes[1].name] = {forcing: "1"}
    assert UNFORCED not in system.capabilities_with(nodes, given)
    assert all(map(system.keeps_unforced, nodes))
    assert sum(map(system.keeps_unforced, layout("3+2", one_id=True))) == 2


def test_an_empty_disk_is_the_first_one_but_for_its_id() -> None:
    """KIP-858: whoever formats a directory gives it an id."""
    spec = layout("3", one_id=True)[0]
    first, second, third = (settings.meta_properties(spec, 7, disk) for disk in (0, 1, 2))
    assert first == settings.meta_properties(spec, 7)
    lines = [each.splitlines() for each in (first, second, third)]
    assert lines[0][:-1] == lines[1][:-1] == lines[2][:-1]
    ids = {each[-1] for each in lines}
    assert len(ids) == 3 and all(each.startswith("directory.id=") for each in ids)
