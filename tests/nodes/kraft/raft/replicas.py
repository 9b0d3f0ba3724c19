"""A Raft core to drive by hand, and the situations that rules are about."""

from typing import Any

from nodes.kraft.raft.config import RaftConfig
from nodes.kraft.raft.core import initial, step
from nodes.kraft.raft.log_index import LogIndex
from nodes.kraft.raft.messages import (
    Batch,
    BeginQuorumEpoch,
    Fetch,
    FetchReply,
    QuorumReply,
    Vote,
    VoteReply,
)
from nodes.kraft.raft.state import Candidate, Follower, Leader, QuorumState, RaftState
from nodes.kraft.raft.steps import (
    Answer,
    AnswerFetch,
    Claimed,
    Effect,
    Flushed,
    Input,
    Replied,
    RequestReceived,
    Send,
    Tick,
)


class Replica:
    """A core and what it has done, for tests to drive by hand."""

    def __init__(
        self,
        node_id: int = 1,
        voters: tuple[int, ...] = (1, 2, 3),
        saved: QuorumState | None = None,
        log: LogIndex | None = None,
        prevote: bool = False,
    ) -> None:
        self.now = 0
        self.config = RaftConfig(node_id=node_id, voters=voters, seed=11, prevote=prevote)
        self.state: RaftState = initial(self.config, saved, log or LogIndex(), self.now)
        self.effects: list[Effect] = []
        self._tokens = 0

    def do(self, event: Input) -> list[Effect]:
        self.state, self.effects = step(self.state, event, self.now)
        return self.effects

    def wait(self, ms: int) -> list[Effect]:
        self.now += ms
        return self.do(Tick())

    def timeout(self) -> list[Effect]:
        """Let the role's timer run out."""
        role: Any = self.state.role
        return self.wait(max(0, role.deadline_ms - self.now))

    def ask(self, request: Any) -> Any:
        """The reply to `request`; None where it is parked."""
        self._tokens += 1
        self.do(RequestReceived(self._tokens, request))
        answers = [e for e in self.some(Answer, AnswerFetch) if e.token == self._tokens]
        return answers[0].reply if answers else None

    def some(self, *kinds: type[Any]) -> list[Any]:
        return [effect for effect in self.effects if isinstance(effect, kinds)]

    def one(self, kind: type[Any]) -> Any:
        (effect,) = self.some(kind)
        return effect

    def order(self, *kinds: type[Any]) -> list[type[Any]]:
        return [type(effect) for effect in self.effects if isinstance(effect, kinds)]

    def flush(self) -> list[Effect]:
        return self.do(Flushed(self.state.log.end_offset, self.state.truncations))


def log_of(*runs: tuple[int, int]) -> LogIndex:
    """A flushed log of `runs`, each (epoch, how many records)."""
    log = LogIndex()
    for epoch, count in runs:
        log = log.append(Batch(log.end_offset, epoch, (b"x",) * count))
    return log.flush(log.end_offset)


def vote(epoch: int, candidate: int = 2, last: tuple[int, int] = (0, 0)) -> Vote:
    return Vote(
        candidate_epoch=epoch, candidate_id=candidate, last_epoch=last[0], last_offset=last[1]
    )


def begin(epoch: int, leader: int = 2) -> BeginQuorumEpoch:
    return BeginQuorumEpoch(leader_id=leader, leader_epoch=epoch)


def fetch(epoch: int, offset: int, last_epoch: int, replica: int = 2, wait: int = 250) -> Fetch:
    return Fetch(
        replica_id=replica, epoch=epoch, offset=offset, last_epoch=last_epoch, max_wait_ms=wait
    )


def candidate(**arguments: Any) -> Replica:
    replica = Replica(**arguments)
    replica.timeout()
    assert isinstance(replica.state.role, Candidate)
    return replica


def elected(**arguments: Any) -> Replica:
    """A leader of three that nobody has fetched from; its LeaderChange is not flushed."""
    replica = candidate(**arguments)
    sent = next(send for send in replica.some(Send) if send.peer == 2)
    replica.do(Replied(2, sent.request, VoteReply(leader_epoch=replica.state.epoch, granted=True)))
    assert isinstance(replica.state.role, Leader)
    return replica


def leader(**arguments: Any) -> Replica:
    """A leader of three in epoch 1 whose LeaderChange is committed by itself and voter 2."""
    replica = elected(**arguments)
    replica.flush()
    epoch, end = replica.state.epoch, replica.state.log.end_offset
    replica.ask(fetch(epoch, end, epoch))
    assert replica.some(Claimed)
    for peer in (2, 3):
        replica.do(Replied(peer, begin(epoch, 1), QuorumReply(leader_id=1, leader_epoch=epoch)))
    return replica


def follower(epoch: int = 1, log: LogIndex | None = None, **arguments: Any) -> Replica:
    """Follows voter 2 in `epoch`; its fetch is on the way."""
    replica = Replica(log=log, **arguments)
    replica.ask(begin(epoch))
    assert isinstance(replica.state.role, Follower)
    return replica


def fetched(replica: Replica, **fields: Any) -> list[Effect]:
    """Answer the outstanding fetch of a follower of voter 2."""
    link = replica.state.links[2, Fetch]
    reply = FetchReply(leader_id=2, leader_epoch=replica.state.epoch, **fields)
    assert link.outstanding is not None
    return replica.do(Replied(2, link.outstanding, reply))
