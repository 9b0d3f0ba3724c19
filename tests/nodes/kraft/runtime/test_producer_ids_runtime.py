"""InitProducerId on a broker: every id once, from the controller's blocks; no transactions."""

import asyncio
import datetime
from typing import Any

import pytest
from group_plane import FakePlane, ask, image_of
from kio.schema.allocate_producer_ids.v0.response import AllocateProducerIdsResponse
from kio.schema.errors import ErrorCode
from kio.static.primitive import i32Timedelta

from nodes.kraft.broker import view
from nodes.kraft.controller.answers import NO_THROTTLE, make
from nodes.kraft.net.channel import FateUnknown, NotSent
from nodes.kraft.runtime.producer_ids import ProducerIds
from nodes.kraft.wire.api_keys import INIT_PRODUCER_ID
from nodes.kraft.wire.apis import CLIENT_APIS
from nodes.kraft.wire.codec import decode_response, encode_response, request_schema

SECOND = i32Timedelta.parse(datetime.timedelta(seconds=1))
WRITE, IDEMPOTENT_WRITE, TOPIC, CLUSTER = 4, 12, 2, 4
VERSIONS = range(CLIENT_APIS[INIT_PRODUCER_ID][0], CLIENT_APIS[INIT_PRODUCER_ID][1] + 1)


class Controller:
    """What the active controller says, one thing after another; then blocks."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []
        self.next = 1_000_000_000
        self.size = 3

    async def call(self, request: Any, timeout_s: float) -> Any:
        self.asked.append(request)
        answer = self.answers.pop(0) if self.answers else ErrorCode.none
        await asyncio.sleep(0)
        if isinstance(answer, Exception):
            raise answer
        block = AllocateProducerIdsResponse(
            throttle_time=NO_THROTTLE,
            error_code=answer,
            producer_id_start=self.next,
            producer_id_len=self.size,
        )
        if answer == ErrorCode.none:
            self.next += self.size
        return block

    def close(self) -> None: ...


def with_ids(tmp_path: Any, controller: Controller, test: Any, **settings: str) -> None:
    async def run() -> None:
        plane = FakePlane(tmp_path, image_of(("t", 1)), **settings)
        ids = ProducerIds(plane)
        ids._channels._made[1] = controller  # type: ignore[assignment]
        await asyncio.wait_for(test(plane, ids), 120)
        await ids.close()

    asyncio.run(run())


def init(ids: ProducerIds, version: int = 4, transactional_id: str | None = None) -> Any:
    return ask(
        ids,
        INIT_PRODUCER_ID,
        version,
        transactional_id=transactional_id,
        transaction_timeout=SECOND,
        producer_id=-1,
        producer_epoch=-1,
    )


def test_every_id_is_given_once(tmp_path):
    """D.19: over blocks, and to clients that ask at the same time."""

    async def test(plane: FakePlane, ids: ProducerIds) -> None:
        answers = await asyncio.gather(*(init(ids) for _ in range(10)))
        assert {each.error_code for each in answers} == {ErrorCode.none}
        assert [each.producer_epoch for each in answers] == [0] * 10
        first = 1_000_000_000
        assert sorted(each.producer_id for each in answers) == list(range(first, first + 10))
        assert len(controller.asked) == 4
        assert {each.broker_epoch for each in controller.asked} == {9}

    controller = Controller()
    with_ids(tmp_path, controller, test)


def test_it_asks_until_a_controller_gives_a_block(tmp_path):
    """B.9.3: not led, lost, stale: all of it is absorbed; a lost block is never used."""

    async def test(plane: FakePlane, ids: ProducerIds) -> None:
        answer = await init(ids)
        assert (answer.error_code, answer.producer_id) == (ErrorCode.none, 1_000_000_000)
        assert len(controller.asked) == 5

    controller = Controller(
        NotSent("no"), FateUnknown("?"), ErrorCode.not_controller, ErrorCode.stale_broker_epoch
    )
    with_ids(tmp_path, controller, test)


def test_without_a_controller_clients_are_reported_to_ask_again(tmp_path):
    async def test(plane: FakePlane, ids: ProducerIds) -> None:
        plane.leader = -1
        answer = await init(ids)
        assert answer.error_code == ErrorCode.coordinator_load_in_progress
        assert (answer.producer_id, answer.producer_epoch) == (-1, -1)
        plane.leader = 1
        assert (await init(ids)).error_code == ErrorCode.none

    with_ids(tmp_path, Controller(), test, broker_forward_timeout_ms="100")


def test_after_the_lease_no_id_is_given(tmp_path):
    """A.1.56: the lease may end while the controller is asked."""

    async def test(plane: FakePlane, ids: ProducerIds) -> None:
        waiting = init(ids)
        plane.active = False
        assert (await waiting).error_code == ErrorCode.coordinator_load_in_progress

    with_ids(tmp_path, Controller(), test)


@pytest.mark.parametrize("version", VERSIONS)
def test_all_versions(tmp_path, version):
    """B.8: and a transactional id is refused, definitely."""

    async def test(plane: FakePlane, ids: ProducerIds) -> None:
        for transactional_id, code in (
            (None, ErrorCode.none),
            ("x", ErrorCode.unsupported_version),
        ):
            answer = await init(ids, version, transactional_id)
            data = encode_response(answer, correlation_id=1)
            reported = decode_response(INIT_PRODUCER_ID, version, data)[1]
            assert reported.error_code == code
            assert (reported.producer_id >= 0) == (code == ErrorCode.none)

    with_ids(tmp_path, Controller(), test)


def test_who_may_produce(tmp_path):
    """KIP-679: IDEMPOTENT_WRITE on the cluster, or WRITE on any topic; else 31."""

    async def test(plane: FakePlane, ids: ProducerIds) -> None:
        plane.denied.add((IDEMPOTENT_WRITE, CLUSTER, "kafka-cluster"))
        assert (await init(ids)).error_code == ErrorCode.none
        plane.denied.add((WRITE, TOPIC, "t"))
        assert (await init(ids)).error_code == ErrorCode.cluster_authorization_failed

    with_ids(tmp_path, Controller(), test)


@pytest.mark.parametrize("key, version, code", [(22, 4, 14), (10, 2, 15), (12, 4, 16), (11, 9, 16)])
def test_a_fenced_broker_says_so(key, version, code):
    """A.7.5: definitely, where the response has room for it."""
    values = {
        "key": "g",
        "key_type": 0,
        "group_id": "g",
        "generation_id": 1,
        "member_id": "m",
        "session_timeout": SECOND,
        "protocol_type": "consumer",
        "protocols": (),
        "transactional_id": None,
        "transaction_timeout": SECOND,
    }
    answer = view.refusal(make(request_schema(key, version), **values))
    assert encode_response(answer, correlation_id=1)
    assert answer.error_code == code
