"""The checks of a Kafka log in Jepsen's form, once more: by the definitions, over plain events,
with no thought of time. It shares no code with the checker."""

from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

Cases = Counter[tuple[str, str]]
"""(key, anomaly) -> how many; allowed ones as `<anomaly> (allowed)`."""


class Op:
    """A completed or pending operation, with its sends and polls as (key, offset, value)."""

    def __init__(self, index: int, invoked: dict[str, Any], end: int | None, done: Any) -> None:
        self.index, self.end = index, end
        self.f, self.process = invoked["f"], invoked["process"]
        self.type = done["type"] if done else "info"
        value = done["value"] if done and done.get("value") is not None else invoked["value"]
        self.value = value
        self.ext = (done or {}).get("ext") or {}
        transaction = self.f in ("poll", "txn")
        self.asks = transaction and any(micro[0] == "poll" for micro in invoked["value"])
        self.answered = transaction and any(
            micro[0] == "poll" and len(micro) > 1 for micro in (done or {}).get("value") or ()
        )
        self.sends: list[tuple[str, Any, Any]] = []
        self.polls: list[tuple[str, Any, Any]] = []
        self.order: list[tuple[str, str, Any, Any]] = []
        for micro in value if self.f in ("send", "poll", "txn") else ():
            if micro[0] == "send":
                pair = isinstance(micro[2], list) and len(micro[2]) == 2
                offset, sent = micro[2] if pair else (None, micro[2])
                self.sends.append((str(micro[1]), offset, sent))
            elif len(micro) > 1:
                for key, records in micro[1].items():
                    self.polls += [(key, offset, value) for offset, value in records]

    def of(self, what: str, key: str) -> list[tuple[Any, Any]]:
        records = self.sends if what == "send" else self.polls
        return [(offset, value) for k, offset, value in records if k == key]


def operations(events: list[dict[str, Any]]) -> list[Op]:
    open_: dict[Any, tuple[int, dict[str, Any]]] = {}
    made = []
    for index, event in enumerate(events):
        if event["type"] == "invoke":
            open_[event["process"]] = (index, event)
        else:
            begun, invoked = open_.pop(event["process"])
            made.append(Op(begun, invoked, index, event))
    made += [Op(begun, invoked, None, None) for begun, invoked in open_.values()]
    return sorted(made, key=lambda each: each.index)


def naive(events: list[dict[str, Any]]) -> Cases:
    ops = operations(events)
    keys = sorted({key for op in ops for key, _, _ in op.sends + op.polls})
    read = {(k, v) for op in ops if op.type == "ok" for k, _, v in op.polls}
    polled = {(k, v) for op in ops for k, _, v in op.polls}
    took = {
        op.index
        for op in ops
        if op.type == "ok" or (op.type == "info" and any((k, v) in read for k, _, v in op.sends))
    }
    cases: Cases = Counter()
    for key in keys:
        _of_key(key, ops, took, read, polled, cases)
    return +cases


def _of_key(
    key: str, ops: list[Op], took: set[int], read: set[Any], polled: set[Any], cases: Cases
) -> None:
    log: dict[int, set[Any]] = defaultdict(set)
    for op in ops:
        for offset, value in op.of("poll", key):
            if offset is not None:
                log[offset].add(value)
        for offset, value in op.of("send", key):
            if offset is not None and op.index in took:
                log[offset].add(value)
    offsets = sorted(log)
    places: dict[Any, list[int]] = defaultdict(list)
    for index, offset in enumerate(offsets):
        for value in log[offset]:
            places[value].append(index)

    def index_of(op: Op, what: str, record: tuple[Any, Any]) -> int | None:
        offset, value = record
        if offset is not None and (what == "poll" or op.index in took):
            return offsets.index(offset)
        return places[value][0] if len(places[value]) == 1 else None

    sent = Counter(value for op in ops for _, value in op.of("send", key))
    for values in log.values():
        cases[key, "inconsistent-offsets"] += len(values) - 1
    for value, at in places.items():
        cases[key, "duplicate"] += len(at) > max(1, sent[value])
    _lost(key, ops, took, read, polled, places, cases)
    _steps(key, ops, index_of, cases)
    _polls(key, ops, index_of, cases)
    _sends(key, ops, index_of, cases)


def _lost(
    key: str,
    ops: list[Op],
    took: set[int],
    read: set[Any],
    polled: set[Any],
    places: dict[Any, list[int]],
    cases: Cases,
) -> None:
    firsts = [places[value][0] for k, value in read if k == key and places[value]]
    bound = max(firsts, default=-1)
    begins = [op.index for op in ops if _comes_to_the_end(op, key, ops)]
    writers: dict[Any, list[Op]] = defaultdict(list)
    early: dict[Any, list[int | None]] = {}
    for op in ops:
        for _, value in op.of("send", key):
            writers[value].append(op)
        polls = [value for _, value in op.of("poll", key)]
        sends = [value for _, value in op.of("send", key)]
        cases[key, "precommitted-read"] += len(set(polls) & set(sends))
        for _, value in op.of("send", key):
            if (key, value) in polled:
                continue
            at = places[value]
            if op.index in took and at and at[-1] <= bound:
                cases[key, "lost-write"] += 1
            elif op.type == "ok" and op.end is not None and max(begins, default=-1) > op.end:
                cases[key, "unseen"] += 1
        for _, value in op.of("poll", key):
            early.setdefault(value, []).append(op.end if op.type == "ok" else None)
    for value, ends in early.items():
        first = min((op.index for op in writers[value]), default=-1)
        cases[key, "unwritten-read"] += any(end is not None and end < first for end in ends)
    for value in {value for k, value in read if k == key}:
        if not writers[value]:
            cases[key, "unwritten-read"] += 1
        elif all(op.type == "fail" for op in writers[value]):
            cases[key, "G1a"] += 1


def _comes_to_the_end(begin: Op, key: str, ops: list[Op]) -> bool:
    """Its client goes to the key's beginning, polls, and in the end gets nothing of the key."""
    if begin.f != "assign" or begin.type != "ok" or not begin.ext.get("seek-to-beginning"):
        return False
    later = [op for op in ops if op.process == begin.process and op.index > begin.index]
    anew = [op for op in later if op.f in ("assign", "subscribe") and op.type != "fail"]
    polls = [op for op in later if op.type == "ok" and op.asks]
    if anew or len(polls) < 2 or key not in [str(each) for each in begin.value]:
        return False
    return polls[-1].answered and not polls[-1].of("poll", key)


def _steps(key: str, ops: list[Op], index_of: Any, cases: Cases) -> None:
    for op in ops:
        for what in ("send", "poll"):
            moved = [str(k) for event in op.ext.get("rebalance-log", ()) for k in event["keys"]]
            if what == "poll" and key in moved:
                continue
            records = op.of(what, key)
            for one, other in pairwise(records):
                i, j = index_of(op, what, one), index_of(op, what, other)
                if i is not None and j is not None:
                    if j - i > 1:
                        allowed = " (allowed)" if what == "send" else ""
                        cases[key, f"int-{what}-skip{allowed}"] += 1
                    cases[key, f"int-nonmonotonic-{what}"] += j <= i


def _polls(key: str, ops: list[Op], index_of: Any, cases: Cases) -> None:
    for process in {op.process for op in ops}:
        last: Any = None
        loose, mode = False, "assign"
        for op in ops:
            if op.process != process:
                continue
            if op.f in ("assign", "subscribe") and op.type != "fail":
                mode = op.f
                named = key in [str(each) for each in op.value]
                if not named or op.ext.get("seek-to-beginning"):
                    last = None
            records = op.of("poll", key)
            if not records:
                continue
            if last is not None:
                i, j = index_of(op, "poll", last), index_of(op, "poll", records[0])
                allowed = " (allowed)" if loose or mode == "subscribe" else ""
                if i is not None and j is not None:
                    cases[key, f"poll-skip{allowed}"] += j - i > 1
                    cases[key, f"nonmonotonic-poll{allowed}"] += j <= i
            last, loose = records[-1], mode == "subscribe"
            if op.type == "fail":
                last = None


def _sends(key: str, ops: list[Op], index_of: Any, cases: Cases) -> None:
    for process in {op.process for op in ops}:
        last: Any = None
        for op in ops:
            if op.process != process or op.type == "fail" or not op.of("send", key):
                continue
            records = op.of("send", key)
            if last is not None:
                i, j = index_of(*last), index_of(op, "send", records[0])
                cases[key, "nonmonotonic-send"] += i is not None and j is not None and j <= i
            last = (op, "send", records[-1])
