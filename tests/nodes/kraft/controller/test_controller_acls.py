"""CreateAcls and DeleteAcls at the controller (A.1.92)."""

from __future__ import annotations

import pytest
from admin_asks import ALICE, ROOT, SECURED, acl_filter, ask_as, create_acls, creation, delete_acls
from controller_harness import Harness

from nodes.kraft.wire.records import AccessControlRecord, RemoveAccessControlRecord


@pytest.fixture
def harness():
    return Harness(authorizer=SECURED).claim()


def codes(response):
    return [each.error_code for each in getattr(response, "results", response)]


def test_created_rules(harness):
    """A.1.92: one AccessControlRecord a rule; `*` is the default resource, a null name."""
    start = len(harness.log)
    response = ask_as(harness, ROOT, create_acls(creation("t"), creation("*", 4)))
    assert codes(response) == [0, 0]
    records = harness.records(start)
    assert all(isinstance(record, AccessControlRecord) for record in records)
    assert [(record.resource_name, record.operation) for record in records] == [("t", 3), (None, 4)]
    assert len(harness.committed.access_rules) == 2


def test_a_rule_that_is_there_is_a_success_without_record(harness):
    ask_as(harness, ROOT, create_acls(creation("t")))
    start = len(harness.log)
    assert codes(ask_as(harness, ROOT, create_acls(creation("t"), creation("t")))) == [0, 0]
    assert len(harness.log) == start


def test_each_rule_stands_alone(harness):
    bad = creation("t", who="nobody")
    assert codes(ask_as(harness, ROOT, create_acls(creation("a"), bad, creation("b")))) == [
        0,
        42,
        0,
    ]
    assert {rule.resource for rule in harness.committed.access_rules} == {"a", "b"}


def test_deleted_rules(harness):
    """Each filter tells what it matched, also what another one removed before it."""
    ask_as(
        harness, ROOT, create_acls(creation("a"), creation("a", 4), creation("*"), creation("c"))
    )
    start = len(harness.log)
    request = delete_acls(acl_filter("a"), acl_filter("a", operation=3), acl_filter("*"))
    response = ask_as(harness, ROOT, request)
    assert codes(response.filter_results) == [0, 0, 0]
    reported = [
        sorted((each.resource_name, each.operation) for each in result.matching_acls)
        for result in response.filter_results
    ]
    assert reported == [[("a", 3), ("a", 4)], [("a", 3)], [("*", 3)]]
    records = harness.records(start)
    assert all(isinstance(record, RemoveAccessControlRecord) for record in records)
    assert len(records) == 3
    assert {rule.resource for rule in harness.committed.access_rules} == {"c"}


def test_filters_that_are_none(harness):
    response = ask_as(harness, ROOT, delete_acls(acl_filter("a", kind=0), acl_filter()))
    assert codes(response.filter_results) == [42, 0]


def test_the_right_to_make_rules(harness):
    """ALTER on the cluster; else 31 for each item and nothing else."""
    start = len(harness.log)
    assert codes(ask_as(harness, ALICE, create_acls(creation("a"), creation("b")))) == [31, 31]
    response = ask_as(harness, ALICE, delete_acls(acl_filter()))
    assert codes(response.filter_results) == [31]
    assert response.filter_results[0].matching_acls == ()
    assert len(harness.log) == start
    alter = creation("kafka-cluster", 7, kind=4)
    assert codes(ask_as(harness, ROOT, create_acls(alter))) == [0]
    assert codes(ask_as(harness, ALICE, create_acls(creation("a")))) == [0]


def test_without_the_authorizer_there_are_no_rules():
    """SECURITY_DISABLED, as in Kafka: a rule that nobody enforces is no protection."""
    harness = Harness().claim()
    start = len(harness.log)
    assert codes(ask_as(harness, ROOT, create_acls(creation("a")))) == [54]
    assert codes(ask_as(harness, ROOT, delete_acls(acl_filter())).filter_results) == [54]
    assert len(harness.log) == start
