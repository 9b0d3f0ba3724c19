"""The node's replica of the metadata log: carries out what the Raft core decides.

Effects are carried out in the order in which the core gives them; inputs that arise meanwhile
wait until that is done.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from nodes.kraft.config import Config
from nodes.kraft.metadata.describe import describe
from nodes.kraft.metadata.digest import digest
from nodes.kraft.metadata.image import EMPTY, Image, apply
from nodes.kraft.metadata.records import decode_record
from nodes.kraft.net.channel import Channel, FateUnknown, NotSent
from nodes.kraft.raft import core, messages, steps
from nodes.kraft.raft.config import RaftConfig
from nodes.kraft.raft.leader_change import decode_leader_change
from nodes.kraft.raft.state import Leader, QuorumState, RaftState
from nodes.kraft.runtime.clock import now_ms
from nodes.kraft.storage.log import MetadataLog
from nodes.kraft.storage.quorum_state import QuorumStateFile
from nodes.kraft.wire import quorum
from nodes.kraft.wire.batches import decode_batches
from nodes.kraft.wire.codec import MalformedRequest

log: Final = logging.getLogger(__name__)

HAND_OVER_S: Final = 0.4
"""How long a leader that stops waits for the voters to hear of it: less than an election."""
DIGEST_EVERY: Final = 10
"""Offsets between two digests of the image in the event log."""
MAX_FETCH_BYTES: Final = 8 * 2**20
_REQUESTS: Final = (
    messages.Vote,
    messages.BeginQuorumEpoch,
    messages.EndQuorumEpoch,
    messages.Fetch,
)


class Watcher:
    """What the rest of the node wants to hear from the replica. Methods do nothing here."""

    def committed(self, end_offset: int, image: Image) -> None:
        """Everything below `end_offset` is committed and applied."""

    def claimed(self, epoch: int, end_offset: int, image: Image) -> None:
        """This node is the active controller from now on."""

    def renounced(self) -> None:
        """It is no longer."""

    def confirmed(self, token: int, confirmed: bool) -> None:
        """A read barrier passed, or failed."""


class Replica:
    """Owns the log, the quorum state, the channels to the voters and the metadata image."""

    def __init__(
        self,
        config: Config,
        *,
        emit: Callable[..., None],
        watcher: Watcher,
        stop: Callable[[str], None],
        changed: Callable[[], None],
    ) -> None:
        self.config = config
        self.image: Image = EMPTY
        self.applied = 0
        self._emit = emit
        self._watcher = watcher
        self._stop = stop
        self._changed = changed
        self._inbox: deque[steps.Input] = deque()
        self._pumping = False
        self._failed = False
        self._proposed: deque[int] = deque()
        self._tokens = itertools.count(1)
        self._waiting: dict[int, tuple[Any, messages.Request, Callable[[Any], None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._channels: dict[tuple[int, bool], Channel] = {}
        self._digest_at = 0
        directory = config.log_dir / "__kafka_metadata-0"
        self._log = MetadataLog(directory, emit=emit)
        self._quorum_file = QuorumStateFile(directory / "quorum-state", config.cluster_id)
        self._unapplied = deque(
            decode_batches(self._log.read(0, self._log.end_offset, max_bytes=2**62))
        )
        timing = config.timing
        self.raft_config = RaftConfig(
            node_id=config.replica_id,
            voters=tuple(sorted(voter.id for voter in config.voters)),
            seed=config.seed,
            fetch_timeout_ms=timing.fetch_timeout_ms,
            election_timeout_ms=timing.election_timeout_ms,
            request_timeout_ms=timing.request_timeout_ms,
            fetch_max_wait_ms=timing.fetch_max_wait_ms,
        )
        self.recovered: QuorumState | None = self._quorum_file.load()
        self.state = core.initial(self.raft_config, self.recovered, self._log.index, now_ms())

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
        except Exception as error:
            self.fail(f"{type(error).__name__}: {error}")
            raise
        finally:
            self._pumping = False
        self._changed()

    def fail(self, why: str) -> None:
        """End the process; until it has ended, take no more inputs."""
        self._failed = True
        self._stop(f"fatal: {why}")

    def propose(self, epoch: int, base_offset: int, records: tuple[bytes, ...]) -> None:
        """Records of the state machine. It numbers them before Raft appends them, so both must
        agree on where the log ends; where they do not, going on would corrupt the metadata."""
        self._proposed.append(base_offset)
        self.feed(steps.Propose(epoch, records))

    def ask(self, entity: Any, answer: Callable[[Any], None]) -> None:
        """A replica's request from the control listener."""
        request = quorum.request_from_wire(
            entity, self.config.cluster_id, node_id=self.config.replica_id
        )
        if not isinstance(request, _REQUESTS):
            answer(request)  # a refusal, ready to send
            return
        token = next(self._tokens)
        self._waiting[token] = (entity, request, answer)
        self.feed(steps.Asked(token, request))

    @property
    def leads(self) -> bool:
        return isinstance(self.state.role, Leader)

    @property
    def leader_id(self) -> int:
        return self.state.leader_id

    def deadline_ms(self) -> int:
        return core.deadline_ms(self.state)

    def next_token(self) -> int:
        return next(self._tokens)

    # --- effects --------------------------------------------------------------------------

    def _step(self, event: steps.Input) -> None:
        before = self.state
        if isinstance(event, steps.Propose):
            base_offset = self._proposed.popleft()
            leads = self.leads and before.epoch == event.epoch
            if leads and base_offset != before.log.end_offset:
                raise RuntimeError(
                    f"records for {base_offset}, log ends at {before.log.end_offset}"
                )
        self.state, effects = core.step(before, event, now_ms())
        self._observe(before)
        for effect in effects:
            self._carry_out(effect)

    def _carry_out(self, effect: steps.Effect) -> None:
        match effect:
            case steps.SaveQuorumState(epoch, leader_id, voted_id):
                self._quorum_file.save(QuorumState(epoch, leader_id, voted_id))
                self._emit("epoch", epoch=epoch, leader_id=leader_id, voted_id=voted_id)
            case steps.Append(batch):
                self._log.append(batch, leader=self.leads)
                self._unapplied.append(batch)
            case steps.Truncate(end_offset):
                self._log.truncate(end_offset)
                self._drop_unapplied(end_offset)
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
            case steps.Advanced(high_watermark):
                self._advance(high_watermark)
            case steps.Elected(epoch, start_offset, voters):
                self._emit("elected", epoch=epoch, start_offset=start_offset, votes=list(voters))
            case steps.Claimed(epoch, end_offset):
                self._emit("claim", epoch=epoch, end_offset=end_offset)
                self._watcher.claimed(epoch, end_offset, self.image)
            case steps.Renounced(epoch):
                self._emit("renounce", epoch=epoch)
                self._watcher.renounced()
            case steps.Confirmed(token, epoch, _):
                self._watcher.confirmed(token, epoch is not None)
            case steps.Fatal(reason):
                self.fail(reason)

    def _answer(self, token: int, reply: messages.Reply, data: bytes) -> None:
        entity, request, answer = self._waiting.pop(token)
        if isinstance(request, messages.Vote) and isinstance(reply, messages.VoteReply):
            self._vote_event(request, reply)
        answer(quorum.reply_to_wire(entity, reply, data))

    async def _send(self, peer: int, request: messages.Request) -> None:
        fetch = isinstance(request, messages.Fetch)
        entity = quorum.request_to_wire(request, self.config.cluster_id, peer=peer)
        timeout_s = self.config.timing.request_timeout_ms / 1000
        if fetch:
            timeout_s += self.config.timing.fetch_max_wait_ms / 1000
        reply: messages.Reply | None = None
        try:
            response = await self.channel(peer, fetch).call(entity, timeout_s)
            reply = quorum.reply_from_wire(request, response)
        except (NotSent, FateUnknown) as error:
            log.debug("%s to %d: %s", type(request).__name__, peer, error)
        except MalformedRequest as error:
            log.warning("%s from %d: %s", type(request).__name__, peer, error)
        self.feed(steps.Replied(peer, request, reply))

    def channel(self, peer: int, fetch: bool) -> Channel:
        """Fetches have a channel of their own: a parked one must not delay a vote."""
        if (peer, fetch) not in self._channels:
            voter = next(each for each in self.config.voters if each.id == peer)
            self._channels[peer, fetch] = Channel(voter.host, voter.port, self.config.name)
        return self._channels[peer, fetch]

    async def _flush(self, effect: steps.Flush) -> None:
        """fsync off the loop; the core asks for one at a time."""
        await asyncio.get_running_loop().run_in_executor(None, self._log.flush)
        self.feed(steps.Flushed(effect.end_offset, effect.truncations))

    # --- the state machine ----------------------------------------------------------------

    def _advance(self, high_watermark: int) -> None:
        self._emit("hw", offset=high_watermark, role=self.state.role_name, epoch=self.state.epoch)
        while self._unapplied and self.applied < high_watermark:
            batch = self._unapplied[0]
            for offset in range(self.applied, min(batch.end_offset, high_watermark)):
                self._apply(offset, batch, batch.records[offset - batch.base_offset])
            if self.applied >= batch.end_offset:
                self._unapplied.popleft()
        if self.applied - self._digest_at >= DIGEST_EVERY:
            self.emit_digest()
        self._watcher.committed(self.applied, self.image)

    def _apply(self, offset: int, batch: messages.Batch, value: bytes) -> None:
        if batch.control:
            described = {"kind": "LeaderChange", "leader_id": decode_leader_change(value).leader_id}
        else:
            record = decode_record(value)
            self.image = apply(self.image, record, offset)
            described = describe(record)
        self.applied = offset + 1
        kind = described.pop("kind")
        self._emit("apply", offset=offset, epoch=batch.epoch, kind=kind, record=described)

    def emit_digest(self) -> None:
        """Write the image's digest down, where it is not the one written last."""
        if self.applied == self._digest_at:
            return
        self._digest_at = self.applied
        current = digest(self.image)
        self._emit("state", offset=self.applied, digest=current)
        if self.config.broker_id is not None:
            self._emit("publish", offset=self.applied, digest=current)

    def _drop_unapplied(self, end_offset: int) -> None:
        while self._unapplied and self._unapplied[-1].end_offset > end_offset:
            batch = self._unapplied.pop()
            kept = batch.records[: max(0, end_offset - batch.base_offset)]
            if kept:
                self._unapplied.append(
                    messages.Batch(batch.base_offset, batch.epoch, kept, batch.control)
                )

    # --- events ---------------------------------------------------------------------------

    def _observe(self, before: RaftState) -> None:
        after = self.state
        was = (before.role_name, before.epoch, before.leader_id)
        if was != (after.role_name, after.epoch, after.leader_id):
            self._emit("role", role=after.role_name, epoch=after.epoch, leader_id=after.leader_id)

    def _vote_event(self, asked: messages.Vote, reply: messages.VoteReply) -> None:
        index = self.state.log
        self._emit(
            "vote",
            epoch=asked.candidate_epoch,
            candidate_id=asked.candidate_id,
            granted=reply.granted,
            candidate_last=[asked.last_epoch, asked.last_offset],
            own_last=[index.last_epoch, index.end_offset],
            error=reply.error,
        )

    def boot_fields(self) -> Mapping[str, Any]:
        """What recovery found, for the boot event."""
        index, saved = self._log.index, self.recovered
        return {
            "quorum": None
            if saved is None
            else {"epoch": saved.epoch, "leader_id": saved.leader_id, "voted_id": saved.voted_id},
            "log_start": index.start_offset,
            "log_end": index.end_offset,
            "last_epoch": index.last_epoch,
            "voters": list(self.raft_config.voters),
        }

    # --- tasks ----------------------------------------------------------------------------

    def _spawn(self, coroutine: Any) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(f"{type(error).__name__}: {error}")

    async def hand_over(self) -> None:
        """Resign, and let EndQuorumEpoch leave behind what is under way to the same voters."""
        self.feed(steps.Resign())
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=HAND_OVER_S)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        for channel in self._channels.values():
            channel.close()
        self._log.close()
