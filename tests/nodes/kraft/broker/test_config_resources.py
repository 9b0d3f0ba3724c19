"""ListConfigResources: of what there may be configurations (KIP-1142)."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from kio.schema.list_config_resources.v1.request import ListConfigResourcesRequest
from kio.static.primitive import i8

from nodes.kraft.broker.config_resources import list_config_resources
from nodes.kraft.controller.permission import everything
from nodes.kraft.metadata.image import EMPTY, Image, apply
from nodes.kraft.security.authorizer import CLUSTER_NAME, Operation, ResourceType
from nodes.kraft.wire.codec import decode_response, encode_response, request_schema
from nodes.kraft.wire.records import BrokerRecord, TopicRecord

TOPICS = [(2, "a"), (2, "b")]
BROKERS = [(4, "4"), (4, "10")]


def image() -> Image:
    """Two topics, and two brokers that are registered, and fenced."""
    found, records = EMPTY, list[Any]()
    for broker_id in (10, 4):
        records.append(
            BrokerRecord(
                broker_id=broker_id,  # type: ignore[arg-type]
                broker_epoch=len(records),
                end_points=(),
                rack=None,
            )
        )
    for number, name in enumerate("ba"):
        topic_id = uuid.UUID(int=number + 1)
        records.append(TopicRecord(name=name, topic_id=topic_id, deleting=False))
    for offset, record in enumerate(records):
        found = apply(found, record, offset)  # type: ignore[arg-type]
    return found


def asked(*types: int, version: int = 1) -> Any:
    if version == 0:
        return request_schema(74, 0)()
    return ListConfigResourcesRequest(resource_types=tuple(map(i8, types)))


def listed(*types: int) -> tuple[int, list[tuple[int, str]]]:
    """(code, [(type, name)]), as a client reads it."""
    answer = list_config_resources(image(), asked(*types), everything)
    told: Any = decode_response(74, 1, encode_response(answer, correlation_id=1))[1]
    return int(told.error_code), [(e.resource_type, e.resource_name) for e in told.config_resources]


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ((), TOPICS + BROKERS),
        ((2,), TOPICS),
        ((4,), BROKERS),
        ((4, 2, 4), BROKERS + TOPICS),
        ((8, 16, 32), []),
    ],
)
def test_what_is_listed(types: tuple[int, ...], expected: list[tuple[int, str]]) -> None:
    """All types where none is named. Loggers, client metrics and groups have none here."""
    assert listed(*types) == (0, expected)


@pytest.mark.parametrize("types", [(1,), (2, 3), (0,), (-1,), (64,)])
def test_types_that_there_are_not_are_refused_as_a_whole(types: tuple[int, ...]) -> None:
    assert listed(*types) == (35, [])


def test_version_0_asks_for_client_metrics_alone() -> None:
    """As it was before KIP-1142: topics would be taken for client metrics."""
    answer: Any = list_config_resources(image(), asked(version=0), everything)
    assert (answer.__version__, answer.error_code, answer.config_resources) == (0, 0, ())
    assert encode_response(answer, correlation_id=1)


@pytest.mark.parametrize("version", [0, 1])
def test_it_needs_describe_configs_on_the_cluster(version: int) -> None:
    """As in Kafka: 31, and no name."""

    def allows(operation: Operation, resource_type: ResourceType, name: str) -> bool:
        needed = (Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER, CLUSTER_NAME)
        return (operation, resource_type, name) != needed

    answer: Any = list_config_resources(image(), asked(2, version=version), allows)
    assert (answer.error_code, answer.config_resources) == (31, ())
