"""CreateAcls and DeleteAcls: access rules come and go.

Both need ALTER on the cluster. With the authorizer off they are refused with SECURITY_DISABLED
(54), as in Kafka: a rule that nobody enforces must not look like protection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode
from kio.static.primitive import i8
from kio.static.protocol import Entity, ResponsePayload

from nodes.kraft.controller.answers import (
    Refusal,
    blank,
    item_result,
    item_schema,
    items_response,
    refused,
    schema_of,
)
from nodes.kraft.controller.permission import Allows, require
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.metadata.image import AccessRule
from nodes.kraft.security.authorizer import Operation, ResourceType
from nodes.kraft.security.rules import filter_problem, matching, problem, record_of, rule_of
from nodes.kraft.wire.records import AccessControlRecord, RemoveAccessControlRecord

if TYPE_CHECKING:
    from nodes.kraft.wire.metadata_requests import AclCreation, CreateAclsRequest, DeleteAclsRequest

MAX_RULES: Final = 10_000
"""Rules that one request may make or remove: Kafka's limit of records an operation (B.10)."""


def create_acls(
    builder: RecordBatchBuilder, request: CreateAclsRequest, *, enabled: bool, allows: Allows
) -> ResponsePayload:
    """Decide a CreateAcls request. A rule that is there already is a success without record."""
    refusal = _may_not(enabled, allows)
    if refusal is not None:
        return refused(request, refusal.code, refusal.message)
    return items_response(request, [_create(builder, request, each) for each in request.creations])


def _create(
    builder: RecordBatchBuilder, request: CreateAclsRequest, creation: AclCreation
) -> Entity:
    wrong = problem(creation)
    if wrong is None and len(builder.records) >= MAX_RULES:
        wrong = f"one request may make {MAX_RULES} rules"
    if wrong is not None:
        return item_result(request, refusal=Refusal(ErrorCode.invalid_request, wrong))
    rule = rule_of(creation)
    if rule not in builder.image.access_rules:
        builder.add(record_of(rule, AccessControlRecord))
    return item_result(request)


def delete_acls(
    builder: RecordBatchBuilder, request: DeleteAclsRequest, *, enabled: bool, allows: Allows
) -> ResponsePayload:
    """Decide a DeleteAcls request. Each filter tells all rules that it matched when the request
    came, also those that another filter of the request removed before it."""
    refusal = _may_not(enabled, allows)
    if refusal is not None:
        return refused(request, refusal.code, refusal.message)
    before = builder.image
    results = []
    for wanted in request.filters:
        wrong = filter_problem(wanted)
        rules = [] if wrong else list(matching(before, wanted))
        gone = [rule for rule in rules if rule in builder.image.access_rules]
        if wrong is None and len(builder.records) + len(gone) > MAX_RULES:
            wrong = f"one request may remove {MAX_RULES} rules"
        if wrong is not None:
            refusal = Refusal(ErrorCode.invalid_request, wrong)
            results.append(item_result(request, refusal=refusal))
            continue
        for rule in gone:
            builder.add(record_of(rule, RemoveAccessControlRecord))
        matched = tuple(_matched(request, rule) for rule in rules)
        results.append(item_result(request, matching_acls=matched))
    return items_response(request, results)


def _matched(request: DeleteAclsRequest, rule: AccessRule) -> Entity:
    results = item_schema(schema_of(request), "filter_results")
    return blank(
        item_schema(results, "matching_acls"),
        resource_type=i8(rule.resource_type),
        resource_name=rule.resource,
        pattern_type=i8(rule.pattern_type),
        principal=rule.principal,
        host=rule.host,
        operation=i8(rule.operation),
        permission_type=i8(rule.permission_type),
    )


def _may_not(enabled: bool, allows: Allows) -> Refusal | None:
    if not enabled:
        return Refusal(ErrorCode.security_disabled, "authorizer.enabled is false")
    try:
        require(allows, Operation.ALTER, ResourceType.CLUSTER)
    except Refusal as refusal:
        return refusal
    return None
