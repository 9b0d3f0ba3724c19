"""What Apache Kafka's answers mean, of those that look alike."""

import pytest

from framework.plugins.outcomes import Refused
from nodes.kafka.outcomes import OUTCOMES


@pytest.mark.parametrize(
    ("f", "code", "type"),
    [
        ("produce", "NOT_ENOUGH_REPLICAS", "fail"),
        ("produce", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "info"),
        ("produce", "NOT_LEADER_OR_FOLLOWER", "info"),  # it may have waited for its followers
        ("produce", "REQUEST_TIMED_OUT", "info"),
        ("delete-records", "NOT_LEADER_OR_FOLLOWER", "info"),
        ("fetch", "NOT_LEADER_OR_FOLLOWER", "fail"),
        ("elect", "NOT_LEADER_OR_FOLLOWER", "fail"),
    ],
)
def test_what_a_refusal_is(f: str, code: str, type: str) -> None:
    assert OUTCOMES.refused(f, Refused(code, ""), retried=False).type == type
