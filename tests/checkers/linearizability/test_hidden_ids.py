"""Who made which id, where a create did not show it."""

import pytest

from checkers.linearizability.encoding.topics import with_hidden_ids
from tests.checkers.linearizability.encoded_oracle import written

ANONYMOUS = 9


@pytest.mark.parametrize(
    ("operations", "made"),
    [
        # the only one that can have made it
        ("0-1:c0>9 2-3:r2", [2, -1]),
        ("0-1:c0>9 2-3:c2>0", [2, 0]),
        ("0-1:c0>9 2-3:r2 4-5:c2>0 6-7:c0>9 8-9:r3", [2, -1, 0, 3, -1]),
        # none that was invoked after it was seen
        ("0-3:r2 1-2:c0>9 4-5:c0>9", [-1, 2, 9]),
        ("0-1:r2 2-3:c0>9", [-1, 9]),
        # one that was seen not to be there says nothing, nor do creates that showed theirs
        ("0-1:c0>9 2-3:c0>2 4-5:r2", [9, 2, -1]),
        ("0-1:c0>9 2-3:d2 4-5:r3", [3, -1, -1]),
    ],
)
def test_what_only_one_can_have_made(operations: str, made: list[int]) -> None:
    encoded = with_hidden_ids(written(operations), ANONYMOUS, once=True)
    assert encoded.b.tolist() == made and encoded.transitions is None


def test_what_more_than_one_can_have_made_is_searched() -> None:
    two = "0-1:c0>9 2-3:x0>0 4-5:c0>9 6-7:r2"
    encoded = with_hidden_ids(written(two), ANONYMOUS, once=True)
    assert encoded.transitions is not None
    single = with_hidden_ids(written("0-1:c0>9 2-3:r2"), ANONYMOUS, once=False)
    assert single.transitions is not None


def test_where_no_id_was_seen_there_is_nothing_to_find_out() -> None:
    encoded = written("0-1:c0>9 2-3:d0")
    assert with_hidden_ids(encoded, ANONYMOUS, once=True) is encoded
    assert with_hidden_ids(encoded, ANONYMOUS, once=False) is encoded
