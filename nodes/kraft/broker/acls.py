"""DescribeAcls: the access rules that a filter matches, from the broker's image. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode
from kio.static.primitive import i8
from kio.static.protocol import Entity, ResponsePayload

from nodes.kraft.controller.answers import Refusal, blank, item_schema, refused, schema_of
from nodes.kraft.controller.permission import Allows, require
from nodes.kraft.metadata.image import AccessRule, Image
from nodes.kraft.security.authorizer import Operation, ResourceType
from nodes.kraft.security.rules import filter_problem, matching

if TYPE_CHECKING:
    from nodes.kraft.wire.metadata_requests import DescribeAclsRequest


def describe_acls(
    image: Image, request: DescribeAclsRequest, *, enabled: bool, allows: Allows
) -> ResponsePayload:
    """The answer to DescribeAcls v1-3. Needs DESCRIBE on the cluster (31); 54 where there is no
    authorizer."""
    try:
        if not enabled:
            raise Refusal(ErrorCode.security_disabled, "authorizer.enabled is false")
        require(allows, Operation.DESCRIBE, ResourceType.CLUSTER)
        wrong = filter_problem(request)
        if wrong is not None:
            raise Refusal(ErrorCode.invalid_request, wrong)
    except Refusal as refusal:
        return refused(request, refusal.code, refusal.message)
    schema = item_schema(schema_of(request), "resources")
    rules = groupby(matching(image, request), key=_resource)
    return blank(
        schema_of(request),
        resources=tuple(_described(schema, resource, each) for resource, each in rules),
    )


def _resource(rule: AccessRule) -> tuple[int, int, str]:
    return rule.resource_type, rule.pattern_type, rule.resource


def _described(
    schema: type[Entity], resource: tuple[int, int, str], rules: Iterable[AccessRule]
) -> Entity:
    kind, pattern, name = resource
    rule_schema = item_schema(schema, "acls")
    return blank(
        schema,
        resource_type=i8(kind),
        pattern_type=i8(pattern),
        resource_name=name,
        acls=tuple(
            blank(
                rule_schema,
                principal=rule.principal,
                host=rule.host,
                operation=i8(rule.operation),
                permission_type=i8(rule.permission_type),
            )
            for rule in rules
        ),
    )
