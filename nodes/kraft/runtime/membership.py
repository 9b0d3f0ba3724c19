"""The broker's membership: its life cycle and its heartbeats. Lives on the control loop.

Other threads may read `state`, which is immutable and replaced as a whole.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from kio.schema.errors import ErrorCode

from nodes.kraft.broker import lifecycle
from nodes.kraft.config import Config
from nodes.kraft.metadata.image import Image
from nodes.kraft.net.channel import ControllerChannels, FateUnknown, NotSent
from nodes.kraft.runtime.clock import now_ms
from nodes.kraft.runtime.replica import Replica, Watcher
from nodes.kraft.runtime.tasks import Tasks
from nodes.kraft.wire.heartbeats import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerState,
)

log: Final = logging.getLogger(__name__)

REFUSALS: Final = {
    35: "this software lacks a level of metadata.format that the cluster has finalized",
    42: "this is no heartbeat of a broker (does a controller have its id?)",
    77: "another process has this broker id",
    104: "the controllers are of another cluster",
}
"""What the controller's errors mean to whoever runs the broker."""


class Membership(Watcher):
    """Runs the life-cycle core and carries its heartbeats.

    `moved` hears each transition; `changed` says that deadlines may have changed; `stop` ends
    the process.
    """

    def __init__(
        self,
        config: Config,
        replica: Replica,
        *,
        incarnation: uuid.UUID,
        emit: Callable[..., None],
        changed: Callable[[], None],
        stop: Callable[[str], None],
        moved: Callable[[lifecycle.Transition], None] = lambda _: None,
    ) -> None:
        self._config = config
        self._replica = replica
        self._emit = emit
        self._changed = changed
        self._stop = stop
        self._moved = moved
        # Of their own: no client's work stands before a heartbeat.
        self._channels = ControllerChannels(config)
        self._tasks = Tasks("heartbeat", stop)
        self._guess = 0
        self._refused = 0
        self.state = lifecycle.initial(lifecycle.LifecycleConfig.of(config, incarnation), now_ms())

    def deadline_ms(self) -> int:
        return lifecycle.deadline_ms(self.state)

    def tick(self) -> None:
        self.feed(lifecycle.Tick())

    def committed(self, end_offset: int, image: Image) -> None:
        """Progress is told with the next heartbeat."""
        self.feed(lifecycle.Applied(end_offset - 1, self._replica.state.epoch))

    def shut_down(self) -> None:
        """Ask the controller for a controlled shutdown; `stop` is called when it is granted."""
        self.feed(lifecycle.ShutDown())

    def feed(self, event: lifecycle.Input) -> None:
        """The data plane looks at `state` in a thread of its own, at any time: what it serves by
        is told before it can, and while it is being told nobody serves by it."""
        after, effects = lifecycle.step(self.state, event, now_ms())
        if any(isinstance(effect, lifecycle.Transition) for effect in effects):
            self.state = replace(after, lease_end_ms=None)
        for effect in effects:
            self._tell(effect)
        self.state = after
        for effect in effects:
            self._carry_out(effect)
        self._changed()

    def _tell(self, effect: lifecycle.Effect) -> None:
        match effect:
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

    def _carry_out(self, effect: lifecycle.Effect) -> None:
        match effect:
            case lifecycle.SendHeartbeat(request):
                self._tasks.spawn(self._heartbeat(request))
            case lifecycle.Transition():
                self._moved(effect)
            case lifecycle.Exit(why):
                self._stop(why)

    # --- heartbeats -----------------------------------------------------------------------

    async def _heartbeat(self, request: BrokerHeartbeatRequest) -> None:
        timeout_s = self._config.timing.request_timeout_ms / 1000
        controller = self._controller()
        response = None
        try:
            response = await self._channels.to(controller).call(request, timeout_s)
        except (NotSent, FateUnknown) as error:
            log.debug("heartbeat: %s", error)
            self._guess += 1
        if response is not None:
            self._heard(request, response)
        self.feed(lifecycle.HeartbeatAnswered(request, response))

    def _heard(self, request: BrokerHeartbeatRequest, response: BrokerHeartbeatResponse) -> None:
        code = int(response.error_code)
        if code == ErrorCode.not_controller:
            self._guess += 1
        elif code not in (ErrorCode.none, self._refused):
            log.warning("heartbeat refused: %s", REFUSALS.get(code, f"error {code}"))
        self._refused = code
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

    def close(self) -> None:
        self._tasks.cancel()
        self._channels.close()
