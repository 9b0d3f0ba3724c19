"""Plug-ins with options on the command line."""

from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import UsageError
from framework.plugins import registry
from framework.plugins.options import Named, create, named, options_of, parse_options


@dataclass(frozen=True)
class Weather:
    kind: Literal["rain", "snow"] = "rain"
    hours: float | None = None
    drops: int = 3
    windy: bool = False
    where: str = ""

    def __post_init__(self) -> None:
        if self.drops < 0:
            raise ValueError("drops=-1 is less than nothing")


def test_items_without_a_name_are_options_of_the_one_before() -> None:
    text = "partition:shape=bridge,interval=2, pause ,kill:target=leader+b1"
    assert named("nemeses", text) == [
        Named("partition", "shape=bridge,interval=2"),
        Named("pause"),
        Named("kill", "target=leader+b1"),
    ]


def test_all_none_and_repetition() -> None:
    assert named("nemeses", "none") == []
    assert [item.name for item in named("nemeses", "all")] == registry.names("nemeses")
    assert named("nemeses", "kill,kill") == [Named("kill")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("storm", "unknown nemesis: 'storm' (known: kill, partition, pause, power, all, none)"),
        ("kill,storm:a=b", "unknown nemesis: 'storm'"),
        ("interval=2,kill", "'interval=2' is an option of no nemesis"),
        ("kill,kill:count=1", "nemesis kill is named twice, with different options"),
        (" , ", "no nemesis named"),
    ],
)
def test_lists_that_cannot_be(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        named("nemeses", text)
    assert says in str(caught.value)


def test_options_alone_choose_nothing_and_the_later_value_counts() -> None:
    texts = ["availability:recovery=10,other=1", "b:c=d,availability:recovery=20", "b:flag"]
    assert options_of("checkers", texts) == {
        "availability": "recovery=20,other=1",
        "b": "c=d,flag",
    }
    assert options_of("checkers", []) == {}
    with pytest.raises(UsageError, match="checker availability is given no option"):
        options_of("checkers", ["availability"])
    with pytest.raises(UsageError, match="'a=b' is an option of no checker"):
        options_of("checkers", ["a=b"])


def test_options_have_the_types_of_their_fields() -> None:
    text = "kind=snow, hours=1.5,drops=7,windy=yes,where=a=b"
    assert parse_options(Weather, text, "weather") == Weather("snow", 1.5, 7, True, "a=b")
    assert parse_options(Weather, "", "weather") == Weather()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("wet=1", "weather has no option 'wet' (it has: kind, one of rain, snow; hours, a number;"),
        ("kind", "weather has no option 'kind'"),
        ("kind=hail", "weather: kind=hail is not one of rain, snow"),
        ("hours=long", "weather: hours=long is not a number"),
        ("drops=1.5", "weather: drops=1.5 is not a whole number"),
        ("windy=perhaps", "weather: windy=perhaps is not true or false"),
        ("drops=-1", "weather: drops=-1 is less than nothing"),
    ],
)
def test_options_that_cannot_be(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_options(Weather, text, "weather")
    assert says in str(caught.value)


def test_a_plugin_without_options_takes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain:
        pass

    monkeypatch.setattr(registry, "find", lambda *_: Plain)
    assert isinstance(create("workloads", Named("plain")), Plain)
    with pytest.raises(UsageError, match="workload plain has no options"):
        create("workloads", Named("plain", "a=b"))


@given(text=st.text(alphabet="kilpause:=,. 1\n", max_size=30))
def test_whatever_is_typed_is_understood_or_refused_in_a_line(text: str) -> None:
    try:
        for item in named("nemeses", text):
            create("nemeses", item)
    except UsageError as error:
        assert str(error)
