"""The broker's side of a node: its life cycle, its heartbeats, and what clients are told."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from typing import Any, Final

from kio.schema.errors import ErrorCode

from nodes.kraft.broker import lifecycle, view
from nodes.kraft.config import Config
from nodes.kraft.metadata.image import Image
from nodes.kraft.net.channel import Channel, FateUnknown, NotSent
from nodes.kraft.net.listener import Inquiry
from nodes.kraft.runtime.clock import now_ms
from nodes.kraft.runtime.forwarding import Forwarder
from nodes.kraft.runtime.replica import Replica, Watcher
from nodes.kraft.wire.codes import first_error, with_code
from nodes.kraft.wire.heartbeats import BrokerState
from nodes.kraft.wire.versions import NEWEST, newest_request, response_for

log: Final = logging.getLogger(__name__)

METADATA: Final = 3
DESCRIBE_CLUSTER: Final = 60


class BrokerPlane(Watcher):
    """Runs the broker core; answers clients from the committed image."""

    def __init__(
        self,
        config: Config,
        replica: Replica,
        *,
        incarnation: uuid.UUID,
        emit: Callable[..., None],
        changed: Callable[[], None],
        stop: Callable[[str], None],
    ) -> None:
        self._config = config
        self._replica = replica
        self._emit = emit
        self._changed = changed
        self._stop = stop
        self._forwarder = Forwarder(config, lambda: replica.leader_id)
        self._heartbeats: dict[int, Channel] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._guess = 0
        self.state = lifecycle.initial(lifecycle.LifecycleConfig.of(config, incarnation), now_ms())

    def deadline_ms(self) -> int:
        return lifecycle.deadline_ms(self.state)

    def tick(self) -> None:
        self.feed(lifecycle.Tick())

    def committed(self, end_offset: int, image: Image) -> None:
        """Progress is told with the next heartbeat."""
        self.feed(lifecycle.Applied(end_offset - 1))

    def feed(self, event: lifecycle.Input) -> None:
        self.state, effects = lifecycle.step(self.state, event, now_ms())
        for effect in effects:
            self._carry_out(effect)
        self._changed()

    def _carry_out(self, effect: lifecycle.Effect) -> None:
        match effect:
            case lifecycle.SendHeartbeat(request):
                self._spawn(self._heartbeat(request))
            case lifecycle.Transition(before, after, epoch, why):
                log.info("broker %s -> %s, epoch %d: %s", before.name, after.name, epoch, why)
                self._emit(
                    "bstate", before=before.name, after=after.name, broker_epoch=epoch, why=why
                )
            case lifecycle.LeaseGranted(epoch, start_ms, end_ms, granted_by):
                self._emit(
                    "lease",
                    broker_id=self._config.broker_id,
                    broker_epoch=epoch,
                    start_ns=start_ms * 1_000_000,
                    end_ns=end_ms * 1_000_000,
                    granted_by=granted_by,
                )
            case lifecycle.Exit(why):
                self._stop(why)

    # --- heartbeats -----------------------------------------------------------------------

    async def _heartbeat(self, request: Any) -> None:
        timeout_s = self._config.timing.request_timeout_ms / 1000
        controller = self._controller()
        response = None
        try:
            response = await self._heartbeat_channel(controller).call(request, timeout_s)
        except (NotSent, FateUnknown) as error:
            log.debug("heartbeat: %s", error)
            self._guess += 1
        if response is not None:
            self._heard(request, response)
        self.feed(lifecycle.HeartbeatAnswered(request, response))

    def _heard(self, request: Any, response: Any) -> None:
        if int(response.error_code) == ErrorCode.not_controller:
            self._guess += 1
        self._emit(
            "heartbeat",
            broker_id=self._config.broker_id,
            broker_epoch=int(request.broker_epoch),
            target=BrokerState(request.target_state).name,
            error=int(response.error_code),
            next_state=BrokerState(response.next_state).name,
            answered_epoch=int(response.broker_epoch),
        )

    def _controller(self) -> int:
        """Whom to send to: the leader that the replica knows, else each voter in turn."""
        known = self._replica.leader_id
        voters = self._replica.raft_config.voters
        return known if known >= 0 else voters[self._guess % len(voters)]

    def _heartbeat_channel(self, controller: int) -> Channel:
        """Heartbeats have channels of their own: no client's work stands before them."""
        if controller not in self._heartbeats:
            voter = next(each for each in self._config.voters if each.id == controller)
            self._heartbeats[controller] = Channel(voter.host, voter.port, self._config.name)
        return self._heartbeats[controller]

    # --- clients --------------------------------------------------------------------------

    def serving(self) -> bool:
        """ACTIVE, and the lease not over at this very moment (A.1.55, 56)."""
        return lifecycle.serving(self.state, now_ms())

    def serve(self, inquiry: Inquiry) -> None:
        """A client's request."""
        request = inquiry.request
        if not self.serving():
            self._reply(inquiry, self._refusal(request))
        elif request.__api_key__ == METADATA:
            self._reply(
                inquiry,
                view.metadata_response(
                    self._image(), request, self._config.cluster_id, inquiry.listener
                ),
            )
        elif request.__api_key__ == DESCRIBE_CLUSTER:
            self._reply(
                inquiry,
                view.describe_cluster_response(
                    self._image(), request, self._config.cluster_id, inquiry.listener
                ),
            )
        else:
            self._spawn(self._forward(inquiry))

    def _image(self) -> Image:
        return self._replica.image

    async def _forward(self, inquiry: Inquiry) -> None:
        try:
            response = await self._forwarded(inquiry)
        except Exception:
            log.exception("%s from %s failed", type(inquiry.request).__name__, inquiry.peer)
            response = None  # closes the connection, which would wait for ever
        self._reply(inquiry, response)

    async def _forwarded(self, inquiry: Inquiry) -> Any:
        request = newest_request(inquiry.request)
        timeout_s = min(
            request.timeout.total_seconds(), self._config.timing.forward_timeout_ms / 1000
        )
        response, unknown = await self._forwarder.forward(request, timeout_s)
        if response is None:
            code = ErrorCode.request_timed_out if unknown else ErrorCode.not_controller
            response = with_code(view.refusal(request), code)
        elif unknown:
            response = with_code(response, ErrorCode.request_timed_out)
        if not self.serving():
            # The lease ended meanwhile: a fenced broker vouches for nothing.
            response = with_code(view.refusal(request), ErrorCode.request_timed_out)
        return response_for(inquiry.request, response)

    def _refusal(self, request: Any) -> Any | None:
        """How a fenced broker answers (A.7.5)."""
        if request.__api_key__ not in NEWEST:
            return view.refusal(request)
        return response_for(request, view.refusal(newest_request(request)))

    def _reply(self, inquiry: Inquiry, response: Any | None) -> None:
        end_ms = self.state.lease_end_ms
        request = inquiry.request
        topic = next(iter(getattr(request, "topics", None) or ()), None)
        topic_id = getattr(topic, "topic_id", None)
        self._emit(
            "serve",
            listener=inquiry.listener,
            api=type(request).__name__.removesuffix("Request"),
            code=-1 if response is None else first_error(response),
            broker_state=self.state.broker_state.name,
            broker_epoch=self.state.epoch,
            lease_left_ns=None if end_ms is None else (end_ms - now_ms()) * 1_000_000,
            topic=getattr(topic, "name", None),
            topic_id=str(topic_id) if topic_id else None,
            peer=inquiry.peer,
        )
        inquiry.answer(response)

    # --- end ------------------------------------------------------------------------------

    def shut_down(self) -> None:
        """Ask the controller for a controlled shutdown; `stop` is called when it is granted."""
        self.feed(lifecycle.ShutDown())

    def _spawn(self, coroutine: Any) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            # Heartbeats above all: without its answer the life cycle waits for ever.
            log.error("broker task failed", exc_info=error)
            self._stop(f"fatal: {type(error).__name__}: {error}")

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._forwarder.close()
        for channel in self._heartbeats.values():
            channel.close()
