from dataclasses import replace

import pytest

from framework.plugins.outcomes import CLIENT_TIMED_OUT, Failure, OutcomeTable, Refused

TAGGED = OutcomeTable(
    fails=frozenset({"EXISTS", "UNKNOWN", "BAD_NAME"}),
    asserts={("create", "EXISTS"): "present", ("delete", "UNKNOWN"): "absent"},
    reads=frozenset({"read"}),
    static=frozenset({"BAD_NAME"}),
)
UNTAGGED = replace(TAGGED, tags_retries=False)

CREATE = ("create", Refused("EXISTS", "it is there"), "present")
DELETE = ("delete", Refused("UNKNOWN"), "absent")


@pytest.mark.parametrize("f, answer, asserts", [CREATE, DELETE])
@pytest.mark.parametrize("retried", [False, True])
def test_a_system_that_tags_retries_means_what_it_says(
    f: str, answer: Refused, asserts: str, retried: bool
) -> None:
    found = TAGGED.refused(f, answer, retried=retried)
    assert found == Failure("fail", (answer.code, answer.message), asserts)


@pytest.mark.parametrize("f, answer, asserts", [CREATE, DELETE])
def test_without_tags_a_retry_may_be_refused_for_its_own_first_attempt(
    f: str, answer: Refused, asserts: str
) -> None:
    once = UNTAGGED.refused(f, answer, retried=False)
    assert (once.type, once.asserts) == ("fail", asserts)
    again = UNTAGGED.refused(f, answer, retried=True)
    assert again == Failure("info", (answer.code, answer.message), asserts)


def test_a_code_that_refuses_may_be_doubtful_of_some_operations() -> None:
    table = replace(TAGGED, doubtful=frozenset({("delete", "UNKNOWN")}))
    found = table.refused("delete", Refused("UNKNOWN"), retried=False)
    assert (found.type, found.asserts) == ("info", "absent")
    assert table.refused("create", Refused("UNKNOWN"), retried=False).type == "fail"
    assert table.refused("delete", Refused("EXISTS"), retried=False).type == "fail"


def test_without_tags_what_the_request_says_is_refused_however_often_it_was_sent() -> None:
    assert UNTAGGED.refused("create", Refused("BAD_NAME"), retried=True).type == "fail"
    assert UNTAGGED.refused("create", Refused("EXISTS"), retried=True).type == "info"


@pytest.mark.parametrize("table", [TAGGED, UNTAGGED])
@pytest.mark.parametrize("retried", [False, True])
def test_a_code_that_is_not_in_the_table_says_nothing(table: OutcomeTable, retried: bool) -> None:
    assert table.refused("create", Refused("LATER"), retried=retried).type == "info"


@pytest.mark.parametrize("code, asserts", [("EXISTS", None), ("LATER", None), ("GONE", "absent")])
def test_a_read_that_was_refused_has_failed(code: str, asserts: str | None) -> None:
    table = replace(UNTAGGED, asserts={**UNTAGGED.asserts, ("read", "GONE"): "absent"})
    assert table.refused("read", Refused(code), retried=True) == Failure(
        "fail", (code, ""), asserts
    )


@pytest.mark.parametrize(
    "f, sent, expected",
    [
        ("create", True, "info"),
        ("create", False, "fail"),
        ("read", True, "fail"),
        ("read", False, "fail"),
    ],
)
def test_silence_says_nothing_of_what_was_sent(f: str, sent: bool, expected: str) -> None:
    found = TAGGED.unanswered(f, CLIENT_TIMED_OUT, "late", sent=sent)
    assert found == Failure(expected, (CLIENT_TIMED_OUT, "late"), None)  # type: ignore[arg-type]
