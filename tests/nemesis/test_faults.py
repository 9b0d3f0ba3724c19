"""Every fault seen to bite, and to be gone, on real hosts of both kinds."""

import random
import signal

import pytest
from echoes import PORT, Echoes

from framework.plugins import registry
from framework.plugins.fault import Plan
from nemesis.inspect import dropped, node_pid, process_state
from nemesis.kill import Kill
from nemesis.partition import Partition, grudges
from nemesis.pause import Pause

GRUDGES = {
    "halves": grudges.halves(["c1", "c2", "c3"], [], random.Random(1)),
    "one-way": grudges.one_way(["c1", "c2", "c3"], [], random.Random(1)),
    "bridge": grudges.bridge(["c1", "c2", "c3"], [], random.Random(1)),
    "isolate-one": grudges.isolate(["c2"], ["c1", "c2", "c3"]),
    "isolate-group": grudges.isolate(["c1", "c2", "c3"], ["c1", "c2", "c3"]),
}


def partition(echoes: Echoes, shape: str) -> Plan:
    return Plan(
        fault="partition",
        shape=shape,
        victims={
            node: {
                "drops": sources,
                "addresses": [echoes.cluster.host(source).address for source in sources],
            }
            for node, sources in GRUDGES[shape].items()
        },
    )


@pytest.mark.parametrize("shape", sorted(GRUDGES))
def test_partition(echoes: Echoes, shape: str) -> None:
    cluster, nemesis = echoes.cluster, Partition()
    plan = partition(echoes, shape)
    assert nemesis.probe(cluster, plan).bites is False
    try:
        nemesis.inject(cluster, plan)
        during = nemesis.probe(cluster, plan)
        assert during.bites is True, during.evidence
        for node in cluster.nodes:
            echoes.answers(node)  # the harness still reaches everybody
        nemesis.inject(cluster, plan)  # a second time is the same
        assert nemesis.probe(cluster, plan).bites is True
    finally:
        nemesis.heal(cluster, plan)
    nemesis.heal(cluster, plan)
    after = nemesis.probe(cluster, plan)
    assert after.bites is False, after.evidence


def test_partition_cuts_connections_that_are_open(echoes: Echoes) -> None:
    cluster, nemesis, plan = echoes.cluster, Partition(), partition(echoes, "isolate-one")
    talker = (
        "import socket, sys, time\n"
        f"peer = socket.create_connection((sys.argv[1], {PORT}), 2)\n"
        "for word in sys.stdin:\n"
        "    peer.sendall(word.encode())\n"
        "    try:\n"
        "        print(peer.recv(100).decode().strip(), flush=True)\n"
        "    except TimeoutError:\n"
        "        print('silence', flush=True)\n"
    )
    host, other = cluster.host("c1"), cluster.host("c2")
    host.run(["mkfifo", f"{host.workdir}/words"])
    script = 'exec "$1" -c "$2" "$3" <"$4"'
    host.start(
        ["sh", "-c", script, "sh", host.python, talker, other.address, f"{host.workdir}/words"],
        log=f"{host.workdir}/heard",
    )
    # The writer below keeps the pipe open until the end of the test.
    say = 'exec 3>"$1/words"; echo before >&3; until grep -q before "$1/heard"; do sleep 0.05; done'
    say += '; touch "$1/cut"; until [ -e "$1/now" ]; do sleep 0.05; done; echo during >&3; sleep 9'
    host.start(["sh", "-c", say, "sh", host.workdir], log=f"{host.workdir}/said")
    host.run(["sh", "-c", f'until [ -e "{host.workdir}/cut" ]; do sleep 0.05; done'], timeout_s=10)
    try:
        nemesis.inject(cluster, plan)
        host.write(f"{host.workdir}/now", b"")
        host.run(
            ["sh", "-c", f'until grep -q silence "{host.workdir}/heard"; do sleep 0.05; done'],
            timeout_s=10,
        )
    finally:
        nemesis.heal(cluster, plan)
    assert host.read(f"{host.workdir}/heard").decode().split()[:2] == ["before", "silence"]


def test_healing_leaves_other_rules_alone(echoes: Echoes) -> None:
    cluster, nemesis, plan = echoes.cluster, Partition(), partition(echoes, "halves")
    host = cluster.host(next(iter(plan.victims)))
    host.run(["nft", "add", "table", "inet", "somebody_elses"])
    tables = host.run(["nft", "list", "tables"]).out
    nemesis.inject(cluster, plan)
    assert dropped(host)
    nemesis.heal(cluster, plan)
    assert dropped(host) == {}
    assert host.run(["nft", "list", "tables"]).out == tables
    host.run(["nft", "delete", "table", "inet", "somebody_elses"])


def test_half_an_injection_is_healed(echoes: Echoes) -> None:
    cluster, nemesis, plan = echoes.cluster, Partition(), partition(echoes, "isolate-one")
    first = next(iter(plan.victims))
    partial = Plan(fault="partition", shape=plan.shape, victims={first: plan.victims[first]})
    nemesis.inject(cluster, partial)
    assert nemesis.probe(cluster, plan).bites is None
    nemesis.heal(cluster, plan)
    assert nemesis.probe(cluster, plan).bites is False


def test_pause(echoes: Echoes) -> None:
    cluster, nemesis = echoes.cluster, Pause()
    plan = nemesis.plan(cluster, ["majority"], None, random.Random(1))
    assert len(plan.victims) == 2
    victim = next(iter(plan.victims))
    assert nemesis.probe(cluster, plan).bites is False
    try:
        nemesis.inject(cluster, plan)
        during = nemesis.probe(cluster, plan)
        assert during.bites is True, during.evidence
        with pytest.raises(TimeoutError):
            echoes.answers(victim, timeout_s=0.3)
    finally:
        nemesis.heal(cluster, plan)
    nemesis.heal(cluster, plan)
    assert nemesis.probe(cluster, plan).bites is False
    echoes.answers(victim)


def test_kill(echoes: Echoes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "load", lambda group, name: echoes.system)
    cluster, nemesis = echoes.cluster, Kill()
    plan = nemesis.plan(cluster, ["c2", "c2"], None, random.Random(1))
    host = cluster.host("c2")
    before = node_pid(host)
    assert nemesis.probe(cluster, plan).bites is False
    try:
        nemesis.inject(cluster, plan)
        during = nemesis.probe(cluster, plan)
        assert during.bites is True, during.evidence
        with pytest.raises(ConnectionRefusedError):
            echoes.answers("c2")
        nemesis.inject(cluster, plan)  # the dead can be killed again
    finally:
        nemesis.heal(cluster, plan)
    after = nemesis.probe(cluster, plan)
    assert after.bites is False, after.evidence
    assert after.evidence["c2"]["killed"] == before
    restarted = node_pid(host)
    assert restarted != before
    nemesis.heal(cluster, plan)
    assert node_pid(host) == restarted, "healing twice restarts once"


def test_kill_takes_a_paused_process(echoes: Echoes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "load", lambda group, name: echoes.system)
    cluster = echoes.cluster
    host = cluster.host("c3")
    pid = node_pid(host)
    assert pid is not None
    host.signal(pid, signal.SIGSTOP)
    assert process_state(host, pid) == "T"
    plan = Kill().plan(cluster, ["c3"], None, random.Random(1))
    Kill().inject(cluster, plan)
    assert Kill().probe(cluster, plan).bites is True
    Kill().heal(cluster, plan)
    Pause().heal(cluster, plan)
    assert Kill().probe(cluster, plan).bites is False
