"""The queue before the handler: bounded, in order, and fair to each kind."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from nodes.kraft.net.queue import FairQueue


def drained(queue: FairQueue[tuple[str, int]]) -> list[tuple[str, int]]:
    async def main() -> list[tuple[str, int]]:
        return [await queue.get() for _ in range(len(queue) + queue.waiting)]

    return asyncio.run(main())


def test_kinds_take_turns() -> None:
    """A.2.11: what came behind a flood of another kind is next but one, not last."""
    queue: FairQueue[tuple[str, int]] = FairQueue(1000)
    for number in range(500):
        queue.put("produce", ("produce", number))
    queue.put("heartbeat", ("heartbeat", 0))
    order = drained(queue)
    assert order.index(("heartbeat", 0)) == 1


def test_beyond_the_capacity_items_wait_outside_and_take_turns_there() -> None:
    """A.2.8, A.2.10: the queue has its capacity, and what does not fit is neither lost nor
    stuck behind all the others that do not fit."""
    queue: FairQueue[tuple[str, int]] = FairQueue(20)
    for number in range(500):
        queue.put("produce", ("produce", number))
    queue.put("heartbeat", ("heartbeat", 0))
    assert len(queue) == 20
    assert queue.waiting == 481
    assert drained(queue).index(("heartbeat", 0)) <= 22


@given(
    st.integers(1, 10),
    st.lists(st.tuples(st.sampled_from("abc"), st.integers()), max_size=60),
)
def test_nothing_is_lost_and_each_kind_keeps_its_order(
    capacity: int, items: list[tuple[str, int]]
) -> None:
    queue: FairQueue[tuple[str, int]] = FairQueue(capacity)
    for item in items:
        queue.put(item[0], item)
        assert len(queue) <= capacity
    found = drained(queue)
    for kind in "abc":
        assert [each for each in found if each[0] == kind] == [
            each for each in items if each[0] == kind
        ]


def test_a_getter_waits_for_an_item() -> None:
    async def main() -> int:
        queue: FairQueue[int] = FairQueue(1)
        getting = asyncio.ensure_future(queue.get())
        await asyncio.sleep(0)
        queue.put("a", 7)
        async with asyncio.timeout(60):
            return await getting

    assert asyncio.run(main()) == 7
