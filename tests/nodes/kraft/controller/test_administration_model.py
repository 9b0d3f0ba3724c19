"""Any order of administrative requests, with failovers, against a model of what they mean.

Nor does a decision make a record that does not fit the state: the record batch builder would raise.
"""

from __future__ import annotations

from admin_asks import (
    APPEND,
    DELETE,
    ROOT,
    SECURED,
    SET,
    SUBTRACT,
    acl_filter,
    ask_as,
    change,
    create_acls,
    creation,
    delete_acls,
    grow,
    replace_all,
)
from controller_harness import Harness
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import cases

TOPICS, VALUES = ("a", "b.c", "b_c"), ("20", "21")
LISTS = ("compact", "delete", "compact,delete")
topics = st.sampled_from(TOPICS)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("create"), topics),
        st.tuples(st.just("delete"), topics),
        st.tuples(st.just("grow"), topics, st.integers(1, 4)),
        st.tuples(st.just("set"), topics, st.sampled_from(VALUES)),
        st.tuples(st.just("unset"), topics),
        st.tuples(st.just("append"), topics, st.sampled_from(LISTS)),
        st.tuples(st.just("subtract"), topics, st.sampled_from(LISTS)),
        st.tuples(st.just("replace"), topics, st.sampled_from(VALUES)),
        st.tuples(st.just("allow"), topics, st.sampled_from([3, 4])),
        st.tuples(st.just("disallow"), topics),
        st.tuples(st.just("fail over")),
    ),
    max_size=25,
)


class Model:
    """Topics by name: partitions and configurations; rules as (topic, pattern type)."""

    def __init__(self) -> None:
        self.partitions: dict[str, int] = {}
        self.configs: dict[str, dict[str, str]] = {}
        self.rules: set[tuple[str, int]] = set()

    def apply(self, step: tuple) -> bool:
        """Whether the request succeeds."""
        what, name, *rest = step
        known = name in self.partitions
        if what == "create":
            collides = any(each.replace(".", "_") == name.replace(".", "_") for each in self.names)
            if not collides:
                self.partitions[name], self.configs[name] = 1, {}
            return not collides
        if what in ("allow", "disallow"):
            self.rules -= {(name, 3), (name, 4)} if what == "disallow" else set()
            self.rules |= {(name, rest[0])} if what == "allow" else set()
            return True
        if not known:
            return False
        if what == "delete":
            del self.partitions[name], self.configs[name]
        elif what == "grow":
            if rest[0] <= self.partitions[name]:
                return False
            self.partitions[name] = rest[0]
        else:
            after = self.changed(what, self.configs[name], *rest)
            if after.get("cleanup.policy", "delete") != "delete":
                return False  # which the node does not carry out
            self.configs[name] = after
        return True

    @property
    def names(self) -> set[str]:
        return set(self.partitions)

    @staticmethod
    def changed(what: str, before: dict[str, str], value: str = "") -> dict[str, str]:
        if what == "set":
            return before | {"segment.bytes": value}
        if what == "unset":
            return {key: text for key, text in before.items() if key != "segment.bytes"}
        if what == "replace":
            return {"max.message.bytes": value}
        items = before.get("cleanup.policy", "delete").split(",")
        items = [item for item in items if item]
        asked = value.split(",")
        if what == "append":
            items += [item for item in asked if item not in items]
        else:
            items = [item for item in items if item not in asked]
        return before | {"cleanup.policy": ",".join(items)}


def request_for(what: str, name: str, *rest):  # type: ignore[no-untyped-def]
    if what == "grow":
        return grow((name, rest[0]))
    if what == "replace":
        return replace_all(name, {"max.message.bytes": rest[0]})
    if what == "allow":
        return create_acls(creation(name, pattern=rest[0]))
    if what == "disallow":
        return delete_acls(acl_filter(name))
    changed = {
        "set": ("segment.bytes", SET),
        "unset": ("segment.bytes", DELETE),
        "append": ("cleanup.policy", APPEND),
        "subtract": ("cleanup.policy", SUBTRACT),
    }
    return change(name, (*changed[what], rest[0] if rest else None))


def result_of(response):  # type: ignore[no-untyped-def]
    for field in ("topics", "responses", "results", "filter_results"):
        found = getattr(response, field, None)
        if found:
            return found[0]
    raise AssertionError(response)


@settings(max_examples=cases(120), deadline=None)
@given(steps)
def test_the_model(schedule):
    """A.1.90, A.1.92, A.1.25: and what was answered outlives a failover."""
    harness, model = Harness(authorizer=SECURED).claim(), Model()
    harness.activate(4, 5)
    for number, step in enumerate(schedule):
        if step[0] == "fail over":
            harness.fail_over()
            harness.now_ms += 1
            continue
        if step[0] == "create":
            response = harness.create(step[1], replication=1)
        elif step[0] == "delete":
            response = harness.delete(step[1])
        else:
            response = ask_as(harness, ROOT, request_for(*step), (number + 1).to_bytes(16, "big"))
        assert (result_of(response).error_code == 0) == model.apply(step), step
        check(harness.committed, model)


def check(image, model):  # type: ignore[no-untyped-def]
    topics = {topic.name: topic.partitions for topic in image.topics.values()}
    assert topics == model.partitions
    configs = {name: dict(values) for (_, name), values in image.configs.items()}
    assert configs == {name: values for name, values in model.configs.items() if values}
    rules = {(rule.resource, rule.pattern_type) for rule in image.access_rules}
    assert rules == model.rules
    assert sum(len(each) for each in image.rules_by_key.values()) == len(rules)
