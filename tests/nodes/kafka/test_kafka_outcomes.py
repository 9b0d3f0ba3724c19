"""What Apache Kafka's answers mean, code by code."""

import re
import zipfile
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode

from framework.plugins.outcomes import ABSENT, NEEDLESS, OUT_OF_RANGE, PRESENT, STALE, Refused
from nodes.adapting.codes import name_of
from nodes.kafka import releases, software
from nodes.kafka.meanings import MEANINGS, table
from nodes.kafka.outcomes import OUTCOMES

DOCS = Path(__file__).parents[3] / "docs" / "kafka.md"

ROWS = [
    # Operation, code, what it is of the first attempt, and where another one may have been before.
    ("create", "INVALID_TOPIC_EXCEPTION", "fail", "fail"),
    ("create", "INVALID_PARTITIONS", "fail", "fail"),
    ("create", "INVALID_CONFIG", "fail", "fail"),
    ("create", "INVALID_REQUEST", "fail", "fail"),
    ("create", "POLICY_VIOLATION", "fail", "fail"),
    ("produce", "MESSAGE_TOO_LARGE", "fail", "fail"),
    ("create", "TOPIC_AUTHORIZATION_FAILED", "fail", "fail"),
    ("commit", "GROUP_AUTHORIZATION_FAILED", "fail", "fail"),
    ("create", "CLUSTER_AUTHORIZATION_FAILED", "fail", "fail"),
    ("create", "UNSUPPORTED_VERSION", "fail", "fail"),
    ("create", "TOPIC_ALREADY_EXISTS", "fail", "info"),  # it may be the request's own
    ("delete", "UNKNOWN_TOPIC_OR_PARTITION", "fail", "info"),  # the same
    ("delete", "UNKNOWN_TOPIC_ID", "fail", "info"),
    ("create", "INVALID_REPLICATION_FACTOR", "fail", "info"),
    ("create", "INVALID_REPLICA_ASSIGNMENT", "fail", "info"),
    ("produce", "NOT_ENOUGH_REPLICAS", "fail", "info"),
    ("produce", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "info", "info"),
    ("produce", "NOT_LEADER_OR_FOLLOWER", "info", "info"),  # it may have waited for its followers
    ("delete-records", "NOT_LEADER_OR_FOLLOWER", "info", "info"),
    ("add-voter", "NOT_LEADER_OR_FOLLOWER", "info", "info"),
    ("remove-voter", "NOT_LEADER_OR_FOLLOWER", "info", "info"),
    ("fetch", "NOT_LEADER_OR_FOLLOWER", "fail", "fail"),  # without effect in any case
    ("elect", "NOT_LEADER_OR_FOLLOWER", "fail", "info"),
    ("fetch", "OFFSET_OUT_OF_RANGE", "fail", "fail"),
    ("delete-records", "OFFSET_OUT_OF_RANGE", "fail", "info"),
    ("alter-isr", "FENCED_LEADER_EPOCH", "fail", "info"),
    ("alter-isr", "STALE_BROKER_EPOCH", "fail", "info"),
    ("alter-isr", "INVALID_UPDATE_VERSION", "fail", "info"),
    ("alter-isr", "INELIGIBLE_REPLICA", "fail", "info"),
    ("register", "DUPLICATE_BROKER_REGISTRATION", "fail", "info"),
    ("register", "INCONSISTENT_CLUSTER_ID", "fail", "info"),
    ("register", "INVALID_REGISTRATION", "fail", "info"),
    ("unregister", "BROKER_ID_NOT_REGISTERED", "fail", "info"),
    ("commit", "COORDINATOR_LOAD_IN_PROGRESS", "fail", "info"),
    ("commit", "ILLEGAL_GENERATION", "fail", "info"),
    ("commit", "UNKNOWN_MEMBER_ID", "fail", "info"),
    ("commit", "FENCED_INSTANCE_ID", "fail", "info"),
    ("commit", "REBALANCE_IN_PROGRESS", "fail", "info"),
    ("forget", "NON_EMPTY_GROUP", "fail", "info"),
    ("forget", "GROUP_ID_NOT_FOUND", "fail", "info"),
    ("forget", "GROUP_SUBSCRIBED_TO_TOPIC", "fail", "info"),
    ("add-voter", "DUPLICATE_VOTER", "fail", "info"),
    ("remove-voter", "VOTER_NOT_FOUND", "fail", "info"),
    ("create", "NOT_CONTROLLER", "info", "info"),  # the next leader may commit what was appended
    ("alter-isr", "NOT_CONTROLLER", "info", "info"),
    ("describe-configs", "NOT_CONTROLLER", "fail", "fail"),
    ("create", "REQUEST_TIMED_OUT", "info", "info"),
    ("produce", "REQUEST_TIMED_OUT", "info", "info"),
    ("add-voter", "REQUEST_TIMED_OUT", "info", "info"),
    ("commit", "NOT_COORDINATOR", "info", "info"),
    ("commit", "COORDINATOR_NOT_AVAILABLE", "info", "info"),
    ("reassign", "NO_REASSIGNMENT_IN_PROGRESS", "fail", "info"),  # an earlier attempt may have
    ("elect", "ELECTION_NOT_NEEDED", "info", "info"),
    ("create", "UNKNOWN_SERVER_ERROR", "info", "info"),
    ("produce", "UNKNOWN_SERVER_ERROR", "info", "info"),
    ("metadata", "UNKNOWN_SERVER_ERROR", "fail", "fail"),
    ("create", "KAFKA_STORAGE_ERROR", "info", "info"),  # in no row: whatever it may be
    ("create", "UNKNOWN_CODE_999", "info", "info"),
]


@pytest.mark.parametrize(("f", "code", "first", "again"), ROWS)
def test_what_a_refusal_is(f: str, code: str, first: str, again: str) -> None:
    found = [OUTCOMES.refused(f, Refused(code), retried=each).type for each in (False, True)]
    assert found == [first, again]


@pytest.mark.parametrize(
    ("f", "code", "asserts"),
    [
        ("create", "TOPIC_ALREADY_EXISTS", PRESENT),
        ("delete", "UNKNOWN_TOPIC_OR_PARTITION", ABSENT),
        ("unregister", "BROKER_ID_NOT_REGISTERED", ABSENT),
        ("alter-isr", "STALE_BROKER_EPOCH", STALE),
        ("heartbeat", "STALE_BROKER_EPOCH", STALE),
        ("commit", "ILLEGAL_GENERATION", STALE),
        ("forget", "NON_EMPTY_GROUP", PRESENT),
        ("fetch", "OFFSET_OUT_OF_RANGE", OUT_OF_RANGE),
        ("elect", "ELECTION_NOT_NEEDED", NEEDLESS),
        ("delete", "TOPIC_ALREADY_EXISTS", None),  # of another operation it says nothing
        ("create", "NOT_CONTROLLER", None),
    ],
)
def test_what_a_refusal_saw_it_says_in_each_attempt(f: str, code: str, asserts: str | None) -> None:
    for retried in (False, True):
        assert OUTCOMES.refused(f, Refused(code), retried=retried).asserts == asserts


def test_every_code_of_the_table_is_held() -> None:
    codes = [name_of(code) for each in MEANINGS for code in each.codes]
    assert len(codes) == len(set(codes))
    assert set(codes) <= {code for _, code, _, _ in ROWS}
    assert {code for each in MEANINGS if each.static for code in each.codes} <= {
        code for each in MEANINGS if each.fails for code in each.codes
    }
    assert ErrorCode.none not in {code for each in MEANINGS for code in each.codes}


def test_sources_are_classes_of_the_newest_release() -> None:
    jars = (software.home_of(releases.newest()) / "libs").glob("kafka*.jar")
    names = [name for jar in jars for name in zipfile.ZipFile(jar).namelist()]
    classes = {name.rpartition("/")[2].removesuffix(".class") for name in names}
    named = {name for each in MEANINGS for name in re.findall(r"`(\w+)`", each.sources)}
    assert len(named) > 10 and named <= classes


def test_what_becomes_of_silence() -> None:
    for code, sent, type in (
        ("CONNECTION_FAILED", False, "fail"),
        ("CONNECTION_LOST", True, "info"),
    ):
        assert OUTCOMES.unanswered("create", code, "", sent=sent).type == type
        assert OUTCOMES.unanswered("metadata", code, "", sent=sent).type == "fail"


def test_the_table_in_docs_is_this_one() -> None:
    """`python -m nodes.kafka.meanings` prints it."""
    assert f"\n\n{table()}\n\n" in DOCS.read_text()
