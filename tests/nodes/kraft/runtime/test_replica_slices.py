"""Much that is committed at once is applied bit by bit, with everything else between."""

import asyncio
import itertools
from pathlib import Path

import pytest
from replica_harness import Quorum, play

from nodes.kraft.metadata.image import Image
from nodes.kraft.runtime import replica as runtime

NAMES = "abcdef"


def test_batches_one_by_one_and_the_claim_after_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A.1.23, A.5.7: between two slices the loop goes round."""
    quorum = Quorum(tmp_path, voters=1)
    reported: list[tuple[str, int]] = []

    async def scenario() -> None:
        quorum.start(1)
        for name in NAMES:
            end = await quorum.create(name)
        quorum.stop(1)
        monkeypatch.setattr(runtime, "SLICE_S", 0.0)
        replica = quorum.start(1)
        heard = quorum.heard[1]

        def committed(end_offset: int, image: Image) -> None:
            reported.append(("committed", end_offset))
            asyncio.get_running_loop().call_soon(reported.append, ("turn", end_offset))

        heard.committed = committed  # type: ignore[method-assign]
        heard.claimed = lambda epoch, end_offset, image: reported.append(("claimed", end_offset))  # type: ignore[method-assign]
        await quorum.until(lambda: ("claimed", end + 1) in reported)
        assert replica.applied == end + 1
        assert {topic.name for topic in replica.image.topics.values()} == set(NAMES)

    play(monkeypatch, quorum, scenario)
    ends = [end for kind, end in reported if kind == "committed"]
    assert ends == sorted(set(ends)) and len(ends) > len(NAMES)
    assert reported.index(("claimed", ends[-1])) > reported.index(("committed", ends[-1]))
    for before, after in itertools.pairwise(ends):
        assert reported.index(("turn", before)) < reported.index(("committed", after))


def test_one_that_is_closed_applies_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quorum = Quorum(tmp_path, voters=1)

    async def scenario() -> None:
        quorum.start(1)
        for name in NAMES:
            await quorum.create(name)
        quorum.stop(1)
        monkeypatch.setattr(runtime, "SLICE_S", 0.0)
        replica = quorum.start(1)
        ends: list[int] = []

        def committed(end_offset: int, image: Image) -> None:
            ends.append(end_offset)
            asyncio.get_running_loop().call_soon(quorum.stop, 1)

        quorum.heard[1].committed = committed  # type: ignore[method-assign]
        await quorum.until(lambda: not quorum.replicas)
        for _ in range(20):
            await asyncio.sleep(0)
        assert ends == [replica.applied]
        assert replica.applied < replica.state.high_watermark

    play(monkeypatch, quorum, scenario)
