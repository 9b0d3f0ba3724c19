"""Nothing is lost between workers and scheduler, and no wait is longer than it may be."""

import signal
import threading
import time
from collections.abc import Iterator
from queue import Empty

import pytest

from framework.run.outbox import Outbox


@pytest.fixture
def interrupted() -> Iterator[None]:
    """A signal comes in 10 ms, and what it calls takes 100."""
    before = signal.signal(signal.SIGALRM, lambda *_: time.sleep(0.1))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.timeout(60)
@pytest.mark.usefixtures("interrupted")
def test_a_wait_ends_though_a_signal_takes_longer_than_it() -> None:
    """As Ctrl-C does on a machine that is busy."""
    with pytest.raises(Empty):
        Outbox[int]().take(0.02)


@pytest.mark.usefixtures("interrupted")
def test_a_signal_ends_no_wait_early() -> None:
    box = Outbox[int]()
    late = threading.Timer(0.3, box.put, [7])
    late.start()
    assert box.take(60) == 7
    late.join()


@pytest.mark.parametrize("wait_s", [-1.0, 0.0, 0.001])
def test_in_vain(wait_s: float) -> None:
    box = Outbox[int]()
    box.put(1)
    box.put(2)
    assert (box.take(wait_s), box.empty(), box.take(wait_s), box.empty()) == (1, False, 2, True)
    with pytest.raises(Empty):  # though the bell rang
        box.take(wait_s)


def test_all_that_many_put_is_taken_in_the_order_of_each() -> None:
    box = Outbox[tuple[int, int]]()

    def work(owner: int) -> None:
        for number in range(2000):
            box.put((owner, number))

    workers = [threading.Thread(target=work, args=[owner]) for owner in range(8)]
    for each in workers:
        each.start()
    taken = [box.take(60) for _ in range(8 * 2000)]
    for each in workers:
        each.join()
    assert box.empty()
    for owner in range(8):
        assert [number for by, number in taken if by == owner] == [*range(2000)]
