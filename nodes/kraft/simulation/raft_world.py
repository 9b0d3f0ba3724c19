"""A quorum and its observers on a simulated network, disks and clock: one seed, one history.

The network delays, loses, reorders and duplicates, and is cut in many ways; nodes pause, and
crash with the loss of what they did not sync; fetches carry as little as one batch. Every node
snapshots at random; observers join late or lose their disks. Every effect goes past
`Invariants`.
"""

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from nodes.kraft.ids import LeaderEpoch, Offset, ReplicaId
from nodes.kraft.raft import core
from nodes.kraft.raft.config import RaftConfig
from nodes.kraft.raft.messages import (
    EndQuorumEpoch,
    Fetch,
    FetchReply,
    FetchSnapshot,
    FetchSnapshotReply,
    Reply,
    Request,
    SnapshotId,
    Vote,
    VoteReply,
)
from nodes.kraft.raft.snapshots import answer_range
from nodes.kraft.raft.state import Follower, Leader, QuorumState, RaftState
from nodes.kraft.raft.steps import (
    Advanced,
    Answer,
    AnswerFetch,
    AnswerSnapshot,
    Append,
    Claimed,
    Confirm,
    Confirmed,
    Effect,
    Elected,
    Fatal,
    Flush,
    Flushed,
    Input,
    InstallSnapshot,
    Propose,
    Replied,
    RequestReceived,
    Resign,
    SaveQuorumState,
    Send,
    SnapshotWritten,
    StoreChunk,
    Tick,
    TrimLog,
    Truncate,
)
from nodes.kraft.simulation.raft_invariants import Invariants, Violation
from nodes.kraft.simulation.raft_parts import FOREVER, Call, Disk, Node, Profile, Snapshot


class World:
    """`run()` plays one seed to the end. Raises `Violation`."""

    def __init__(self, seed: int, profile: Profile | None = None) -> None:
        self.rng = random.Random(seed)
        self.profile = profile or Profile.draw(self.rng)
        self.now = 0
        self.steps = 0
        self.reads = 0
        self.snapshots = 0
        self.downloads = 0
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._tokens = itertools.count(1)
        self._values = itertools.count(1)
        self._asked: dict[int, tuple[Call, ReplicaId, int]] = {}  # token -> call, node, incarnation
        self._reads: dict[int, int] = {}  # token -> what was committed when it was asked
        self._outstanding: dict[tuple[int, int, int, str], Call] = {}
        self._made: dict[bytes, tuple[SnapshotId, Snapshot]] = {}
        self._blocked: set[tuple[int, int]] = set()
        self.faults = True
        voters = tuple(map(ReplicaId, range(1, self.profile.voters + 1)))
        observers = tuple(map(ReplicaId, range(101, 101 + self.profile.observers)))
        self.invariants = Invariants(voters)
        self.nodes = {
            node_id: Node(self._config(node_id, voters, seed), self.rng.randrange(10_000))
            for node_id in voters + observers
        }
        for node in self.nodes.values():
            late = node.config.node_id == 102 and self.rng.random() < 0.7
            self._later(self.rng.randrange(6000) if late else 0, partial(self._start, node))
        self._later(self.rng.randrange(2000), self._fault)
        if self.profile.snapshot_every:
            self._later(500, self._snapshot)
        self._later(500, self._client)

    def _config(self, node_id: ReplicaId, voters: tuple[ReplicaId, ...], seed: int) -> RaftConfig:
        return RaftConfig(
            node_id=node_id,
            voters=voters,
            seed=seed,
            prevote=self.profile.prevote,
            snapshot_chunk_bytes=self.profile.chunk_bytes,
        )

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
        if node.state is not None:
            return
        node.incarnation += 1
        node.tick_at = FOREVER
        node.writing = False
        node.fetched_in = node.ended_in = node.asked_in = -1
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
        self._listen(node, before, event)
        for effect in effects:
            if node.state is not None:
                self._carry_out(node, before, effect)
        if node.state is None:
            return
        if (node.state.log.start_offset, node.state.log.end_offset) != (
            node.disk.start,
            node.disk.end,
        ):
            raise Violation("log-index", f"{node.state.log} of a log {node.disk.start}")
        if node.state.high_watermark < node.disk.start:
            raise Violation("high-watermark", f"{node.config.node_id}: below its log's start")
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

    def _wipe(self, node: Node) -> None:
        """An observer gets a new disk. A voter must not: it would forget its votes."""
        self._crash(node)
        node.disk = Disk()
        self.invariants.wiped(node.config.node_id)

    def _listen(self, node: Node, before: RaftState, event: Input) -> None:
        """What the rules of PreVote have to know of what a node was told."""
        assert node.state is not None
        match event:
            case RequestReceived(_, Vote(pre=True, candidate_epoch=epoch)) if epoch <= before.epoch:
                if _bound(before) != _bound(node.state):
                    raise Violation("pre-vote", f"{node.config.node_id} was moved by a PreVote")
            case RequestReceived(_, EndQuorumEpoch(leader_epoch=epoch)) if (
                epoch == node.state.epoch
            ):
                node.ended_in = epoch
            case Replied(
                peer, Fetch() | FetchSnapshot(), FetchReply() | FetchSnapshotReply() as reply
            ):
                followed = isinstance(before.role, Follower) and before.leader_id == peer
                if followed and not reply.error and reply.leader_epoch == before.epoch:
                    node.fetched_in = before.epoch
            case Replied(peer, Vote(pre=True), VoteReply(granted=True, leader_epoch=epoch)):
                if epoch == node.asked_in:
                    node.backers.add(peer)

    # --- effects --------------------------------------------------------------------------

    def _carry_out(self, node: Node, before: RaftState, effect: Effect) -> None:
        me, disk, state = node.config.node_id, node.disk, node.state
        assert state is not None
        match effect:
            case SaveQuorumState(epoch, leader_id, voted_id):
                self._check_candidacy(node, before, effect)
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
                self._answer(node, token, replace(reply, batches=batches))
            case AnswerSnapshot(token, range_of, answer):
                snapshot = disk.snapshots.get(range_of.snapshot_id)
                data = snapshot.data if snapshot else b""
                whole = answer_range(
                    range_of, answer, len(data) or None, lambda at, most: data[at : at + most]
                )
                self._answer(node, token, whole)
            case StoreChunk(snapshot_id, position, data):
                disk.receive(snapshot_id, position, data)
            case InstallSnapshot(snapshot_id):
                self._install(node, before, snapshot_id)
            case TrimLog(snapshot_id):
                disk.trim(snapshot_id.end_offset, drop=self.rng.random() < 0.7)
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

    def save(self, epoch: LeaderEpoch, leader_id: ReplicaId, voted_id: ReplicaId) -> QuorumState:
        """What a restart will find of it."""
        return QuorumState(epoch, leader_id, voted_id)

    def _advanced(self, node: Node, before: RaftState, high_watermark: Offset) -> None:
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
            and max(node.disk.durable, node.disk.newest.end_offset) >= end_offset
            and node.disk.prefixes.digest(end_offset) == digest
            for node in self.nodes.values()
        )

    def _flush(self, node: Node, end_offset: Offset, truncations: int) -> None:
        def flushed() -> None:
            assert node.state is not None
            if node.state.truncations == truncations:
                node.disk.durable = max(node.disk.durable, end_offset)
            self.feed(node, Flushed(end_offset, truncations))

        self._at_node(node, self.rng.randint(0, self.profile.sync_delay), flushed)

    # --- snapshots ------------------------------------------------------------------------

    def _snapshot(self) -> None:
        """Some node snapshots what it has applied; the file is whole a while later."""
        if self.faults:
            self._later(self.rng.randint(1, 2 * self.profile.snapshot_every), self._snapshot)
        node = self.rng.choice(list(self.nodes.values()))
        if node.state is None or node.writing or node.paused_until > self.now:
            return
        id = self.snapshot_id(node, node.state)
        if id is None:
            return
        self.write(
            node, id, Snapshot.of(id, node.disk.prefixes.upto(id.end_offset), node.config.node_id)
        )

    def write(self, node: Node, id: SnapshotId, snapshot: Snapshot) -> None:
        """Begin to write; the core hears of it when it is durable."""
        self._made[snapshot.data] = id, snapshot
        node.writing = True

        def written() -> None:
            node.disk.keep(id, snapshot)
            self.invariants.snapshot(node.config.node_id, id, snapshot.prefixes)
            self.snapshots += 1
            self._at_node(node, self.rng.randint(0, 5), noted)

        def noted() -> None:
            node.writing = False
            self.feed(node, SnapshotWritten(id))

        self._at_node(node, self.rng.randint(0, 3 * self.profile.sync_delay), written)

    def snapshot_id(self, node: Node, state: RaftState) -> SnapshotId | None:
        """Of what a node would make a snapshot now: up to its high watermark or a batch before."""
        ends = [
            batch.end_offset
            for batch in node.disk.batches
            if state.log.start_offset < batch.end_offset <= state.high_watermark
        ]
        if not ends:
            return None
        end = self.rng.choice(ends[-2:])
        return SnapshotId(end, node.disk.prefixes.epochs[end - 1])

    def _install(self, node: Node, before: RaftState, id: SnapshotId) -> None:
        me, disk = node.config.node_id, node.disk
        if isinstance(before.role, Leader):
            raise Violation("leader-loads", f"leader {me} loads {id}")
        assert disk.receiving is not None
        received, data = disk.receiving
        if received != id or data not in self._made or self._made[data][0] != id:
            raise Violation("snapshot-bytes", f"{me} put {id} together wrongly: {data!r}")
        disk.receiving = None
        disk.keep(id, self._made[data][1])
        self.downloads += 1
        if self.rng.random() < 0.1:
            self._crash(node)  # before the log is dropped
        else:
            disk.restart(id)

    # --- the network ----------------------------------------------------------------------

    def _send(self, node: Node, peer: ReplicaId, request: Request) -> None:
        me = node.config.node_id
        if isinstance(request, Vote) and request.pre:
            saved = node.disk.quorum.epoch if node.disk.quorum else 0
            assert node.state is not None
            self.invariants.asked_before(me, request.candidate_epoch, max(saved, node.state.epoch))
            if node.asked_in != request.candidate_epoch or node.fetched_in >= 0:
                node.asked_in, node.backers, node.fetched_in = request.candidate_epoch, {me}, -1
        elif isinstance(request, Vote):
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

    def _carry(self, sender: ReplicaId, receiver: ReplicaId, action: Callable[[], None]) -> None:
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
        self.feed(node, RequestReceived(token, call.request))

    def _answer(self, node: Node, token: int, reply: Reply) -> None:
        call, callee, incarnation = self._asked.pop(token)
        assert (callee, incarnation) == (node.config.node_id, node.incarnation)
        match call.request, reply:
            case Vote(pre=True), VoteReply(granted=True):
                self._check_prevote(node)
            case Vote(candidate_epoch=epoch, candidate_id=candidate), VoteReply(granted=True):
                self.invariants.voted(callee, epoch, candidate)
        self._carry(callee, call.caller, lambda: self._settle(call, reply))

    def _check_prevote(self, node: Node) -> None:
        """Who has a leader backs nobody else."""
        state = node.state
        assert state is not None
        follows = isinstance(state.role, Follower) and node.fetched_in == state.epoch
        if isinstance(state.role, Leader) or (follows and node.ended_in != state.epoch):
            raise Violation("pre-vote", f"{node.config.node_id} has a leader in {state.epoch}")

    def _check_candidacy(self, node: Node, before: RaftState, saved: SaveQuorumState) -> None:
        """A candidacy has the backing of a majority, or of the leader that resigned."""
        me = node.config.node_id
        candidacy = saved.voted_id == me and saved.epoch > before.epoch
        if not candidacy or not self.profile.prevote or node.ended_in == before.epoch:
            return
        backers = node.backers if node.asked_in == saved.epoch - 1 else {me}
        if len(backers) < self.invariants.majority:
            raise Violation("pre-vote", f"{me} campaigns in {saved.epoch}, backed by {backers}")

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
        if not victim.config.is_voter and self.rng.random() < 0.3:
            self._wipe(victim)
        elif kind == "crash":
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


def _bound(state: RaftState) -> tuple[object, ...]:
    return state.epoch, state.leader_id, state.voted_id, type(state.role)
