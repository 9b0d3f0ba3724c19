"""Operations, and lists of them, as findings say them."""

import pytest

from checkers.linearizability.evidence.describe import describe_operation
from checkers.linearizability.evidence.reasons import joined
from framework.history.event import CompletionType, Json
from framework.history.pairing import Operation


def operation(
    value: Json = None,
    type: CompletionType = "ok",
    result: Json = None,
    error: tuple[str, str] | None = None,
    end: int | None = 5,
) -> Operation:
    return Operation(
        index=4, end=end, process=7, f="cas", value=value, type=type, result=result, error=error
    )


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (operation([1, 2], result=3), "cas [1, 2] -> 3"),
        (operation(), "cas -> null"),
        (operation([1, 2], "fail"), "cas [1, 2] -> fail"),
        (operation(type="fail", error=("NO", "not now")), "cas -> fail NO"),
        (operation(type="info", error=("LATE", "")), "cas -> info LATE"),
        (operation(type="info", end=None), "cas -> no completion"),
        (operation(result="x" * 58), f'cas -> "{"x" * 58}"'),
        (operation(result="x" * 59), f'cas -> "{"x" * 56}...'),
    ],
)
def test_an_operation_in_words(said: Operation, words: str) -> None:
    assert describe_operation(said) == f"{words} (index 4, process 7)"


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, "a"), (2, "a or b"), (3, "a, b or c"), (4, "a, b, c or d"), (5, "a, b, c or 2 others")],
)
def test_a_list_in_words(count: int, words: str) -> None:
    assert joined(list("abcde"[:count]), 3) == words
