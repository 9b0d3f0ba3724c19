"""Whose turn it is to take a snapshot: one controller at a time, the oldest first. Pure.

KIP-631's draft, "Snapshots". The active controller knows every controller's newest snapshot by
heartbeats alone, soft state that is gone with its leadership and learned again from the next
round of them (A.1.41, 42). Snapshots are periodic; while losing one more controller would cost
the majority, a rarer period holds, for a controller that writes one is slower (A.1.46).

A standby is told in the answer to its heartbeat (A.1.43). The active controller itself first
tries to give up leadership, and is then told by the next one (A.1.44).
"""

from dataclasses import dataclass, field, replace
from typing import Final

from immutables import Map

from nodes.kraft.config import SnapshotPolicy
from nodes.kraft.controller.config import ControllerConfig
from nodes.kraft.controller.steps import Effect, Resign, Snapshots, StartSnapshot
from nodes.kraft.wire.heartbeats import ControllerHeartbeatRequest

MISSED_HEARTBEATS: Final = 3
"""After so many intervals without a heartbeat a standby counts as gone."""
LONG_MS: Final = 2**40


@dataclass(frozen=True, slots=True)
class Report:
    """How a replica's snapshots stand, as of `at_ms`: the newest one's end offset (0: none), how
    long ago it was taken (or the process started), and whether one is being written.
    `metadata_end`: the end of what the replica has applied."""

    at_ms: int
    snapshot_offset: int = 0
    age_ms: int = 0
    metadata_end: int = 0
    writing: bool = False


@dataclass(frozen=True, slots=True)
class Own:
    """This node's own report. `resigned_ms`: when it gave up its leadership to take the snapshot
    that is due; None: it did not, or has taken one since."""

    report: Report
    resigned_ms: int | None = None


@dataclass(frozen=True, slots=True)
class SnapshotRequested:
    """A controller was asked to start at `at_ms`, when its newest snapshot was that one."""

    controller_id: int
    snapshot_offset: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Coordination:
    """What the active controller of an epoch knows of snapshots, since it became active.
    `check_ms`: when it next looks whether its own turn has come."""

    since_ms: int
    check_ms: int
    reports: Map[int, Report] = field(default_factory=Map)
    requested: SnapshotRequested | None = None


def begin(config: ControllerConfig, now_ms: int) -> Coordination:
    """Nothing is known yet."""
    return Coordination(now_ms, now_ms + config.heartbeat_interval_ms)


def due(policy: SnapshotPolicy, report: Report, end_offset: int, now_ms: int) -> bool:
    """Whether the replica of this report should take a snapshot, the log ending there."""
    return _due(policy.interval_ms, policy.min_records, report, end_offset, now_ms)


def _due(interval_ms: int, records: int, report: Report, end_offset: int, now_ms: int) -> bool:
    old = report.age_ms + now_ms - report.at_ms >= interval_ms
    return old and end_offset - report.snapshot_offset >= records


def noted(own: Own, event: Snapshots, now_ms: int) -> Own:
    """With what this node's own replica tells."""
    if event.end_offset <= own.report.snapshot_offset:
        return replace(own, report=replace(own.report, writing=event.writing))
    return Own(Report(now_ms, event.end_offset, writing=event.writing))


# --- the active controller ----------------------------------------------------------------


def on_heartbeat(
    config: ControllerConfig,
    coordination: Coordination,
    own: Own,
    request: ControllerHeartbeatRequest,
    end_offset: int,
    now_ms: int,
) -> tuple[Coordination, bool]:
    """Take in what a standby tells; whether it is to start a snapshot now (A.1.43)."""
    coordination = _heard(coordination, request, now_ms)
    requester = int(request.controller_id)
    start = _whose_turn(config, coordination, own.report, end_offset, now_ms) == requester
    if start:
        offset = int(request.last_snapshot_offset)
        coordination = replace(coordination, requested=SnapshotRequested(requester, offset, now_ms))
    return coordination, start


def own_turn(
    config: ControllerConfig,
    coordination: Coordination,
    own: Own,
    end_offset: int,
    now_ms: int,
) -> tuple[Coordination, Own, list[Effect]]:
    """Look, once an interval, whether the active controller's own turn has come.

    It gives up its leadership first (A.1.44). Where it did, and leads again all the same, or
    where nobody else could lead, it takes the snapshot as it is.
    """
    if now_ms < coordination.check_ms:
        return coordination, own, []
    coordination = replace(coordination, check_ms=now_ms + config.heartbeat_interval_ms)
    turn = _whose_turn(config, coordination, own.report, end_offset, now_ms)
    if turn != config.controller_id:
        return coordination, own, []
    tried = own.resigned_ms is not None and (
        now_ms < own.resigned_ms + config.snapshots.interval_ms
    )
    if tried or not _live(config, coordination, now_ms):
        return coordination, Own(replace(own.report, writing=True)), [StartSnapshot()]
    return coordination, replace(own, resigned_ms=now_ms), [Resign("its snapshot is due")]


def _heard(
    coordination: Coordination, request: ControllerHeartbeatRequest, now_ms: int
) -> Coordination:
    age_ms = int(request.snapshot_age_ms)
    report = Report(
        at_ms=now_ms,
        snapshot_offset=int(request.last_snapshot_offset),
        age_ms=LONG_MS if age_ms < 0 else age_ms,
        metadata_end=int(request.metadata_end),
        writing=request.writing,
    )
    reports = coordination.reports.set(int(request.controller_id), report)
    requested = coordination.requested
    if requested is not None and requested.controller_id == request.controller_id:
        done = report.snapshot_offset > requested.snapshot_offset
        requested = None if done else requested
    return replace(coordination, reports=reports, requested=requested)


def _whose_turn(
    config: ControllerConfig,
    coordination: Coordination,
    own: Report,
    end_offset: int,
    now_ms: int,
) -> int | None:
    """The controller that should start a snapshot now; None: nobody. `own`: the active
    controller's report. `end_offset`: all below it is committed."""
    live = _live(config, coordination, now_ms)
    if (
        not _known(config, coordination, now_ms)
        or own.writing
        or _busy(config, coordination, now_ms)
    ):
        return None
    policy = config.snapshots
    pair = (policy.interval_ms, policy.min_records)
    if degraded(config, coordination, end_offset, now_ms):
        pair = (policy.degraded_interval_ms, policy.degraded_min_records)
    reports = {**live, config.controller_id: own}
    turns = [
        (report.snapshot_offset, each == config.controller_id, each)
        for each, report in reports.items()
        if _due(*pair, report, end_offset, now_ms)
    ]
    return min(turns)[2] if turns else None


def degraded(
    config: ControllerConfig, coordination: Coordination, end_offset: int, now_ms: int
) -> bool:
    """Whether losing one more controller would cost the majority: those that are silent or lag
    count as lost. A controller alone has no one to take over from it, snapshot or not."""
    voters = len(config.controller_ids)
    in_step = 1 + sum(
        end_offset - report.metadata_end <= config.max_metadata_lag_offsets
        for report in _live(config, coordination, now_ms).values()
    )
    return voters > 1 and in_step - 1 < voters // 2 + 1


def _live(config: ControllerConfig, coordination: Coordination, now_ms: int) -> dict[int, Report]:
    oldest_ms = now_ms - patience_ms(config)
    return {
        each: report for each, report in coordination.reports.items() if report.at_ms >= oldest_ms
    }


def patience_ms(config: ControllerConfig) -> int:
    """How long a silent standby counts as there."""
    return MISSED_HEARTBEATS * config.heartbeat_interval_ms


def _known(config: ControllerConfig, coordination: Coordination, now_ms: int) -> bool:
    """Whether all controllers told how they stand, or had the time to."""
    others = config.controller_ids - {config.controller_id}
    all_reported = all(each in coordination.reports for each in others)
    return all_reported or now_ms >= coordination.since_ms + patience_ms(config)


def _busy(config: ControllerConfig, coordination: Coordination, now_ms: int) -> bool:
    """Whether a snapshot is under way somewhere, or may be about to begin."""
    if any(report.writing for report in _live(config, coordination, now_ms).values()):
        return True
    requested = coordination.requested
    return requested is not None and now_ms < requested.at_ms + patience_ms(config)
