"""The control plane at scale: 100,000 partitions, and what becomes of the waits then.

    python -m benchmarks.scale [--topics 2000] [--partitions 50] [--brokers 10] [--seconds 5]

Three real controllers on loopback, brokers that are nothing but heartbeats
(`synthetic_brokers.py`; the real ones are in `shutdown.py`). Prints, a line each: creation of all
topics; memory; commits a second and their latency at 1, 10 and 100 requests in flight; failovers;
the restart of a controller from its snapshot; the controlled shutdown of a broker. `cpu_s` are
seconds of processor time of the active controller and of one standby. Takes three to four minutes
on two cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.synthetic_brokers import FIRST_BROKER, PAUSE_S, Brokers, Client, active, controllers
from tests.nodes.kraft.loopback import Loopback

IN_FLIGHT: Final = (1, 10, 100)
TOPICS_A_REQUEST: Final = 20
SNAPSHOT_MS: Final = 30_000
LONGEST_S: Final = 180.0
LEAST: Final = 2
"""Latencies of which there are quantiles."""
TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")


# --- what is read off the nodes ----------------------------------------------------------------


def say(what: str, **figures: object) -> None:
    """One line of results."""
    print(f"{what}: " + ", ".join(f"{name} {value}" for name, value in figures.items()), flush=True)


def rss_mib(cluster: Loopback, name: str) -> int:
    """Resident memory of a node, MiB."""
    status = Path(f"/proc/{cluster.processes[name].pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) // 1024


def cpu_s(cluster: Loopback, name: str) -> float:
    """Processor time that a node has used, seconds."""
    stat = Path(f"/proc/{cluster.processes[name].pid}/stat").read_text()
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / TICKS_A_SECOND


def events(cluster: Loopback, name: str, *kinds: str) -> Iterator[dict[str, Any]]:
    """A node's events of these types, in order."""
    wanted = tuple(f'"type":"{kind}"' for kind in kinds)
    with (cluster.directory / name / "events.jsonl").open() as file:
        for line in file:
            if line.endswith("}\n") and any(each in line[:400] for each in wanted):
                yield json.loads(line)


def last_event(cluster: Loopback, name: str, kind: str) -> dict[str, Any]:
    return list(events(cluster, name, kind))[-1]


async def until(condition: Callable[[], Any], what: str) -> None:
    """Wait while the heartbeats go on."""
    end = time.monotonic() + LONGEST_S
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"not within {LONGEST_S} s: {what}")
        await asyncio.sleep(0.1)


# --- the phases --------------------------------------------------------------------------------


async def creation(cluster: Loopback, brokers: Brokers, topics: int, partitions: int) -> None:
    """All topics, some in each request, one request after the other."""
    client, leader = Client(cluster), await active(cluster)
    standby = next(name for name in controllers(cluster) if name != leader)
    used = {name: cpu_s(cluster, name) for name in (leader, standby)}
    began, slowest = time.monotonic(), 0.0
    names = [f"scale-{number}" for number in range(topics)]
    for start in range(0, topics, TOPICS_A_REQUEST):
        asked = time.monotonic()
        await client.create(names[start : start + TOPICS_A_REQUEST], partitions)
        slowest = max(slowest, time.monotonic() - asked)
    took = time.monotonic() - began
    say(
        "creation",
        partitions=topics * partitions,
        seconds=round(took, 1),
        partitions_per_second=round(topics * partitions / took),
        slowest_request_ms=round(slowest * 1000),
        active_cpu_s=round(cpu_s(cluster, leader) - used[leader], 1),
        standby_cpu_s=round(cpu_s(cluster, standby) - used[standby], 1),
        slowest_heartbeat_ms=brokers.slowest_ms,
        leases_lost=brokers.lost,
    )
    client.close()


async def memory(cluster: Loopback) -> None:
    leader = await active(cluster)
    standbys = [rss_mib(cluster, name) for name in controllers(cluster) if name != leader]
    say("memory, MiB", active=rss_mib(cluster, leader), standbys=standbys)


async def commits(cluster: Loopback, in_flight: int, seconds: float) -> None:
    """Small creates, each of one topic with one partition: a request, a batch."""
    clients = [Client(cluster) for _ in range(in_flight)]
    leader = await active(cluster)
    latencies: list[float] = []
    used, own = cpu_s(cluster, leader), time.process_time()
    began = time.monotonic()
    end = began + seconds

    async def one(number: int, client: Client) -> None:
        made = 0
        while time.monotonic() < end or len(latencies) < LEAST:
            asked = time.monotonic()
            await client.create([f"commit-{in_flight}-{number}-{made}"], 1)
            latencies.append(time.monotonic() - asked)
            made += 1

    await asyncio.gather(*(one(*each) for each in enumerate(clients)))
    took = time.monotonic() - began
    cuts = statistics.quantiles(latencies, n=100)
    say(
        f"commits, {in_flight} in flight",
        per_second=round(len(latencies) / took),
        p50_ms=round(cuts[49] * 1000, 1),
        p99_ms=round(cuts[98] * 1000, 1),
        active_cpu_ms_each=round((cpu_s(cluster, leader) - used) / len(latencies) * 1000, 2),
        client_cpu_ms_each=round((time.process_time() - own) / len(latencies) * 1000, 2),
    )
    for client in clients:
        client.close()


async def failover(cluster: Loopback, attempt: int) -> None:
    """Kill the active controller between two creates; start it again afterwards."""
    client, victim = Client(cluster), await active(cluster)
    for number in range(20):
        await client.create([f"before-{attempt}-{number}"], 1)
    last_ns = time.monotonic_ns()
    cluster.kill(victim)
    await client.create([f"after-{attempt}"], 1)
    first_ns = time.monotonic_ns()
    successor = await active(cluster)
    elected_ns = last_event(cluster, successor, "elected")["time_ns"]
    claimed_ns = last_event(cluster, successor, "claim")["time_ns"]
    say(
        "failover",
        last_commit_to_first_commit_ms=(first_ns - last_ns) // 1_000_000,
        of_that_until_elected_ms=(elected_ns - last_ns) // 1_000_000,
        election_to_claim_ms=(claimed_ns - elected_ns) // 1_000_000,
        election_to_first_commit_ms=(first_ns - elected_ns) // 1_000_000,
    )
    client.close()
    await start_again(cluster, victim)


async def start_again(cluster: Loopback, name: str) -> float:
    """Start a controller that was killed; seconds until it has applied all that is committed."""
    client, leader = Client(cluster), await active(cluster)
    wanted = (await client.where(leader))["applied"]
    began = time.monotonic()
    cluster.start(name)
    while (await client.where(name)).get("applied", -1) < wanted:
        if time.monotonic() > began + LONGEST_S:
            raise RuntimeError(f"{name} does not catch up")
        await asyncio.sleep(PAUSE_S)
    client.close()
    return time.monotonic() - began


async def restart(cluster: Loopback) -> None:
    """Kill a standby that has written a snapshot; start it, until it has all again."""
    leader = await active(cluster)
    standby = next(name for name in controllers(cluster) if name != leader)
    full = (await Client(cluster).where(leader))["applied"] // 2
    await until(
        lambda: any(each["end_offset"] > full for each in events(cluster, standby, "snap_write")),
        f"a snapshot of {standby}",
    )
    written = last_event(cluster, standby, "snap_write")
    cluster.kill(standby)
    seconds = await start_again(cluster, standby)
    booted = last_event(cluster, standby, "boot")
    say(
        "restart from snapshot",
        seconds=round(seconds, 2),
        snapshot_records=written["records"],
        snapshot_mib=round(written["bytes"] / 2**20, 1),
        records_behind_it=booted["log_end"] - booted["log_start"],
        cpu_s=round(cpu_s(cluster, standby), 2),
    )


async def shutdown(cluster: Loopback, brokers: Brokers, broker_id: int) -> None:
    """From a broker's first request until it is granted, which is after all is committed."""
    leader = await active(cluster)
    used, began_ns = cpu_s(cluster, leader), time.monotonic_ns()
    seconds = await brokers.shut_down(broker_id)
    used = cpu_s(cluster, leader) - used
    moved = sum(
        event["kind"] == "IsrChangeRecord" and event["time_ns"] >= began_ns
        for event in events(cluster, leader, "apply")
    )
    say(
        "controlled shutdown",
        partitions_moved=moved,
        seconds=round(seconds, 2),
        active_cpu_s=round(used, 2),
    )


async def measure(cluster: Loopback, args: argparse.Namespace) -> None:
    brokers = Brokers(cluster, args.brokers)
    await brokers.start()
    try:
        await memory(cluster)
        await creation(cluster, brokers, args.topics, args.partitions)
        await memory(cluster)
        for in_flight in IN_FLIGHT:
            await commits(cluster, in_flight, args.seconds)
        for attempt in range(args.failovers):
            await failover(cluster, attempt)
        await restart(cluster)
        await shutdown(cluster, brokers, FIRST_BROKER)
        await memory(cluster)
        say("brokers", leases_lost=brokers.lost, slowest_heartbeat_ms=brokers.slowest_ms)
    finally:
        brokers.close()


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topics", type=int, default=2000)
    parser.add_argument("--partitions", type=int, default=50, help="of each topic")
    parser.add_argument("--brokers", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each number in flight")
    parser.add_argument("--failovers", type=int, default=3)
    parser.add_argument("--snapshot-ms", type=int, default=SNAPSHOT_MS, help="their interval")
    parser.add_argument("--keep", type=Path, help="leave the nodes' files in this directory")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as directory:
        nodes = args.keep or Path(directory)
        interval = str(args.snapshot_ms)
        with Loopback(nodes, controllers=3, metadata_snapshot_interval_ms=interval) as cluster:
            asyncio.run(measure(cluster, args))


if __name__ == "__main__":
    main()
