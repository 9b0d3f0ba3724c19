"""When this node snapshots its metadata: controllers by coordination, brokers on their own.

Standbys tell the active controller how their snapshots stand, with ControllerHeartbeats on a
channel of their own: no fetch that stalls holds them up (A.1.84, 101). Lives on the control loop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from kio.static.primitive import i32, i64

from nodes.kraft.config import Config
from nodes.kraft.controller import steps
from nodes.kraft.controller.snapshots import Report, due
from nodes.kraft.ids import LOG_START, Offset
from nodes.kraft.net.channel import ControllerChannels, FateUnknown, NotSent
from nodes.kraft.runtime.clock import now_ms
from nodes.kraft.runtime.replica import Replica
from nodes.kraft.runtime.tasks import Tasks
from nodes.kraft.wire.heartbeats import ControllerHeartbeatRequest

log: Final = logging.getLogger(__name__)


class Snapshots:
    """Sees to it that snapshots are taken. `tell` hears how they stand, at each change, in a
    node that is a controller; `stop` ends the process."""

    def __init__(
        self,
        config: Config,
        replica: Replica,
        *,
        tell: Callable[[steps.Snapshots], None] | None,
        stop: Callable[[str], None],
    ) -> None:
        self._config = config
        self._replica = replica
        self._tell = tell
        self._channels = ControllerChannels(config)
        self._tasks = Tasks("snapshot", stop)
        self._asking = False
        self._report = Report(now_ms(), self._offset())
        self._reported: steps.Snapshots | None = None
        self._next_ms = now_ms()

    def deadline_ms(self) -> int:
        """When the next `tick` is due."""
        return self._next_ms

    def tick(self) -> None:
        """Tell the active controller, or look whether a snapshot is due."""
        now = now_ms()
        if now < self._next_ms:
            return
        self._next_ms = now + self._config.timing.heartbeat_interval_ms
        self._note(self._report.writing)
        if self._tell is None:
            if due(self._config.snapshots, self._report, self._replica.applied, now):
                self.start()
        elif not self._replica.leads and self._replica.leader_id >= 0 and not self._asking:
            self._asking = True
            self._tasks.spawn(self._heartbeat(self._replica.leader_id))

    def start(self) -> None:
        """Take a snapshot, unless one is being written."""
        if not self._report.writing:
            self._note(True)
            self._tasks.spawn(self._write())

    async def _write(self) -> None:
        try:
            written = await self._replica.write_snapshot()
            if written is not None:
                log.info("snapshot of all below %d", written.end_offset)
        finally:
            self._note(False)

    def _offset(self) -> Offset:
        newest = self._replica.last_snapshot
        return LOG_START if newest is None else newest.end_offset

    def _note(self, writing: bool) -> None:
        before, offset = self._report, self._offset()
        if offset > before.snapshot_offset:  # written, or fetched from the leader
            self._report = Report(now_ms(), offset, writing=writing)
        else:
            self._report = replace(before, writing=writing)
        stand = steps.Snapshots(offset, writing)
        if self._tell is not None and stand != self._reported:
            self._reported = stand
            self._tell(stand)

    # --- heartbeats -----------------------------------------------------------------------

    async def _heartbeat(self, controller: int) -> None:
        assert self._config.controller_id is not None
        report = self._report
        request = ControllerHeartbeatRequest(
            controller_id=i32(self._config.controller_id),
            last_snapshot_offset=i64(report.snapshot_offset),
            snapshot_age_ms=i64(now_ms() - report.at_ms),
            metadata_end=i64(self._replica.applied),
            writing=report.writing,
        )
        timeout_s = self._config.timing.request_timeout_ms / 1000
        try:
            response = await self._channels.to(controller).call(request, timeout_s)
        except (NotSent, FateUnknown) as error:
            log.debug("controller heartbeat: %s", error)
        else:
            if int(response.error_code) == 0 and response.start_snapshot:
                self.start()
        finally:
            self._asking = False

    def close(self) -> None:
        self._tasks.cancel()
        self._channels.close()
