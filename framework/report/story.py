"""A run in ten lines of plain words: what was done, what broke, what was seen, how long it took
to recover. Pure; the page begins with it and the terminal ends with it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np

from framework.report.answers import Answers
from framework.report.data import NS, Injection, Run
from framework.report.nodes import DOWN, STILL

MAX_LINES: Final = 10
_NAMED: Final = 3
"""Things of one sort that a line names; of the others it says how many."""
_LONGEST: Final = 200
"""Characters of a text that others wrote, in a line."""


@dataclass(frozen=True, slots=True)
class Line:
    about: str
    """A word or two: what the line is about."""
    says: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """A time (s) in which faults were active without a break."""

    from_s: float
    to_s: float | None
    """None: never healed, as far as is known."""
    faults: tuple[Injection, ...]


def story(run: Run) -> tuple[Line, ...]:
    """At most `MAX_LINES` lines. Of what is not known there is no line."""
    found = (
        ("done", _done(run)),
        ("answered", _answered(run.answers)),
        ("broken", _broken(run.injections)),
        ("effect", _effect(run.injections)),
        ("suffered", _suffered(run)),
        ("longest gap", _gap(run)),
        ("recovery", _recovery(run)),
        ("nodes", _nodes(run)),
        ("checked", _checked(run)),
        ("found", _found(run)),
    )
    return tuple(Line(about, says) for about, says in found if says)


def troubles(injections: Iterable[Injection]) -> list[Trouble]:
    """Faults that overlap are one trouble: nothing recovers before the last is healed."""
    found: list[Trouble] = []
    placed = [(each.start_s, each) for each in injections if each.start_s is not None]
    for start_s, fault in sorted(placed, key=lambda each: (each[0], each[1].id)):
        before = found[-1] if found else None
        if before is None or (before.to_s is not None and before.to_s < start_s):
            found.append(Trouble(start_s, fault.end_s, (fault,)))
            continue
        ends = (before.to_s, fault.end_s)
        to_s = None if None in ends else max(end for end in ends if end is not None)
        found[-1] = Trouble(before.from_s, to_s, (*before.faults, fault))
    return found


def recoveries(run: Run) -> list[tuple[Trouble, float | None]]:
    """After each trouble that ended, s from its end to the first success of an operation that
    was invoked after it. None: nothing succeeded before the next trouble, though it was tried.
    Without an entry: nothing was tried."""
    answers = run.answers
    tried = np.argsort(answers.asked_ns)[: np.count_nonzero(~np.isnan(answers.asked_ns))]
    starts = answers.asked_ns[tried] / NS
    ends = np.where(answers.ok, answers.answered_ns, np.nan)[tried] / NS
    found: list[tuple[Trouble, float | None]] = []
    all_troubles = troubles(run.injections)
    for number, trouble in enumerate(all_troubles):
        if trouble.to_s is None:
            continue
        later = all_troubles[number + 1 :]
        until = later[0].from_s if later else float("inf")
        first, last = np.searchsorted(starts, [trouble.to_s, until])
        if first < last:
            after = ends[first:last]
            after = after[~np.isnan(after)]
            found.append((trouble, float(after.min()) - trouble.to_s if len(after) else None))
    return found


def _done(run: Run) -> str:
    plan = run.plan
    if not len(run.answers):
        return "No operation was recorded."
    doing = _list(plan.get("workloads") or ()) or "clients"
    threads = plan.get("threads")
    nodes = len(plan.get("nodes") or ())
    parts = [
        f"{doing}: {_count(len(run.answers), 'operation')} in {run.end_s:.1f} s",
        f"by {_count(threads, 'thread')}" if isinstance(threads, int) else "",
        f"against {_count(nodes, 'node')}" if nodes else "",
        f"of {plan['system']}" if plan.get("system") else "",
        f"on {plan['hosts']}" if plan.get("hosts") else "",
        f"(seed {plan['seed']})" if "seed" in plan else "",
    ]
    defect = (plan.get("options") or {}).get("defect")
    put_in = f", with the defect {defect} put in" if defect else ""
    return " ".join(part for part in parts if part) + put_in + _cut_short(run)


def _cut_short(run: Run) -> str:
    if run.plan.get("ended_early"):
        return f". It ended early: {_short(str(run.plan['ended_early']))}"
    interrupted = (run.verdict or {}).get("interrupted")
    return ". It was interrupted" if interrupted else ""


def _answered(answers: Answers) -> str:
    if not len(answers):
        return ""
    ok = answers.count("ok")
    said = (
        f"{ok:,} ok ({_percent(ok, len(answers))}), "
        f"{answers.count('fail'):,} fail, {answers.count('info'):,} info"
    )
    took = (answers.answered_ns - answers.asked_ns)[answers.ok] / 1e6
    lengths = np.sort(took[~np.isnan(took)])
    if not len(lengths):
        return said
    middle, late = (
        float(lengths[min(int(len(lengths) * q), len(lengths) - 1)]) for q in (0.5, 0.99)
    )
    return f"{said}; of the ok, half took at most {_ms(middle)}, 99 of 100 at most {_ms(late)}"


def _broken(injections: Sequence[Injection]) -> str:
    if not injections:
        return "Nothing: no fault was planned"
    began = [each for each in injections if each.start_s is not None]
    if not began:
        return f"Nothing: none of {_count(len(injections), 'planned fault')} began"
    shapes: dict[str, Counter[str]] = {}
    for each in began:
        shapes.setdefault(each.fault, Counter())[each.shape] += 1
    kinds = [
        _count(count.total(), fault) + (f" ({_counted(count)})" if any(count) else "")
        for fault, count in shapes.items()
    ]
    ended = [each for each in troubles(began) if each.to_s is not None]
    length = sum((each.to_s or 0.0) - each.from_s for each in ended)
    active = f", {length:.1f} s in all with faults active" if ended else ""
    return f"{_count(len(began), 'fault')}: {_list(kinds)}{active}"


def _effect(injections: Sequence[Injection]) -> str:
    """Whether the probes saw faults, and saw them go."""
    began = [each for each in injections if each.start_s is not None]
    if not began:
        return ""
    unseen = [each for each in began if each.bites("probed-during") is not True]
    left = [each for each in began if each.bites("probed-after") is not False]
    bit = "All were seen to bite" if not unseen else f"Not seen to bite: {_faults(unseen)}"
    gone = (
        "all were seen to be gone after healing"
        if not left
        else (f"not seen to be gone after healing: {_faults(left)}")
    )
    return f"{bit}; {gone}"


def _suffered(run: Run) -> str:
    """Shares of operations that succeeded, by whether a fault was active as they were invoked."""
    spans = [
        (each.from_s, run.end_s if each.to_s is None else each.to_s)
        for each in troubles(run.injections)
    ]
    placed = ~np.isnan(run.answers.asked_ns)
    at_s, ok = run.answers.asked_ns[placed] / NS, run.answers.ok[placed]
    during = np.zeros(len(at_s), bool)
    for from_s, to_s in spans:
        during |= (from_s <= at_s) & (at_s <= to_s)
    if during.all() or not during.any():
        return ""
    inside, outside = (_percent(int(ok[of].sum()), int(of.sum())) for of in (during, ~during))
    return f"{inside} of operations succeeded while faults were active, {outside} otherwise"


def _gap(run: Run) -> str:
    """The longest time in which operations were open, and none succeeded."""
    ends = np.sort(run.answers.answered_ns[run.answers.ok]) / NS
    ends = ends[~np.isnan(ends)]
    if len(ends) < 2:
        return ""
    # Clients also rest, as before the final reads: time counts from the next that was tried.
    starts = np.sort(run.answers.asked_ns) / NS  # what is not known comes last
    before, after = ends[:-1], ends[1:]
    tried = np.searchsorted(starts, before)
    next_s = np.append(starts, np.nan)[tried]
    begin = np.fmax(before, next_s)
    worst = int(np.argmax(after - begin))
    longest, since = float(after[worst] - begin[worst]), float(begin[worst])
    if longest <= 0:
        longest, since = 0.0, 0.0
    active = [
        each
        for each in run.injections
        if each.start_s is not None
        and each.start_s < since + longest
        and (each.end_s is None or each.end_s > since)
    ]
    during = f", {_faults(active)} active" if active else ", no fault active"
    return f"{_seconds(longest)} without a success, from {since:.1f} s on{during}"


def _recovery(run: Run) -> str:
    found = recoveries(run)
    if not found:
        never = [each for each in troubles(run.injections) if each.to_s is None]
        return "Not known: faults were never healed" if never else ""
    times = [(after, trouble) for trouble, after in found if after is not None]
    never = [trouble for trouble, after in found if after is None]
    said = []
    if times:
        worst, trouble = max(times, key=lambda each: each[0])
        middle = median(after for after, _ in times)
        said.append(
            f"first success {_seconds(worst)} after healing at the worst "
            f"({_faults(trouble.faults)}), {_seconds(middle)} in the middle of {len(times)}"
            if len(times) > 1
            else f"first success {_seconds(worst)} after healing ({_faults(trouble.faults)})"
        )
    if never:
        which = _faults([fault for trouble in never for fault in trouble.faults])
        said.append(f"nothing succeeded after {which} before the next fault or the end")
    return "; ".join(said)


def _nodes(run: Run) -> str:
    """How often nodes went down, led, were fenced and stood still, as they say themselves. What
    workloads run beside them comes and goes as it should."""
    own = run.plan.get("nodes") or {span.node for span in run.spans}
    spans = [span for span in run.spans if span.end_s > 0 and span.node in own]
    still = [span for span in spans if span.state == STILL]
    seen = [span for span in spans if span.state != STILL]
    downs = [span for span in seen if span.state == DOWN and span.lane == "role"]
    led = [span for span in seen if span.state == "leader"]
    fenced = [span for span in seen if span.state == "fenced"]
    longest = max((span.end_s - span.start_s for span in downs), default=0.0)
    stood = max((span.end_s - span.start_s for span in still), default=0.0)
    said = [
        f"down {_times(len(downs))} (longest {_seconds(longest)})" if downs else "",
        "none went down" if seen and not downs else "",
        f"{_count(len({span.epoch for span in led}), 'leader epoch')}" if led else "",
        f"fenced {_times(len(fenced))}" if fenced else "",
        f"stood still {_times(len(still))} (longest {_seconds(stood)})" if still else "",
    ]
    return ", ".join(part for part in said if part)


def _checked(run: Run) -> str:
    if run.verdict is None:
        return "Not checked"
    entries = run.verdict.get("checkers") or ()
    seen = sum(int(each.get("seen") or 0) for each in entries)
    by_verdict: dict[str, list[str]] = {}
    for each in entries:
        by_verdict.setdefault(str(each.get("verdict", "UNKNOWN")), []).append(str(each.get("name")))
    bad = [
        f"{said}: {_some(names)}"
        for said in ("INVALID", "UNKNOWN")
        if (names := by_verdict.get(said))
    ]
    valid = len(by_verdict.get("VALID", ()))
    other = len(run.verdict.get("not_applicable") or ())
    parts = [
        f"{valid} of {_count(len(entries), 'checker')} VALID from {_count(seen, 'observation')}",
        *bad,
        f"{other} not applicable" if other else "",
    ]
    return "; ".join(part for part in parts if part)


def _found(run: Run) -> str:
    """The first finding of the first checker that has any."""
    entries = (run.verdict or {}).get("checkers") or ()
    total = sum(len(each.get("findings") or ()) for each in entries)
    for each in sorted(entries, key=lambda entry: entry.get("verdict") != "INVALID"):
        if each.get("findings"):
            message = str(each["findings"][0].get("message", "")).split("\n")[0]
            more = f", and {total - 1:,} more" if total > 1 else ""
            return f"{each.get('name')}: {_short(message)}{more}"
    return "Nothing wrong" if entries else ""


def _faults(faults: Sequence[Injection]) -> str:
    """ "fault 3 (kill one)"; of many the first few."""
    names = [f"{each.id} ({' '.join((each.fault, each.shape)).strip()})" for each in faults]
    return f"fault{'s' * (len(names) > 1)} {_some(names)}"


def _some(names: Sequence[str]) -> str:
    if len(names) <= _NAMED + 1:
        return _list(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"


def _list(names: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def _counted(counts: Counter[str]) -> str:
    return _some([f"{name} x{n}" if n > 1 else name for name, n in counts.items() if name])


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'s' * (number != 1)}"


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _percent(part: int, whole: int) -> str:
    """Whole per cent, but neither all nor nothing unless it is so."""
    share = 100 * part / whole
    shown = min(max(round(share), 1), 99) if 0 < part < whole else round(share)
    return f"{shown} %"


def _seconds(time_s: float) -> str:
    return _ms(time_s * 1000) if time_s < 1 else f"{time_s:.1f} s"


def _ms(time_ms: float) -> str:
    if time_ms >= 1000:
        return f"{time_ms / 1000:.1f} s"
    return f"{time_ms:.0f} ms" if time_ms >= 10 else f"{time_ms:.1f} ms"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
