"""`--set`: which node gets which setting."""

import pytest

from framework.errors import UsageError
from framework.plugins.system import NodeSpec
from framework.run.settings import node_settings

SPECS = [
    NodeSpec(name="c1", roles=frozenset({"controller"}), ports={}),
    NodeSpec(name="b1", roles=frozenset({"broker"}), ports={}),
    NodeSpec(name="b2", roles=frozenset({"broker"}), ports={}),
]


def test_a_setting_is_everybodys_a_roles_or_a_nodes() -> None:
    found = node_settings(["a.b=1", "broker:c=x:y=z", "b2: d = "], SPECS)
    assert found == {
        "c1": {"a.b": "1"},
        "b1": {"a.b": "1", "c": "x:y=z"},
        "b2": {"a.b": "1", "c": "x:y=z", "d": ""},
    }


def test_the_later_one_counts() -> None:
    found = node_settings(["b1:a=1", "a=2", "broker:a=3"], SPECS)
    assert found == {"c1": {"a": "2"}, "b1": {"a": "3"}, "b2": {"a": "3"}}


def test_nodes_without_settings_are_not_named() -> None:
    assert node_settings([], SPECS) == {}
    assert node_settings(["c1:a=1"], SPECS) == {"c1": {"a": "1"}}


@pytest.mark.parametrize(
    ("item", "says"),
    [
        ("a", "it is KEY=VALUE, or NODE-OR-ROLE:KEY=VALUE"),
        ("=1", "it is KEY=VALUE"),
        (":a=1", "it is KEY=VALUE"),
        ("b9:a=1", "no node or role is called 'b9' (known: broker, controller, c1, b1, b2)"),
    ],
)
def test_settings_that_cannot_be(item: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        node_settings([item], SPECS)
    assert says in str(caught.value)
