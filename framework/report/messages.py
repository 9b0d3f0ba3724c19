"""Messages between nodes, as far as evidence has both of their ends: by epoch, candidate, offsets
and ids of requests. What nobody wrote down, as when a request was sent, is not made up. Pure."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from framework.evidence.brokers import BrokerStateChanged, HeartbeatAnswered
from framework.evidence.kinds import Evidence
from framework.evidence.partitions import PartitionAppended
from framework.evidence.processes import Booted, Exited, Failed
from framework.evidence.quorum import (
    Appended,
    Claimed,
    Committed,
    Elected,
    RoleTaken,
    Truncated,
    Voted,
)
from framework.evidence.requests import Answered, Decided

NS: Final = 1e9
KINDS: Final = (
    Answered,
    Appended,
    Booted,
    BrokerStateChanged,
    Claimed,
    Committed,
    Decided,
    Elected,
    Exited,
    Failed,
    HeartbeatAnswered,
    PartitionAppended,
    RoleTaken,
    Truncated,
    Voted,
)
"""What a space-time diagram is made of."""

MessageKind = Literal["vote", "refusal", "leader", "append", "commit", "data", "request", "answer"]
RANK: Final[Mapping[str, int]] = {
    "vote": 0,
    "refusal": 0,
    "leader": 1,
    "append": 2,
    "request": 3,
    "answer": 3,
    "data": 4,
    "commit": 5,
}
"""What is left out last is 0."""


@dataclass(frozen=True, slots=True)
class End:
    """One end of a message: a node, when (s since the run began), and its place in the evidence."""

    node: str
    time_s: float
    place: tuple[str, str, int] | None = None


@dataclass(frozen=True, slots=True)
class Message:
    kind: MessageKind
    sent: End
    """Of a request at the time of `received`: when it was sent nobody wrote down."""
    received: End
    text: str


def messages(evidence: Sequence[Evidence], plan: Mapping[str, Any]) -> list[Message]:
    """All of a run, in order of their receipt. `evidence`: of each node in order."""
    ordered = sorted(evidence, key=lambda each: each.at_ns)
    names = _Names(ordered, plan)
    found = [
        *_elections(ordered, names),
        *_replication(ordered, names),
        *_data(ordered),
        *_requests(ordered, names),
    ]
    return sorted(found, key=lambda each: each.received.time_s)


class _Names:
    """Nodes by their ids as replicas and brokers: those of the plan, and of what booted since."""

    def __init__(self, ordered: Iterable[Evidence], plan: Mapping[str, Any]) -> None:
        self._booted: dict[int, list[tuple[int, str]]] = defaultdict(list)
        nodes = plan.get("nodes")
        for name, spec in nodes.items() if isinstance(nodes, dict) else ():
            ids = spec.get("ids") if isinstance(spec, dict) else None
            for number in ids.values() if isinstance(ids, dict) else ():
                self._booted[number].append((-(1 << 62), name))
        for each in ordered:
            if isinstance(each, Booted):
                for number in {each.replica_id, each.broker_id} - {None}:
                    self._booted[number or 0].append((each.at_ns, each.node))

    def at(self, number: int | None, at_ns: int) -> str | None:
        """Who had this id then: of several processes the one that booted last."""
        if number is None:
            return None
        booted = self._booted.get(number, [])
        place = bisect_right(booted, at_ns, key=lambda each: each[0])
        return booted[place - 1][1] if place else None


def _end(evidence: Evidence) -> End:
    return End(evidence.node, evidence.at_ns / NS, evidence.place)


def _elections(ordered: Iterable[Evidence], names: _Names) -> Iterator[Message]:
    """A candidate asks for a vote, a vote elects, and the others learn of it."""
    campaigns: dict[tuple[str, int], RoleTaken] = {}
    granted: dict[tuple[str, int, int], Voted] = {}
    elected: dict[tuple[str, int], Elected] = {}
    learned: set[tuple[str, int]] = set()
    for each in ordered:
        match each:
            case RoleTaken(role="candidate"):
                campaigns[each.node, each.epoch] = each
            case Voted():
                candidate = names.at(each.candidate, each.at_ns)
                asked = campaigns.get((candidate or "", each.epoch))
                if asked is not None and asked.node != each.node:
                    said = "asks for a vote" if each.granted else "asks for a vote, in vain"
                    kind: MessageKind = "vote" if each.granted else "refusal"
                    yield Message(kind, _end(asked), _end(each), f"{said}, epoch {each.epoch}")
                if each.granted:
                    granted[each.node, each.epoch, each.candidate] = each
            case Elected():
                elected[each.node, each.epoch] = each
                for vote in each.votes:
                    voter = names.at(vote, each.at_ns)
                    by = next(
                        (
                            cast
                            for (node, epoch, candidate), cast in granted.items()
                            if (node, epoch) == (voter, each.epoch)
                            and names.at(candidate, cast.at_ns) == each.node
                        ),
                        None,
                    )
                    if by is not None and by.node != each.node:
                        yield Message("vote", _end(by), _end(each), f"vote, epoch {each.epoch}")
            case RoleTaken(leader=int(leader)):
                won = elected.get((names.at(leader, each.at_ns) or "", each.epoch))
                first = (each.node, each.epoch) not in learned
                learned.add((each.node, each.epoch))
                if won is not None and won.node != each.node and first:
                    text = f"learns that {won.node} leads epoch {each.epoch}"
                    yield Message("leader", _end(won), _end(each), text)


def _replication(ordered: Iterable[Evidence], names: _Names) -> Iterator[Message]:
    """From the leader that a replica follows: records, and how far they are committed."""
    follows: dict[str, str | None] = {}
    written: dict[tuple[str, int], list[Appended]] = defaultdict(list)
    committed: dict[tuple[str, int], list[Committed]] = defaultdict(list)
    for each in ordered:
        match each:
            case RoleTaken():
                follows[each.node] = names.at(each.leader, each.at_ns)
            case Appended(leading=True):
                written[each.node, each.epoch].append(each)
            case Appended(leading=False):
                last = each.end_offset - 1
                own = written[follows.get(each.node) or "", each.epoch]
                place = bisect_right(own, last, key=lambda append: append.base_offset)
                if place and own[place - 1].end_offset > last:
                    span = f"{each.base_offset} to {last}" if last > each.base_offset else f"{last}"
                    text = f"append {span}, epoch {each.epoch}"
                    yield Message("append", _end(own[place - 1]), _end(each), text)
            case Committed(leading=True):
                committed[each.node, each.epoch].append(each)
            case Committed(leading=False):
                reached = committed[follows.get(each.node) or "", each.epoch]
                place = bisect_right(reached, each.offset - 1, key=lambda commit: commit.offset)
                if place < len(reached):
                    text = f"high watermark {each.offset}"
                    yield Message("commit", _end(reached[place]), _end(each), text)


def _data(ordered: Iterable[Evidence]) -> Iterator[Message]:
    """Records of partitions, from their leader's log to the others'."""
    written: dict[tuple[str, int, int], list[PartitionAppended]] = defaultdict(list)
    for each in ordered:
        if not isinstance(each, PartitionAppended) or each.leading is None:
            continue
        key = each.topic_id, each.partition, each.epoch
        if each.leading:
            written[key].append(each)
            continue
        last = each.end_offset - 1
        place = bisect_right(written[key], last, key=lambda append: append.base_offset)
        if place and written[key][place - 1].end_offset > last:
            by = written[key][place - 1]
            if by.node != each.node:
                text = f"partition {each.partition} of {each.topic_id}: offset {last}"
                yield Message("data", _end(by), _end(each), text)


def _requests(ordered: Iterable[Evidence], names: _Names) -> Iterator[Message]:
    """A broker's request that a controller decided on, and of heartbeats the answer: the first
    that the broker had after it."""
    beats: dict[str, Decided] = {}
    for each in ordered:
        match each:
            case Decided(broker_id=int(number)):
                broker = names.at(number, each.at_ns)
                if broker is None or broker == each.node:
                    continue
                said = "" if each.accepted else f", refused: {each.code}"
                sent = End(broker, each.at_ns / NS)
                yield Message("request", sent, _end(each), f"{each.api} of {broker}{said}")
                if each.target is not None:
                    beats[broker] = each
            case HeartbeatAnswered():
                decided = beats.pop(each.node, None)
                if decided is not None and decided.accepted == each.accepted:
                    text = f"answer: {each.next_state}"
                    yield Message("answer", _end(decided), _end(each), text)
