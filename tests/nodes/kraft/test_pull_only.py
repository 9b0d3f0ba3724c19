"""Who asks whom: metadata is fetched, never pushed; the requests of ZooKeeper mode do not exist."""

from __future__ import annotations

import ast
from pathlib import Path

import nodes
from nodes.kraft.raft.messages import Batch, BeginQuorumEpoch, Fetch
from nodes.kraft.raft.steps import AnswerFetch, Propose, Send
from nodes.kraft.wire.apis import CLIENT_APIS, CONTROL_APIS
from tests.nodes.kraft.raft.replicas import fetch, fetched, follower, leader

PUSHING = {4: "leader_and_isr", 5: "stop_replica", 6: "update_metadata", 7: "controlled_shutdown"}


def test_a_leader_sends_no_records() -> None:
    """A.1.74, A.4.6: whatever it appends, and however long nobody asks, all that it sends of its
    own accord are announcements of its epoch; records are in answers to fetches alone."""
    replica = leader()
    sent = []
    for number in range(10):
        replica.do(Propose(1, (b"%d" % number,)))
        sent += replica.some(Send)
        replica.flush()
        sent += replica.some(Send)
        replica.wait(100)
        sent += replica.some(Send)
    assert sent
    assert {each.request for each in sent} == {BeginQuorumEpoch(leader_id=1, leader_epoch=1)}
    for peer in (2, 9):  # a standby, and a broker
        replica.ask(fetch(1, 1, 1, replica=peer))
        asked = replica.one(AnswerFetch)
        assert (asked.request.replica_id, asked.limit) == (peer, 11)


def test_standbys_and_brokers_fetch_from_the_leader() -> None:
    """A.1.74, A.4.6: from nobody else, and one fetch after the other."""
    for node_id in (1, 7):
        replica = follower(node_id=node_id)
        for offset in range(5):
            (asked,) = replica.some(Send)
            assert (asked.peer, type(asked.request)) == (2, Fetch)
            assert asked.request.offset == offset
            fetched(replica, batches=(Batch(offset, 1, (b"x",)),))
            if not replica.some(Send):
                replica.flush()


def test_requests_that_push_are_neither_sent_nor_served() -> None:
    """A.1.2, A.1.75, A.1.76: no listener knows LeaderAndIsr, StopReplica, UpdateMetadata or
    ControlledShutdown, and no code of a node has their schemas, without which none can be
    written."""
    assert not PUSHING.keys() & (CLIENT_APIS.keys() | CONTROL_APIS.keys())
    sources = list(Path(nodes.__path__[0]).rglob("*.py"))
    assert len(sources) > 100
    imported = set()
    for source in sources:
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ImportFrom):
                imported.add(str(node.module))
            elif isinstance(node, ast.Import):
                imported |= {each.name for each in node.names}
    schemas = {name.split(".")[2] for name in imported if name.startswith("kio.schema.")}
    assert len(schemas) > 20
    assert not schemas & set(PUSHING.values())
    assert not {name.split(".")[0] for name in imported} & {"kazoo", "zookeeper"}
