"""The authorizer against a brute-force reading of Kafka's rules (A.1.19, A.1.92)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.kraft.metadata.image import EMPTY, AccessRule, Image, apply
from nodes.kraft.security.authorizer import (
    CLUSTER_NAME,
    Authorizer,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from nodes.kraft.security.principal import ANONYMOUS, Principal
from nodes.kraft.security.rules import record_of
from nodes.kraft.wire.records import AccessControlRecord, RemoveAccessControlRecord
from tests.cases import cases

ALICE, BOB = Principal("User", "alice"), Principal("User", "bob")
HERE, THERE = "127.0.0.1", "10.0.0.1"
NAMES = ("", "a", "ab", "abc", "b", "*", CLUSTER_NAME)
OPERATIONS = (
    Operation.ALL,
    Operation.READ,
    Operation.WRITE,
    Operation.DELETE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
    Operation.CLUSTER_ACTION,
)

rules = st.builds(
    AccessRule,
    resource_type=st.sampled_from([2, 3, 4]),
    resource_name=st.sampled_from([*NAMES[1:], None]),
    pattern_type=st.sampled_from([3, 4]),
    principal=st.sampled_from(["User:alice", "User:bob", "User:*", "Group:alice"]),
    host=st.sampled_from(["*", HERE, THERE]),
    operation=st.sampled_from(OPERATIONS).map(int),
    permission_type=st.sampled_from([2, 3]),
).filter(lambda rule: rule.resource_name is not None or rule.pattern_type == 3)
questions = st.tuples(
    st.sampled_from([ALICE, BOB, Principal("Group", "alice")]),
    st.sampled_from([HERE, THERE]),
    st.sampled_from([each for each in OPERATIONS if each != Operation.ALL]),
    st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER]),
    st.sampled_from([*NAMES[1:], "abcd"]),
)


def image_of(some: list[AccessRule]) -> Image:
    image = EMPTY
    for offset, rule in enumerate(dict.fromkeys(some)):
        image = apply(image, record_of(rule, AccessControlRecord), offset)
    return image


def rule(
    name: str | None,
    operation: Operation,
    *,
    who: str = "User:alice",
    host: str = "*",
    pattern: PatternType = PatternType.LITERAL,
    permission: Permission = Permission.ALLOW,
    kind: ResourceType = ResourceType.TOPIC,
) -> AccessRule:
    return AccessRule(kind, name, pattern, who, host, operation, permission)


def brute_force(some, who, host, operation, kind, name):  # type: ignore[no-untyped-def]
    """Kafka's documentation read aloud: every rule is looked at."""
    implied_by = {
        Operation.DESCRIBE: {"READ", "WRITE", "DELETE", "ALTER"},
        Operation.DESCRIBE_CONFIGS: {"ALTER_CONFIGS"},
    }.get(operation, set())
    allowed = denied = False
    for each in some:
        if each.resource_type != kind:
            continue
        whole = each.resource_name is None or each.resource_name == "*"
        if each.pattern_type == 3:
            applies = whole or each.resource_name == name
        else:
            applies = name.startswith(each.resource_name)
        if not applies or each.principal not in ("User:*", f"{who.type}:{who.name}"):
            continue
        if each.host != "*" and each.host != host:
            continue
        spoken = Operation(each.operation)
        same = spoken == operation or spoken == Operation.ALL
        if each.permission_type == 2:
            denied = denied or same
        else:
            allowed = allowed or same or spoken.name in implied_by
    return allowed and not denied


@settings(max_examples=cases(400), deadline=None)
@given(st.lists(rules, max_size=12), st.lists(questions, min_size=1, max_size=12))
def test_the_index_says_what_all_rules_say(some, asked):
    """A.1.92: deny wins, literal, prefixed, default resource, wildcards, implied operations."""
    image = image_of(some)
    authorizer = Authorizer(enabled=True)
    for question in asked:
        assert authorizer.allows(image, *question) == brute_force(set(some), *question), question


@settings(max_examples=cases(100), deadline=None)
@given(st.lists(rules, min_size=1, max_size=8, unique=True), st.data())
def test_a_removed_rule_says_nothing_more(some, data):
    """The index after removals is that of the rules that are left."""
    gone = data.draw(st.lists(st.sampled_from(some), unique=True))
    image = image_of(some)
    for offset, each in enumerate(gone, len(some)):
        image = apply(image, record_of(each, RemoveAccessControlRecord), offset)
    left = [each for each in some if each not in gone]
    assert set(image.access_rules) == set(left)
    assert image.rules_by_key == image_of(left).rules_by_key


@settings(max_examples=cases(200), deadline=None)
@given(st.lists(rules, max_size=8), questions)
def test_any_resource_of_a_type(some, question):
    """Whoever may do something to a resource that the rules name may do it to some resource."""
    who, host, operation, kind, _ = question
    image = image_of(some)
    authorizer = Authorizer(enabled=True)
    names = {each.resource for each in some} | {f"{each.resource}x" for each in some}
    someone = any(authorizer.allows(image, who, host, operation, kind, name) for name in names)
    if someone:
        assert authorizer.allows_any(image, who, host, operation, kind)
    if not any(each.permission_type == 3 for each in some):
        assert not authorizer.allows_any(image, who, host, operation, kind)


def test_without_the_authorizer_everyone_may_do_everything():
    image = image_of([rule(None, Operation.ALL, who="User:*", permission=Permission.DENY)])
    off = Authorizer(enabled=False)
    assert off.allows(image, ANONYMOUS, HERE, Operation.DELETE, ResourceType.TOPIC, "a")
    assert off.allows_any(image, ANONYMOUS, HERE, Operation.WRITE, ResourceType.TOPIC)


def test_super_users_are_above_the_rules():
    image = image_of([rule(None, Operation.ALL, who="User:*", permission=Permission.DENY)])
    authorizer = Authorizer(enabled=True, super_users=frozenset({ALICE}))
    question = (HERE, Operation.DELETE, ResourceType.TOPIC, "a")
    assert authorizer.allows(image, ALICE, *question)
    assert authorizer.allows_any(image, ALICE, *question[:3])
    assert not authorizer.allows(image, BOB, *question)


def test_what_no_rule_allows_is_denied():
    authorizer = Authorizer(enabled=True)
    assert not authorizer.allows(EMPTY, ALICE, HERE, Operation.READ, ResourceType.TOPIC, "a")
    other = image_of([rule("a", Operation.READ, kind=ResourceType.GROUP)])
    assert not authorizer.allows(other, ALICE, HERE, Operation.READ, ResourceType.TOPIC, "a")


def test_a_denied_prefix_covers_an_allowed_name():
    """For `allows_any`: a deny counts only where it covers all that is allowed."""
    allowed = rule("abc", Operation.WRITE)
    authorizer = Authorizer(enabled=True)
    for pattern, name, left in (
        (PatternType.PREFIXED, "ab", False),
        (PatternType.LITERAL, "abc", False),
        (PatternType.LITERAL, None, False),
        (PatternType.LITERAL, "ab", True),
        (PatternType.PREFIXED, "abcd", True),
    ):
        denied = rule(name, Operation.WRITE, pattern=pattern, permission=Permission.DENY)
        image = image_of([allowed, denied])
        may = authorizer.allows_any(image, ALICE, HERE, Operation.WRITE, ResourceType.TOPIC)
        assert may == left, (pattern, name)


def test_a_check_does_not_walk_all_rules():
    """Ten thousand rules of others cost a check no lookup."""
    some = [rule(f"t{n}", Operation.READ, who=f"User:u{n}") for n in range(10_000)]
    image = image_of([*some, rule("t5", Operation.READ)])
    looked: list[object] = []

    class Counting:
        def get(self, key: object, default: object) -> object:
            looked.append(key)
            return image.rules_by_key.get(key, default)  # type: ignore[arg-type]

    class View:
        rules_by_key = Counting()

    authorizer = Authorizer(enabled=True)
    question = (ALICE, HERE, Operation.READ, ResourceType.TOPIC, "t5")
    assert authorizer.allows(View(), *question)  # type: ignore[arg-type]
    assert 0 < len(looked) < 20
