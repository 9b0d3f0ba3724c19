"""The constructor of a quick dataclass does what the one of `dataclass` did."""

import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace
from typing import Any

import pytest

from framework.history.event import Completion, Event, Invocation
from framework.quick import quick


@quick
@dataclass(frozen=True, slots=True)
class Pair:
    """Both ways to name a field, and a default."""

    left: int
    right: str = "r"
    also: tuple[int, ...] = field(default=(), kw_only=True)


def test_it_takes_what_it_took() -> None:
    assert str(inspect.signature(Pair)) == "(left, right='r', *, also=())"
    assert repr(Pair(1)) == "Pair(left=1, right='r', also=())"
    assert Pair(1, "x", also=(2,)) == replace(Pair(1), right="x", also=(2,))
    assert pickle.loads(pickle.dumps(Pair(3))) == Pair(3)
    wrong: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((), {}),
        ((1, "x", (2,)), {}),
        ((1,), {"other": 2}),
    ]
    for positional, named in wrong:
        with pytest.raises(TypeError, match=r"Pair\.__init__\(\)"):
            Pair(*positional, **named)


def test_it_is_as_frozen_as_before() -> None:
    with pytest.raises(FrozenInstanceError):
        Pair(1).left = 2  # type: ignore[misc]
    assert hash(Pair(1)) == hash(Pair(1))


def test_subclasses_have_their_own_defaults() -> None:
    assert Invocation(process=0, f="read").type == "invoke"
    assert Completion(type="ok", process=0, f="read").index == -1
    with pytest.raises(TypeError, match="type"):
        Event(process=0, f="read")  # type: ignore[call-arg]


@dataclass(frozen=True, slots=True)
class Made:
    items: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Checked:
    item: int

    def __post_init__(self) -> None:
        assert self.item


@dataclass(frozen=True, slots=True)
class Computed:
    item: int = field(init=False, default=0)


@dataclass(frozen=True)
class WithoutSlots:
    item: int


@pytest.mark.parametrize("kind", [Made, Checked, Computed, WithoutSlots])
def test_a_constructor_that_does_more_is_refused(kind: type[Any]) -> None:
    before = kind.__init__
    with pytest.raises(TypeError, match=f"{kind.__name__}: its constructor does more"):
        quick(kind)
    assert kind.__init__ is before
