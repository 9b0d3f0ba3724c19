"""Clean histories of Kafka logs, made at random from a seed, and their tables."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from framework.checking.columns import Columns
from framework.checking.runs import OPERATIONS, add_operation
from framework.history.event import Event
from framework.history.pairing import Pairing

Events = list[dict[str, Any]]


def table(events: Iterable[dict[str, Any]], run: str = "r") -> pa.Table:
    """Operations (`OPERATIONS`) of the events, which are numbered as they come."""
    pairing = Pairing()
    for index, event in enumerate(events):
        pairing.add(Event(**{"time": index * 1_000_000, **event, "index": index}))
    columns = Columns(OPERATIONS)
    for operation in pairing.operations:
        add_operation(columns, run, operation)
    return columns.table()


# --- transactions: Jepsen's form ----------------------------------------------------------


@dataclass
class Entry:
    """What one offset holds. `visible` None: not decided yet. A marker has no value."""

    value: Any = None
    visible: bool | None = False


@dataclass
class Client:
    process: int
    mode: str = ""
    positions: dict[str, int] = field(default_factory=dict)
    op: dict[str, Any] | None = None
    plan: list[Any] = field(default_factory=list)
    done: list[Any] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    before: dict[str, int] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)
    outcome: str = "ok"


class Transactions:
    """Processes that send, poll, assign, subscribe and crash, one step at a time: logs with
    markers and aborted records, polls of committed ones only."""

    def __init__(self, seed: int, *, keys: int = 3, processes: int = 4) -> None:
        self.rng = random.Random(seed)
        self.keys = [str(key) for key in range(keys)]
        self.logs: dict[str, list[Entry]] = {key: [] for key in self.keys}
        self.committed: dict[str, int] = dict.fromkeys(self.keys, 0)
        self.clients = [Client(process) for process in range(processes)]
        self.next_process = processes
        self.values = dict.fromkeys(self.keys, 0)
        self.events: Events = []
        self.modes = self.rng.choice([("assign",), ("subscribe",), ("assign", "subscribe")])

    def run(self, steps: int, *, final: bool = True) -> Events:
        for _ in range(steps):
            self.step(self.rng.choice(self.clients))
        while busy := [client for client in self.clients if client.op is not None]:
            self.step(self.rng.choice(busy))
        if final:
            for client in self.clients:
                self.catch_up(client)
        return self.events

    # --- one client ---

    def step(self, client: Client) -> None:
        if client.op is None:
            self.begin(client)
        elif client.plan:
            self.micro(client, client.plan.pop(0))
        else:
            self.complete(client)

    def begin(self, client: Client) -> None:
        rng = self.rng
        if not client.mode or rng.random() < 0.12:
            f = rng.choice(self.modes)
            value = rng.sample(self.keys, rng.randint(1, len(self.keys)))
            self.subscribe(client, f, value, seek=rng.random() < 0.1 and f == "assign")
            return
        if rng.random() < 0.03:
            self.crash(client)
            return
        f = rng.choice(("send", "poll", "txn", "poll"))
        makes = {"send": ("send",), "poll": ("poll",), "txn": ("send", "poll")}[f]
        plan = [self.planned(rng.choice(makes)) for _ in range(rng.randint(1, 4))]
        client.outcome = rng.choices(("ok", "info", "fail"), (0.86, 0.07, 0.07))[0]
        client.op = {"f": f, "process": client.process}
        client.plan, client.done, client.entries, client.moved = list(plan), [], [], set()
        client.before = dict(client.positions)
        self.events.append({**client.op, "type": "invoke", "value": plan})

    def planned(self, what: str) -> list[Any]:
        if what == "poll":
            return ["poll"]
        key = self.rng.choice(self.keys)
        self.values[key] += 1
        return ["send", int(key), self.values[key]]

    def micro(self, client: Client, micro: list[Any]) -> None:
        if micro[0] == "send":
            log = self.logs[str(micro[1])]
            entry = Entry(micro[2], None)
            if client.outcome == "ok" or self.rng.random() < 0.7:
                log.append(entry)
                client.entries.append(entry)
                offset = len(log) - 1 if self.rng.random() < 0.9 else None
                client.done.append(["send", micro[1], [offset, micro[2]]])
            else:
                client.done.append(micro)
        else:
            client.done.append(["poll", self.polled(client)])

    def polled(self, client: Client) -> dict[str, Any]:
        if client.mode == "subscribe" and self.rng.random() < 0.3:
            self.rebalance(client)
        records = {}
        for key in sorted(client.positions):
            log, position, got = self.logs[key], client.positions[key], []
            while position < len(log) and log[position].visible is not None and len(got) < 3:
                if log[position].visible:
                    got.append([position, log[position].value])
                position += 1
            client.positions[key] = position
            if got:
                records[key] = got
        return records

    def rebalance(self, client: Client) -> None:
        """The group hands other keys to the client; it goes on where the group has committed."""
        now = set(self.rng.sample(self.keys, self.rng.randint(0, len(self.keys))))
        client.moved |= now ^ set(client.positions)
        for key in client.positions:
            self.committed[key] = max(self.committed[key], client.positions[key])
        client.positions = {key: self.committed[key] for key in now}
        client.moved |= now

    def complete(self, client: Client) -> None:
        assert client.op is not None
        outcome, micros = client.outcome, client.done
        takes = outcome == "ok" or (outcome == "info" and self.rng.random() < 0.5)
        for entry in client.entries:
            entry.visible = takes
        for key in {str(micro[1]) for micro in micros if micro[0] == "send"}:
            if self.rng.random() < 0.5:
                self.logs[key].append(Entry())
        event = {**client.op, "type": outcome, "value": micros}
        if client.moved:
            event["ext"] = {"rebalance-log": [{"keys": [int(key) for key in client.moved]}]}
        if outcome == "fail":
            client.positions = client.before
        if outcome != "ok" and self.rng.random() < 0.5:
            event["value"] = None if self.rng.random() < 0.5 else self.invoked(client)
        if outcome != "ok":
            event["error"] = ("SOMETHING", "")
        self.events.append(event)
        client.op = None
        if outcome == "info":
            self.renew(client)
        elif outcome == "ok" and client.mode == "subscribe":
            for key, position in client.positions.items():
                self.committed[key] = position

    def invoked(self, client: Client) -> Any:
        own = (event for event in reversed(self.events) if event["process"] == client.process)
        return next(own)["value"]

    def subscribe(self, client: Client, f: str, value: Sequence[str], *, seek: bool) -> None:
        keys = [int(key) for key in value]
        event = {"f": f, "process": client.process, "value": keys}
        if seek:
            event["ext"] = {"seek-to-beginning": True}
        self.events.append({**event, "type": "invoke"})
        refused = self.rng.random() < 0.1
        self.events.append({**event, "type": "fail" if refused else "ok"})
        if refused:
            return
        kept = {} if seek or f != client.mode else client.positions
        client.mode = f
        if f == "assign":
            client.positions = {key: kept.get(key, 0) for key in value}
        else:
            client.positions = {key: self.committed[key] for key in value}

    def crash(self, client: Client) -> None:
        event = {"f": "crash", "process": client.process, "value": None}
        self.events.append({**event, "type": "invoke"})
        self.events.append({**event, "type": "info"})
        self.renew(client)

    def renew(self, client: Client) -> None:
        client.process, self.next_process = self.next_process, self.next_process + 1
        client.mode, client.positions = "", {}

    def catch_up(self, client: Client) -> None:
        """The final phase: all from the beginning."""
        self.crash(client)
        event = {
            "f": "assign",
            "process": client.process,
            "value": [int(key) for key in self.keys],
            "ext": {"seek-to-beginning": True},
        }
        self.events += [{**event, "type": "invoke"}, {**event, "type": "ok"}]
        client.mode, client.positions = "assign", dict.fromkeys(self.keys, 0)
        while True:
            records = self.polled(client)
            poll = {"f": "poll", "process": client.process}
            self.events.append({**poll, "type": "invoke", "value": [["poll"]]})
            self.events.append({**poll, "type": "ok", "value": [["poll", records]]})
            if not records and all(client.positions[k] >= len(self.logs[k]) for k in self.keys):
                return


def transactions(seed: int, steps: int = 120, **options: Any) -> Events:
    """A clean history in Jepsen's form."""
    return Transactions(seed, **options).run(steps)


# --- single records: the `log` workload's form --------------------------------------------


def singles(seed: int, steps: int = 150) -> Events:
    """A clean history in the form of the `log` workload, with leaders that change, and a consumer
    group."""
    rng = random.Random(seed)
    keys = ["t/0", "t/1"]
    logs: dict[str, list[tuple[int, int]]] = {key: [] for key in keys}
    epochs, watermark = dict.fromkeys(keys, 0), dict.fromkeys(keys, 0)
    reads: dict[tuple[str, str], int] = {}
    commits: dict[str, int] = {}
    generation = 1
    owner = {key: f"m{rng.randint(0, 2)}" for key in keys}
    events: Events = []
    process, value = 0, 0

    def both(f: str, key: Any, asked: Any, reported: Any, type_: str = "ok") -> None:
        nonlocal process
        event = {"f": f, "key": key, "process": process, "node": f"b{epochs.get(key, 0) % 3}"}
        events.append({**event, "type": "invoke", "value": asked})
        error = {} if type_ == "ok" else {"error": ("SOMETHING", "")}
        events.append({**event, **error, "type": type_, "value": reported})
        process += type_ == "info"

    def fetch(consumer: str, key: str) -> None:
        at = reads.get((consumer, key), 0)
        if at < watermark[key] or rng.random() < 0.7:
            watermark[key] = len(logs[key])
        most = at + rng.randint(0, 5)
        got = [[at + n, v] for n, (v, _) in enumerate(logs[key][at : min(most, watermark[key])])]
        if rng.random() < 0.5:
            got = [[offset, v, logs[key][offset][1]] for offset, v in got]
        reported = {
            "records": got,
            "high_watermark": watermark[key],
            "log_start": 0,
            "position": at + len(got),
            "leader_epoch": epochs[key],
        }
        both("fetch", key, {"consumer": consumer, "from": at}, reported)
        reads[consumer, key] = at + len(got)

    for _ in range(steps):
        key, draw = rng.choice(keys), rng.random()
        if draw < 0.45:
            value += 1
            acks = rng.choice(("all", "all", "1", "0"))
            asked = {"value": value, "acks": acks, "idempotent": acks == "all"}
            if rng.random() < 0.1:
                both("produce", key, asked, None, "fail")
                continue
            logs[key].append((value, epochs[key]))
            if acks == "0" or rng.random() < 0.1:
                both("produce", key, asked, None, "info")
            else:
                both("produce", key, asked, {**asked, "offset": len(logs[key]) - 1})
        elif draw < 0.75:
            fetch(rng.choice("ab"), key)
        elif draw < 0.8:
            consumer = rng.choice("ab")
            reads[consumer, key] = rng.randint(0, reads.get((consumer, key), 0))
            to = reads[consumer, key]
            both("seek", key, {"consumer": consumer, "to": to}, {"consumer": consumer, "to": to})
        elif draw < 0.84:
            epochs[key] += 1
            watermark[key] = rng.randint(0, watermark[key])
        elif draw < 0.88:
            generation += 1
            owner = {each: f"m{rng.randint(0, 2)}" for each in keys}
            for member in ("m0", "m1", "m2"):
                own = [each for each in keys if owner[each] == member]
                reported = {"generation": generation, "assigned": own}
                both("join", None, {"group": "g", "member": member}, reported)
        elif draw < 0.94:
            commits[key] = commits.get(key, 0) + rng.randint(0, 3)
            asked = {"group": "g", "member": owner[key], "generation": generation}
            type_ = rng.choice(("ok", "ok", "info"))
            both("commit", key, {**asked, "offset": commits[key]}, None, type_)
        else:
            both("committed", key, {"group": "g"}, {"offset": commits.get(key)})
    events.append({"f": "phase", "type": "info", "process": "nemesis", "value": "final"})
    for key in keys:
        while True:
            fetch("final", key)
            if reads["final", key] >= len(logs[key]) and watermark[key] == len(logs[key]):
                break
    return events


# --- anything at all ----------------------------------------------------------------------


def anything(seed: int, operations: int = 14) -> Events:
    """A history in Jepsen's form without rhyme or reason: few keys, offsets and values."""
    rng = random.Random(seed)
    keys, offsets, most = rng.randint(1, 2), rng.randint(2, 6), rng.randint(2, 8)
    events: Events = []
    open_: dict[int, dict[str, Any]] = {}
    process_of = list(range(3))

    def offset() -> int | None:
        return rng.choice([*range(offsets), None])

    def send(value: Any) -> list[Any]:
        return ["send", rng.randrange(keys), value]

    def micros(f: str, done: bool) -> list[Any]:
        made: list[Any] = []
        for _ in range(rng.randint(1, 3)):
            if f == "poll" or (f == "txn" and rng.random() < 0.5):
                records = {
                    str(key): [[offset(), rng.randrange(most)] for _ in range(rng.randint(0, 3))]
                    for key in range(keys)
                    if rng.random() < 0.8
                }
                made.append(["poll", records] if done else ["poll"])
            else:
                value = rng.randrange(most)
                made.append(send([offset(), value] if done else value))
        return made

    while operations or open_:
        thread = rng.randrange(3)
        process = process_of[thread]
        if process in open_:
            event = open_.pop(process)
            type_ = rng.choices(("ok", "info", "fail"), (0.7, 0.15, 0.15))[0]
            done = {**event, "type": type_}
            if event["f"] in ("send", "poll", "txn") and rng.random() < 0.9:
                done["value"] = micros(event["f"], True)
            if event["f"] in ("send", "poll", "txn") and rng.random() < 0.1:
                done["ext"] = {"rebalance-log": [{"keys": [rng.randrange(keys)]}]}
            if type_ == "info":
                process_of[thread] = max(process_of) + 1
            events.append(done)
        elif operations:
            operations -= 1
            f = rng.choice(("send", "poll", "poll", "txn", "assign", "subscribe"))
            event = {"f": f, "process": process, "type": "invoke"}
            if f in ("assign", "subscribe"):
                event["value"] = [key for key in range(keys) if rng.random() < 0.7]
                if rng.random() < 0.3:
                    event["ext"] = {"seek-to-beginning": True}
            else:
                event["value"] = micros(f, False)
            open_[process] = event
            events.append(event)
    return events
