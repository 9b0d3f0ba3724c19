"""What configurations, access rules and answers make of the image, and its indexes."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.kraft.metadata import image as image_module
from nodes.kraft.metadata.image import (
    EMPTY,
    DuplicateEntity,
    Image,
    UnknownEntity,
    apply,
    metric_name,
)
from nodes.kraft.metadata.records import decode_record, encode_record
from nodes.kraft.wire.records import (
    AccessControlRecord,
    ConfigRecord,
    RemoveAccessControlRecord,
    RemoveTopicRecord,
    RequestRecord,
    TopicRecord,
)
from tests.cases import cases

T = uuid.UUID(int=7)
FIELDS = {
    "resource_type": 2,
    "resource_name": None,
    "pattern_type": 3,
    "principal": "User:alice",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}


def image_of(*records, start: Image = EMPTY) -> Image:
    image = start
    for offset, record in enumerate(records):
        image = apply(image, record, offset)
    return image


def config(value: str | None, name: str = "a") -> ConfigRecord:
    return ConfigRecord(resource_type=4, resource_name="", name=name, value=value)


def test_a_null_value_removes():
    """A.1.90: and nothing is left of a resource without values."""
    image = image_of(config("1"), config("2", "b"), config(None))
    assert dict(image.configs[4, ""]) == {"b": "2"}
    image = image_of(config(None, "b"), start=image)
    assert image.configs == EMPTY.configs
    with pytest.raises(UnknownEntity):
        image_of(config(None), start=image)


def test_a_rule_comes_and_goes():
    """A.1.92: record types 5 and 19."""
    made, gone = AccessControlRecord(**FIELDS), RemoveAccessControlRecord(**FIELDS)
    image = image_of(made)
    assert len(image.rules_by_key) == 1
    with pytest.raises(DuplicateEntity):
        image_of(made, start=image)
    image = image_of(gone, start=image)
    assert (len(image.access_rules), len(image.rules_by_key)) == (0, 0)
    with pytest.raises(UnknownEntity):
        image_of(gone, start=image)


@pytest.mark.parametrize("record", [config(None), config("1"), RemoveAccessControlRecord(**FIELDS)])
def test_records_survive_the_log(record):
    assert decode_record(encode_record(record)) == record


def test_the_type_of_a_removal_is_the_shipped_one():
    assert encode_record(RemoveAccessControlRecord(**FIELDS))[:2] == bytes([19, 0])


names = st.text("ab._", min_size=1, max_size=4)


@settings(max_examples=cases(200), deadline=None)
@given(st.lists(names, unique_by=metric_name, max_size=10), st.data())
def test_names_in_metrics_are_indexed(some, data):
    """Each name that could collide is found by its name in metrics, as long as it is there."""
    ids = {name: uuid.UUID(int=number) for number, name in enumerate(some, 1)}
    image = image_of(*(TopicRecord(name=name, topic_id=ids[name], deleting=False) for name in some))
    gone = data.draw(st.lists(st.sampled_from(some), unique=True)) if some else []
    for name in gone:
        image = apply(image, TopicRecord(name=name, topic_id=ids[name], deleting=True), 100)
        image = apply(image, RemoveTopicRecord(topic_id=ids[name]), 101)
    left = {name for name in some if name not in gone and ("_" in name or "." in name)}
    assert {metric_name(name): name for name in left} == dict(image.metric_names)


def test_answers_are_remembered_up_to_a_size(monkeypatch):
    """However large each is; the newest one always."""
    monkeypatch.setattr(image_module, "REMEMBERED_BYTES", 100)

    def answer(number: int, size: int) -> RequestRecord:
        return RequestRecord(request_id=uuid.UUID(int=number), answer=bytes(size))

    image = image_of(*(answer(number, 30) for number in range(1, 6)))
    assert image.request_bytes == 90
    assert sorted(each.int for each in image.requests) == [3, 4, 5]
    image = image_of(answer(6, 500), start=image)
    assert ([each.int for each in image.requests], image.request_bytes) == ([6], 500)
    image = image_of(answer(7, 1), start=image)
    assert ([each.int for each in image.requests], image.request_bytes) == ([7], 1)
    assert list(image.request_order.values()) == [uuid.UUID(int=7)]
