"""Telling people what a failing seed did."""

from dataclasses import asdict

from nodes.kraft.simulation.schedule import Mishap, Profile, Schedule, described
from nodes.kraft.simulation.shrink import Execution, play


def failure(seed: int, execution: Execution) -> str:
    """One line: the seed, when, and which rule was broken how."""
    return f"seed {seed} at {execution.time_ms} ms: {execution.violation}"


def schedule_text(schedule: Schedule) -> str:
    """The profile, then what is done, in the order of time."""
    defaults = asdict(Profile())
    profile = asdict(schedule.profile)
    profile_lines = ", ".join(f"{name} {profile[name]}" for name in defaults)
    parts = sorted([*schedule.items, *(schedule.mishaps or ())], key=lambda part: part.at)
    lines = [f"  {described(part)}" for part in parts]
    return "\n".join([f"  {profile_lines}", *lines]) if lines else f"  {profile_lines}"


def minimal_text(before: Schedule, after: Schedule, execution: Execution) -> str:
    """What is left of a failing schedule, and what happens in it."""
    mishaps = [part for part in after.mishaps or () if isinstance(part, Mishap)]
    head = (
        f"minimal schedule of seed {after.seed}: {len(after.items)} of {len(before.items)} faults"
        f" and operations, {len(mishaps)} of {len(execution.mishaps)} mishaps of messages"
    )
    return f"{head}\n{schedule_text(after)}\nwhat happens then:\n{trace_text(after)}"


def trace_text(schedule: Schedule, *, last: int = 60) -> str:
    """The last events of a run, one a line."""
    lines: list[str] = []
    execution = play(
        schedule, trace=lambda time, who, what: lines.append(f"  {time:6d} ms  {who}: {what}")
    )
    end = f"  {execution.time_ms:6d} ms  {execution.violation or 'the end: every rule held'}"
    left_out = [f"  ... {len(lines) - last} lines before"] if len(lines) > last else []
    return "\n".join([*left_out, *lines[-last:], end])
