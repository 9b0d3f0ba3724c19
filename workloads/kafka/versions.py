"""Which versions of Kafka's messages a node has, and requests and responses in those (KIP-35).

A request is written in the newest version that we know, and said in the newest one that the node
has, too; its response is read as one of the version in which the request was written. Kafka's
schemas keep the name of a field over versions, so entities are carried over field by field; the few
that have another form in older versions stand in `FORMS`. A field that the older version lacks may
be left out where it says nothing (its default), or nothing that matters there (`UNHEARD`).

The nodes of ours have code of their own for that, as they have a codec of their own: a mistake in
one of the two is seen.
"""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

from kio.index import load_request_schema, load_response_schema
from kio.schema.api_versions.v3.request import ApiVersionsRequest
from kio.schema.api_versions.v3.response import ApiVersionsResponse
from kio.schema.index import api_key_map, schema_name_map
from kio.static.constants import EntityType
from kio.static.primitive import i32Timedelta, i64
from kio.static.protocol import Entity, RequestPayload, ResponsePayload

FETCH: Final = 1
ALTER_PARTITION: Final = 56
BROKER_REGISTRATION: Final = 62
NO_EPOCH: Final = -1
NO_TIME: Final = i32Timedelta.parse(datetime.timedelta())
WHICH: Final = ApiVersionsRequest(client_software_name="workloads", client_software_version="1")
"""What a node is asked first."""

E = TypeVar("E", bound=Entity)


class CannotBeSaid(Exception):
    """In no version that both sides have: its message says why."""


@dataclass(frozen=True, slots=True)
class Versions:
    """Of one node. `ranges`: api key -> the lowest and the highest that it has. What it does not
    list is said as it is written: the node refuses what it does not know."""

    ranges: Mapping[int, tuple[int, int]]

    @classmethod
    def of(cls, response: ApiVersionsResponse) -> "Versions":
        """Those that a node told."""
        return cls(
            {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
        )

    def said(self, request: RequestPayload) -> RequestPayload:
        """The request in the newest version that both have, and none newer than its own. Raises
        `CannotBeSaid`."""
        key, own = int(request.__api_key__), int(request.__version__)
        lowest, highest = self.ranges.get(key, (own, own))
        if lowest <= own <= highest:
            return request
        common = [each for each in known(key) if lowest <= each <= min(own, highest)]
        if not common:
            raise CannotBeSaid(
                f"{type(request).__name__}: the node has versions {lowest} to {highest}, and this "
                f"client {known(key)[0]} to {own}"
            )
        return turned(request, load_request_schema(key, common[-1]))


@cache
def known(api_key: int) -> tuple[int, ...]:
    """The versions of a message that kio has, oldest first."""
    own = schema_name_map[api_key_map[api_key]]
    return tuple(sorted(version for version, has in own.items() if EntityType.request in has))


def answered(request: RequestPayload, response: ResponsePayload) -> ResponsePayload:
    """The response, in the version in which the request was written. Raises `CannotBeSaid`."""
    return turned(response, load_response_schema(request.__api_key__, request.__version__))


def turned(entity: Any, schema: type[E]) -> E:
    """An entity as one of another version's schema. Raises `CannotBeSaid`."""
    if type(entity) is schema:
        return entity
    hints, theirs = _hints(schema), {each.name for each in fields(schema)}
    key = int(entity.__api_key__)
    values = {
        each.name: _value(getattr(entity, each.name), hints[each.name])
        for each in fields(entity)
        if each.name in theirs
    }
    left = {each.name: each for each in fields(entity) if each.name not in theirs}
    for form in FORMS.get(key, ()):
        if form.newer in left and form.older in theirs:
            values[form.older] = form.down(getattr(entity, form.newer))
            del left[form.newer]
        elif form.older in left and form.newer in theirs:
            values[form.newer] = form.up(getattr(entity, form.older), _one(hints[form.newer]))
            del left[form.older]
    for name, field in left.items():
        value = getattr(entity, name)
        heard = (key, name) not in UNHEARD
        down = entity.__version__ > schema.__version__
        if down and heard and not _says_nothing(value, field.default):
            raise CannotBeSaid(f"{schema.__name__} {schema.__version__} has no {name}: {value!r}")
    for each in fields(schema):
        if each.name not in values and each.default is MISSING:
            values[each.name] = _untold(schema, each.name, hints[each.name])
    narrow = NARROWER.get(schema.__name__)
    return schema(**(values if narrow is None else narrow(values, int(schema.__version__))))


# --- what older versions say otherwise ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Form:
    """One thing under two names. `up` is given the type of (an element of) the newer field. `down`
    raises `CannotBeSaid`."""

    newer: str
    older: str
    down: Callable[[Any], Any]
    up: Callable[[Any, Any], Any]


def _replica_id(state: Any) -> Any:
    if state.replica_epoch != NO_EPOCH:
        raise CannotBeSaid(f"no fetch below version 15 names a replica's epoch: {state!r}")
    return state.replica_id


def _without_epochs(members: Any) -> Any:
    if any(each.broker_epoch != NO_EPOCH for each in members):
        raise CannotBeSaid(f"no AlterPartition below version 3 names members' epochs: {members!r}")
    return tuple(each.broker_id for each in members)


FORMS: Final[Mapping[int, tuple[Form, ...]]] = {
    FETCH: (
        Form(
            "replica_state",
            "replica_id",
            _replica_id,
            lambda replica_id, state: state(replica_id=replica_id),
        ),
    ),
    ALTER_PARTITION: (
        Form(
            "new_isr_with_epochs",
            "new_isr",
            _without_epochs,
            lambda isr, member: tuple(
                member(broker_id=each, broker_epoch=i64(NO_EPOCH)) for each in isr
            ),
        ),
    ),
}
"""By api key (KIP-903)."""
UNHEARD: Final = frozenset(
    {(BROKER_REGISTRATION, "log_dirs"), (BROKER_REGISTRATION, "previous_broker_epoch")}
)
"""(api key, field): a controller that has no version with it does nothing by it (KIP-858, KIP-966)
."""


def _named_features(values: dict[str, Any], version: int) -> dict[str, Any]:
    """Before version 4 no feature may begin at level 0: those are left out (KAFKA-17492)."""
    named = tuple(each for each in values["features"] if each.min_supported_version != 0)
    return values if version >= 4 else {**values, "features": named}


NARROWER: Final[Mapping[str, Callable[[dict[str, Any], int], dict[str, Any]]]] = {
    "BrokerRegistrationRequest": _named_features
}
"""By name of an entity: what of its values a version can say."""


# --- types --------------------------------------------------------------------------------


# Annotations are values of many types.
@cache
def _hints(schema: Any) -> dict[str, Any]:
    return get_type_hints(schema)


def _value(value: Any, hint: Any) -> Any:
    if isinstance(value, tuple):
        element = _one(hint)
        return tuple(_value(each, element) for each in value)
    kind = _one(hint)
    return turned(value, kind) if is_dataclass(value) and isinstance(kind, type) else value


def _one(hint: Any) -> Any:
    """A type without `| None`; of an array, that of its elements."""
    parts = [each for each in get_args(hint) if each is not NoneType]
    if get_origin(hint) is tuple:
        return _one(parts[0])
    return _one(parts[0]) if NoneType in get_args(hint) else hint


def _untold(schema: type[Entity], name: str, hint: Any) -> Any:
    """The value of a field that the other version lacks and that has no default: nothing."""
    if NoneType in get_args(hint):
        return None
    if get_origin(hint) is tuple:
        return ()
    if hint is str:
        return ""
    if isinstance(hint, type) and issubclass(hint, datetime.timedelta):
        return NO_TIME
    raise CannotBeSaid(f"{schema.__name__} {schema.__version__} has a {name}, which is not told")


def _says_nothing(value: Any, default: Any) -> bool:
    return bool(value == default) or (default is MISSING and value in (None, (), "", NO_TIME))
