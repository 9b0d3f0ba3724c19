"""The built-in models: what each operation with each outcome says of its object.

The table of docs/checking.md, in the words of `EncodedHistory`. A model is a table from
(f, outcome) to what it `Says`; an outcome that is not in the table says nothing and does nothing.
A failure with an error is none of the object's answers, unless its `ext` says what it saw.
Pending operations (`info`) are written as what they do if they take effect.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

import numpy as np
import pyarrow.compute as pc

from checkers.linearizability.encoded import Kind
from checkers.linearizability.encoding.texts import ANY, NULL, Mask, Strings, pairs, shown_ids
from framework.plugins.outcomes import ABSENT, PRESENT


class Source(Enum):
    """Where a value of an operation is read."""

    VALUE = "the argument"
    RESULT = "the result"
    FROM = "the first of the argument's pair"
    TO = "the second of the argument's pair"
    ID = "the id in the result, or that there is one"
    SEEN = "the id in the result, that there is one, or that there is none"


@dataclass(frozen=True, slots=True)
class Says:
    """`a` and `b` as in `EncodedHistory`: a source, the text of a constant, or None."""

    kind: Kind
    a: Source | str | None = None
    b: Source | str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """What an operation must look like. `fits` tells it for distinct texts of the column."""

    f: str
    outcomes: Sequence[str]
    column: str
    fits: Callable[[Strings], Mask]
    line: str
    """What is wrong otherwise, and what would be right."""
    is_read: bool = False
    """Reading the `Source` finds it out by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A sequential object that begins as the JSON text `initial`."""

    name: str
    initial: str
    words: Mapping[tuple[str, str], Says]
    fs: Sequence[str]
    rules: Sequence[Rule] = ()
    asserted: Collection[str] = ()
    """Of what failures assert, that which is an outcome of its own. Others are then `fail`."""


TURNED_AWAY: Final = "turned away"
"""The outcome of a failure that has an error, and does not say that it saw something."""
Words: TypeAlias = dict[tuple[str, str], Says]
_ALL: Final = ("ok", "fail", "info")
_TAKES_EFFECT: Final = ("ok", "info")


def _each(f: str, outcomes: Sequence[str], says: Says) -> Words:
    return {(f, outcome): says for outcome in outcomes}


def _matches(pattern: str) -> Callable[[Strings], Mask]:
    def fits(texts: Strings) -> Mask:
        found: Mask = pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False)
        return found

    return fits


def _is_pair(texts: Strings) -> Mask:
    return _is_there(pairs(texts)[0])


def _is_answer(texts: Strings) -> Mask:
    return _is_there(shown_ids(texts))


def _is_there(texts: Strings) -> Mask:
    found: Mask = np.asarray(pc.is_valid(texts).to_numpy(zero_copy_only=False))
    return found


REGISTER: Final = Model(
    name="register",
    initial=NULL,
    fs=("read", "write", "cas"),
    words={
        ("read", "ok"): Says(Kind.READ, a=Source.RESULT),
        **_each("write", _TAKES_EFFECT, Says(Kind.WRITE, b=Source.VALUE)),
        **_each("cas", _TAKES_EFFECT, Says(Kind.CAS, a=Source.FROM, b=Source.TO)),
        ("cas", "fail"): Says(Kind.DIFFERS, a=Source.FROM),
    },
    rules=[Rule("cas", _ALL, "value", _is_pair, "value of cas must be [from, to]", is_read=True)],
)

KV: Final = Model(
    name="kv",
    initial='""',
    fs=("read", "write", "append"),
    words={
        ("read", "ok"): Says(Kind.LOOK, a=Source.RESULT),
        **_each("write", _TAKES_EFFECT, Says(Kind.STEP, b=Source.VALUE)),
        **_each("append", _TAKES_EFFECT, Says(Kind.STEP, a=Source.VALUE)),
    },
    rules=[
        Rule(f, _ALL, "value", _matches('^"'), f"value of {f} must be a string")
        for f in ("write", "append")
    ],
)

_HAS_ID: Final[Words] = {
    ("create", "ok"): Says(Kind.CAS, a=NULL, b=Source.ID),
    ("create", "info"): Says(Kind.CAS, a=NULL, b=ANY),
    ("delete", "ok"): Says(Kind.CAS, a=Source.ID, b=NULL),
    ("delete", "info"): Says(Kind.CHANGE, a=NULL, b=NULL),
    ("describe", "ok"): Says(Kind.READ, a=Source.SEEN),
}
_ANSWERS: Final = [
    Rule(
        "describe",
        ("ok",),
        "result",
        _is_answer,
        'the result of describe must be true, false, null or {"topic_id": ...}',
        is_read=True,
    )
]

TOPICS: Final = Model(
    name="topics",
    initial=NULL,
    fs=("create", "delete", "describe"),
    words={
        **_HAS_ID,
        ("create", "fail"): Says(Kind.DIFFERS, a=NULL),
        ("delete", "fail"): Says(Kind.READ, a=NULL),
    },
    rules=_ANSWERS,
)

KAFKA_TOPICS: Final = Model(
    name="kafka topics",
    initial=NULL,
    fs=("create", "delete", "describe"),
    words={
        **_HAS_ID,
        ("create", PRESENT): Says(Kind.DIFFERS, a=NULL),
        ("delete", ABSENT): Says(Kind.READ, a=NULL),
        ("describe", ABSENT): Says(Kind.READ, a=NULL),
    },
    rules=_ANSWERS,
    asserted=(PRESENT, ABSENT),
)
"""`topics` as Kafka has them: a failure says what it asserts, and an id is given once ever."""

_OUT, _IN = "false", "true"
SET: Final = Model(
    name="set",
    initial=_OUT,
    fs=("add", "remove", "contains"),
    words={
        **_each("add", _TAKES_EFFECT, Says(Kind.CAS, a=_OUT, b=_IN)),
        ("add", "fail"): Says(Kind.READ, a=_IN),
        **_each("remove", _TAKES_EFFECT, Says(Kind.CAS, a=_IN, b=_OUT)),
        ("remove", "fail"): Says(Kind.READ, a=_OUT),
        ("contains", "ok"): Says(Kind.READ, a=Source.RESULT),
    },
    rules=[
        Rule(
            "contains",
            ("ok",),
            "result",
            _matches("^(true|false)$"),
            "the result of contains must be true or false",
        )
    ],
)

QUEUE: Final = Model(
    name="queue",
    initial=NULL,
    fs=("enqueue", "dequeue"),
    words={
        **_each("enqueue", _TAKES_EFFECT, Says(Kind.ENQUEUE, b=Source.VALUE)),
        ("dequeue", "ok"): Says(Kind.DEQUEUE, a=Source.RESULT),
        ("dequeue", "info"): Says(Kind.TAKE),
    },
    rules=[
        Rule(
            "enqueue",
            _ALL,
            "value",
            lambda texts: np.asarray(pc.not_equal(texts, NULL).to_numpy(zero_copy_only=False)),
            "enqueue needs a value; null is what an empty queue gives",
        )
    ],
)

MODELS: Final[Mapping[str, Model]] = {
    model.name: model for model in (REGISTER, KV, TOPICS, SET, QUEUE)
}
"""What `check --model` offers."""
KNOWN: Final[Mapping[str, Model]] = {**MODELS, KAFKA_TOPICS.name: KAFKA_TOPICS}
