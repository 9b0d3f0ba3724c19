"""What options of nemeses have in common."""

from framework.generators import Generator
from framework.plugins.options import need_positive
from framework.plugins.schedules import alternate, one_shot


def targets_of(text: str) -> list[str]:
    """The targets of a `target` option: `leader`, or several as in `leader+brokers`."""
    return [each.strip() for each in text.split("+") if each.strip()]


def need_times(interval: float | None, after: float | None, lasts: float | None) -> None:
    """Raises `ValueError` for times, in s, that do not go together."""
    need_positive(interval=interval, after=after, lasts=lasts)
    if lasts is not None and after is None:
        raise ValueError("lasts needs after: when it begins")
    if after is not None and interval is not None:
        raise ValueError("it is after, once, or interval, again and again")


def schedule(
    fault: str, interval_s: float, after_s: float | None, lasts_s: float | None
) -> Generator:
    """When a fault begins and ends: once, or again and again."""
    if after_s is not None:
        return one_shot(fault, after_s, lasts_s)
    return alternate(fault, interval_s)
