"""A run taken apart by partition (`folds/partitions/partition_runs.py`)."""

import pytest

from checkers.folds.partitions.partition_runs import FS, by_partition, key_of_run
from framework.testing.story import Story


def of_two() -> Story:
    """Clients work on t/0 and u/1; a broker tells of its logs of both, and of one that nobody
    worked on, and is asked to move one."""
    story = Story()
    story.op("produce", "t/0", {"value": 1, "acks": "all"}, {"offset": 0})
    story.op("produce", "u/1", {"value": 2, "acks": "all"}, {"offset": 0})
    logs = [{"key": key, "size": 70} for key in ("t/0", "u/1", "v/0")]
    story.op("log-dirs", None, {"keys": ["t/0", "u/1", "v/0"]}, logs)
    story.op("reassign", "t/0", {"replicas": [4]})
    story.op("reassignments", None, None, [])
    story.op("describe", "t", None, {"topic_id": "T", "partitions": []})
    return story


def test_partitions_that_clients_work_on_have_a_part_each() -> None:
    parts = by_partition(of_two().run_events())
    done = {key: {each.f for each in part.operations} for key, part in parts.items()}
    own = {"produce", "log-dirs", "reassign", "reassignments"}
    assert done == {"t/0": own | {"describe"}, "u/1": own}


@pytest.mark.parametrize("f", ["reassign", "reassignments"])
def test_what_moves_partitions_is_read_of_a_run(f: str) -> None:
    assert f in FS


def test_the_partition_of_a_part_is_that_of_its_operations() -> None:
    """Not that of a move of another one."""
    parts = by_partition(of_two().run_events())
    assert sorted(key_of_run(each) for each in parts.values()) == ["t/0", "u/1"]
    assert key_of_run(Story().run_events()) == "/0"
