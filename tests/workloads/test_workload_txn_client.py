"""The client of the `txn` workload: its program is one that does as the test says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback_server import LoopbackServer

from framework.history.event import Invocation
from framework.plugins.system import NodeSpec
from framework.testing.loopback import cluster_of
from nodes.kraft.adapter.system import KraftSystem
from workloads.kafka import txn_client
from workloads.kafka.operations.transactions import ABORT, BEGINNING, END
from workloads.kafka.txn_client import Late, TxnClient

STUB = """
import json, os, sys
configuration = json.loads(sys.argv[1])
answers = json.load(open(os.environ["STUB_ANSWERS"]))
for line in sys.stdin:
    with open(os.environ["STUB_ANSWERS"] + ".asked", "a") as log:
        print(json.dumps([configuration, json.loads(line)]), file=log)
    answer = answers[json.loads(line)["do"]]
    if answer == "die":
        os._exit(1)
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Programs give these answers from now on."""
    (tmp_path / "stub_transactor.py").write_text(STUB)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("STUB_ANSWERS", str(tmp_path / "answers"))
    monkeypatch.setattr(txn_client, "MODULE", "stub_transactor")
    return lambda **answers: (tmp_path / "answers").write_text(json.dumps(answers)) and None


@pytest.fixture
def client() -> Iterator[TxnClient]:
    node = NodeSpec(name="b1", roles=frozenset({"broker"}), ports={"client": 1}, ids={"broker": 4})
    with LoopbackServer(lambda _: None) as server:
        cluster = cluster_of({"b1": server}, [node], KraftSystem())
        made = TxnClient(cluster, 3, Late(0.1, 2.0), "raw")
        yield made
        made.close()


def invoked(f: str, key: str | None = None, value: Any = None, **ext: Any) -> Invocation:
    return Invocation(process=0, f=f, key=key, value=value, ext=ext or None)


def asked(tmp_path: Path) -> list[Any]:
    return [json.loads(line) for line in (tmp_path / "answers.asked").read_text().splitlines()]


def test_the_program_does_what_is_asked(
    client: TxnClient, stub: Callable[..., None], tmp_path: Path
) -> None:
    polled = ["poll", {"t/0": [[4, 1]]}]
    stub(assign={"ok": ["t/0"]}, poll={"ok": polled}, txn={"ok": [polled]}, fence={"ok": None})
    done = [
        client.invoke(each)
        for each in (
            invoked("assign", value=["t/0"], **{BEGINNING: True}),
            invoked("poll", value=[["poll"]]),
            invoked("txn", value=[["poll"]], **{END: ABORT}),
            invoked("fence", key="txn-1"),
        )
    ]
    assert [each.type for each in done] == ["ok"] * 4
    assert [each.value for each in done] == [["t/0"], [polled], [polled], None]
    (configuration, _), *_ = seen = asked(tmp_path)
    assert configuration["id"] == "txn-3" and configuration["delay"]["share"] == 0.1
    assert (configuration["producer"], configuration["ids"]) == ("raw", [4])
    assert len(configuration["brokers"]) == 1
    assert [request for _, request in seen] == [
        {"do": "assign", "keys": ["t/0"], "beginning": True},
        {"do": "poll"},
        {"do": "txn", "operations": [["poll"]], "end": "abort"},
        {"do": "fence", "transactional_id": "txn-1"},
    ]


@pytest.mark.parametrize(("sent", "type_"), [(False, "fail"), (True, "info")])
def test_what_may_have_been_committed_is_unknown(
    client: TxnClient, stub: Callable[..., None], sent: bool, type_: str
) -> None:
    stub(txn={"error": ["_FENCED", "by another"], "sent": sent})
    done = client.invoke(invoked("txn", value=[["send", "t/0", 1]], **{END: "commit"}))
    assert (done.type, done.error) == (type_, ("_FENCED", "by another"))


def test_a_program_that_ended_is_unknown_and_another_one_goes_on(
    client: TxnClient, stub: Callable[..., None]
) -> None:
    stub(txn="die", poll={"ok": ["poll"]})
    done = client.invoke(invoked("txn", value=[], **{END: "commit"}))
    assert (done.type, (done.error or ("",))[0]) == ("info", "MEMBER_GONE")
    assert client.invoke(invoked("poll", value=[["poll"]])).value == [["poll"]]
