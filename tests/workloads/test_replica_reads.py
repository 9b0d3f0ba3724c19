"""Brokers that are asked for what they have of partitions, in virtual time."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from framework.generators import clients, simulate
from framework.history.event import Event
from workloads.base import ATTEMPTS
from workloads.replica_reads import LAST, LOOKS, PARTITIONS, PAUSE_NS, replica_reads

NODES = ["b1", "b2"]
BEGIN, END = 10, 10_000
Answer = Callable[[str, int, int], tuple[int, str]]
"""(node, start, how often it was asked) to (position, type)"""


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
        return 10**6, replace(invoked, type=type, value=told if type == "ok" else None)

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
    refused = of_replicas(asked(lambda node, *_: (END, "ok" if node == "b1" else "fail")))
    assert len(refused) == 1 + ATTEMPTS


def test_not_more_partitions_than_a_reader_has_time_for() -> None:
    keys = [f"t/{number}" for number in range(PARTITIONS + 3)]
    assert {each.key for each in asked(keys=keys)} == set(keys[:PARTITIONS])
