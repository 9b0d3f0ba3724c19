"""Access rules as clients write them: checked, matched by filters, turned into records. Pure.

Clients name the default resource `*`; the log holds it as a null name with pattern type LITERAL
(A.1.92), so that there is one record for one rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kio.static.primitive import i8

from nodes.kraft.metadata.image import EVERY_RESOURCE, AccessRule, Image
from nodes.kraft.security.authorizer import (
    CLUSTER_NAME,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from nodes.kraft.wire.records import AccessControlRecord, RemoveAccessControlRecord

if TYPE_CHECKING:
    from nodes.kraft.wire.metadata_requests import AclCreation, AclFilter

MAX_TEXT_BYTES: Final = 32_767
"""Of a resource's name, a principal or a host."""
_FILTER_ONLY: Final = frozenset({0, 1})
"""UNKNOWN and ANY, in every one of Kafka's enumerations of access rules."""


def problem(creation: AclCreation) -> str | None:
    """Why an AclCreation of CreateAcls v1-3 makes no rule; None: it does."""
    name, pattern = creation.resource_name, int(creation.resource_pattern_type)
    for what, value, kinds in (
        ("resource type", int(creation.resource_type), ResourceType),
        ("operation", int(creation.operation), Operation),
        ("permission", int(creation.permission_type), Permission),
    ):
        if value in _FILTER_ONLY or value not in tuple(kinds):
            return f"{value} is no {what} of a rule"
    if pattern not in (PatternType.LITERAL, PatternType.PREFIXED):
        return f"pattern type {pattern}: a rule's is LITERAL (3) or PREFIXED (4)"
    for text in (name, creation.principal, creation.host):
        if len(text.encode()) > MAX_TEXT_BYTES:
            return f"a name has at most {MAX_TEXT_BYTES} bytes"
    if not name:
        return "the resource has no name"
    if int(creation.resource_type) == ResourceType.CLUSTER and name != CLUSTER_NAME:
        return f"the only cluster is {CLUSTER_NAME}"
    kind, colon, who = creation.principal.partition(":")
    if not (kind and colon and who):
        return f"principal {creation.principal!r} is not of the form Type:name"
    return None if creation.host else "the host is missing; * is everywhere"


def rule_of(creation: AclCreation) -> AccessRule:
    """The rule that a checked AclCreation makes."""
    name, pattern = creation.resource_name, int(creation.resource_pattern_type)
    default = pattern == PatternType.LITERAL and name == EVERY_RESOURCE
    return AccessRule(
        resource_type=int(creation.resource_type),
        resource_name=None if default else name,
        pattern_type=pattern,
        principal=creation.principal,
        host=creation.host,
        operation=int(creation.operation),
        permission_type=int(creation.permission_type),
    )


def record_of(
    rule: AccessRule,
    kind: type[AccessControlRecord] | type[RemoveAccessControlRecord],
) -> AccessControlRecord | RemoveAccessControlRecord:
    """The record that makes, or removes, a rule."""
    return kind(
        resource_type=i8(rule.resource_type),
        resource_name=rule.resource_name,
        pattern_type=i8(rule.pattern_type),
        principal=rule.principal,
        host=rule.host,
        operation=i8(rule.operation),
        permission_type=i8(rule.permission_type),
    )


def filter_problem(wanted: AclFilter) -> str | None:
    """Why this is no filter of DescribeAcls or DeleteAcls; None: it is."""
    for what, value, kinds in (
        ("resource type", int(wanted.resource_type_filter), ResourceType),
        ("pattern type", int(wanted.pattern_type_filter), PatternType),
        ("operation", int(wanted.operation), Operation),
        ("permission", int(wanted.permission_type), Permission),
    ):
        if value == 0 or value not in tuple(kinds):
            return f"{value} is no {what} of a filter"
    return None


def matching(image: Image, wanted: AclFilter) -> Iterator[AccessRule]:
    """The rules that a filter matches, in a fixed order."""
    yield from sorted(
        (rule for rule in image.access_rules if matches(wanted, rule)),
        key=lambda rule: (rule.key, rule.host, rule.operation, rule.permission_type),
    )


def matches(wanted: AclFilter, rule: AccessRule) -> bool:
    """Whether a filter matches a rule. A null name, principal or host matches any."""
    return (
        wanted.resource_type_filter in (ResourceType.ANY, rule.resource_type)
        and wanted.operation in (Operation.ANY, rule.operation)
        and wanted.permission_type in (Permission.ANY, rule.permission_type)
        and wanted.principal_filter in (None, rule.principal)
        and wanted.host_filter in (None, rule.host)
        and _matches_name(wanted.resource_name_filter, wanted.pattern_type_filter, rule)
    )


def _matches_name(name: str | None, pattern: int, rule: AccessRule) -> bool:
    """ANY takes the name by letter in every pattern type; MATCH takes the rules that would
    apply to a resource of that name."""
    if pattern not in (PatternType.ANY, PatternType.MATCH, rule.pattern_type):
        return False
    if name is None or name == rule.resource:
        return True
    if pattern != PatternType.MATCH:
        return False
    if rule.pattern_type == PatternType.LITERAL:
        return rule.resource == EVERY_RESOURCE
    return name.startswith(rule.resource)
