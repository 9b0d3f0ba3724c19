"""Which inventories are read, and by which line the others are refused."""

import json
from pathlib import Path

import pytest

from framework.cli.app import main
from framework.errors import UsageError
from framework.hosts.ssh.inventory import WORKDIR, Machine, as_json, from_json, read


def written(folder: Path, text: str, name: str = "machines.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_settings_for_all_machines_and_for_one(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        user = "admin"
        port = 2022
        [[machines]]
        name = "m1"
        address = "192.0.2.11"
        [[machines]]
        address = "192.0.2.12"
        user = "root"
        workdir = "/data"
        """,
    )
    assert read(path) == [
        Machine(name="m1", address="192.0.2.11", port=2022, user="admin", workdir=WORKDIR),
        Machine(name="192.0.2.12", address="192.0.2.12", port=2022, workdir="/data"),
    ]


def test_json_is_as_good(tmp_path: Path) -> None:
    text = json.dumps({"machines": [{"address": "192.0.2.11"}]})
    (machine,) = read(written(tmp_path, text, "machines.json"))
    assert (machine.name, machine.port, machine.user) == ("192.0.2.11", 22, "root")
    assert from_json(as_json([machine])) == [machine]


ONE = '[[machines]]\naddress = "192.0.2.11"\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "it names no machines"),
        ("machines = []", "it names no machines"),
        ("machines = 3", "it names no machines"),
        ("machines = [3]", "a machine is a table with an address"),
        ("[[machines]", "no TOML"),
        ("[[machines]]\nname = 'x'", "machine x: it has no address"),
        (ONE + "adress = 'x'", "machine 192.0.2.11: unknown field: adress (known: name, address"),
        ("users = 'x'\n" + ONE, "unknown setting: users (known: machines, port"),
        (ONE + "port = '22'", "port '22' is no int"),
        (ONE + "port = 0", "port 0 is none"),
        (ONE + "user = ''", "user '' is no str"),
        (ONE + "workdir = 'here'", "workdir 'here' is no absolute path"),
        (ONE + "key = 'nothing'", "nothing cannot be used: No such file or directory"),
        (ONE + "key = 'machines.toml'", "machines.toml cannot be used"),
        (ONE + ONE, "machines 192.0.2.11 and 192.0.2.11 have one address: 192.0.2.11"),
        (
            ONE + "name = 'x'\n[[machines]]\naddress = '192.0.2.12'\nname = 'x'",
            "machines x and x have one name: x",
        ),
        ("[[machines]]\naddress = 'no such name'", "machine no such name: address"),
    ],
)
def test_wrong_ones_are_refused_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, line: str
) -> None:
    path = written(tmp_path, text)
    results = tmp_path / "results"
    command = ["run", "--hosts", "ssh", "--inventory", str(path), "--results", str(results)]
    assert main(command) == 254
    (said,) = capsys.readouterr().err.strip().splitlines()
    assert said.startswith(f"framework: --inventory {path}: ") and line in said
    assert not results.exists()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.toml: it cannot be read: No such file"):
        read(tmp_path / "none.toml")


def test_ssh_needs_an_inventory(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--hosts", "ssh"]) == 254
    assert "--hosts ssh needs the file of your machines: --inventory FILE" in (
        capsys.readouterr().err
    )
