"""The log index against the plain list of records that it stands for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.kraft.raft.config import RaftConfig
from nodes.kraft.raft.log_index import LogIndex
from nodes.kraft.raft.messages import Batch, SnapshotId
from nodes.kraft.raft.state import draw
from nodes.kraft.raft.voting import succession_delay_ms

Operations = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 3), st.integers(1, 4)),
        st.tuples(st.just("truncate"), st.integers(0, 40), st.just(0)),
        st.tuples(st.just("flush"), st.integers(0, 40), st.just(0)),
        st.tuples(st.just("snapshot"), st.integers(0, 40), st.just(0)),
    ),
    max_size=30,
)


@given(Operations, st.integers(0, 40), st.integers(-1, 40))
@settings(deadline=None)
def test_index_agrees_with_the_records(
    operations: list[tuple[str, int, int]], asked: int, offset: int
) -> None:
    log, epochs, flushed, start = LogIndex(), list[int](), 0, 0
    for kind, number, count in operations:
        if kind == "append":
            epoch = max(1, log.last_epoch) + number
            log = log.append(Batch(len(epochs), epoch, (b"",) * count))
            epochs += [epoch] * count
        elif kind == "truncate":
            log = log.truncate(number)
            del epochs[max(number, start) :]
            flushed = min(flushed, len(epochs))
        elif kind == "flush":
            log = log.flush(number)
            flushed = max(flushed, min(number, len(epochs)))
        elif start < number <= len(epochs):
            log = log.begin_at(SnapshotId(number, epochs[number - 1]))
            start, flushed = number, max(flushed, number)
    assert (log.start_offset, log.end_offset, log.flushed) == (start, len(epochs), flushed)
    assert log.last == (epochs[-1] if epochs else 0, len(epochs))
    below = [epoch for epoch in epochs if epoch <= asked]
    oldest = epochs[start - 1] if start else 0
    if asked >= oldest:
        assert log.end_of_epoch(asked) == ((below[-1] if below else 0), max(start, len(below)))
    held = start - 1 <= offset < len(epochs) and (offset >= 0 or start == 0)
    if held:
        assert log.epoch_at(offset) == (epochs[offset] if offset >= 0 else 0)
    else:
        assert log.epoch_at(offset) is None


@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 12))
@settings(deadline=None)
def test_a_log_of_another_history_is_dropped(end: int, epoch: int, length: int) -> None:
    """B.3: a snapshot takes the place of a log that does not hold its last record."""
    log = LogIndex()
    for number in range(length):
        log = log.append(Batch(number, 1 + number // 3, (b"x",)))
    snapshot = SnapshotId(end, epoch)
    after = log.begin_at(snapshot)
    same = end <= length and epoch == 1 + (end - 1) // 3
    assert log.holds(snapshot) is same
    assert after.snapshot == snapshot
    assert after.end_offset == (length if same else end)
    assert after.last_epoch == (log.last_epoch if same else epoch)


def test_index_refuses_what_does_not_follow() -> None:
    log = LogIndex().append(Batch(0, 3, (b"a",)))
    for batch in (Batch(2, 3, (b"gap",)), Batch(0, 3, (b"again",)), Batch(1, 2, (b"older",))):
        with pytest.raises(ValueError, match="does not follow"):
            log.append(batch)


@pytest.mark.parametrize("voters", [(), (1, 1), (1, -2)])
def test_config_refuses_impossible_voters(voters: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="voters"):
        RaftConfig(node_id=1, voters=voters, seed=0)


def test_config_keeps_kafkas_ratios() -> None:
    config = RaftConfig(node_id=9, voters=(1, 2, 3, 4), seed=0, fetch_timeout_ms=2000)
    assert (config.check_quorum_ms, config.begin_resend_ms) == (3000, 1000)
    assert (config.majority, config.is_voter, config.other_voters) == (3, False, (1, 2, 3, 4))


def test_draws_are_a_function_of_seed_node_and_count() -> None:
    from nodes.kraft.raft.core import initial

    def sequence(node_id: int, seed: int) -> list[int]:
        config = RaftConfig(node_id=node_id, voters=(1, 2, 3), seed=seed)
        state, numbers = initial(config, None, LogIndex(), 0), []
        for _ in range(20):
            number, state = draw(state, 1000)
            numbers.append(number)
        return numbers

    assert sequence(1, 5) == sequence(1, 5)
    assert sequence(1, 5) != sequence(2, 5)
    assert sequence(1, 5) != sequence(1, 6)
    assert len(set(sequence(1, 5))) > 15


def test_succession_delays_double_by_rank() -> None:
    def delay(node_id: int) -> int:
        voters = (1, 2, 3, 4, 5)
        config = RaftConfig(node_id=node_id, voters=voters, seed=0, election_backoff_max_ms=400)
        return succession_delay_ms(config, (4, 2, 1))

    assert [delay(node) for node in (4, 2, 1, 5)] == [0, 100, 200, 400]
