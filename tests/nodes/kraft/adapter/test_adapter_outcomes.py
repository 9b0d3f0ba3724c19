"""The table, code by code: what is not listed here must be info."""

import pytest
from kio.schema.errors import ErrorCode

from framework.plugins.outcomes import CLIENT_TIMED_OUT, Failure, Refused
from nodes.adapting.codes import name_of
from nodes.kraft.adapter.outcomes import OUTCOMES

FAIL = {
    1,
    3,
    10,
    14,
    17,
    19,
    22,
    25,
    27,
    29,
    30,
    31,
    *range(35, 43),
    68,
    69,
    74,
    77,
    80,
    82,
    84,
    85,
    86,
    95,
    96,
    100,
    101,
    102,
    104,
}
FAIL |= {107, 119}
# 19 comes before anything is appended, 20 after.


def refused(f: str, code: int, *, retried: bool = True) -> Failure:
    return OUTCOMES.refused(f, Refused(name_of(code)), retried=retried)


def test_type_of_every_code() -> None:
    for code in (-2, -1, *range(1, 300)):
        expected = "fail" if code in FAIL else "info"
        assert refused("create", code).type == expected, code


def test_a_retry_is_reported_what_the_first_attempt_did_so_it_changes_nothing() -> None:
    for code in range(1, 300):
        for f in ("create", "delete", "alter-isr"):
            assert refused(f, code, retried=True) == refused(f, code, retried=False)


def test_codes_that_requirements_name_are_failures() -> None:
    named = {3, 17, 36, 37, 38, 39, 40, 42, 74, 77, 95, 100, 107, 41}
    assert {refused("heartbeat", code).type for code in named} == {"fail"}


@pytest.mark.parametrize("code", [7, 15, 16, 20, -1, 6, 8, 108, 133, 9999])
def test_doubtful_and_unknown_codes_are_info(code: int) -> None:
    failure = refused("create", code)
    assert (failure.type, failure.asserts) == ("info", None)


def test_names_are_those_of_kafka() -> None:
    assert name_of(36) == "TOPIC_ALREADY_EXISTS"
    assert name_of(7) == "REQUEST_TIMED_OUT"
    assert name_of(9999) == "UNKNOWN_CODE_9999"


ASSERTS = {
    ("create", 36): "present",
    ("delete", 3): "absent",
    ("heartbeat", 77): "stale",
    ("alter-isr", 77): "stale",
    ("fetch", 1): "out-of-range",
    ("elect", 84): "needless",
    ("commit", 22): "stale",
    ("commit", 25): "stale",
    ("commit", 82): "stale",
    ("beat", 22): "stale",
    ("beat", 25): "stale",
    ("beat", 82): "stale",
    ("forget", 69): "absent",
    ("forget", 68): "present",
    ("forget", 86): "present",
}


@pytest.mark.parametrize(
    "f",
    ["create", "delete", "heartbeat", "alter-isr", "fetch", "elect", "commit", "beat", "forget"],
)
def test_what_failures_say_in_words_of_all_systems(f: str) -> None:
    for code in set(ErrorCode) - {ErrorCode.none}:
        assert refused(f, code).asserts == ASSERTS.get((f, int(code)))


@pytest.mark.parametrize(
    "f",
    [
        *("describe", "metadata", "fetch", "list-offsets", "assignment", "committed", "groups"),
        *("describe-configs", "describe-broker-configs"),
    ],
)
@pytest.mark.parametrize("code", [7, -1, 41, 9999])
def test_a_read_without_a_result_has_failed(f: str, code: int) -> None:
    assert refused(f, code).type == "fail"
    assert OUTCOMES.unanswered(f, CLIENT_TIMED_OUT, "", sent=True).type == "fail"
