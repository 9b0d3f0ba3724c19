"""The types of requests have what the listeners serve, in each version."""

import inspect
import sys
import typing
from functools import cache
from types import ModuleType, SimpleNamespace

import pytest
from kio.static.protocol import RequestPayload

from nodes.kraft.wire import (
    api_keys,
    group_requests,
    metadata_requests,
    partition_requests,
    requests,
)
from nodes.kraft.wire.apis import CLIENT_APIS, CONTROL_APIS
from nodes.kraft.wire.codec import API_VERSIONS

LOGINS = {17, 36}
UNLISTED = {50, 51, 10000}
"""Served on the control listener, and never listed; DescribeNode has no union to be in."""


@cache
def unions() -> SimpleNamespace:
    """What the modules have as mypy sees them: at run time they are empty. They import all
    entities, which takes a worker that runs none of these tests a third of a second."""
    found: dict[str, object] = {}
    with pytest.MonkeyPatch.context() as patched:
        for empty in (partition_requests, group_requests, metadata_requests, requests):
            source = inspect.getsource(empty).replace("if TYPE_CHECKING:", "if True:")
            full = ModuleType(empty.__name__)
            patched.setitem(sys.modules, empty.__name__, full)
            exec(source, full.__dict__)
            found |= vars(full)
    return SimpleNamespace(**found)


def served(union: object) -> set[tuple[int, int]]:
    """Key and version of each entity of a union."""
    entities: tuple[type[RequestPayload], ...] = typing.get_args(union) or (union,)  # type: ignore[assignment]
    return {(int(each.__api_key__), int(each.__version__)) for each in entities}


def listed(apis: dict[int, tuple[int, int]]) -> set[tuple[int, int]]:
    """Key and version of all that is listed, but for what connections and listeners answer."""
    return {
        (key, version)
        for key, (low, high) in apis.items()
        if key not in LOGINS | {API_VERSIONS}
        for version in range(low, high + 1)
    }


def test_a_client_listener_serves_what_its_union_has() -> None:
    assert served(unions().ClientRequest) == listed(CLIENT_APIS)


def test_a_control_listener_serves_what_its_union_has() -> None:
    """Some of its entities are in more versions: those that a broker forwards, or an older one."""
    union = served(unions().ControlRequest)
    assert union >= listed(CONTROL_APIS)
    assert {key for key, _ in union} == UNLISTED | {key for key, _ in listed(CONTROL_APIS)}


def test_the_controller_decides_what_brokers_forward_and_what_its_listener_brings() -> None:
    answered_by_the_replica = {key for key, _ in served(unions().QuorumRequest)} | {55, 58, 60}
    brought = {key for key, _ in served(unions().ControlRequest)} - answered_by_the_replica
    forwarded = {key for key, _ in served(unions().ForwardedRequest)} - {55}
    assert {key for key, _ in served(unions().DecidedRequest)} == brought | forwarded


def test_an_api_key_is_that_of_its_requests() -> None:
    hints = {
        name: hint.removeprefix("Final[ApiKey[").removesuffix("]]").rpartition(".")[2]
        for name, hint in api_keys.__annotations__.items()
    }
    assert len(hints) > 30
    for name, union in hints.items():
        keys = {key for key, _ in served(getattr(unions(), union, None) or _entity(union))}
        assert keys == {getattr(api_keys, name)}, name


def _entity(name: str) -> type:
    from nodes.kraft.wire import debug

    return getattr(debug, name)  # type: ignore[no-any-return]
