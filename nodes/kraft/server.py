"""The node: two event loops in two threads, the disk and the sockets, around the pure cores.

The control loop (the main thread) has the replica, the controller, its listeners and the broker's
life cycle; the data loop has the client listeners and all that is behind them (KIP-291): nothing
on one plane waits for the other. What only the other role needs is not loaded: a controller by
itself starts in four fifths of the time.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from kio.schema.envelope.v0.request import EnvelopeRequest
from kio.static.protocol import RequestPayload, ResponsePayload

from nodes.kraft.broker import view
from nodes.kraft.config import Config, Endpoint
from nodes.kraft.events import ErrorEvents, EventLog
from nodes.kraft.ids import LeaderEpoch, Offset
from nodes.kraft.metadata.digest import digest
from nodes.kraft.metadata.image import Image
from nodes.kraft.metrics.commits import CommitMeters
from nodes.kraft.metrics.endpoint import MetricsEndpoint
from nodes.kraft.metrics.exposition import exposition
from nodes.kraft.metrics.node import Sources, metrics
from nodes.kraft.net.listener import Listener, RequestContext
from nodes.kraft.net.secure import listener_sasl, listener_tls
from nodes.kraft.raft import steps as raft
from nodes.kraft.runtime.clock import now_ms
from nodes.kraft.runtime.loops import Vitals
from nodes.kraft.runtime.membership import Membership
from nodes.kraft.runtime.planes import LoopThread
from nodes.kraft.runtime.refusals import listed, refuse, unsupported
from nodes.kraft.runtime.replica import Replica, Watcher
from nodes.kraft.runtime.snapshots import Snapshots
from nodes.kraft.security.authorizer import Requester
from nodes.kraft.storage.directory_lock import hold
from nodes.kraft.storage.meta_properties import adopt
from nodes.kraft.wire.api_keys import (
    BROKER_HEARTBEAT,
    CONTROLLER_HEARTBEAT,
    DESCRIBE_CLUSTER,
    DESCRIBE_NODE,
    DESCRIBE_QUORUM,
    UNREGISTER_BROKER,
    UPDATE_FEATURES,
)
from nodes.kraft.wire.apis import CONTROL_APIS
from nodes.kraft.wire.codec import API_VERSIONS
from nodes.kraft.wire.debug import DescribeNodeResponse
from nodes.kraft.wire.quorum import QuorumRequest

if TYPE_CHECKING:
    from nodes.kraft.runtime.control import ControlPlane
    from nodes.kraft.runtime.data import DataPlane
    from nodes.kraft.wire.metadata_requests import DescribeClusterRequest
    from nodes.kraft.wire.requests import ControlRequest

log: Final = logging.getLogger(__name__)

QUIET_MS: Final = 500
"""A digest is written when the log has been quiet for this long."""
SHUTDOWN_TIMEOUT_S: Final = 5.0
CLOSE_TIMEOUT_S: Final = 6.0
"""What is closed has to reach the disk, which others may be writing to."""
CLOCK_EVERY_S: Final = 10.0

CONTROLLER_KEYS: Final = frozenset({BROKER_HEARTBEAT, CONTROLLER_HEARTBEAT, 10000})
"""What the controller answers without listing it."""


class Node(Watcher):
    """One process of the cluster."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._held = hold(config.log_dir)
        adopt(config)
        self._commits = CommitMeters()
        self.events = EventLog(config.events_file, config.name, self._commits.observe)
        self._data_vitals = Vitals(partial(self._stalled, "data"))
        self._stopped = asyncio.Event()
        self._reason: str | None = None
        self._stop_lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._committed_ms = now_ms()
        self._listeners: list[Listener] = []
        self._metrics: MetricsEndpoint | None = None
        self._clock: asyncio.Task[None] | None = None
        self.control: ControlPlane | None = None
        self.membership: Membership | None = None
        self.data: DataPlane | None = None
        self._data_loop = LoopThread("data", self.stop, self._data_vitals.loop)
        self.replica = Replica(
            config,
            emit=self.events.emit,
            emit_many=self.events.emit_many,
            watcher=self,
            stop=self.stop,
            changed=self._arm,
        )
        self._boot_event()
        self.replica.announce()
        if config.controller_id is not None:
            self.control = self._controller()
        self.snapshots = Snapshots(
            config,
            self.replica,
            tell=None if self.control is None else self.control.feed,
            stop=self.stop,
        )
        if self.control is not None:
            self.control.start_snapshot = self.snapshots.start
        if config.broker_id is not None:
            self.membership, self.data = self._broker()

    def _controller(self) -> ControlPlane:
        from nodes.kraft.controller.core import ControllerConfig
        from nodes.kraft.runtime.control import ControlPlane

        control = ControlPlane(
            ControllerConfig.of(self.config), emit=self.events.emit, changed=self._arm
        )
        control.replica = self.replica
        return control

    def _broker(self) -> tuple[Membership, DataPlane]:
        from nodes.kraft.runtime.data import DataPlane

        membership = Membership(
            self.config,
            self.replica,
            incarnation=self.events.incarnation,
            emit=self.events.emit,
            changed=self._arm,
            stop=self.stop,
            moved=lambda transition: self._data_loop.post(data.moved, transition),
        )
        data = DataPlane(
            self.config,
            life=lambda: membership.state,
            leader_id=lambda: self.replica.leader_id,
            emit=self.events.emit,
            stop=self.stop,
            describe=self._describe,
        )
        self.replica.report(data.changes.note)
        return membership, data

    def _boot_event(self) -> None:
        config = self.config
        self.events.emit(
            "boot",
            roles=list(config.roles),
            replica_id=config.replica_id,
            broker_id=config.broker_id,
            cluster_id=config.cluster_id,
            pid=os.getpid(),
            **self.replica.boot_fields(),
        )

    # --- life -----------------------------------------------------------------------------

    def loop(self) -> asyncio.AbstractEventLoop:
        """A new event loop for `run`: the control loop, which is watched."""
        return Vitals(partial(self._stalled, "control")).loop()

    async def run(self) -> str:
        """Serve until stopped; why it stopped. Raises `OSError` where an address is taken."""
        self._loop = asyncio.get_running_loop()
        errors = ErrorEvents(self.events.emit)
        logging.getLogger().addHandler(errors)
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._shut_down)
        try:
            await self._start()
            if self._reason is None:
                self._tick()
                await self._stopped.wait()
        finally:
            await self._close()
            logging.getLogger().removeHandler(errors)
        return self._reason or ""

    def stop(self, reason: str) -> None:
        """End the process; the first reason counts. May be called from any thread."""
        with self._stop_lock:
            if self._reason is None:
                self._reason = reason
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)

    async def _start(self) -> None:
        self._clock = asyncio.get_running_loop().create_task(self._tell_time())
        if self.config.metrics_address is not None:
            self._metrics = MetricsEndpoint(partial(exposition, metrics(self._sources())))
            await self._metrics.start(*self.config.metrics_address)
        for endpoint in self.config.controller_listeners:
            await self._listen(endpoint)
        if self.data is not None:
            self._data_loop.start()
            self._data_loop.post(self.data.committed, self.replica.applied, self.replica.image)
            await self._data_loop.run(self.data.start())

    async def _listen(self, endpoint: Endpoint) -> None:
        listener = Listener(
            endpoint.name,
            dispatch=self._on_control,
            unsupported=partial(unsupported, CONTROL_APIS),
            limits=self.config.control_limits,
            tls=listener_tls(self.config, endpoint),
            sasl=listener_sasl(self.config, endpoint),
        )
        await listener.start(endpoint.host, endpoint.port)
        self._listeners.append(listener)
        log.info("listening: %s://%s:%d", endpoint.name, endpoint.host, endpoint.port)

    def _shut_down(self) -> None:
        """SIGTERM: a broker drains first, then leaves; a leader resigns first."""
        if self.membership is not None:
            self.membership.shut_down()
            # A broker that is gone holds the grant up for what is left of its lease.
            timeout_s = max(SHUTDOWN_TIMEOUT_S, 1.5 * self.config.timing.lease_ms / 1000)
            asyncio.get_running_loop().call_later(
                timeout_s, self.stop, "controlled shutdown not granted in time"
            )
        else:
            self.stop("terminated")

    async def _close(self) -> None:
        await self.replica.hand_over()
        await self._close_data()
        for listener in self._listeners:
            await listener.close()
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self.membership is not None:
            self.membership.close()
        self.snapshots.close()
        if self._metrics is not None:
            self._metrics.close()
        if self._clock is not None:
            self._clock.cancel()
        self.replica.close()
        os.close(self._held)
        self.events.emit("exit", reason=self._reason)

    async def _close_data(self) -> None:
        """Whatever state the data loop is in, the process ends."""
        if self.data is None or not self._data_loop.running:
            return
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._data_loop.run(self.data.close())
        except Exception:
            log.exception("the data plane did not close")
        self._data_loop.close()

    # --- time -----------------------------------------------------------------------------

    def _tick(self) -> None:
        self._timer = None
        try:
            self._do_what_is_due()
        except Exception as error:  # no timer would be set again: a node half alive
            log.exception("the node cannot go on")
            self.stop(f"fatal: {type(error).__name__}: {error}")
        else:
            self._arm()

    def _do_what_is_due(self) -> None:
        now = now_ms()
        if self.replica.deadline_ms() <= now:
            self.replica.feed(raft.Tick())
        if self.control is not None:
            due = self.control.deadline_ms()
            if due is not None and due <= now:
                self.control.tick()
        if self.membership is not None and self.membership.deadline_ms() <= now:
            self.membership.tick()
        self.snapshots.tick()
        if now - self._committed_ms >= QUIET_MS:
            self.replica.emit_digest()
            self._committed_ms = now

    def _arm(self) -> None:
        """Set the one timer to the earliest deadline. Once all is closed nothing is due: a snapshot
        that were begun while the process ends would find no thread to write it."""
        if self._closed:
            return
        deadlines = [
            self.replica.deadline_ms(),
            self.snapshots.deadline_ms(),
            self._committed_ms + QUIET_MS,
        ]
        if self.control is not None and (due := self.control.deadline_ms()) is not None:
            deadlines.append(due)
        if self.membership is not None:
            deadlines.append(self.membership.deadline_ms())
        wait_s = max(0, min(deadlines) - now_ms()) / 1000
        loop = asyncio.get_event_loop()
        when = loop.time() + wait_s + 0.0005
        if self._timer is not None:
            if abs(self._timer.when() - when) < 0.0005:
                return
            self._timer.cancel()
        self._timer = loop.call_at(when, self._tick)

    async def _tell_time(self) -> None:
        """Both clocks, so that readers can tell how far they drifted apart."""
        while True:
            self.events.emit("clock", mono_ns=time.monotonic_ns(), wall_ns=time.time_ns())
            await asyncio.sleep(CLOCK_EVERY_S)

    def _stalled(self, loop: str, ms: int, delayed_ms: int) -> None:
        log.warning("the %s loop did not run for %d ms", loop, ms)
        self.events.emit("stall", loop=loop, ms=ms, delayed_ms=delayed_ms)

    def _sources(self) -> Sources:
        replica, data = self.replica, self.data
        return Sources(
            high_watermark=lambda: replica.state.high_watermark,
            replayed=None if self.control is None else lambda: replica.applied,
            published=None if data is None else lambda: data.published,
            commits=self._commits,
            control=lambda: list(self._listeners),
            data=lambda: [] if data is None else list(data.listeners),
            data_loop_idle=self._data_vitals.idle,
        )

    # --- from the replica -----------------------------------------------------------------

    def committed(self, end_offset: Offset, image: Image) -> None:
        self._committed_ms = now_ms()
        if self.control is not None:
            self.control.committed(end_offset, image)
        if self.membership is not None and self.data is not None:
            # The image first: whoever sees the broker active then sees its registration too.
            self._data_loop.post(self.data.committed, end_offset, image)
            self.membership.committed(end_offset, image)

    def claimed(self, epoch: LeaderEpoch, end_offset: Offset, image: Image) -> None:
        assert self.control is not None
        self.control.claimed(epoch, end_offset, image)

    def renounced(self) -> None:
        assert self.control is not None
        self.control.renounced()

    def confirmed(self, token: int, confirmed: bool) -> None:
        assert self.control is not None
        self.control.confirmed(token, confirmed)

    # --- requests -------------------------------------------------------------------------

    def _on_control(self, context: RequestContext[RequestPayload]) -> None:
        request = context.request
        key = request.__api_key__
        assert self.control is not None
        if DESCRIBE_NODE.of(request):
            context.answer(self._describe())
        elif key not in CONTROLLER_KEYS and not listed(CONTROL_APIS, request):
            refuse(context)
        elif key == API_VERSIONS:
            known, end_offset = self.replica.image, self.replica.applied
            context.answer(view.api_versions_response(CONTROL_APIS, request, known, end_offset))
        elif self.control.authorized(context):  # all other operations need that (A.1.19)
            # Nothing else is listed, but for logins, which are the connection's.
            self._serve_control(context, cast("ControlRequest", request))

    def _serve_control(
        self, context: RequestContext[RequestPayload], request: ControlRequest
    ) -> None:
        assert self.control is not None
        if isinstance(request, QuorumRequest):
            self.replica.ask(request, context.answer)
        elif isinstance(request, EnvelopeRequest):
            self.control.envelope(context, request)
        elif DESCRIBE_QUORUM.of(request):
            context.answer(self.replica.describe_quorum(request))
        elif DESCRIBE_CLUSTER.of(request):
            context.answer(self._describe_cluster(request))
        elif UNREGISTER_BROKER.of(request) or UPDATE_FEATURES.of(request):
            # An administrator's own, whom rules may keep from it.
            requester = Requester(context.principal, context.host)
            self.control.ask(request, context.answer, requester=requester)
        else:
            self.control.ask(request, context.answer)

    def _describe_cluster(self, request: DescribeClusterRequest) -> ResponsePayload:
        voters = ((each.id, each.host, each.port) for each in self.config.voters)
        leader_id = self.replica.leader_id
        return view.describe_controllers_response(
            request, self.config.cluster_id, voters, leader_id
        )

    def _describe(self) -> DescribeNodeResponse:
        state, image = self.replica.state, self.replica.image
        broker = self.membership.state if self.membership is not None else None
        described = {
            "node": self.config.name,
            "incarnation": str(self.events.incarnation),
            "roles": list(self.config.roles),
            "replica_id": self.config.replica_id,
            "broker_id": self.config.broker_id,
            "role": state.role_name,
            "epoch": state.epoch,
            "leader_id": state.leader_id,
            "log_end": state.log.end_offset,
            "high_watermark": state.high_watermark,
            "applied": self.replica.applied,
            "digest": digest(image),
            "active_epoch": self.control.active_epoch if self.control is not None else None,
            "broker_state": broker.broker_state.name if broker is not None else None,
            "broker_epoch": broker.epoch if broker is not None else None,
            "active_brokers": sorted(view.active_brokers(image)),
            "fenced_brokers": sorted(view.fenced_brokers(image)),
        }
        return DescribeNodeResponse(state=json.dumps(described))
