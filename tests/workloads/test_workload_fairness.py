"""Every client thread of a workload gets its share: a thread is tied to a node, and a workload
that sends nearly all from one of them tests little."""

from collections import Counter

import pytest
from histories import invocations, run
from reference_controller import ReferenceController

from workloads.base import KafkaWorkload
from workloads.isr import Isr
from workloads.topics import Topics
from workloads.zombie import Zombie

THREADS = 4


@pytest.mark.parametrize("make", [Topics, Isr, Zombie])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_threads_share_the_work(make: type[KafkaWorkload], seed: int) -> None:
    history = run(make(), ReferenceController(), seed=seed, seconds=20, threads=THREADS)  # type: ignore[arg-type]
    kinds = {event.f for event in history}
    shares = Counter(event.process for event in invocations(history, *kinds))
    assert set(shares) == set(range(THREADS))
    assert max(shares.values()) < 2 * min(shares.values()), shares
