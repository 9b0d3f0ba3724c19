"""Registrations of brokers, and what a broker may hold when it goes or comes: beside the state
below a record, by the rules of its log."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from checkers.folds.replayed.replay import Broker, Key, Replay
from framework.evidence.changes import BrokerRegistered
from framework.evidence.systems import LogRule

Holds: TypeAlias = Callable[[LogRule], bool]
"""Whether a rule holds of a record."""


def registers_again(before: Broker | None, change: BrokerRegistered) -> bool:
    """Whether the process that is registered registers."""
    return before is not None and None is not before.process == change.process


def wrong_registration(
    state: Replay, change: BrokerRegistered, holds: Holds, begun: int
) -> Iterator[str]:
    """`begun`: from that offset on there are changes of partitions alone below the record."""
    before = state.brokers.get(change.broker_id)
    again = registers_again(before, change)
    if before is not None:
        yield from _epoch(before, change, holds, again=again)
        if holds("fenced-before-registering") and not before.fenced:
            yield f"registers broker {change.broker_id} anew, whose former life is not fenced"
    if again and holds("process-keeps-standing") and before is not None:
        yield from _standing(change, (before.fenced, before.leaving))
    elif not again or holds("registering-fences"):
        yield from _standing(change, (True, False))
    kept = before is not None and before.epoch == change.broker_epoch
    if holds("epoch-is-offset") and not kept and not begun <= change.broker_epoch <= change.offset:
        yield (
            f"registers broker {change.broker_id} with epoch {change.broker_epoch}, and what the "
            f"registration changes begins at offset {begun}"
        )


def _epoch(before: Broker, change: BrokerRegistered, holds: Holds, *, again: bool) -> Iterator[str]:
    was, is_now = before.epoch, change.broker_epoch
    what = f"registers broker {change.broker_id} with epoch {is_now} after {was}"
    if again and holds("process-keeps-epoch"):
        if is_now != was:
            yield f"{what}, though it is the same process"
    elif is_now < was or (is_now == was and (not again or holds("registering-renews-epoch"))):
        yield what


def _standing(change: BrokerRegistered, right: tuple[bool, bool]) -> Iterator[str]:
    found = (change.fenced, change.leaving)
    if found != right:
        words = [_words(*each) for each in (found, right)]
        yield f"registers broker {change.broker_id} as {words[0]}, which has to be {words[1]}"


def _words(fenced: bool, leaving: bool) -> str:
    return f"{'fenced' if fenced else 'in service'}{' and leaving' if leaving else ''}"


def held(state: Replay, broker_id: int, *, empty: bool) -> str:
    """What a broker leads, or in which ISR it is that could do without it, in words; or nothing.
    `empty`: an ISR may be."""
    led: list[Key] = []
    kept: list[Key] = []
    for key, each in state.partitions.items():
        if each.leader == broker_id:
            led.append(key)
        elif broker_id in each.isr and (empty or len(each.isr) > 1):
            kept.append(key)
    if led:
        return "leads {}/{}".format(*min(led))
    return "is in the ISR of {}/{}".format(*min(kept)) if kept else ""
