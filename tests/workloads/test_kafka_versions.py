"""Messages in the versions that a node has: said in older ones, and read as ours."""

import io
import json
import re
import time
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from types import NoneType, SimpleNamespace
from typing import Any, Final, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.index import load_request_schema, load_response_schema
from kio.schema.alter_partition.v2 import request as alter_v2
from kio.schema.alter_partition.v3 import request as alter
from kio.schema.broker_registration.v4 import request as register
from kio.schema.describe_cluster.v0.response import DescribeClusterResponse as ClusteredV0
from kio.schema.describe_cluster.v1.request import DescribeClusterRequest
from kio.schema.describe_cluster.v1.response import DescribeClusterResponse
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v17 import request as fetch
from kio.schema.find_coordinator.v3.request import FindCoordinatorRequest
from kio.schema.index import api_key_map
from kio.schema.types import BrokerId
from kio.serial import entity_writer
from kio.static.primitive import Records, i8, i32, i64
from loopback_server import CLOSE, HANG, LoopbackServer, versions_told

from framework.plugins.outcomes import CONNECTION_FAILED
from nodes.adapting.metadata_fetch import fetch_request
from nodes.kafka import releases
from nodes.kafka.registering import FEATURES, Registering
from nodes.kraft.wire.apis import ADVERTISED_APIS
from workloads.kafka.connection import NO_COMMON_VERSION, Connection, NotSent
from workloads.kafka.entities import reader_of
from workloads.kafka.versions import (
    CannotBeSaid,
    Versions,
    answered,
    known,
    turned,
)

ROOT: Final = Path(__file__).parents[2]
HAS: Final[dict[str, dict[int, tuple[int, int]]]] = {
    release: {int(key): (low, high) for key, (low, high) in own.items()}
    for release, own in json.loads(
        (Path(__file__).parent / "kafka_versions.json").read_text()
    ).items()
}
"""Release -> api key -> its lowest and highest version, by the messages in its jar."""
TURNED: Final = (
    *((1, 17, older) for older in (13, 14, 15, 16)),
    (10, 3, 0),
    (16, 5, 4),
    (18, 4, 3),
    (55, 2, 1),
    (56, 3, 2),
    (60, 1, 0),
    *((62, 4, older) for older in (0, 1, 2, 3)),
    (63, 1, 0),
)
"""(api key, version that we write, an older one that some node has instead)."""
LOADS: Final = {"request": load_request_schema, "response": load_response_schema}


def written() -> Iterator[tuple[int, int]]:
    """(api key, version) of each message that a client or an adapter writes."""
    keys = {name: key for key, name in api_key_map.items()}
    for folder in ("workloads/kafka", "nodes/kafka", "nodes/adapting"):
        for path in (ROOT / folder).glob("*.py"):
            found = re.findall(r"kio\.schema\.(\w+)(?:\.| import )v(\d+)", path.read_text())
            yield from ((int(keys[name]), int(version)) for name, version in found)


def reading(schema: Any, data: bytes) -> Any:
    return reader_of(schema)(data, 0)[0]


def written_out(entity: Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


@cache
def drawn(schema: Any) -> st.SearchStrategy[Any]:
    """Any entity that the version can say, with two elements of each array at most."""
    hints = get_type_hints(schema)
    built = st.builds(schema, **{each.name: _any(hints[each.name]) for each in fields(schema)})
    if "features" not in hints or schema.__version__ >= 4:
        return built
    return built.map(  # they name no feature from level 0
        lambda each: replace(
            each, features=tuple(one for one in each.features if one.min_supported_version)
        )
    )


def _any(hint: Any) -> st.SearchStrategy[Any]:
    kinds = get_args(hint)
    if get_origin(hint) is tuple:
        return st.lists(_any(kinds[0]), max_size=2).map(tuple)
    if NoneType in kinds:
        return st.none() | _any(next(each for each in kinds if each is not NoneType))
    if hint is Records:
        return st.binary(max_size=9)
    return drawn(hint) if is_dataclass(hint) else st.from_type(hint)


# --- which versions there are -------------------------------------------------------------


def test_every_line_of_releases_is_there() -> None:
    lines = {release.rpartition(".")[0] for release in HAS}
    assert lines == {release.rpartition(".")[0] for release in releases.versions()}


@pytest.mark.parametrize("release", HAS)
def test_kio_has_a_version_of_each_message_that_a_release_has(release: str) -> None:
    """So none is to be declared by hand. What a release has no version of at all, it is not asked:
    those that change voters."""
    for key, own in set(written()):
        if key not in HAS[release]:
            assert key in (80, 81) and not releases.is_since(release, "3.9")
            continue
        low, high = HAS[release][key]
        assert [each for each in known(key) if low <= each <= min(own, high)], (key, own)


def test_all_that_a_release_wants_otherwise_is_tried() -> None:
    """But messages of transactions, which are written by the level of a feature."""
    wanted = {
        (key, own, max(each for each in known(key) if each <= ranges[key][1]))
        for ranges in HAS.values()
        for key, own in set(written())
        if key in ranges and key not in (0, 26, 28) and own > ranges[key][1]
    }
    assert wanted <= set(TURNED) and len(wanted) > 10


# --- down and up --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LOADS)
@pytest.mark.parametrize(("key", "ours", "older"), TURNED)
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_up_and_down_again_is_the_same(
    kind: str, key: int, ours: int, older: int, data: st.DataObject
) -> None:
    """All that the older version has, and it goes over the wire as such."""
    schema, newest = LOADS[kind](key, older), LOADS[kind](key, ours)
    entity = data.draw(drawn(schema))
    up = turned(entity, newest)
    assert type(up) is newest
    for each in fields(schema):
        value = getattr(entity, each.name)
        plain = not (isinstance(value, tuple) or is_dataclass(value))
        if each.name in newest.__dataclass_fields__ and plain:
            assert getattr(up, each.name) == value
    down = turned(up, schema)
    assert down == entity
    assert reading(schema, written_out(down)) == reading(schema, written_out(entity))


# --- what cannot be said ------------------------------------------------------------------


def change(*epochs: int) -> alter.AlterPartitionRequest:
    """By broker 101, of members 101, 102, ... that it knows by these epochs."""
    members = tuple(
        alter.BrokerState(broker_id=BrokerId(101 + at), broker_epoch=i64(epoch))
        for at, epoch in enumerate(epochs)
    )
    partition = alter.PartitionData(
        partition_index=i32(0),
        leader_epoch=i32(3),
        new_isr_with_epochs=members,
        partition_epoch=i32(9),
    )
    return alter.AlterPartitionRequest(
        broker_id=BrokerId(101),
        broker_epoch=i64(5),
        topics=(alter.TopicData(topic_id=None, partitions=(partition,)),),
    )


def registration() -> register.BrokerRegistrationRequest:
    value = {
        "broker_id": 101,
        "broker_epoch": -1,
        "incarnation": "00000000-0000-4000-8000-000000000001",
        "previous_epoch": 7,
    }
    found = Registering("c", 3000).request(SimpleNamespace(value=value))  # type: ignore[arg-type]
    assert isinstance(found, register.BrokerRegistrationRequest)
    return found


@pytest.mark.parametrize("release", HAS)
def test_a_registration_is_said_to_each_release(release: str) -> None:
    said: Any = Versions(HAS[release]).said(registration())
    assert said.__version__ == min(4, HAS[release][62][1])
    assert said.broker_id == 101 and said.listeners[0].name == "CLIENT"
    named = {each.name: each.min_supported_version for each in said.features}
    whole = {name: least for name, (least, _) in FEATURES.items()}
    least = -1 if said.__version__ >= 4 else 0
    assert named == {name: level for name, level in whole.items() if level > least}
    assert "metadata.version" in named


def test_member_epochs_are_said_or_the_request_is_not() -> None:
    """KIP-903: without them a broker that came back may be taken for the one it was."""
    old, new = Versions({56: (0, 2)}), Versions({56: (0, 3)})
    assert new.said(change(5, 6)) == change(5, 6)
    said: Any = old.said(change(-1, -1))
    assert isinstance(said, alter_v2.AlterPartitionRequest)
    assert said.topics[0].partitions[0].new_isr == (101, 102)
    for epochs in ((5, 6), (-1, 6), (5, -1)):
        with pytest.raises(CannotBeSaid, match="names members' epochs"):
            old.said(change(*epochs))


def test_a_replicas_epoch_is_said_or_the_request_is_not() -> None:
    old = Versions({1: (4, 13)})
    request = fetch_request(7, 1, 2, replica_id=3, most_bytes=9)
    said: Any = old.said(request)
    assert (said.__version__, said.replica_id) == (13, 3)
    known_as = fetch.ReplicaState(replica_id=BrokerId(3), replica_epoch=i64(5))
    with pytest.raises(CannotBeSaid, match="replica's epoch"):
        old.said(replace(request, replica_state=known_as))


@pytest.mark.parametrize(
    ("request_", "ranges", "says"),
    [
        (
            DescribeClusterRequest(
                include_cluster_authorized_operations=False, endpoint_type=i8(2)
            ),
            {60: (0, 0)},
            "DescribeClusterRequest 0 has no endpoint_type: 2",
        ),
        (FindCoordinatorRequest(key="t", key_type=i8(1)), ADVERTISED_APIS, "no key_type: 1"),
        (fetch_request(0, 0, 0, most_bytes=1), {1: (4, 12)}, "has no topic_id"),
        (fetch_request(0, 0, 0, most_bytes=1), {1: (18, 19)}, "versions 18 to 19, and this client"),
        (fetch_request(0, 0, 0, most_bytes=1), {1: (0, 3)}, "versions 0 to 3, and this client 4"),
    ],
)
def test_what_an_older_version_lacks_is_not_left_out(
    request_: Any, ranges: dict[int, tuple[int, int]], says: str
) -> None:
    with pytest.raises(CannotBeSaid, match=re.escape(says)):
        Versions(ranges).said(request_)


def test_what_says_nothing_is_left_out() -> None:
    brokers = DescribeClusterRequest(include_cluster_authorized_operations=False)
    assert Versions({60: (0, 0)}).said(brokers).__version__ == 0
    assert Versions({}).said(brokers) is brokers  # not listed: the node says what it cannot do
    assert Versions({60: (0, 2)}).said(brokers) is brokers  # in no newer one than it is written in
    group = FindCoordinatorRequest(key="g", key_type=i8(0))
    assert Versions(ADVERTISED_APIS).said(group).__version__ == 0


# --- on a connection ----------------------------------------------------------------------

BROKERS: Final = DescribeClusterRequest(include_cluster_authorized_operations=False)


def clustered(request: Any) -> Any:
    assert request.__version__ == 0
    return turned(
        DescribeClusterResponse(
            throttle_time=versions_told({}).throttle_time,
            error_code=ErrorCode.none,
            error_message=None,
            cluster_id="c",
            controller_id=BrokerId(1),
            brokers=(),
        ),
        ClusteredV0,
    )


def soon() -> float:
    return time.monotonic() + 30


def test_a_node_is_asked_once_and_answers_are_ours() -> None:
    with LoopbackServer(clustered, {60: (0, 0)}) as server:
        connection = Connection(server.open, "test", negotiates=True)
        for _ in range(2):
            response = connection.call(BROKERS, soon())
            assert isinstance(response, DescribeClusterResponse)
            assert (response.cluster_id, response.endpoint_type) == ("c", 1)
        connection.close()
        connection.call(BROKERS, soon())
        assert (server.negotiations, len(server.seen)) == (1, 3)
        assert len(server.connections) == 2


def test_what_cannot_be_said_is_certainly_not_done() -> None:
    controllers = replace(BROKERS, endpoint_type=i8(2))
    with LoopbackServer(clustered, {60: (0, 0)}) as server:
        connection = Connection(server.open, "test", negotiates=True)
        with pytest.raises(NotSent, match="has no endpoint_type") as caught:
            connection.call(controllers, soon())
        assert caught.value.code == NO_COMMON_VERSION
        assert server.seen == []
        assert connection.call(BROKERS, soon())  # and the connection is as good as before


@pytest.mark.parametrize(
    "told",
    [
        CLOSE,
        HANG,
        b"nonsense",
        replace(versions_told({}), error_code=ErrorCode.unsupported_version),
    ],
)
def test_who_does_not_tell_its_versions_was_sent_nothing(told: Any) -> None:
    with LoopbackServer(clustered, {60: (0, 0)}) as server:
        connection = Connection(server.open, "test", negotiates=True)
        server.told = told
        with pytest.raises(NotSent, match="ApiVersions") as caught:
            connection.call(BROKERS, time.monotonic() + (0.2 if told is HANG else 30))
        assert caught.value.code == CONNECTION_FAILED
        server.told = None
        assert connection.call(BROKERS, soon())
        assert len(server.seen) == 1


def test_without_negotiation_a_request_goes_out_as_it_is_written() -> None:
    def answer(request: Any) -> Any:
        return answered(request, clustered(turned(request, load_request_schema(60, 0))))

    with LoopbackServer(answer, {60: (0, 0)}) as server:
        assert Connection(server.open, "test").call(BROKERS, soon())
        assert server.negotiations == 0
        assert server.seen == [BROKERS]
