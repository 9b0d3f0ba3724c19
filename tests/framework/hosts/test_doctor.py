"""What doctor concludes from what plugins say, and which hosts a run takes."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from framework.cli.clean import clean
from framework.cli.doctor import doctor
from framework.errors import UsageError
from framework.hosts.choose import choose
from framework.hosts.doctor import diagnose
from framework.plugins import registry
from framework.plugins.host import Ability, HostProvider, Image

GOOD = Ability("engine", True, "fine")
SOFTWARE = Image(name="fake")
BAD = Ability("engine", False, "absent", "apt-get install engine")


class FakeProvider:
    def __init__(self, name: str, ability: Ability, leftovers: Sequence[str] = ()) -> None:
        self.name = name
        self._ability = ability
        self._leftovers = list(leftovers)

    def abilities(self) -> Sequence[Ability]:
        return [self._ability]

    def carries(self, image: Image, nodes: int) -> Sequence[Ability]:
        lacking = [name for name in image.commands if name != "sh"]
        return [Ability(name, False, "not found", "apt-get install it") for name in lacking]

    def clean(self) -> Sequence[str]:
        gone, self._leftovers = self._leftovers, []
        return gone


class FakeSystem:
    def __init__(self, command: str) -> None:
        self._command = command

    def image(self) -> Image:
        return Image(name="fake", commands=[self._command])


class FakeFault:
    name = "cut"

    def __init__(self, works_on: str) -> None:
        self._works_on = works_on

    def abilities(self, hosts: HostProvider) -> Sequence[Ability]:
        return [
            Ability("filter", hosts.name == self._works_on, "a filter", "apt-get install filter")
        ]


Plug = Callable[..., None]


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch) -> Plug:
    """Replace what is installed by docker and namespaces as told."""

    def replace(
        docker: Ability,
        namespaces: Ability,
        faults_on: str = "namespaces",
        command: str = "sh",
    ) -> None:
        found: dict[str, dict[str, Any]] = {
            "hosts": {
                "docker": FakeProvider("docker", docker),
                "namespaces": FakeProvider("namespaces", namespaces, ["bridge of run x"]),
            },
            "systems": {"fake": FakeSystem("sh"), "other": FakeSystem(command)},
            "nemeses": {"cut": SimpleNamespace(faults=[FakeFault(faults_on)])},
        }
        monkeypatch.setattr(registry, "names", lambda group: sorted(found[group]))
        monkeypatch.setattr(registry, "load", lambda group, name: found[group][name])

    return replace


def test_one_kind_that_works_fully_is_enough(
    plug: Plug, capsys: pytest.CaptureFixture[str]
) -> None:
    plug(BAD, GOOD)
    assert diagnose().usable == ["namespaces"]
    assert doctor() == 0
    out = " ".join(capsys.readouterr().out.split())  # however wide the terminal is
    assert "apt-get install engine" in out, "it does not say how to get what is missing"
    assert "--hosts auto takes namespaces" in out


def test_hosts_whose_faults_do_not_work_are_not_enough(plug: Plug) -> None:
    plug(GOOD, BAD, faults_on="namespaces")
    assert diagnose().usable == []
    assert doctor() == 2


def test_json(plug: Plug, capsys: pytest.CaptureFixture[str]) -> None:
    plug(BAD, BAD)
    assert doctor(json=True) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["healthy"] is False
    assert found["usable"] == [] and found["chosen"] is None
    sections = {section["name"]: section["abilities"] for section in found["sections"]}
    assert sections["hosts: docker"][0]["remedy"] == "apt-get install engine"


@pytest.mark.parametrize(
    ("version", "works"),
    [
        ('openjdk version "17.0.15" 2025-04-15', True),
        ('openjdk version "21" 2023-09-19', True),
        ('openjdk version "11.0.2" 2019-01-15', False),
        ('java version "1.8.0_202"', False),
        ("what?", False),
    ],
)
def test_java(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, plug: Plug, version: str, works: bool
) -> None:
    plug(GOOD, GOOD)
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{version}' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    abilities = {ability.name: ability for ability in diagnose().sections[0].abilities}
    assert abilities["java"].works is works
    assert "apt-get install openjdk-17" in abilities["java"].remedy


def test_auto_takes_docker_where_an_engine_answers(plug: Plug) -> None:
    plug(GOOD, GOOD)
    provider, reason = choose("auto", SOFTWARE, 3)
    assert provider.name == "docker"
    assert reason == "hosts: docker (an engine answers)"


def test_auto_says_why_it_is_not_docker(plug: Plug) -> None:
    plug(BAD, GOOD)
    provider, reason = choose("auto", SOFTWARE, 3)
    assert provider.name == "namespaces"
    assert reason == "hosts: namespaces (no docker: engine: absent)"


def test_refusals_name_what_is_missing_and_how_to_get_it(plug: Plug) -> None:
    plug(BAD, BAD)
    with pytest.raises(UsageError, match=r"engine: absent.*apt-get install engine"):
        choose("docker", SOFTWARE, 3)
    with pytest.raises(UsageError, match="no kind of hosts works here"):
        choose("auto", SOFTWARE, 3)


def test_hosts_that_cannot_carry_the_software_are_refused(plug: Plug) -> None:
    plug(GOOD, GOOD)
    software = Image(name="fake", commands=["no-such-server"])
    with pytest.raises(UsageError, match=r"no-such-server: not found.*apt-get install it"):
        choose("docker", software, 3)
    with pytest.raises(UsageError, match="no docker: no-such-server: not found"):
        choose("auto", software, 3)


def test_a_system_that_is_not_there_leaves_the_others(
    plug: Plug, capsys: pytest.CaptureFixture[str]
) -> None:
    plug(BAD, GOOD, command="no-such-server")
    assert doctor(json=True) == 0
    found = json.loads(capsys.readouterr().out)
    systems = next(each for each in found["sections"] if each["name"] == "systems on namespaces")
    assert [(each["name"], each["works"]) for each in systems["abilities"]] == [
        ("fake", True),
        ("other", False),
    ]


def test_machines_are_named_only_where_they_are_asked_for(plug: Plug) -> None:
    plug(GOOD, GOOD)
    with pytest.raises(UsageError, match="--inventory: --hosts docker takes none"):
        choose("docker", SOFTWARE, 3, Path("machines.toml"))
    with pytest.raises(UsageError, match="say which kind of --hosts"):
        choose("auto", SOFTWARE, 3, Path("machines.toml"))


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'vms'.*docker, namespaces"):
        choose("vms", SOFTWARE, 3)


def test_clean_says_what_it_removed(plug: Plug, capsys: pytest.CaptureFixture[str]) -> None:
    plug(GOOD, GOOD)
    clean()
    assert capsys.readouterr().out == "removed bridge of run x\n"
    clean()
    assert capsys.readouterr().out == "nothing to clean\n"
