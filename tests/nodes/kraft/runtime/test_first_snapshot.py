"""A controller without a snapshot: its age is the process's, not the machine's."""

from pathlib import Path

from replica_harness import config_of

from nodes.kraft.controller.core import ControllerConfig
from nodes.kraft.controller.snapshots import due
from nodes.kraft.runtime.clock import now_ms
from nodes.kraft.runtime.control import ControlPlane


def test_the_first_one_is_due_an_interval_after_the_start(tmp_path: Path) -> None:
    """A leader that took the clock for its age would resign for a snapshot at once."""
    config = ControllerConfig.of(config_of(tmp_path, 1, 3, metadata_snapshot_interval_ms="60000"))
    began = now_ms()
    plane = ControlPlane(config, emit=lambda *_, **__: None, changed=lambda: None)
    report = plane.state.own.report
    assert not due(config.snapshots, report, 10**6, began + 59_000)
    assert due(config.snapshots, report, 10**6, now_ms() + 60_000)
