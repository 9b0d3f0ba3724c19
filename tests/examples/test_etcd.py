"""examples/etcd: its README, its size, and what its client says of etcd's answers."""

import ast
import importlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from http.client import parse_headers
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from framework.errors import UsageError
from framework.history.event import Invocation
from framework.plugins.system import NodeSpec
from framework.testing.loopback import LoopbackServer, Silence, cluster_of
from tests.examples.pages import ROOT, blocks, shell

EXAMPLE = ROOT / "examples" / "etcd"
TUTORIAL = ROOT / "docs" / "tutorial.md"


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is importable, and nobody finds it as a plug-in: it is not installed."""
    monkeypatch.syspath_prepend(EXAMPLE)


def test_it_is_small() -> None:
    lines = sum(len(file.read_text().splitlines()) for file in EXAMPLE.rglob("*.py"))
    assert 100 < lines <= 300


def test_it_imports_the_engine_and_nothing_else_of_ours() -> None:
    imported = set()
    for file in EXAMPLE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                imported |= {each.name.partition(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(str(node.module).partition(".")[0])
    assert imported - sys.stdlib_module_names == {"framework", "kraft_proof_etcd"}


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_its_readme_works(scratch: Path, env: dict[str, str]) -> None:
    """On whatever hosts are there: containers where an engine answers. Its last command is that of
    the tutorial, whose test runs it, but for the hosts."""
    ignored = shutil.ignore_patterns("*.egg-info", "__pycache__")
    shutil.copytree(EXAMPLE, scratch / "examples" / "etcd", ignore=ignored)
    first, last = blocks(EXAMPLE / "README.md")
    assert _as_in(last.text) in [_as_in(each.text) for each in blocks(TUTORIAL)]
    shell(first, scratch, env)
    verdict = json.loads((scratch / "results/latest/verdict.json").read_text())
    judged = ("availability", "convergence", "faults-bit", "register-linearizability")
    assert {each["name"]: each["verdict"] for each in verdict["checkers"]} == dict.fromkeys(
        judged, "VALID"
    )


def _as_in(commands: str) -> list[str]:
    """The words of a command, wherever its hosts are."""
    return sorted(commands.replace("--hosts namespaces", "").split())


# -- the client, at a member that answers as the test says


Answer = Callable[[tuple[str, Any]], Any]
"""(path, question) -> answer as JSON, or silence."""


def read_request(stream: BinaryIO) -> tuple[str, Any]:
    line = stream.readline()
    length = int(parse_headers(stream)["Content-Length"])
    return line.split()[1].decode(), json.loads(stream.read(length))


def write_answer(_: object, answer: Any) -> bytes:
    body = json.dumps(answer).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


class Member:
    """One member, and a client of it."""

    def __init__(self) -> None:
        self.answer: Any = {}
        self.server = LoopbackServer(lambda _: self.answer, read=read_request, write=write_answer)
        self._client = importlib.import_module("kraft_proof_etcd.client")
        system = importlib.import_module("kraft_proof_etcd.system").Etcd()
        nodes = [NodeSpec(name="n1", roles=frozenset({"member"}), ports={"client": 2379})]
        self.cluster = cluster_of({"n1": self.server}, nodes, system)
        self.connect()

    def connect(self) -> None:
        self.client = self._client.RegisterClient(self.cluster, "n1", serializable=False)

    def do(self, f: str, value: Any = None) -> tuple[str, Any, str | None]:
        """Type, value and error code of the completion."""
        op = Invocation(process=0, f=f, key="x", value=value)
        done = self.client.invoke(op)
        assert (done.f, done.key, done.node) == (f, "x", "n1")
        assert (done.ext == {"asserts": "differs"}) == (done.error == ("VALUE_DIFFERS", ""))
        return done.type, done.value, done.error[0] if done.error else None


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.server.stop()


def test_what_was_done(member: Member) -> None:
    assert member.do("write", 1) == ("ok", 1, None)
    assert member.do("read") == ("ok", None, None)
    member.answer = {"kvs": [{"value": "NDI="}], "succeeded": True}
    assert member.do("read") == ("ok", 42, None)
    assert member.do("cas", [None, 3]) == ("ok", [None, 3], None)
    assert [path for path, _ in member.server.seen] == [
        *("/v3/kv/put", "/v3/kv/range", "/v3/kv/range", "/v3/kv/txn")
    ]
    assert member.server.seen[1][1] == {"key": "eA==", "serializable": False}
    (compare,) = member.server.seen[3][1]["compare"]
    assert compare == {"key": "eA==", "target": "CREATE", "create_revision": 0}


def test_a_cas_that_found_another_value_saw_that(member: Member) -> None:
    member.answer = {"header": {}}
    assert member.do("cas", [1, 2]) == ("fail", None, "VALUE_DIFFERS")


ERRORS: Mapping[str, tuple[str, str]] = {
    "etcdserver: too many requests": ("fail", "TOO_MANY_REQUESTS"),
    "etcdserver: request timed out": ("info", "REQUEST_TIMED_OUT"),
    "etcdserver: request timed out, possibly due to connection lost": (
        *("info", "REQUEST_TIMED_OUT_POSSIBLY_DUE_TO_CONNECTION_LOST"),
    ),
    "etcdserver: no leader": ("info", "NO_LEADER"),
    "etcdserver: leader changed": ("info", "LEADER_CHANGED"),
    "all SubConns are in TransientFailure": ("info", "GRPC_14"),
}


@pytest.mark.parametrize("message", ERRORS)
def test_errors(member: Member, message: str) -> None:
    type_, code = ERRORS[message]
    member.answer = {"error": message, "message": message, "code": 14}
    assert member.do("write", 1) == (type_, None, code)
    assert member.do("cas", [1, 2]) == (type_, None, code)
    assert member.do("read") == ("fail", None, code)


@pytest.mark.parametrize(
    ("silence", "code"),
    [(Silence.CLOSE, "CONNECTION_LOST"), (Silence.HANG, "CLIENT_TIMED_OUT")],
)
def test_without_an_answer_nobody_knows(
    member: Member, silence: Silence, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if silence is Silence.HANG:  # else a busy machine may take as long for an answer
        monkeypatch.setattr("kraft_proof_etcd.client.TIMEOUT_S", 0.2)
        member.connect()
    member.answer = silence
    assert member.do("write", 1) == ("info", None, code)
    assert member.do("read") == ("fail", None, code)


def test_where_nobody_listens_nothing_happened(member: Member) -> None:
    member.server.stop()
    assert member.do("write", 1) == ("fail", None, "CONNECTION_FAILED")
    assert member.do("cas", [1, 2]) == ("fail", None, "CONNECTION_FAILED")


def test_a_member_says_whom_it_follows(member: Member) -> None:
    system, cluster = member.cluster.system, member.cluster
    status = {"header": {"member_id": "7"}, "leader": "7", "raftTerm": "3"}
    member.answer = status
    state = system.state(cluster, "n1")
    assert state is not None and (state.ready, state.leader, state.term) == (True, True, 3)
    assert system.settled(cluster) is None
    member.answer = {**status, "leader": "8"}
    state = system.state(cluster, "n1")
    assert state is not None and (state.ready, state.leader) == (True, False)
    member.answer = {**status, "leader": "0"}
    assert system.settled(cluster) == "0 of 1 members answer and know a leader"
    member.server.stop()
    assert system.state(cluster, "n1") is None


def test_bad_input_is_said_before_anything_starts() -> None:
    system = importlib.import_module("kraft_proof_etcd.system").Etcd()
    with pytest.raises(UsageError, match="3 or 5"):
        system.layout("4")
    with pytest.raises(UsageError, match=r"data-dir.*election-timeout"):
        system.check_settings(system.layout("3"), {"n1": {"data-dir": "/"}})
    system.check_settings(system.layout("5"), {"n1": {"election-timeout": "300"}})
