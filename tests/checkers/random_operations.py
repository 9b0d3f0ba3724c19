"""Small histories at random, with faults, of which a rule over all operations may find anything."""

import random
from dataclasses import replace

from framework.evidence.quorum import Elected
from framework.evidence.run_events import FaultRecord, RunEvents
from framework.history.pairing import Operation
from framework.plugins.outcomes import OF_NO_NODE, OF_THE_ASKER
from framework.testing.story import Story

S = 10**9
ROLES = {"c": "controller", "b": "broker"}
NODES = {
    name: {
        "roles": [ROLES[name[0]]],
        "votes": name[0] == "c",
        "ids": {ROLES[name[0]]: int(name[1])},
    }
    for name in ("c1", "c2", "c3", "b1", "b2", "b3")
}

FS = ("create", "read", "describe", "produce", "fetch", "restart", "heartbeat", "reassign")
KEYS = ("log-0/0", "log-0/1", 1, "1", None, ["a", 2])
HOSTS = ("b1", "b2", "c1", "elsewhere")
CODES = (*sorted(OF_NO_NODE), "NOT_LEADER", "EXISTS")
ELECTED = Story().tell(Elected, "c2", epoch=2, votes=(1, 2))
ASSERTS = ("present", *sorted(OF_THE_ASKER))


def histories(draw: random.Random) -> RunEvents:
    """Times are multiples of a tick, so that many things are at the same moment. How much succeeds
    changes as time goes by; of one kind, key or node perhaps nothing does in the end."""
    tick, count = draw.choice([1, 7, S // 4, S]), draw.randrange(150)
    share = [draw.random() ** draw.choice([0.1, 0.3, 2]) for _ in range(4)]
    fs = draw.sample(FS, draw.randint(1, len(FS)))
    sick = draw.choice([draw.choice(each) for each in (FS, KEYS, HOSTS, [""])])
    since = draw.randrange(count // 2 + 1)
    operations = [
        each
        for index in range(count)
        for each in [_operation(draw, index, index * tick, tick, fs, share[index * 4 // count])]
        if index < since or sick not in (each.f, each.key, each.node) or _is_silent(each)
    ]
    faults = [
        _fault(draw, number, count * tick, tick) for number in range(draw.choice([0, 0, 1, 2, 4]))
    ]
    spans = sorted(draw.sample(range(0, 60_000, 250), 2 * draw.randrange(4)))
    took = [
        [begin, end, draw.randrange(end - begin + 1)]
        for begin, end in zip(spans[::2], spans[1::2], strict=True)
    ]
    plan = {
        "nodes": draw.choice([NODES, NODES, NODES, {}, {"b1": {}}]),
        "recovery_s": draw.choice([None, 15, 4 * tick / S, 9 * tick / S, 30 * tick / S]),
        "machine": draw.choice([{}, {"took": took}]),
    }
    return RunEvents(
        operations=operations,
        observations=[
            *(_operation(draw, 900, 0, tick, ["describe"], 0.7) for _ in range(2)),
            *(_shown(draw, 901) for _ in range(draw.choice([0, 1, 2]))),
        ],
        evidence=[
            replace(ELECTED, at_ns=draw.randrange(count * tick + 1))
            for _ in range(draw.randrange(3))
        ],
        faults=faults,
        plan=plan,
    )


def _operation(
    draw: random.Random, index: int, at: int, tick: int, fs: list[str], works: float
) -> Operation:
    type = "ok" if draw.random() < works else draw.choice(["fail", "info", "info"])
    f, ends = draw.choice(fs), draw.random() < 0.9
    value = {"zombie": draw.choice([None, None, "replay"])} if f == "heartbeat" else {"n": "zombie"}
    if f == "create":
        value = {"on_demand": draw.choice([None, True, "on_demand"])}
    if f == "produce":
        value = {"acks": draw.choice(["all", "1", "0", "all", None, ["0"]]), "n": '"acks":"1"'}
    asserts = {"asserts": draw.choice(ASSERTS)} if draw.random() < 0.3 else {"asserts": 3}
    took = draw.choice([0, 1, 2, 9]) * tick
    return Operation(
        index=2 * index,
        process=index,
        f=f,
        key=draw.choice(KEYS[: draw.randint(1, len(KEYS))]),
        value=draw.choice([None, "zombie", [{"zombie": 1}], value]),
        type=type if ends else "info",  # type: ignore[arg-type]
        end=2 * index + 1 if ends else None,
        error=(draw.choice(CODES), "") if type != "ok" and draw.random() < 0.8 else None,
        node=draw.choice([None, *HOSTS]),
        ext=draw.choice([None, asserts if type != "ok" else {"epoch": 1}]),
        invoked_ns=None if draw.random() < 0.03 else at,
        completed_ns=at + took if ends and draw.random() < 0.97 else None,
        phase="main" if at < 70 * tick else "final",
    )


def _shown(draw: random.Random, index: int) -> Operation:
    """Replicas of a partition, perhaps at a broker that is no node."""
    replicas = draw.sample((1, 2, 3, 9), draw.randint(0, 3))
    told = [{"partition": draw.randrange(2), "replicas": replicas}]
    topics = {"brokers": [], "topics": [{"name": "log-0", "partitions": told}]}
    return Operation(
        index=2 * index,
        process=index,
        f="describe-topics",
        type="ok",
        end=2 * index + 1,
        result=draw.choice([topics, topics, {"brokers": []}]),
        node="b1",
        invoked_ns=0,
        completed_ns=1,
    )


def _is_silent(operation: Operation) -> bool:
    unheard = operation.end is None or operation.error_code in OF_NO_NODE
    return operation.asserts is None and unheard


def _fault(draw: random.Random, number: int, until: int, tick: int) -> FaultRecord:
    begin = draw.randrange(until + 1) // tick * tick
    healed = draw.choice([None, begin, begin + draw.randrange(30) * tick])
    victims = {node: {} for node in draw.sample(sorted(NODES), draw.randint(0, len(NODES)))}
    return FaultRecord(
        id=number,
        fault=draw.choice(["kill", "partition"]),
        victims=victims,
        injected_ns=draw.choice([begin, begin, None]),
        healed_ns=healed,
        healed=draw.choice([True, True, False, None]),
        ends_processes=draw.random() < 0.3,
    )
