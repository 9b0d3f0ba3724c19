"""What the sender of a request may do, asked item by item; the answer is a `Refusal`."""

from collections.abc import Callable
from typing import TypeAlias

from nodes.kraft.controller.answers import Refusal
from nodes.kraft.security.authorizer import (
    CLUSTER_NAME,
    DENIED,
    OPERATIONS_OF,
    Operation,
    ResourceType,
)

Allows: TypeAlias = Callable[[Operation, ResourceType, str], bool]
"""Whether the sender may do this operation on the resource of that type and name."""


def everything(operation: Operation, resource_type: ResourceType, name: str) -> bool:
    """The sender is one of the cluster's own nodes, or nobody asks."""
    return True


def require(
    allows: Allows, operation: Operation, resource_type: ResourceType, name: str = CLUSTER_NAME
) -> None:
    """Raises `Refusal` (29, 30, 31) where the sender may not."""
    if not allows(operation, resource_type, name):
        what = f"{operation.name} on {resource_type.name} {name}"
        raise Refusal(DENIED[resource_type], f"not authorized: {what}")


def may_create(allows: Allows, topic: str) -> None:
    """CREATE on the cluster or on the topic of that name, as in Kafka."""
    if not allows(Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME):
        require(allows, Operation.CREATE, ResourceType.TOPIC, topic)


def authorized_operations(allows: Allows, resource_type: ResourceType, name: str) -> int:
    """What the sender may do on the resource, a bit for each operation (KIP-430)."""
    operations = OPERATIONS_OF[resource_type]
    return sum(1 << each for each in operations if allows(each, resource_type, name))
