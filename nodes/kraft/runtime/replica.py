"""The node's replica of the metadata log: carries out what the Raft core decides.

Effects are carried out in the order in which the core gives them; inputs that arise meanwhile
wait until that is done.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Final

from kio.static.protocol import ResponsePayload

from nodes.kraft.config import Config
from nodes.kraft.ids import LeaderEpoch, Offset, ReplicaId
from nodes.kraft.metadata.change import Change
from nodes.kraft.metadata.digest import digest
from nodes.kraft.metadata.image import Image
from nodes.kraft.metadata.snapshot import image_of, records_of
from nodes.kraft.raft import core, messages, steps
from nodes.kraft.raft.config import RaftConfig
from nodes.kraft.raft.messages import SnapshotId
from nodes.kraft.raft.snapshots import answer_range
from nodes.kraft.raft.state import Leader, QuorumState
from nodes.kraft.runtime.clock import now_ms
from nodes.kraft.runtime.peers import Peers
from nodes.kraft.runtime.replica_events import boot_fields, emit_answer, emit_role
from nodes.kraft.runtime.state_machine import Applied, Point, StateMachine
from nodes.kraft.storage.errors import StorageError
from nodes.kraft.storage.events import EmitMany
from nodes.kraft.storage.log import MetadataLog
from nodes.kraft.storage.quorum_state import QuorumStateFile
from nodes.kraft.storage.snapshots import SnapshotNotFound, SnapshotStore
from nodes.kraft.wire import quorum
from nodes.kraft.wire.batches import decode_batches
from nodes.kraft.wire.describe_quorum import describe_quorum
from nodes.kraft.wire.quorum import QuorumRequest, QuorumResponse

if TYPE_CHECKING:
    from nodes.kraft.wire.requests import DescribeQuorumRequest

log: Final = logging.getLogger(__name__)

HAND_OVER_S: Final = 0.4
"""How long a leader that stops waits for the voters to hear of it: less than an election."""
SNAPSHOTS_KEPT: Final = 2
"""Of two, the older one is there for replicas that are fetching it."""
SLICE_S: Final = 0.02
"""How long the loop is held at a time while much that is committed is applied."""
MAX_FETCH_BYTES: Final = 8 * 2**20
_REQUESTS: Final = (
    messages.Vote,
    messages.BeginQuorumEpoch,
    messages.EndQuorumEpoch,
    messages.Fetch,
    messages.FetchSnapshot,
)


class Watcher:
    """What the rest of the node wants to hear from the replica. Methods do nothing here."""

    def committed(self, end_offset: Offset, image: Image) -> None:
        """Everything below `end_offset` is committed and applied."""

    def claimed(self, epoch: LeaderEpoch, end_offset: Offset, image: Image) -> None:
        """This node is the active controller from now on."""

    def renounced(self) -> None:
        """It is no longer."""

    def confirmed(self, token: int, confirmed: bool) -> None:
        """A read barrier passed, or failed."""


class Replica:
    """Owns the log, its snapshots, the quorum state, the channels to the voters and the image."""

    def __init__(
        self,
        config: Config,
        *,
        emit: Callable[..., None],
        emit_many: EmitMany | None = None,
        watcher: Watcher,
        stop: Callable[[str], None],
        changed: Callable[[], None],
    ) -> None:
        self.config = config
        self._emit = emit
        self._watcher = watcher
        self._stop = stop
        self._changed = changed
        self._inbox: deque[steps.Input] = deque()
        self._pumping = False
        self._failed = False
        self._proposed: deque[tuple[Offset, Change | None]] = deque()
        self._change: Change | None = None  # of the proposal that is being appended
        self._applying: asyncio.Handle | None = None
        self._tokens = itertools.count(1)
        self._waiting: dict[
            int, tuple[QuorumRequest, messages.Request, Callable[[QuorumResponse], None]]
        ] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._peers = Peers(config)
        self._claim: tuple[LeaderEpoch, Offset] | None = None  # waits for a snapshot that loads
        self._writing = False
        directory = config.log_dir / "__kafka_metadata-0"
        self._snapshots = SnapshotStore(directory, emit)
        newest = self._snapshots.latest()
        self._machine = StateMachine(emit, serves=config.broker_id is not None, emit_many=emit_many)
        if newest is not None:
            self._machine.install(newest, self._load_local(newest))
        self._log = MetadataLog(
            directory, emit=emit, snapshot=newest, segment_bytes=config.segment_bytes
        )
        self._quorum_file = QuorumStateFile(directory / "quorum-state", config.cluster_id)
        self._replay()
        timing = config.timing
        self.raft_config = RaftConfig(
            node_id=config.replica_id,
            voters=tuple(sorted(ReplicaId(voter.id) for voter in config.voters)),
            seed=config.seed,
            fetch_timeout_ms=timing.fetch_timeout_ms,
            election_timeout_ms=timing.election_timeout_ms,
            request_timeout_ms=timing.request_timeout_ms,
            fetch_max_wait_ms=timing.fetch_max_wait_ms,
            prevote=config.prevote,
        )
        self.recovered: QuorumState | None = self._quorum_file.load()
        self.state = core.initial(self.raft_config, self.recovered, self._log.index, now_ms())

    def _load_local(self, newest: SnapshotId) -> Image:
        try:
            return image_of(self._snapshots.records(newest))
        except Exception as error:  # whatever a decoder makes of it
            raise StorageError(f"snapshot {newest}: {error}") from error

    def _replay(self) -> None:
        """Read the log behind the snapshot: it is applied as soon as the quorum has said how
        much of it is committed."""
        data = self._log.read(self._log.start_offset, self._log.end_offset, max_bytes=2**62)
        try:
            batches = decode_batches(data)
        except ValueError as error:
            raise StorageError(f"the metadata log: {error}") from error
        for batch in batches:
            self._machine.append(batch)
        self._machine.check()

    # --- what there is --------------------------------------------------------------------

    @property
    def image(self) -> Image:
        """What the committed records below `applied` make."""
        return self._machine.image

    @property
    def applied(self) -> Offset:
        return self._machine.applied

    @property
    def last_snapshot(self) -> SnapshotId | None:
        """The newest snapshot that this node has."""
        snapshot = self.state.log.snapshot
        return snapshot if snapshot.end_offset else None

    @property
    def records_since_snapshot(self) -> int:
        """How many records were applied in this process since the newest snapshot."""
        return self._machine.records_since_snapshot

    @property
    def bytes_since_snapshot(self) -> int:
        """Their values' bytes."""
        return self._machine.bytes_since_snapshot

    # --- inputs ---------------------------------------------------------------------------

    def feed(self, event: steps.Input) -> None:
        """Give the core an input; its effects are carried out before this returns, unless it
        is called from one of them. Where one cannot be carried out the replica is done for: the
        core takes it for done, and would answer a repeated Vote that is on no disk."""
        if self._failed:
            return
        self._inbox.append(event)
        if self._pumping:
            return
        self._pumping = True
        try:
            while self._inbox and not self._failed:
                self._step(self._inbox.popleft())
        except StorageError as error:  # says all that there is to say
            self.fail(str(error))
        except Exception as error:
            self.fail(f"{type(error).__name__}: {error}")
            raise
        finally:
            self._pumping = False
        self._changed()

    def report(self, note: Callable[[int, Applied, Image], None]) -> None:
        """Call `note` with each record that is applied from now on: its offset, the record, and
        the image before it."""
        self._machine.note = note

    def fail(self, why: str) -> None:
        """End the process; until it has ended, take no more inputs."""
        self._failed = True
        self._stop(f"fatal: {why}")

    def propose(
        self,
        epoch: LeaderEpoch,
        base_offset: Offset,
        records: tuple[bytes, ...],
        change: Change | None = None,
    ) -> None:
        """Records of the state machine. It numbers them before Raft appends them, so both must
        agree on where the log ends; where they do not, going on would corrupt the metadata.
        `change`: what they make, as far as is known."""
        self._proposed.append((base_offset, change))
        self.feed(steps.Propose(epoch, records))

    def ask(self, entity: QuorumRequest, answer: Callable[[QuorumResponse], None]) -> None:
        """A replica's request from the control listener."""
        request = quorum.request_from_wire(
            entity, self.config.cluster_id, node_id=self.config.replica_id
        )
        if not isinstance(request, _REQUESTS):
            answer(request)  # a refusal, ready to send
            return
        token = next(self._tokens)
        self._waiting[token] = (entity, request, answer)
        self.feed(steps.RequestReceived(token, request))

    @property
    def leads(self) -> bool:
        return isinstance(self.state.role, Leader)

    @property
    def leader_id(self) -> ReplicaId:
        return self.state.leader_id

    def deadline_ms(self) -> int:
        return core.deadline_ms(self.state)

    def next_token(self) -> int:
        return next(self._tokens)

    # --- effects --------------------------------------------------------------------------

    def _step(self, event: steps.Input) -> None:
        before = self.state
        if isinstance(event, steps.Propose):
            base_offset, self._change = self._proposed.popleft()
            leads = self.leads and before.epoch == event.epoch
            if leads and base_offset != before.log.end_offset:
                raise RuntimeError(
                    f"records for {base_offset}, log ends at {before.log.end_offset}"
                )
        self.state, effects = core.step(before, event, now_ms())
        emit_role(self._emit, before, self.state)
        for effect in effects:
            self._carry_out(effect)
            if self._failed:
                return
        self._change = None

    def _carry_out(self, effect: steps.Effect) -> None:
        match effect:
            case steps.SaveQuorumState(epoch, leader_id, voted_id):
                self._quorum_file.save(QuorumState(epoch, leader_id, voted_id))
                self._emit("epoch", epoch=epoch, leader_id=leader_id, voted_id=voted_id)
            case steps.Append(batch):
                change, self._change = self._change, None
                self._machine.append(self._log.append(batch, leader=self.leads), change)
            case steps.Truncate(end_offset):
                self._log.truncate(end_offset)
                self._machine.truncate(end_offset)
            case steps.Flush():
                self._spawn(self._flush(effect))
            case steps.Send(peer, request):
                self._spawn(self._send(peer, request))
            case steps.Answer(token, reply):
                self._answer(token, reply, b"")
            case steps.AnswerFetch(token, request, reply, limit):
                data = self._log.read(
                    request.offset, limit, MAX_FETCH_BYTES, self.config.max_fetch_records
                )
                self._answer(token, reply, data)
            case steps.AnswerSnapshot(token, range_of, reply):
                self._answer(token, self._range(range_of, reply), b"")
            case steps.StoreChunk(snapshot_id, position, chunk):
                self._snapshots.receive(snapshot_id, position, chunk)
            case steps.InstallSnapshot(snapshot_id):
                self._install(snapshot_id)
            case steps.TrimLog(snapshot_id):
                self._log.trim(snapshot_id)
            case steps.Advanced(high_watermark):
                self._emit(
                    "hw",
                    offset=high_watermark,
                    role=self.state.role_name,
                    epoch=self.state.epoch,
                )
                self._advance(high_watermark)
            case steps.Elected(epoch, start_offset, voters):
                self._emit("elected", epoch=epoch, start_offset=start_offset, votes=list(voters))
            case steps.Claimed(epoch, end_offset):
                self._claim = epoch, end_offset
                self._claim_if_ready()
            case steps.Renounced(epoch):
                self._emit("renounce", epoch=epoch)
                self._renounce()
            case steps.GaveUp(epoch, why):
                self._emit("resign", epoch=epoch, why=why)
            case steps.Confirmed(token, epoch, _):
                self._watcher.confirmed(token, epoch is not None)
            case steps.Fatal(reason):
                self.fail(reason)

    def _answer(self, token: int, reply: messages.Reply, data: bytes) -> None:
        entity, request, answer = self._waiting.pop(token)
        emit_answer(self._emit, self.state, request, reply)
        response = quorum.reply_to_wire(entity, reply, data)
        if not data:  # whoever is up to date, or astray, hears where everybody is
            voters = ((each.id, each.host, each.port) for each in self.config.voters)
            response = quorum.with_endpoints(response, voters)
        answer(response)

    async def _send(self, peer: ReplicaId, request: messages.Request) -> None:
        self.feed(steps.Replied(peer, request, await self._peers.ask(peer, request)))

    async def _flush(self, effect: steps.Flush) -> None:
        """fsync off the loop; the core asks for one at a time."""
        await asyncio.get_running_loop().run_in_executor(None, self._log.flush)
        self.feed(steps.Flushed(effect.end_offset, effect.truncations))

    # --- the state machine ----------------------------------------------------------------

    def _advance(self, high_watermark: Offset) -> None:
        """Apply what is committed. Of much, a part: heartbeats, votes and fetches come between."""
        if not self._machine.advance(high_watermark, time.monotonic() + SLICE_S):
            return
        self._watcher.committed(self.applied, self.image)
        if self.applied < high_watermark and self._applying is None:
            self._applying = asyncio.get_running_loop().call_soon(self._apply_more)

    def _apply_more(self) -> None:
        self._applying = None
        if self._failed:
            return
        try:
            self._advance(self.state.high_watermark)
            self._claim_if_ready()
        except StorageError as error:
            self.fail(str(error))
        except Exception as error:  # as in `feed`
            self.fail(f"{type(error).__name__}: {error}")
            raise
        self._changed()

    def _claim_if_ready(self) -> None:
        """The controller begins with all that is committed, so not before it is applied, be it
        that a snapshot which came shortly before the election has to load."""
        if self._claim is None or self._machine.loading is not None:
            return
        if self.applied >= self._claim[1]:
            (epoch, end_offset), self._claim = self._claim, None
            self._emit("claim", epoch=epoch, end_offset=end_offset)
            self._watcher.claimed(epoch, end_offset, self.image)

    def _renounce(self) -> None:
        self._claim = None
        self._watcher.renounced()

    def emit_digest(self) -> None:
        """Write the image's digest down, where it is not the one written last."""
        self._machine.emit_digest()

    # --- snapshots ------------------------------------------------------------------------

    async def write_snapshot(self) -> SnapshotId | None:
        """Snapshot the applied state, off the loop; the log then begins behind it. None where
        there is nothing new, or one is being written or loaded."""
        at = self._machine.at_batch_end
        nothing_new = at.id.end_offset <= self.state.log.start_offset
        if nothing_new or self._writing or self._failed or self._machine.loading is not None:
            return None
        self._writing = True
        try:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, self._write, at, self.state.high_watermark)
        except Exception as error:
            self.fail(f"snapshot {at.id}: {error}")
            raise
        finally:
            self._writing = False
        self.feed(steps.SnapshotWritten(at.id))
        self._snapshots.retain(SNAPSHOTS_KEPT)
        if self._machine.at_snapshot.id.end_offset < at.id.end_offset:
            self._machine.at_snapshot = at
        return at.id

    def _write(self, at: Point, high_watermark: Offset) -> None:
        self._snapshots.write(
            at.id,
            records_of(at.image),
            timestamp_ms=at.timestamp_ms,
            high_watermark=high_watermark,
            digest=digest(at.image),
        )

    def _range(
        self, request: messages.FetchSnapshot, reply: messages.FetchSnapshotReply
    ) -> messages.FetchSnapshotReply:
        try:
            size = self._snapshots.size(request.snapshot_id)
        except SnapshotNotFound:
            size = None

        def read(position: int, max_bytes: int) -> bytes:
            wanted = min(max_bytes, MAX_FETCH_BYTES)
            return self._snapshots.read(request.snapshot_id, position, wanted)

        return answer_range(request, reply, size, read)

    def _install(self, snapshot_id: SnapshotId) -> None:
        """A fetched snapshot takes the log's place at once; its image follows, off the loop."""
        try:
            self._snapshots.finish(snapshot_id)
        except ValueError as error:
            raise StorageError(f"{snapshot_id} as the leader sent it: {error}") from error
        self._log.restart(snapshot_id)
        self._machine.begin_loading(snapshot_id)
        self._spawn(self._load(snapshot_id))

    async def _load(self, snapshot_id: SnapshotId) -> None:
        """The image of a fetched snapshot, unless a newer one has come meanwhile."""

        def decode() -> tuple[Image, str]:
            image = image_of(self._snapshots.records(snapshot_id))
            return image, digest(image)

        try:
            image, text = await asyncio.get_running_loop().run_in_executor(None, decode)
        except SnapshotNotFound:
            if self._machine.loading != snapshot_id:
                return
            raise
        if self._machine.loading != snapshot_id or self._failed:
            return
        self._machine.install(snapshot_id, image)
        self._snapshots.retain(SNAPSHOTS_KEPT)
        self._loaded(snapshot_id, text, "fetched")
        self._apply_more()

    def announce(self) -> None:
        """Tell what was loaded at the start; the boot event comes first."""
        if self.last_snapshot is not None:
            self._loaded(self.last_snapshot, digest(self.image), "local")

    def _loaded(self, snapshot_id: SnapshotId, text: str, source: str) -> None:
        self._emit(
            "snap_load",
            end_offset=snapshot_id.end_offset,
            epoch=snapshot_id.epoch,
            digest=text,
            source=source,
        )

    # --- what it says of itself -----------------------------------------------------------

    def describe_quorum(self, request: DescribeQuorumRequest) -> ResponsePayload:
        """The answer to a DescribeQuorum; a refusal where this node does not lead."""
        names = {endpoint.name for endpoint in self.config.controller_listeners}
        endpoints = {
            voter.id: (min(names, default="CONTROLLER"), voter.host, voter.port)
            for voter in self.config.voters
        }
        wall_ms = time.time_ns() // 1_000_000
        return describe_quorum(request, self.state, now_ms(), wall_ms, endpoints)

    def boot_fields(self) -> Mapping[str, object]:
        """What recovery found, for the boot event."""
        return boot_fields(self._log.index, self.recovered, self.raft_config.voters)

    # --- tasks ----------------------------------------------------------------------------

    def _spawn(self, coroutine: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(f"{type(error).__name__}: {error}")

    async def hand_over(self) -> None:
        """Answer no more fetches. A leader resigns, and lets EndQuorumEpoch leave behind what
        is under way to the same voters."""
        led = self.leads
        self.feed(steps.ShutDown())
        if led and self._tasks:
            await asyncio.wait(self._tasks, timeout=HAND_OVER_S)

    def close(self) -> None:
        if self._applying is not None:
            self._applying.cancel()
        for task in self._tasks:
            task.cancel()
        self._peers.close()
        self._log.close()
        self._snapshots.close()
