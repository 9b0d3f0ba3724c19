import pytest

from workloads.groups import GroupsOptions
from workloads.isr import IsrOptions
from workloads.lifecycle import LifecycleOptions
from workloads.log import LogOptions
from workloads.topics import TopicsOptions
from workloads.zombie import ZombieOptions


@pytest.mark.parametrize(
    "make, key, value, least",
    [
        (TopicsOptions, "live_names", 0, 1),
        (TopicsOptions, "partitions", 0, 1),
        (TopicsOptions, "replicas", -1, 1),
        (IsrOptions, "brokers", 0, 1),
        (IsrOptions, "partitions", 0, 1),
        (ZombieOptions, "brokers", 1, 2),
        (ZombieOptions, "partitions", 0, 1),
        (LogOptions, "topics", 0, 1),
        (LogOptions, "partitions", 0, 1),
        (LogOptions, "replicas", 0, 1),
        (LogOptions, "flood", -1, 0),
        (LifecycleOptions, "brokers", 0, 1),
        (LifecycleOptions, "partitions", 0, 1),
        (GroupsOptions, "members", 0, 1),
        (GroupsOptions, "topics", 0, 1),
        (GroupsOptions, "partitions", 0, 1),
        (GroupsOptions, "replicas", 0, 1),
        (GroupsOptions, "session_ms", 499, 500),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    make: type, key: str, value: int, least: int
) -> None:
    assert getattr(make(**{key: least}), key) == least
    with pytest.raises(ValueError, match=f"^{key}={value}: it is {least} or more$"):
        make(**{key: value})


def test_departures_take_some_time() -> None:
    assert GroupsOptions(churn_s=0.5).churn_s == 0.5
    with pytest.raises(ValueError, match="churn_s=0: it is above 0"):
        GroupsOptions(churn_s=0)


@pytest.mark.parametrize("wrong", [0, -1, float("nan")])
def test_topics_rest_after_some_time(wrong: float) -> None:
    assert TopicsOptions().rest_after_s is None
    with pytest.raises(ValueError, match=f"^rest_after_s={wrong:g} is not above 0$"):
        TopicsOptions(rest_after_s=wrong)
