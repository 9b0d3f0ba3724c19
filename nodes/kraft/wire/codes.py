"""Error codes inside responses, wherever a schema keeps them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, TypeVar

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity

E = TypeVar("E", bound=Entity)

_NESTED: Final = (
    "topics",
    "responses",
    "results",
    "filter_results",
    "partitions",
    "partition_responses",
    "coordinators",
    "groups",
    "members",
    "replica_election_results",
    "partition_result",
)
"""Where responses keep results that have codes: of topics, resources, rules, partitions, groups."""


def codes(response: object) -> Iterator[int]:
    """All error codes of a response, the top-level one first."""
    code = getattr(response, "error_code", None)
    if code is not None:
        yield int(code)
    for name in _NESTED:
        for part in getattr(response, name, None) or ():
            yield from codes(part)


def item_codes(response: object) -> list[int]:
    """The error code of each result in a response; of one that is refused as a whole, or has no
    results, its own."""
    own = getattr(response, "error_code", None)
    if own:
        return [int(own)]
    results = (part for name in _NESTED for part in getattr(response, name, None) or ())
    codes = [code for part in results for code in item_codes(part)]
    return codes or ([] if own is None else [int(own)])


def first_error(response: object) -> int:
    """The first code that is not 0, or 0."""
    return next((code for code in codes(response) if code != 0), 0)


def with_code(response: E, code: int) -> E:
    """The response with every error of its items replaced by `code`; successes stay. One without
    items that has a message of its own, as has that of UnregisterBroker, is an item itself."""
    changes: dict[str, object] = {}
    for name in _NESTED:
        parts = getattr(response, name, None)
        if parts:
            changes[name] = tuple(_item_with_code(part, code) for part in parts)
    if not changes and hasattr(response, "error_message"):
        return _item_with_code(response, code)
    return replace(response, **changes)


def _item_with_code(item: E, code: int) -> E:
    if first_error(item) == 0:
        return item
    if not hasattr(item, "error_code"):  # its parts have
        return with_code(item, code)
    return replace(item, error_code=ErrorCode(code), error_message=None)
