"""The table, code by code: what is not listed here must be info."""

import pytest
from kio.schema.errors import ErrorCode

from workloads.kafka import results

FAIL = {3, 10, 17, 19, 29, 30, 31, *range(35, 43), 74, 77, 95, 100, 101, 102, 104, 107, 119}
# 19 comes before anything is appended, 20 after.


def test_type_of_every_code() -> None:
    for code in range(-2, 300):
        expected = "ok" if code == 0 else "fail" if code in FAIL else "info"
        assert results.type_of_code(code) == expected, code


def test_codes_that_requirements_name_are_failures() -> None:
    named = {3, 17, 36, 37, 38, 39, 40, 42, 74, 77, 95, 100, 107, 41}
    assert {results.type_of_code(code) for code in named} == {"fail"}


@pytest.mark.parametrize("code", [7, 20, -1, 6, 8, 108, 133, 9999])
def test_doubtful_and_unknown_codes_are_info(code: int) -> None:
    failure = results.refused("create", code)
    assert (failure.type, failure.asserts) == ("info", None)


def test_names_are_those_of_kafka() -> None:
    assert results.name_of(36) == "TOPIC_ALREADY_EXISTS"
    assert results.name_of(7) == "REQUEST_TIMED_OUT"
    assert results.name_of(9999) == "UNKNOWN_CODE_9999"
    assert results.refused("delete", 3, "no such topic").error == (
        "UNKNOWN_TOPIC_OR_PARTITION",
        "no such topic",
    )


@pytest.mark.parametrize("f", ["create", "delete", "heartbeat", "alter-isr"])
def test_two_failures_are_observations(f: str) -> None:
    for code in set(ErrorCode) - {ErrorCode.none}:
        expected = {("create", 36): "present", ("delete", 3): "absent"}.get((f, int(code)))
        assert results.refused(f, code).asserts == expected


@pytest.mark.parametrize("f", ["describe", "metadata", "fetch", "list-offsets"])
@pytest.mark.parametrize("code", [7, -1, 41, 9999])
def test_a_read_without_a_result_has_failed(f: str, code: int) -> None:
    assert results.refused(f, code).type == "fail"
    assert results.broke_down(f, results.CLIENT_TIMED_OUT, "").type == "fail"


def test_success_is_no_refusal() -> None:
    with pytest.raises(ValueError, match="code 0 is no refusal"):
        results.refused("create", 0)


def test_breakdowns() -> None:
    types = {
        name: results.broke_down("create", name, "").type for name in results.TYPE_OF_BREAKDOWN
    }
    assert types == {
        results.CONNECTION_FAILED: "fail",
        results.CONNECTION_LOST: "info",
        results.CLIENT_TIMED_OUT: "info",
        results.MALFORMED_RESPONSE: "info",
        results.NO_ACKNOWLEDGEMENT: "info",
    }
