"""Controlled shutdown of a real broker that leads 10,000 partitions, and its return.

    python -m benchmarks.shutdown [--topics 10] [--partitions 1000]

Three controllers and three brokers on loopback. One broker leads all partitions; each of the
others has a replica of each. It gets SIGTERM. Printed, in seconds from there: when the shutdown was
granted, when the process had ended, when the Metadata that each other broker answers named a new
leader for every partition, and when the last one of these had begun to lead. Then the broker is
started again: until it is active, until it has all its replicas, until it is in every ISR. Takes
about a minute on two cores.
"""

from __future__ import annotations

import argparse
import datetime
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from kio.schema.create_topics.v7 import request as create
from kio.schema.metadata.v12.request import MetadataRequest, MetadataRequestTopic
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i16, i32, i32Timedelta

from benchmarks.scale import cpu_s, events, rss_mib, say
from nodes.kraft.wire.codes import codes
from tests.nodes.kraft.loopback import Loopback, call

LONGEST_S: Final = 120.0
PAUSE_S: Final = 0.2
"""Between two looks, which cost the nodes something too."""
LEAVES: Final = "b1"


def create_topics(cluster: Loopback, topics: int, partitions: int) -> None:
    """Each partition's first replica is the broker that is to leave."""
    first, *others = (int(cluster.settings[name]["broker.id"]) for name in cluster.client)
    rows = [(first, *others), (first, *reversed(others))]
    began, slowest = time.monotonic(), 0.0
    for number in range(topics):
        asked = time.monotonic()
        topic = create.CreatableTopic(
            name=TopicName(f"led-{number}"),
            num_partitions=i32(-1),
            replication_factor=i16(-1),
            assignments=tuple(
                create.CreatableReplicaAssignment(
                    partition_index=i32(each),
                    broker_ids=tuple(BrokerId(ident) for ident in rows[each % 2]),
                )
                for each in range(partitions)
            ),
            configs=(),
        )
        timeout = i32Timedelta.parse(datetime.timedelta(seconds=60))
        request = create.CreateTopicsRequest(topics=(topic,), timeout=timeout)
        response = call(cluster.port("b2"), request, LONGEST_S)
        if set(codes(response)) != {0}:
            raise RuntimeError(f"refused: {response!r:.300}")
        slowest = max(slowest, time.monotonic() - asked)
    say(
        "creation",
        partitions=topics * partitions,
        seconds=seconds_since(began),
        slowest_request_ms=round(slowest * 1000),
    )


def topic_names(cluster: Loopback) -> list[str]:
    """All topics."""
    request = MetadataRequest(topics=None, include_topic_authorized_operations=False)
    return [topic.name for topic in call(cluster.port("b2"), request, 60.0).topics]


def partitions_of(cluster: Loopback, name: str, topics: list[str] | None = None) -> list[Any]:
    """The partitions, of all topics or some, that a broker's Metadata tells of."""
    asked = None if topics is None else tuple(map(_asked, topics))
    request = MetadataRequest(topics=asked, include_topic_authorized_operations=False)
    response = call(cluster.port(name), request, 60.0)
    return [partition for topic in response.topics for partition in topic.partitions]


def _asked(topic: str) -> MetadataRequestTopic:
    return MetadataRequestTopic(topic_id=None, name=TopicName(topic))


def all_led(cluster: Loopback, name: str, topics: list[str] | None, but: int) -> bool:
    """Whether each partition has a leader, which is not that one, as far as a broker says."""
    try:
        partitions = partitions_of(cluster, name, topics)
    except OSError:  # a broker that has no lease closes the connection
        return False
    return all(each.leader_id not in (but, -1) for each in partitions)


def seconds_since(began: float) -> float:
    return round(time.monotonic() - began, 2)


def when(condition: Callable[[], bool], began: float, what: str) -> float:
    """Seconds from `began` until it is true."""
    while not condition():
        if time.monotonic() > began + LONGEST_S:
            raise RuntimeError(f"not within {LONGEST_S} s: {what}")
        time.sleep(PAUSE_S)
    return seconds_since(began)


def parts(cluster: Loopback, name: str, role: str, since_ns: int) -> Iterator[dict[str, Any]]:
    """The replicas of a broker that took on a role."""
    for event in events(cluster, name, "part"):
        if event["role"] == role and event["time_ns"] >= since_ns:
            yield event


def hosts_all(cluster: Loopback, name: str, wanted: int, since_ns: int = 0) -> bool:
    """Whether a broker has as many replicas, each as leader or follower."""
    found = {
        (event["topic_id"], event["partition"])
        for role in ("leader", "follower")
        for event in parts(cluster, name, role, since_ns)
    }
    return len(found) >= wanted


def leases_lost(cluster: Loopback) -> int:
    """How often a broker was without one."""
    return sum(
        event["after"] == "FENCED"
        for name in cluster.client
        for event in events(cluster, name, "bstate")
    )


def hosted(cluster: Loopback, wanted: int) -> None:
    began = time.monotonic()
    for name in cluster.client:
        when(lambda name=name: hosts_all(cluster, name, wanted), began, f"replicas of {name}")  # type: ignore[misc]
    say("replicas of all brokers", seconds=seconds_since(began), leases_lost=leases_lost(cluster))
    say("memory, MiB", **{name: rss_mib(cluster, name) for name in cluster.settings})


def leave(cluster: Loopback, wanted: int) -> None:
    """SIGTERM to the broker that leads everything."""
    leaver = int(cluster.settings[LEAVES]["broker.id"])
    process = cluster.processes[LEAVES]
    used = {name: cpu_s(cluster, name) for name in cluster.settings}
    others = [name for name in cluster.client if name != LEAVES]
    topics = {name: topic_names(cluster) for name in others}
    led_by_others: dict[str, float] = {}
    exited = None
    began, began_ns = time.monotonic(), time.monotonic_ns()
    cluster.signal(LEAVES, signal.SIGTERM)
    while exited is None or len(led_by_others) < len(others):
        if exited is None and process.poll() is not None:
            exited = seconds_since(began)
        for name, left in topics.items():
            while left and all_led(cluster, name, left[-1:], but=leaver):
                left.pop()
            if not left:
                led_by_others.setdefault(name, seconds_since(began))
        if time.monotonic() > began + LONGEST_S:
            raise RuntimeError(f"not within {LONGEST_S} s: {exited=}, {led_by_others=}")
        time.sleep(PAUSE_S)
    for name in others:
        assert all_led(cluster, name, None, but=leaver)
    granted = [
        event["time_ns"]
        for event in events(cluster, LEAVES, "bstate")
        if event["after"] == "SHUTDOWN" and event["time_ns"] >= began_ns
    ]
    led = [
        event["time_ns"] for name in others for event in parts(cluster, name, "leader", began_ns)
    ]
    reason = list(events(cluster, LEAVES, "exit"))[-1]["reason"]
    say(
        "controlled shutdown",
        leads=wanted,
        granted_s=round((granted[0] - began_ns) / 1e9, 2) if granted else reason,
        exited_s=exited,
        new_leaders_in_metadata_s=led_by_others,
        last_one_leads_s=round((max(led) - began_ns) / 1e9, 2) if led else None,
        exit_code=process.returncode,
    )
    say(
        "its processor time, s",
        **{
            name: round(cpu_s(cluster, name) - used[name], 2)
            for name in cluster.settings
            if name != LEAVES
        },
    )


def in_every_isr(cluster: Loopback) -> bool:
    try:
        return all(len(each.isr_nodes) == 3 for each in partitions_of(cluster, "b2"))
    except OSError:
        return False


def come_back(cluster: Loopback, wanted: int) -> None:
    began, began_ns = time.monotonic(), time.monotonic_ns()
    cluster.start(LEAVES)

    def is_active() -> bool:
        try:
            return bool(cluster.state(LEAVES)["broker_state"] == "ACTIVE")
        except OSError:
            return False

    active = when(is_active, began, "active again")
    has_all = when(
        lambda: hosts_all(cluster, LEAVES, wanted, began_ns), began, "all replicas again"
    )
    in_sync = when(
        lambda: in_every_isr(cluster),
        began,
        "in every ISR again",
    )
    say(
        "return",
        active_s=active,
        has_its_replicas_s=has_all,
        in_every_isr_s=in_sync,
        cpu_s=round(cpu_s(cluster, LEAVES), 2),
    )


def stalls(cluster: Loopback) -> None:
    """Event loops that did not run for long, the longest of each node."""
    longest = {
        f"{name} {event['loop']}": event["ms"]
        for name in cluster.settings
        for event in sorted(events(cluster, name, "stall"), key=lambda each: int(each["ms"]))
    }
    say("longest stalls, ms", **longest)
    say("brokers", leases_lost=leases_lost(cluster))


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topics", type=int, default=10)
    parser.add_argument("--partitions", type=int, default=1000, help="of each topic")
    parser.add_argument("--keep", type=Path, help="leave the nodes' files in this directory")
    args = parser.parse_args(argv)
    wanted = args.topics * args.partitions
    with tempfile.TemporaryDirectory() as directory:
        interval = "600000"  # no snapshot meanwhile: the active controller would resign for it
        with Loopback(
            args.keep or Path(directory),
            controllers=3,
            brokers=3,
            metadata_snapshot_interval_ms=interval,
        ) as cluster:
            cluster.ready()
            create_topics(cluster, args.topics, args.partitions)
            hosted(cluster, wanted)
            leave(cluster, wanted)
            come_back(cluster, wanted)
            stalls(cluster)


if __name__ == "__main__":
    main()
