"""Where the time of a run goes."""

from collections.abc import Sequence

from framework.timings import Timings


def at(moments: Sequence[float]) -> Timings:
    left = iter(moments)
    return Timings(clock=lambda: next(left))


def test_phases_follow_each_other_up_to_now() -> None:
    timings = at([10.0, 11.5, 13.0, 14.0, 14.25])
    timings.phase("hosts")
    timings.phase("final reads")
    timings.phase("hosts")
    timings.phase("check")
    assert timings.figures() == {
        "phase_hosts_s": 2.5,
        "phase_final_reads_s": 1.5,
        "phase_check_s": 0.25,
    }


def test_the_two_waits() -> None:
    timings = at([10.0, 12.0, 70.0, 71.0, 77.5])
    timings.phase("hosts")
    timings.operation()
    timings.operation()
    timings.phase("check")
    found = timings.figures()
    assert found["start_to_first_operation_s"] == 2.0
    assert found["last_operation_to_verdict_s"] == 7.5
    assert found["phase_hosts_s"] == 61.0


def test_a_run_without_operations_has_no_waits() -> None:
    timings = at([1.0, 2.0])
    timings.phase("hosts")
    assert timings.figures() == {"phase_hosts_s": 1.0}
