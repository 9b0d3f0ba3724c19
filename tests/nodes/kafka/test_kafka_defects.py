"""Apache Kafka's defects: the catalogue is whole, and each fits the release that it is of."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from framework.errors import UsageError
from framework.plugins import registry
from framework.run.options import Options, resolve
from nodes.kafka.defects import agent, making, tools
from nodes.kafka.defects.catalogue import DEFECTS
from nodes.kafka.defects.making import COMMON, SOURCES, class_of
from nodes.kafka.software import DEFECT, asked_for
from nodes.kafka.system import KafkaSystem

WRONG = {
    "no-such-type": ("x", "Absent", "Absent cannot be resolved"),
    "no-such-method": ("x", "String", "there are 0 methods"),
    "other-arguments": ("deleteTopics", "String", "there are 0 methods"),
}
"""A defect -> the method that it changes, the type that it names, and why it is refused."""


def test_each_defect_has_a_file_and_each_file_is_a_defect() -> None:
    files = {path.stem for path in SOURCES.glob("*.java")} - set(COMMON)
    assert files == set(map(class_of, DEFECTS))
    assert len(DEFECTS) >= 12


@pytest.mark.parametrize("name", DEFECTS)
def test_each_entry_names_a_promise_and_a_run_that_can_be(name: str) -> None:
    defect = DEFECTS[name]
    assert defect.breaks
    assert defect.promise
    test = resolve(
        Options(
            system="kafka",
            hosts="namespaces",
            workload=defect.workload,
            nemesis=defect.nemesis,
            nodes=defect.cluster,
            time_limit_s=defect.time_limit_s,
            settings=defect.settings,
        )
    )
    assert defect.found_by <= set(test.checkers), "none of them would look"
    assert defect.found_by <= set(registry.names("checkers"))


def test_each_advice_compiles_and_fits_the_methods_of_the_release() -> None:
    made = making.agent(list(DEFECTS), asked_for({"version": "4.2.0"}), "java")
    assert {making.JAR} < made.files.keys()
    assert made == making.agent(list(DEFECTS), asked_for({"version": "4.2.0"}), "java")


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Sources of which some are wrong."""
    sources = tmp_path / "java"
    shutil.copytree(SOURCES, sources)
    for name, (method, type_, _) in WRONG.items():
        (sources / f"{class_of(name)}.java").write_text(
            "package defects;\n"
            '@Changes(type = "org.apache.kafka.controller.ReplicationControlManager",\n'
            f'    method = "{method}", takes = 7)\n'
            f"final class {class_of(name)} {{ {type_} unused; }}\n"
        )
    monkeypatch.setattr(making, "SOURCES", sources)
    yield sources


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_compile_or_fit_is_refused_and_not_kept(planted: Path, name: str) -> None:
    kept = making.CACHE / "kafka" / "defects"
    before = set(kept.iterdir())
    with pytest.raises(UsageError) as refused:
        making.agent([name], asked_for({}), "java")
    assert WRONG[name][2] in str(refused.value)
    assert name in str(refused.value)
    assert "\n" not in str(refused.value)
    assert set(kept.iterdir()) == before


def test_without_the_agents_tools_a_run_is_refused_with_the_command_that_brings_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "CACHE", tmp_path)
    monkeypatch.setattr(making, "CACHE", tmp_path)
    with pytest.raises(UsageError, match="kraft-proof get kafka brings it"):
        resolve(Options(system="kafka", hosts="namespaces", defect="vote-twice"))


def test_a_defect_is_of_all_nodes_or_of_the_one_that_is_named() -> None:
    options = Options(
        system="kafka",
        hosts="namespaces",
        defect="vote-twice",
        settings=("b1:defect=drop-commits",),
    )
    found = {node: each[DEFECT] for node, each in resolve(options).settings.items()}
    assert found.pop("b1") == "drop-commits"
    assert found == dict.fromkeys(("b2", "b3", "c1", "c2", "c3"), "vote-twice")
    settings = {"b1": {DEFECT: "drop-commits"}}
    shipped = KafkaSystem().image_with(KafkaSystem().layout("3+3"), settings).files
    assert sum(path.endswith(making.JAR) for path in shipped) == 1


@pytest.mark.parametrize("software", ["", "/software"])
def test_a_node_is_started_with_the_agent_that_it_was_given(software: str) -> None:
    host: Any = SimpleNamespace(software=software)
    assert agent.flags(host, {}) == []
    (flag,) = agent.flags(host, {DEFECT: "drop-commits"})
    path, _, defect = flag.removeprefix("-javaagent:").partition("=")
    assert defect == "DropCommits"
    assert path.startswith(software)
    assert path.endswith(making.JAR)
    assert bool(software) != Path(path).exists()


def test_a_node_that_cannot_be_broken_as_it_was_asked_does_not_start() -> None:
    made = making.agent(["drop-commits"], asked_for({}), "java")

    def ends_with(defect: str) -> int:
        argv = ["java", f"-javaagent:{made.files[making.JAR]}={defect}", "-version"]
        return subprocess.run(argv, capture_output=True).returncode

    assert ends_with("DropCommits") == 0
    assert ends_with("VoteTwice") != 0


@pytest.mark.parametrize("name", DEFECTS)
def test_the_page_has_each_with_its_run(name: str) -> None:
    page = Path(__file__).parents[3] / "docs" / "kafka.md"
    (row,) = [line for line in page.read_text().splitlines() if line.startswith(f"| `{name}` |")]
    assert f"`{DEFECTS[name].command(name)}`" in row
    assert DEFECTS[name].breaks in row
    assert " 0 of " not in row
