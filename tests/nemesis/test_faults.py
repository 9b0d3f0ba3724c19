"""Every fault seen to bite, and to be gone, on real hosts of both kinds."""

import json
import random
from collections.abc import Callable

import pytest
from echoes import FORCED, PORT, WRITTEN, Echoes, EchoSystem

from framework.plugins.fault import Fault, Nemesis
from nemesis.inspect import dropped, process_state
from nemesis.kill import Kill
from nemesis.partition import Cut, Partition, grudges
from nemesis.pause import Pause
from nemesis.power import DiskLost, Power

GRUDGES = {
    "halves": grudges.halves(["c1", "c2", "c3"], [], random.Random(1)),
    "one-way": grudges.one_way(["c1", "c2", "c3"], [], random.Random(1)),
    "bridge": grudges.bridge(["c1", "c2", "c3"], [], random.Random(1)),
    "isolate-one": grudges.isolate(["c2"], ["c1", "c2", "c3"]),
    "isolate-group": grudges.isolate(["c1", "c2", "c3"], ["c1", "c2", "c3"]),
}


def fault(nemesis: Callable[[], Nemesis]) -> Fault:
    return nemesis().faults[0]


def partition(echoes: Echoes, shape: str) -> Cut:
    addresses = {node: echoes.cluster.host(node).address for node in echoes.cluster.nodes}
    return Cut(shape, GRUDGES[shape], addresses)


@pytest.mark.parametrize("shape", sorted(GRUDGES))
def test_partition(echoes: Echoes, shape: str) -> None:
    cluster = echoes.cluster
    plan = partition(echoes, shape)
    assert plan.probe(cluster).bites is False
    try:
        plan.inject(cluster)
        during = plan.probe(cluster)
        assert during.bites is True, during.evidence
        for node in cluster.nodes:
            echoes.answers(node)  # the harness still reaches everybody
        plan.inject(cluster)  # a second time is the same
        assert plan.probe(cluster).bites is True
    finally:
        plan.heal(cluster)
    plan.heal(cluster)
    after = plan.probe(cluster)
    assert after.bites is False, after.evidence


def test_partition_cuts_connections_that_are_open(echoes: Echoes) -> None:
    cluster, plan = echoes.cluster, partition(echoes, "isolate-one")
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
    say += '; touch "$1/cut"; until [ -e "$1/now" ]; do sleep 0.05; done; echo during >&3; sleep 60'
    host.start(["sh", "-c", say, "sh", host.workdir], log=f"{host.workdir}/said")
    host.run(["sh", "-c", f'until [ -e "{host.workdir}/cut" ]; do sleep 0.05; done'], timeout_s=60)
    try:
        plan.inject(cluster)
        host.write(f"{host.workdir}/now", b"")
        host.run(
            ["sh", "-c", f'until grep -q silence "{host.workdir}/heard"; do sleep 0.05; done'],
            timeout_s=60,
        )
    finally:
        plan.heal(cluster)
    assert host.read(f"{host.workdir}/heard").decode().split()[:2] == ["before", "silence"]


def test_healing_leaves_other_rules_alone(echoes: Echoes) -> None:
    cluster, plan = echoes.cluster, partition(echoes, "halves")
    host = cluster.host(next(iter(plan.to_json())))
    host.run(["nft", "add", "table", "inet", "somebody_elses"])
    tables = host.run(["nft", "list", "tables"]).out
    plan.inject(cluster)
    assert dropped(host)
    plan.heal(cluster)
    assert dropped(host) == {}
    assert host.run(["nft", "list", "tables"]).out == tables
    host.run(["nft", "delete", "table", "inet", "somebody_elses"])


def test_half_an_injection_is_healed(echoes: Echoes) -> None:
    cluster, plan = echoes.cluster, partition(echoes, "isolate-one")
    first = next(iter(plan.to_json()))
    partial = Cut(plan.shape, {first: plan.drops[first]}, plan.addresses)
    partial.inject(cluster)
    assert plan.probe(cluster).bites is None
    plan.heal(cluster)
    assert plan.probe(cluster).bites is False


def test_pause(echoes: Echoes) -> None:
    cluster = echoes.cluster
    plan = fault(Pause).plan(cluster, ["majority"], None, random.Random(1))
    assert len(plan.to_json()) == 2
    victim = next(iter(plan.to_json()))
    assert plan.probe(cluster).bites is False
    try:
        plan.inject(cluster)
        during = plan.probe(cluster)
        assert during.bites is True, during.evidence
        with pytest.raises(TimeoutError):
            echoes.answers(victim, timeout_s=0.3)
    finally:
        plan.heal(cluster)
    plan.heal(cluster)
    assert plan.probe(cluster).bites is False
    echoes.answers(victim)


def test_kill(echoes: Echoes) -> None:
    cluster = echoes.cluster
    plan = fault(Kill).plan(cluster, ["c2", "c2"], None, random.Random(1))
    before = cluster.pid("c2")
    assert plan.probe(cluster).bites is False
    try:
        plan.inject(cluster)
        during = plan.probe(cluster)
        assert during.bites is True, during.evidence
        with pytest.raises(ConnectionRefusedError):
            echoes.answers("c2")
        plan.inject(cluster)  # the dead can be killed again
    finally:
        plan.heal(cluster)
    after = plan.probe(cluster)
    assert after.bites is False, after.evidence
    assert after.evidence["c2"]["killed"] == before
    restarted = cluster.pid("c2")
    assert restarted != before
    plan.heal(cluster)
    assert cluster.pid("c2") == restarted, "healing twice restarts once"


def test_kill_takes_a_paused_process(echoes: Echoes) -> None:
    cluster = echoes.cluster
    host = cluster.host("c3")
    pid = cluster.pid("c3")
    assert pid is not None
    fault(Pause).plan(cluster, ["c3"], None, random.Random(1)).inject(cluster)
    assert process_state(host, pid) == "T"
    plan = fault(Kill).plan(cluster, ["c3"], None, random.Random(1))
    plan.inject(cluster)
    assert plan.probe(cluster).bites is True
    plan.heal(cluster)
    fault(Pause).plan(cluster, ["c3"], None, random.Random(1)).heal(cluster)
    assert plan.probe(cluster).bites is False


def test_power(echoes: Echoes) -> None:
    cluster, host = echoes.cluster, echoes.cluster.host("c2")
    path, content = f"{host.workdir}/{WRITTEN}", bytes(range(256)) * 40
    host.write(path, content)
    plan = fault(Power).plan(cluster, ["c2"], None, random.Random(1))
    before = cluster.pid("c2")
    assert plan.probe(cluster).bites is False
    try:
        plan.inject(cluster)
        left = host.read(path)
        during = plan.probe(cluster)
        assert during.bites is True, during.evidence
        with pytest.raises(ConnectionRefusedError):
            echoes.answers("c2")
        assert FORCED <= len(left) < len(content) and content.startswith(left)
        assert during.evidence["c2"] == {
            "pid": before,
            "state": None,
            "killed": before,
            "lost_bytes": len(content) - len(left),
            "cut": {WRITTEN: [len(content), len(left)]},
            "kept": {"log/0": [1, 1, 9]},
        }
    finally:
        plan.heal(cluster)
    after = plan.probe(cluster)
    assert after.bites is False, after.evidence
    assert cluster.pid("c2") != before
    assert host.read(path) == left, "what is lost stays lost"


def test_power_that_takes_nothing_along_is_a_kill(echoes: Echoes) -> None:
    cluster, host = echoes.cluster, echoes.cluster.host("c3")
    host.write(f"{host.workdir}/{WRITTEN}", bytes(FORCED))
    plan = fault(Power).plan(cluster, ["c3"], None, random.Random(1))
    try:
        plan.inject(cluster)
        assert not cluster.is_running("c3")
        during = plan.probe(cluster)
        assert during.bites is False, during.evidence
    finally:
        plan.heal(cluster)
    assert len(host.read(f"{host.workdir}/{WRITTEN}")) == FORCED


def test_a_disk_that_is_lost_is_an_empty_one(echoes: Echoes) -> None:
    """Another one each time."""
    cluster, host = echoes.cluster, echoes.cluster.host("c2")
    disk = f"{host.workdir}/{EchoSystem.disk}"
    names = set()
    host.write(f"{disk}/format", b"disk 0")
    host.write(f"{host.workdir}/{WRITTEN}", bytes(2 * FORCED))
    for seed in (1, 2):
        host.write(f"{disk}/log/data", bytes(10_000))
        plan = DiskLost("one", "act", {"c2": cluster.pid_file("c2")}, draws={"c2": seed})
        before = cluster.pid("c2")
        assert plan.probe(cluster).bites is False
        try:
            plan.inject(cluster)
            during = plan.probe(cluster)
            assert during.bites is True, during.evidence
            with pytest.raises(ConnectionRefusedError):
                echoes.answers("c2")
            seen = host.run(["find", disk, "-type", "f"]).out.splitlines()
            assert sorted(seen) == [f"{disk}/format", f"{disk}/log/first"]
            assert during.evidence["c2"]["lost_bytes"] == 10_000
            assert during.evidence["c2"]["kept"] == {"log/0": [0, 0, 9]}, "of nine records none"
        finally:
            plan.heal(cluster)
        after = plan.probe(cluster)
        assert after.bites is False, after.evidence
        assert cluster.pid("c2") != before
        names.add(host.read(f"{disk}/format"))
    assert names == {b"disk 1", b"disk 2"}


def test_a_disk_that_was_empty_is_not_lost(echoes: Echoes) -> None:
    cluster, host = echoes.cluster, echoes.cluster.host("c3")
    disk = f"{host.workdir}/{EchoSystem.disk}"
    for name, content in EchoSystem().newly_formatted(cluster, "c3", 1).items():
        host.write(f"{disk}/{name}", content)
    plan = DiskLost("one", "act", {"c3": cluster.pid_file("c3")}, draws={"c3": 2})
    try:
        plan.inject(cluster)
        assert not cluster.is_running("c3")
        during = plan.probe(cluster)
        assert during.bites is False, during.evidence
    finally:
        plan.heal(cluster)


def test_the_ledger_alone_is_enough_to_heal(echoes: Echoes) -> None:
    cluster = echoes.cluster
    cluster.host("c1").write(f"{cluster.host('c1').workdir}/{WRITTEN}", bytes(10_000))
    for nemesis in (Partition, Pause, Kill, Power):
        planned = fault(nemesis).plan(cluster, ["c1"], None, random.Random(1))
        victims = json.loads(json.dumps(planned.to_json()))
        planned.inject(cluster)
        assert planned.probe(cluster).bites is True
        fault(nemesis).from_json(planned.shape, victims).heal(cluster)
        assert planned.probe(cluster).bites is False
