"""Changes of configurations as Kafka's messages, and back."""

from typing import Any

import pytest
from kio.schema.describe_configs.v4 import response as described
from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs.v1 import response as altered
from kio.static.primitive import i8

from framework.history.event import Invocation
from framework.plugins.dialect import UnexpectedResponse
from framework.plugins.outcomes import Ok, Refused
from nodes.kraft.controller.answers import NO_THROTTLE
from workloads.kafka.configuration_messages import EXCHANGES

KEYS = [
    ("configure", "t", 2, "t"),
    ("configure-broker", "broker-4", 4, "4"),
    ("configure-broker", "brokers", 4, ""),
]
ASKS = Invocation(process=0, f="describe-broker-configs", key="broker-4", value=None)


def change(f: str, key: str, **value: Any) -> Invocation:
    return Invocation(process=0, f=f, key=key, value=value)


@pytest.mark.parametrize(("f", "key", "kind", "name"), KEYS)
def test_a_change_is_of_one_resource(f: str, key: str, kind: int, name: str) -> None:
    asked = change(f, key, set=[["a", "1"], ["b", ""]], delete=["c"])
    request = EXCHANGES[f].request(asked)
    (only,) = request.resources
    assert (only.resource_type, only.resource_name) == (kind, name)
    assert [(each.name, each.config_operation, each.value) for each in only.configs] == [
        *(("a", 0, "1"), ("b", 0, ""), ("c", 1, None)),
    ]
    assert request.validate_only is False


@pytest.mark.parametrize("value", [{"set": [["a", "1"]]}, {"delete": ["a"]}])
def test_a_change_may_only_set_or_only_take_away(value: Any) -> None:
    (only,) = EXCHANGES["configure"].request(change("configure", "t", **value)).resources
    assert [each.name for each in only.configs] == ["a"]


def answered(kind: int, name: str, code: int = 0) -> altered.IncrementalAlterConfigsResponse:
    resource = altered.AlterConfigsResourceResponse(
        error_code=ErrorCode(code),
        error_message="why" if code else None,
        resource_type=i8(kind),
        resource_name=name,
    )
    return altered.IncrementalAlterConfigsResponse(throttle_time=NO_THROTTLE, responses=(resource,))


@pytest.mark.parametrize(("f", "key", "kind", "name"), KEYS)
def test_its_answer_says_nothing_more(f: str, key: str, kind: int, name: str) -> None:
    asked, answer = change(f, key, delete=["a"]), EXCHANGES[f].answer
    assert EXCHANGES[f].forwarded
    assert answer(asked, answered(kind, name)) == Ok(None)
    assert answer(asked, answered(kind, name, 40)) == Refused("INVALID_CONFIG", "why")
    with pytest.raises(UnexpectedResponse):
        answer(asked, answered(kind, "other"))


def told(code: int, name: str, *configs: tuple[str, str, int]) -> described.DescribeConfigsResponse:
    result = described.DescribeConfigsResult(
        error_code=ErrorCode(code),
        error_message="why" if code else None,
        resource_type=i8(4),
        resource_name=name,
        configs=tuple(
            described.DescribeConfigsResourceResult(
                name=each,
                value=value,
                read_only=False,
                config_source=i8(source),
                is_sensitive=False,
                synonyms=(),
                documentation=None,
            )
            for each, value, source in configs
        ),
    )
    return described.DescribeConfigsResponse(throttle_time=NO_THROTTLE, results=(result,))


def test_a_broker_tells_what_is_set_for_it_alone() -> None:
    """Not for all brokers, nor what its file says, nor what holds by default."""
    asks = EXCHANGES["describe-broker-configs"]
    (only,) = asks.request(ASKS).resources
    assert (only.resource_type, only.resource_name, only.configuration_keys) == (4, "4", None)
    configs = [("a", "1", 2), ("b", "2", 3), ("c", "3", 4), ("d", "4", 5), ("e", "5", 1)]
    assert asks.answer(ASKS, told(0, "4", *configs)) == Ok({"configs": [["a", "1"]]})
    assert asks.answer(ASKS, told(0, "4")) == Ok({"configs": []})
    assert asks.answer(ASKS, told(42, "4")) == Refused("INVALID_REQUEST", "why")
    with pytest.raises(UnexpectedResponse):
        asks.answer(ASKS, told(0, "5"))


def test_a_broker_tells_what_is_set_for_all() -> None:
    """And not what is set for itself."""
    exchange = EXCHANGES["describe-broker-configs"]
    asks = Invocation(process=0, f="describe-broker-configs", key="brokers", value=None)
    (only,) = exchange.request(asks).resources
    assert (only.resource_type, only.resource_name) == (4, "")
    configs = [("a", "1", 2), ("b", "2", 3), ("c", "3", 4), ("d", "4", 5)]
    assert exchange.answer(asks, told(0, "", *configs)) == Ok({"configs": [["b", "2"]]})
    with pytest.raises(UnexpectedResponse):
        exchange.answer(asks, told(0, "4"))
