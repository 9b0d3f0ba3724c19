"""Brokers that are asked for what they have of partitions, in virtual time."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from framework.generators import clients, simulate
from framework.history.event import Event
from workloads.base import ATTEMPTS
from workloads.replica_reads import (
    LAST,
    LOOKS,
    OUT_OF_RANGE,
    PARTITIONS,
    PAUSE_NS,
    replica_reads,
)

NODES = ["b1", "b2"]
BEGIN, END = 10, 10_000
Answer = Callable[[str, int, int], tuple[int, str]]
"""(node, start, how often it was asked) to (position, and ok, info, or why not)"""


def all_of_it(node: str, start: int, times: int) -> tuple[int, str]:
    return END, "ok"


def asked(answer: Answer = all_of_it, keys: list[str] | None = None, end: int = END) -> list[Event]:
    """What is asked, where leaders tell that partitions go from `BEGIN` to `end`."""
    times: dict[tuple[Any, Any], int] = {}

    def completion(invoked: Event, n: int) -> tuple[int, Event]:
        if invoked.f == "list-offsets":
            offset = BEGIN if invoked.value["at"] == "earliest" else end
            return 10**6, replace(invoked, type="ok", value={"offset": offset})
        of = invoked.node, invoked.key
        times[of] = times.get(of, 0) + 1
        position, type = answer(str(invoked.node), invoked.value["from"], times[of])
        told = {"records": [], "high_watermark": 0, "log_start": 0, "position": position}
        error = None if type in ("ok", "info") else (type, "")
        kind = "fail" if error else type
        value = told if kind == "ok" else None
        return 10**6, replace(invoked, type=kind, value=value, error=error)

    generator = clients(replica_reads(keys or ["t/0"], NODES))
    history = simulate(generator, threads=3, completion=completion, max_ops=10**4)
    return [each for each in history if each.type == "invoke"]


def of_replicas(invoked: list[Event]) -> list[tuple[str | None, Any]]:
    return [(each.node, each.value["from"]) for each in invoked if each.f == "replica-fetch"]


def test_each_broker_is_asked_for_the_last_records() -> None:
    invoked = asked()
    assert [each.value for each in invoked[:2]] == [{"at": "earliest"}, {"at": "latest"}]
    assert sorted(of_replicas(invoked), key=str) == [(node, END - LAST) for node in NODES]


def test_a_short_partition_is_read_from_where_it_begins() -> None:
    assert set(of_replicas(asked(lambda *_: (20, "ok"), end=20))) == {(n, BEGIN) for n in NODES}


def test_who_has_more_to_give_is_asked_on_at_once() -> None:
    step = 700
    of_one = [
        start
        for node, start in of_replicas(asked(lambda _, start, __: (start + step, "ok")))
        if node == "b1"
    ]
    assert of_one == [END - LAST, END - LAST + step, END - LAST + 2 * step]


def test_who_has_not_heard_yet_is_asked_again_after_a_pause_for_some_time() -> None:
    patient = asked(lambda node, start, _: (END if node == "b1" else start, "ok"))
    of_two = [each for each in patient if each.node == "b2"]
    assert len(of_two) == LOOKS
    gaps = [after.time - before.time for before, after in itertools.pairwise(of_two)]
    assert min(gaps) >= PAUSE_NS
    late = asked(lambda _, start, times: (END if times == 3 else start, "ok"))
    assert len(of_replicas(late)) == 3 * len(NODES)


def test_who_refuses_is_asked_some_times_and_holds_nobody_up() -> None:
    refused = asked(lambda node, *_: (END, "ok" if node == "b1" else "REPLICA_NOT_AVAILABLE"))
    assert len(of_replicas(refused)) == 1 + ATTEMPTS
    of_two = [each for each in refused if each.node == "b2"]
    assert all(after.time - before.time >= PAUSE_NS for before, after in itertools.pairwise(of_two))


def test_who_has_let_go_of_more_than_its_leader_is_asked_for_what_is_later() -> None:
    """And who has nothing, not even the last, is given up."""

    def answer(node: str, start: int, _: int) -> tuple[int, str]:
        return (END, "ok") if start >= (END - 3 if node == "b1" else END) else (0, OUT_OF_RANGE)

    invoked = of_replicas(asked(answer))
    starts = {node: [start for of, start in invoked if of == node] for node in NODES}
    assert starts["b1"][:ATTEMPTS] == [END - LAST] * ATTEMPTS
    assert starts["b1"] == sorted(starts["b1"]) and starts["b1"][-1] >= END - 3
    assert starts["b2"][-1] == END - 1 and len(starts["b2"]) < 20


def test_not_more_partitions_than_a_reader_has_time_for() -> None:
    keys = [f"t/{number}" for number in range(PARTITIONS + 3)]
    assert {each.key for each in asked(keys=keys)} == set(keys[:PARTITIONS])
