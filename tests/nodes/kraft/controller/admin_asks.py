"""Administrative requests for the controller's tests, sent as the client who asks."""

from __future__ import annotations

import datetime
from typing import Any

from controller_harness import Harness
from kio.schema.alter_configs.v2.request import AlterableConfig as LegacyConfig
from kio.schema.alter_configs.v2.request import AlterConfigsRequest
from kio.schema.alter_configs.v2.request import AlterConfigsResource as LegacyResource
from kio.schema.create_acls.v3.request import AclCreation, CreateAclsRequest
from kio.schema.create_partitions.v3.request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kio.schema.delete_acls.v3.request import DeleteAclsFilter, DeleteAclsRequest
from kio.schema.incremental_alter_configs.v1.request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

from nodes.kraft.controller import steps
from nodes.kraft.security.authorizer import Authorizer, Requester
from nodes.kraft.security.principal import Principal
from nodes.kraft.wire.codec import encode_entity

ROOT, ALICE = Principal("User", "root"), Principal("User", "alice")
HOST = "10.0.0.1"
SECURED = Authorizer(enabled=True, super_users=frozenset({ROOT}))
SET, DELETE, APPEND, SUBTRACT = range(4)
SECOND = datetime.timedelta(seconds=1)


def ask_as(
    harness: Harness, principal: Principal, request: Any, request_id: bytes | None = None
) -> Any:
    """The answer to a forwarded request of a client."""
    harness.token += 1
    encode_entity(request)
    requester = Requester(principal, HOST)
    harness.feed(steps.ControllerRequest(harness.token, request, request_id, requester))
    return harness.answers.get(harness.token)


def grow(
    *topics: tuple[str, int], rows: list[list[int]] | None = None, validate_only: bool = False
) -> CreatePartitionsRequest:
    assignments = rows and tuple(CreatePartitionsAssignment(broker_ids=tuple(r)) for r in rows)
    return CreatePartitionsRequest(
        topics=tuple(
            CreatePartitionsTopic(name=name, count=count, assignments=assignments)
            for name, count in topics
        ),
        timeout=SECOND,
        validate_only=validate_only,
    )


def change(
    name: str,
    *changes: tuple[str, int, str | None],
    kind: int = 2,
    validate_only: bool = False,
) -> IncrementalAlterConfigsRequest:
    """(configuration, operation, value) each."""
    return changes_of((kind, name, changes), validate_only=validate_only)


def changes_of(*resources: Any, validate_only: bool = False) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest(
        resources=tuple(
            AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=tuple(
                    AlterableConfig(name=key, config_operation=operation, value=value)
                    for key, operation, value in changes
                ),
            )
            for kind, name, changes in resources
        ),
        validate_only=validate_only,
    )


def replace_all(name: str, values: dict[str, str | None], kind: int = 2) -> AlterConfigsRequest:
    configs = tuple(LegacyConfig(name=key, value=value) for key, value in values.items())
    resource = LegacyResource(resource_type=kind, resource_name=name, configs=configs)
    return AlterConfigsRequest(resources=(resource,), validate_only=False)


def creation(
    name: str = "t",
    operation: int = 3,
    *,
    kind: int = 2,
    pattern: int = 3,
    who: str = "User:alice",
    host: str = "*",
    permission: int = 3,
) -> AclCreation:
    return AclCreation(
        resource_type=kind,
        resource_name=name,
        resource_pattern_type=pattern,
        principal=who,
        host=host,
        operation=operation,
        permission_type=permission,
    )


def create_acls(*creations: AclCreation) -> CreateAclsRequest:
    return CreateAclsRequest(creations=creations)


def acl_filter(
    name: str | None = None, *, kind: int = 1, pattern: int = 1, operation: int = 1
) -> DeleteAclsFilter:
    return DeleteAclsFilter(
        resource_type_filter=kind,
        resource_name_filter=name,
        pattern_type_filter=pattern,
        principal_filter=None,
        host_filter=None,
        operation=operation,
        permission_type=1,
    )


def delete_acls(*filters: DeleteAclsFilter) -> DeleteAclsRequest:
    return DeleteAclsRequest(filters=filters)
