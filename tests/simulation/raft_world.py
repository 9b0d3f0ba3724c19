"""A quorum and its observers on a simulated network, disks and clock: one seed, one history.

The network delays, loses, reorders and duplicates, and is cut in many ways; nodes pause, and
crash with the loss of what they did not sync; fetches carry as little as one batch. Every
effect goes past `Invariants`.
"""

import heapq
import itertools
import random
from collections.abc import Callable
from functools import partial

from nodes.kraft.raft import core
from nodes.kraft.raft.config import RaftConfig
from nodes.kraft.raft.messages import Batch, Fetch, FetchReply, Reply, Request, Vote, VoteReply
from nodes.kraft.raft.state import Leader, QuorumState, RaftState
from nodes.kraft.raft.steps import (
    Advanced,
    Answer,
    AnswerFetch,
    Append,
    Asked,
    Claimed,
    Confirm,
    Confirmed,
    Effect,
    Elected,
    Fatal,
    Flush,
    Flushed,
    Input,
    Propose,
    Replied,
    Resign,
    SaveQuorumState,
    Send,
    Tick,
    Truncate,
)
from tests.simulation.raft_invariants import Invariants, Violation
from tests.simulation.raft_parts import FOREVER, Call, Node, Profile


class World:
    """`run()` plays one seed to the end. Raises `Violation`."""

    def __init__(self, seed: int, profile: Profile | None = None) -> None:
        self.rng = random.Random(seed)
        self.profile = profile or Profile.draw(self.rng)
        self.now = 0
        self.steps = 0
        self.reads = 0
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._tokens = itertools.count(1)
        self._values = itertools.count(1)
        self._asked: dict[int, tuple[Call, int, int]] = {}  # token -> call, node, incarnation
        self._reads: dict[int, int] = {}  # token -> what was committed when it was asked
        self._outstanding: dict[tuple[int, int, int, str], Call] = {}
        self._blocked: set[tuple[int, int]] = set()
        self.faults = True
        voters = tuple(range(1, self.profile.voters + 1))
        observers = tuple(range(101, 101 + self.profile.observers))
        self.invariants = Invariants(voters)
        self.nodes = {
            node_id: Node(self._config(node_id, voters, seed), self.rng.randrange(10_000))
            for node_id in voters + observers
        }
        for node in self.nodes.values():
            self._start(node)
        self._later(self.rng.randrange(2000), self._fault)
        self._later(500, self._client)

    def _config(self, node_id: int, voters: tuple[int, ...], seed: int) -> RaftConfig:
        return RaftConfig(node_id=node_id, voters=voters, seed=seed)

    # --- time -----------------------------------------------------------------------------

    def _later(self, delay: int, action: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (self.now + delay, next(self._order), action))

    def run(self) -> None:
        """Faults for the profile's duration, then peace, in which the cluster must recover."""
        self.run_until(self.profile.duration)
        self.end_faults()
        self.run_until(self.now + 8000)
        self._check_recovery()

    def run_until(self, time: int) -> None:
        while self._queue and self._queue[0][0] <= time:
            self.now, _, action = heapq.heappop(self._queue)
            action()
        self.now = time

    # --- nodes ----------------------------------------------------------------------------

    def _start(self, node: Node) -> None:
        node.incarnation += 1
        node.tick_at = FOREVER
        clock = self.now + node.clock_skew
        node.state = core.initial(node.config, node.disk.quorum, node.disk.index(), clock)
        self.feed(node, Tick())

    def feed(self, node: Node, event: Input) -> None:
        """Step a node, carry its effects out, arm its timer."""
        if node.state is None:
            return
        self.steps += 1
        before = node.state
        node.state, effects = core.step(before, event, self.now + node.clock_skew)
        for effect in effects:
            self._carry_out(node, before, effect)
        deadline = max(self.now + 1, core.deadline_ms(node.state) - node.clock_skew)
        if deadline < node.tick_at:
            node.tick_at = deadline
            self._at_node(node, deadline - self.now, lambda: self._tick(node, deadline))

    def _at_node(self, node: Node, delay: int, action: Callable[[], object]) -> None:
        """Later, at a node: never if it crashes first, and not while it is paused."""
        incarnation = node.incarnation

        def act() -> None:
            if node.incarnation != incarnation or node.state is None:
                return
            if node.paused_until > self.now:
                self._at_node(node, node.paused_until - self.now, action)
            else:
                action()

        self._later(delay, act)

    def _tick(self, node: Node, deadline: int) -> None:
        if node.tick_at == deadline:
            node.tick_at = FOREVER
            self.feed(node, Tick())

    def _crash(self, node: Node) -> None:
        if node.state is not None:
            node.state = None
            node.disk.crash(self.rng)
            self._later(self.rng.randrange(20, 1500), lambda: self._start(node))

    # --- effects --------------------------------------------------------------------------

    def _carry_out(self, node: Node, before: RaftState, effect: Effect) -> None:
        me, disk, state = node.config.node_id, node.disk, node.state
        assert state is not None
        match effect:
            case SaveQuorumState(epoch, leader_id, voted_id):
                disk.quorum = self.save(epoch, leader_id, voted_id)
                self.invariants.saved(me, epoch)
            case Append(batch):
                disk.append(batch)
                self.invariants.appended(me, batch, disk.prefixes)
            case Truncate(end_offset):
                disk.truncate(end_offset)
            case Flush(end_offset, truncations):
                self._flush(node, end_offset, truncations)
            case Send(peer, request):
                self._send(node, peer, request)
            case Answer(token, reply):
                self._answer(node, token, reply)
            case AnswerFetch(token, request, reply, limit):
                batches = disk.read(request.offset, limit, self.profile.batches_a_fetch)
                self._answer(node, token, _with_batches(reply, batches))
            case Advanced(high_watermark):
                self._advanced(node, before, high_watermark)
            case Elected(epoch):
                self.invariants.elected(me, epoch, disk.prefixes)
            case Claimed(_, end_offset):
                if not end_offset == state.high_watermark == state.log.end_offset:
                    raise Violation("claim", f"{me} claims at {end_offset} of {state.log}")
            case Confirmed(token, epoch, high_watermark):
                asked_at = self._reads.pop(token)
                if epoch is not None:
                    self.reads += 1
                    self.invariants.confirmed(me, asked_at, high_watermark)
            case Fatal(reason):
                raise Violation("fatal", f"{me}: {reason}")

    def save(self, epoch: int, leader_id: int, voted_id: int) -> QuorumState:
        """What a restart will find of it."""
        return QuorumState(epoch, leader_id, voted_id)

    def _advanced(self, node: Node, before: RaftState, high_watermark: int) -> None:
        assert node.state is not None
        if high_watermark <= before.high_watermark:
            raise Violation("high-watermark", f"{node.config.node_id} went back")
        leads = isinstance(node.state.role, Leader)
        self.invariants.advanced(
            node.config.node_id,
            node.state.epoch,
            high_watermark,
            node.disk.prefixes,
            self._durable_on if leads else None,
        )

    def _durable_on(self, end_offset: int, digest: int) -> int:
        return sum(
            node.config.is_voter
            and node.disk.durable >= end_offset
            and node.disk.prefixes.digest(end_offset) == digest
            for node in self.nodes.values()
        )

    def _flush(self, node: Node, end_offset: int, truncations: int) -> None:
        def flushed() -> None:
            assert node.state is not None
            if node.state.truncations == truncations:
                node.disk.durable = max(node.disk.durable, end_offset)
            self.feed(node, Flushed(end_offset, truncations))

        self._at_node(node, self.rng.randint(0, self.profile.sync_delay), flushed)

    # --- the network ----------------------------------------------------------------------

    def _send(self, node: Node, peer: int, request: Request) -> None:
        me = node.config.node_id
        if isinstance(request, Vote):
            self.invariants.voted(me, request.candidate_epoch, me)
        call = Call(me, node.incarnation, peer, request)
        key = (me, node.incarnation, peer, type(request).__name__)
        if key in self._outstanding and not self._outstanding[key].done:
            raise Violation("one-outstanding", f"{me} asks {peer} again: {request}")
        self._outstanding[key] = call
        patience = node.config.request_timeout_ms
        if isinstance(request, Fetch):
            patience += request.max_wait_ms
        self._at_node(node, patience, lambda: self._settle(call, None))
        for _ in range(1 + (self.rng.random() < self.profile.duplicates)):
            self._carry(me, peer, lambda: self._ask(call))

    def _carry(self, sender: int, receiver: int, action: Callable[[], None]) -> None:
        if (sender, receiver) not in self._blocked and self.rng.random() >= self._loss():
            delay = 1 + int(self.rng.random() ** 3 * self.profile.delay)
            self._at_node(self.nodes[receiver], delay, action)

    def _loss(self) -> float:
        return self.profile.loss if self.faults else 0.0

    def _ask(self, call: Call) -> None:
        node = self.nodes[call.callee]
        token = next(self._tokens)
        self._asked[token] = (call, call.callee, node.incarnation)
        patience = node.config.fetch_max_wait_ms + 10
        check = partial(self._check_answered, token)
        # Twice: after a pause, the first may come before the timer that answers.
        self._at_node(node, patience, lambda: self._at_node(node, 1, check))
        self.feed(node, Asked(token, call.request))

    def _answer(self, node: Node, token: int, reply: Reply) -> None:
        call, callee, incarnation = self._asked.pop(token)
        assert (callee, incarnation) == (node.config.node_id, node.incarnation)
        if isinstance(call.request, Vote) and isinstance(reply, VoteReply) and reply.granted:
            self.invariants.voted(callee, call.request.candidate_epoch, call.request.candidate_id)
        self._carry(callee, call.caller, lambda: self._settle(call, reply))

    def _check_answered(self, token: int) -> None:
        if token in self._asked:
            raise Violation("answers", f"no answer to {self._asked[token][0].request}")

    def _settle(self, call: Call, reply: Reply | None) -> None:
        node = self.nodes[call.caller]
        if not call.done and call.incarnation == node.incarnation:
            call.done = True
            self.feed(node, Replied(call.callee, call.request, reply))

    # --- clients --------------------------------------------------------------------------

    def _client(self) -> None:
        node = self.rng.choice(list(self.nodes.values()))
        if self.rng.random() < 0.5:
            count = self.rng.randint(1, 3)
            self._at_node(node, 0, lambda: self.propose(node, count))
        else:
            token = next(self._tokens)
            self._reads[token] = self.invariants.committed
            self._at_node(node, 0, lambda: self.feed(node, Confirm(token)))
        self._later(self.rng.randint(1, 2 * self.profile.proposal_every), self._client)

    def propose(self, node: Node, count: int) -> bool:
        state = node.state
        if state is None or not isinstance(state.role, Leader) or not state.role.claimed:
            return False
        values = tuple(b"%d" % next(self._values) for _ in range(count))
        self.feed(node, Propose(state.epoch, values))
        return True

    # --- faults ---------------------------------------------------------------------------

    def _fault(self) -> None:
        if not self.faults:
            return
        leaders = [n for n in self.nodes.values() if n.state and isinstance(n.state.role, Leader)]
        everyone = list(self.nodes.values())
        victim = self.rng.choice(leaders if leaders and self.rng.random() < 0.6 else everyone)
        kind = self.rng.choice(("crash", "crash", "isolate", "halves", "one-way", "heal", "pause"))
        if kind == "crash":
            self._crash(victim)
        elif kind == "pause":
            until = self.now + self.rng.randrange(50, 2500)
            victim.paused_until = max(victim.paused_until, until)
        elif victim.state is not None and self.rng.random() < 0.05:
            self.feed(victim, Resign())
        else:
            self._blocked = self._grudge(kind, victim.config.node_id)
        self._later(self.rng.randint(1, 2 * self.profile.fault_every), self._fault)

    def _grudge(self, kind: str, victim: int) -> set[tuple[int, int]]:
        ids = list(self.nodes)
        self.rng.shuffle(ids)
        if kind == "isolate":
            pairs = {(victim, other) for other in ids if other != victim}
        elif kind == "halves":
            pairs = {(a, b) for a in ids[: len(ids) // 2] for b in ids[len(ids) // 2 :]}
        elif kind == "one-way":
            out = self.rng.random() < 0.5
            return {(victim, other) if out else (other, victim) for other in ids}
        else:
            return set()
        return pairs | {(b, a) for a, b in pairs}

    # --- the end --------------------------------------------------------------------------

    def end_faults(self) -> None:
        self.faults = False
        self._blocked = set()

    def _check_recovery(self) -> None:
        """After peace: one leader takes a record, and everyone hears that it is committed."""
        claimed = [node for node in self.nodes.values() if self.propose(node, 1)]
        newest = max((n.state.epoch for n in self.nodes.values() if n.state), default=0)
        if not any(node.state and node.state.epoch == newest for node in claimed):
            raise Violation("recovery", "no leader of the newest epoch has claimed it")
        committed = max(node.disk.end for node in claimed)
        self.run_until(self.now + 2000)
        for node_id, node in self.nodes.items():
            if node.state is None or node.state.high_watermark < committed:
                raise Violation("recovery", f"{node_id} has not heard of {committed}")


def _with_batches(reply: FetchReply, batches: tuple[Batch, ...]) -> FetchReply:
    return FetchReply(
        error=reply.error,
        leader_id=reply.leader_id,
        leader_epoch=reply.leader_epoch,
        high_watermark=reply.high_watermark,
        log_start=reply.log_start,
        diverging=reply.diverging,
        batches=batches,
    )
