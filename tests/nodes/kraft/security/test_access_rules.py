"""Access rules as clients write them, and filters (A.1.92)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.create_acls.v3.request import AclCreation
from kio.schema.delete_acls.v3.request import DeleteAclsFilter

from nodes.kraft.security import rules
from tests.cases import cases

GOOD = {
    "resource_type": 2,
    "resource_name": "t",
    "resource_pattern_type": 3,
    "principal": "User:alice",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}


def creation(**changes):
    return AclCreation(**(GOOD | changes))


def wanted(**changes):
    anything = {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }
    return DeleteAclsFilter(**(anything | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"resource_type": 4, "resource_name": "kafka-cluster", "operation": 9},
        {"resource_pattern_type": 4},
        {"resource_name": "*"},
        {"principal": "User:a:b"},
        {"operation": 2, "permission_type": 2},
    ],
)
def test_rules_that_can_be_made(changes):
    assert rules.problem(creation(**changes)) is None


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"resource_type": 0}, "resource type"),
        ({"resource_type": 1}, "resource type"),
        ({"resource_type": 99}, "resource type"),
        ({"operation": 1}, "operation"),
        ({"operation": 99}, "operation"),
        ({"permission_type": 1}, "permission"),
        ({"resource_pattern_type": 1}, "pattern type"),
        ({"resource_pattern_type": 2}, "pattern type"),
        ({"resource_name": ""}, "no name"),
        ({"resource_type": 4, "resource_name": "other"}, "kafka-cluster"),
        ({"principal": "alice"}, "Type:name"),
        ({"principal": "User:"}, "Type:name"),
        ({"host": ""}, "host"),
        ({"resource_name": "x" * 32_768}, "at most"),
        ({"principal": "User:" + "ü" * 16_384}, "at most"),
    ],
)
def test_rules_that_make_none(changes, word):
    assert word in rules.problem(creation(**changes))


def test_the_default_resource_is_a_null_name():
    """A.1.92: clients write `*`; a prefix `*` is one like any other."""
    assert rules.rule_of(creation(resource_name="*")).resource_name is None
    assert rules.rule_of(creation(resource_name="*")).resource == "*"
    prefixed = rules.rule_of(creation(resource_name="*", resource_pattern_type=4))
    assert prefixed.resource_name == "*"


@pytest.mark.parametrize(
    "changes",
    [
        {"resource_type_filter": 0},
        {"pattern_type_filter": 0},
        {"operation": 0},
        {"permission_type": 0},
        {"pattern_type_filter": 9},
    ],
)
def test_filters_that_are_none(changes):
    assert rules.filter_problem(wanted(**changes)) is not None
    assert rules.filter_problem(wanted()) is None


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (1, ["lit", "pre"]),  # ANY: by letter, in each pattern type
        (2, ["all", "lit", "p", "pre"]),  # MATCH: what would apply to a resource of that name
        (3, ["lit"]),
        (4, ["pre"]),
    ],
)
def test_names_in_filters(pattern, found):
    some = {
        "lit": creation(resource_name="ab"),
        "pre": creation(resource_name="ab", resource_pattern_type=4),
        "p": creation(resource_name="a", resource_pattern_type=4),
        "all": creation(resource_name="*"),
        "other": creation(resource_name="abc"),
        "longer": creation(resource_name="abc", resource_pattern_type=4),
    }
    asked = wanted(resource_name_filter="ab", pattern_type_filter=pattern)
    matched = [name for name, each in some.items() if rules.matches(asked, rules.rule_of(each))]
    assert sorted(matched) == found


creations = st.builds(
    creation,
    resource_type=st.sampled_from([2, 3]),
    principal=st.sampled_from(["User:alice", "User:bob"]),
    host=st.sampled_from(["*", "10.0.0.1"]),
    operation=st.sampled_from([2, 3, 4]),
    permission_type=st.sampled_from([2, 3]),
)


@settings(max_examples=cases(200), deadline=None)
@given(
    creations,
    st.sampled_from([1, 2, 3]),
    st.sampled_from([None, "User:alice"]),
    st.sampled_from([None, "*"]),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([1, 2, 3]),
)
def test_fields_in_filters(made, kind, who, host, operation, permission):
    """ANY and null match everything, all else itself alone; `*` is a host like any other."""
    asked = wanted(
        resource_type_filter=kind,
        principal_filter=who,
        host_filter=host,
        operation=operation,
        permission_type=permission,
    )
    expected = (
        kind in (1, made.resource_type)
        and who in (None, made.principal)
        and host in (None, made.host)
        and operation in (1, made.operation)
        and permission in (1, made.permission_type)
    )
    assert rules.matches(asked, rules.rule_of(made)) == expected
