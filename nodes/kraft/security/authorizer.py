"""Who may do what: Kafka's access rules over the metadata image. Pure.

The semantics are those of Kafka's StandardAuthorizer: a super user may do everything; of all
others, a rule that denies wins over any that allows, and what no rule allows is denied. A rule
applies to a resource by its own name (literal), by a prefix of it (prefixed), or to all of its
type (literal `*`, which the log holds as a null name: the draft's "default resource", A.1.92).
Principal `User:*` is everyone, host `*` is everywhere, operation ALL is every operation. A rule
that allows READ, WRITE, DELETE or ALTER allows DESCRIBE, too; one that allows ALTER_CONFIGS
allows DESCRIBE_CONFIGS. A rule that denies implies nothing.

A check looks rules up by resource and principal (`Image.rules_by_key`); its cost grows with the
length of the resource's name and with the rules of just that resource and principal.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from kio.schema.errors import ErrorCode

from nodes.kraft.metadata.image import EVERY_RESOURCE, AccessRule, Image
from nodes.kraft.security.principal import Principal


class Operation(IntEnum):
    """Kafka's AclOperation, by its number on the wire."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


class ResourceType(IntEnum):
    """Kafka's ResourceType, by its number on the wire."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """Kafka's PatternType. MATCH is for filters only."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    """Kafka's AclPermissionType."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


CLUSTER_NAME: Final = "kafka-cluster"
"""The one resource of type CLUSTER."""
EVERYONE: Final = "User:*"
EVERYWHERE: Final = "*"

DENIED: Final[dict[ResourceType, ErrorCode]] = {
    ResourceType.TOPIC: ErrorCode.topic_authorization_failed,
    ResourceType.GROUP: ErrorCode.group_authorization_failed,
    ResourceType.CLUSTER: ErrorCode.cluster_authorization_failed,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.transactional_id_authorization_failed,
}
"""What a client is told who may not touch a resource of that type: 29, 30, 31, 53."""

OPERATIONS_OF: Final[dict[ResourceType, tuple[Operation, ...]]] = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (Operation.READ, Operation.DESCRIBE, Operation.DELETE),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
}
"""The operations that a resource of that type knows (for "authorized operations")."""

_ALLOWED_BY: Final[dict[int, frozenset[int]]] = {
    Operation.DESCRIBE: frozenset(
        {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
    ),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.ALTER_CONFIGS}),
}


@dataclass(frozen=True, slots=True)
class Authorizer:
    """`enabled` False: everyone may do everything (`authorizer.enabled`). `super_users`: who may
    whatever the rules say (`super.users`)."""

    enabled: bool = False
    super_users: frozenset[Principal] = frozenset()

    def allows(
        self,
        image: Image,
        principal: Principal,
        host: str,
        operation: Operation,
        resource_type: ResourceType,
        resource_name: str,
    ) -> bool:
        """Whether `principal`, calling from IP address `host`, may do this."""
        if not self.enabled or principal in self.super_users:
            return True
        return _allowed(_rules_for(image, principal, resource_type, resource_name), host, operation)

    def allows_any(
        self,
        image: Image,
        principal: Principal,
        host: str,
        operation: Operation,
        resource_type: ResourceType,
    ) -> bool:
        """Whether the principal may do this to at least one resource of the type, be there one
        or not (Kafka's authorizeByResourceType, for InitProducerId). Walks all rules."""
        if not self.enabled or principal in self.super_users:
            return True
        who = (str(principal), EVERYONE)
        mine = [
            rule
            for rule in image.access_rules
            if rule.resource_type == resource_type and rule.principal in who
        ]
        denied = [
            rule for rule in mine if _speaks(rule, host, operation, permission=Permission.DENY)
        ]
        return any(
            _speaks(rule, host, operation, permission=Permission.ALLOW)
            and not any(_covers(deny, rule) for deny in denied)
            for rule in mine
        )


NOBODY_ASKED: Final = Authorizer()
"""The authorizer that is not enabled."""


@dataclass(frozen=True, slots=True)
class Requester:
    """Who sent a request, and from which IP address."""

    principal: Principal
    host: str


def _rules_for(
    image: Image, principal: Principal, resource_type: int, name: str
) -> Iterator[AccessRule]:
    """The rules that apply to the resource and to the principal."""
    index = image.rules_by_key
    if not index:
        return
    for who in (str(principal), EVERYONE):
        yield from index.get((resource_type, PatternType.LITERAL, name, who), ())
        if name != EVERY_RESOURCE:
            yield from index.get((resource_type, PatternType.LITERAL, EVERY_RESOURCE, who), ())
        for end in range(1, len(name) + 1):
            yield from index.get((resource_type, PatternType.PREFIXED, name[:end], who), ())


def _allowed(rules: Iterable[AccessRule], host: str, operation: int) -> bool:
    allowed = False
    for rule in rules:
        if rule.permission_type == Permission.DENY:
            if _speaks(rule, host, operation, permission=Permission.DENY):
                return False
        elif not allowed:
            allowed = _speaks(rule, host, operation, permission=Permission.ALLOW)
    return allowed


def _speaks(rule: AccessRule, host: str, operation: int, *, permission: Permission) -> bool:
    """Whether the rule gives that permission for the operation from that host."""
    if rule.permission_type != permission or rule.host not in (EVERYWHERE, host):
        return False
    if rule.operation in (operation, Operation.ALL):
        return True
    implied = _ALLOWED_BY.get(operation, frozenset())
    return permission == Permission.ALLOW and rule.operation in implied


def _covers(deny: AccessRule, allow: AccessRule) -> bool:
    """Whether `deny` applies to every resource that `allow` applies to."""
    denied, allowed = deny.resource, allow.resource
    if deny.pattern_type == PatternType.LITERAL:
        if denied == EVERY_RESOURCE:
            return True
        return allow.pattern_type == PatternType.LITERAL and denied == allowed
    everything = allow.pattern_type == PatternType.LITERAL and allowed == EVERY_RESOURCE
    return not everything and allowed.startswith(denied)
