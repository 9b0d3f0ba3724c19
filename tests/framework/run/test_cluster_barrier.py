"""A cluster that does not come up: why, at once, and with what its nodes wrote."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from framework.errors import EngineError
from framework.plugins.system import NodeSpec, System
from framework.run import cluster as clusters

SPECS = [NodeSpec(name=name, roles=frozenset({"node"}), ports={}) for name in ("n1", "n2")]


class Host:
    """A machine that remembers what was written, and where one process may be dead."""

    workdir = "/w"

    def __init__(self, alive: bool) -> None:
        self.files: dict[str, bytes] = {}
        self._alive = alive

    def write(self, path: str, data: bytes) -> None:
        self.files[path] = data

    def read(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def exit_code(self, pid: int) -> int | None:
        return None if self._alive else 3

    def alive(self, pid: int) -> bool:
        assert pid == 7
        return self._alive

    def fetch(self, remote: str, local: Path) -> None:
        local.mkdir(parents=True)
        (local / "node.log").write_text(remote)
        (local / "process.json").write_bytes(self.files[f"{remote}/process.json"])


class Provider:
    def __init__(self, dead: Sequence[str]) -> None:
        self._dead = dead

    @contextmanager
    def fleet(
        self, run_id: str, names: Sequence[str], scratch: Path, image: object
    ) -> Iterator[Any]:
        yield SimpleNamespace(hosts={name: Host(name not in self._dead) for name in names})


class Mute(System):
    """A system whose nodes never answer."""

    def image(self) -> None: ...

    def install(self, cluster: Any, node: str) -> None: ...

    def start(self, cluster: Any, node: str) -> int:
        return 7

    def settled(self, cluster: Any) -> str:
        return "nobody answers"

    def artifacts(self, cluster: Any, node: str) -> list[str]:
        return ["/w"]


def failure(dead: Sequence[str], into: Path) -> str:
    with (
        pytest.raises(EngineError) as caught,
        clusters.cluster_of(
            Mute(),  # type: ignore[arg-type]
            Provider(dead),  # type: ignore[arg-type]
            SPECS,
            run_id="r",
            seed=1,
            scratch=into,
            failed_start_logs=into.joinpath,
        ),
    ):
        pass
    return str(caught.value)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "LOOK_S", 0.2)


def test_a_node_that_ended_is_not_waited_for(tmp_path: Path) -> None:
    reported = failure(["n2"], tmp_path)
    assert reported.startswith("n2 ended at the start")
    assert str(tmp_path) in reported and (tmp_path / "n2" / "node.log").exists()
    ended = json.loads((tmp_path / "n2" / "process.json").read_text())
    assert ended == {"pid": 7, "ended": True, "exit_code": 3}


def test_a_node_that_ends_later_is_not_waited_for_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A JVM takes its time to start, and to end: the first look may see all of them alive."""
    looks = iter((True, True, False))
    monkeypatch.setattr(Host, "alive", lambda host, pid: host._alive or next(looks, False))
    assert failure(["n2"], tmp_path).startswith("n2 ended at the start")
    assert not list(looks)


def test_nodes_that_live_have_their_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "BARRIER_TIMEOUT_S", 1.0)
    assert "did not settle in 1 s: nobody answers" in failure([], tmp_path)


@pytest.mark.parametrize(("failures", "lost"), [(2, []), (1000, ["n2"])])
def test_what_a_connection_cost_is_fetched_over_the_next_one(
    tmp_path: Path, failures: int, lost: Sequence[str]
) -> None:
    class Shaky(Host):
        def fetch(self, remote: str, local: Path) -> None:
            nonlocal failures
            failures -= 1
            if failures >= 0:
                raise EOFError("the connection is lost")
            super().fetch(remote, local)

    hosts = {"n1": Host(alive=True), "n2": Shaky(alive=True)}
    cluster = SimpleNamespace(
        system=Mute(), nodes=dict.fromkeys(hosts), host=hosts.get, pid=lambda _: 7
    )
    found = clusters.collect(cluster, tmp_path.joinpath)  # type: ignore[arg-type]
    assert list(found) == lost and all("connection is lost" in why for why in found.values())
    assert {path.name for path in tmp_path.iterdir()} == {"n1", "n2"} - set(lost)


def test_a_node_is_collected_as_soon_as_it_has_ended(tmp_path: Path) -> None:
    """Though another one ends late: which is waited for, and then killed."""
    collected = threading.Event()

    class Quick(Host):
        def fetch(self, remote: str, local: Path) -> None:
            super().fetch(remote, local)
            collected.set()

    hosts = {"n1": Quick(alive=False), "n2": Host(alive=False)}

    def stop(node: str) -> None:
        if node == "n2":
            assert collected.wait(60), "it waits for the other one to be collected"
            raise OSError("it cannot be reached")

    cluster = SimpleNamespace(
        system=Mute(), nodes=dict.fromkeys(hosts), host=hosts.get, pid=lambda _: 7, stop=stop
    )
    assert clusters.collect(cluster, tmp_path.joinpath, stop=True) == {}  # type: ignore[arg-type]
    assert {path.name for path in tmp_path.iterdir()} == {"n1", "n2"}


def test_what_nodes_have_written_so_far_is_copied_while_they_go_on(tmp_path: Path) -> None:
    """Nobody is ended, nothing is written on a host, and one that is out of reach is left out."""

    class Gone(Host):
        def fetch(self, remote: str, local: Path) -> None:
            raise EOFError("the connection is lost")

    hosts = {"n1": Host(alive=True), "n2": Gone(alive=True)}
    cluster = SimpleNamespace(system=Mute(), nodes=dict.fromkeys(hosts), host=hosts.get)
    clusters.so_far(cluster, tmp_path.joinpath)  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["n1"]
