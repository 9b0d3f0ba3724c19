"""A broker answers a change when it shows that change itself."""

from __future__ import annotations

import asyncio
import datetime
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from group_plane import FakePlane, ask, image_of
from kio.schema.errors import ErrorCode
from kio.static.protocol import RequestPayload, ResponsePayload

from nodes.kraft.controller.answers import item_result, items_response, refused
from nodes.kraft.metadata.image import Image, apply
from nodes.kraft.runtime import admin as admin_module
from nodes.kraft.runtime.admin import Admin
from nodes.kraft.runtime.auto_topics import creatable
from nodes.kraft.security.authorizer import Requester
from nodes.kraft.wire.records import RequestRecord

CREATE_TOPICS = 19


class FakeController:
    """Says yes, or another code, at once; keeps the ids of what it was asked."""

    def __init__(self, code: ErrorCode = ErrorCode.none) -> None:
        self.code = code
        self.ids: list[uuid.UUID] = []

    async def forward(
        self, request: Any, timeout_s: float, requester: Requester, request_id: uuid.UUID
    ) -> tuple[ResponsePayload, bool]:
        self.ids.append(request_id)
        if self.code != ErrorCode.none:
            return refused(request, self.code), False
        made = [item_result(request, name=each.name) for each in request.topics]
        return items_response(request, made), False


def create(admin: Admin, *, validate_only: bool = False) -> asyncio.Future[Any]:
    return ask(
        admin,
        CREATE_TOPICS,
        7,
        topics=(creatable("t", 1, 1),),
        timeout=datetime.timedelta(seconds=1),
        validate_only=validate_only,
    )


def recorded(image: Image, request_id: uuid.UUID) -> Image:
    return apply(image, RequestRecord(request_id=request_id, answer=b""), 50)


Test = Callable[[FakePlane, Admin, FakeController], Awaitable[None]]


def with_admin(directory: Path, test: Test, code: ErrorCode = ErrorCode.none) -> None:
    async def main() -> None:
        plane, controller = FakePlane(directory, image_of()), FakeController(code)
        await test(plane, Admin(plane, controller), controller)  # type: ignore[arg-type]

    asyncio.run(main())


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here is to end because time does, but where a test says so."""
    monkeypatch.setattr(admin_module, "SHOWN_S", 100.0)


def test_a_success_waits_for_the_image(tmp_path: Path) -> None:
    """For this very request's record: another's does not show it."""

    async def test(plane: FakePlane, admin: Admin, controller: FakeController) -> None:
        answer = create(admin)
        await plane.settle()
        admin.committed(50, recorded(plane.now, uuid.UUID(int=1)))
        await plane.settle()
        assert not answer.done()
        admin.committed(51, recorded(plane.now, controller.ids[0]))
        await plane.settle()
        assert answer.result().topics[0].error_code == 0

    with_admin(tmp_path, test)


def test_an_image_that_has_it_already(tmp_path: Path) -> None:
    async def test(plane: FakePlane, admin: Admin, controller: FakeController) -> None:
        forward = controller.forward

        async def slow(
            request: RequestPayload, timeout_s: float, requester: Requester, request_id: uuid.UUID
        ) -> tuple[ResponsePayload, bool]:
            plane.now = recorded(plane.now, request_id)
            return await forward(request, timeout_s, requester, request_id)

        controller.forward = slow  # type: ignore[method-assign]
        answer = create(admin)
        await plane.settle()
        assert answer.done()

    with_admin(tmp_path, test)


@pytest.mark.parametrize("code", [ErrorCode.topic_already_exists, ErrorCode.invalid_partitions])
def test_refusals_do_not_wait(tmp_path: Path, code: ErrorCode) -> None:
    async def test(plane: FakePlane, admin: Admin, controller: FakeController) -> None:
        answer = create(admin)
        await plane.settle()
        assert answer.result().topics[0].error_code == code

    with_admin(tmp_path, test, code)


def test_what_only_validates_does_not_wait(tmp_path: Path) -> None:
    async def test(plane: FakePlane, admin: Admin, controller: FakeController) -> None:
        answer = create(admin, validate_only=True)
        await plane.settle()
        assert answer.done()

    with_admin(tmp_path, test)


def test_what_is_never_shown_is_answered_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A success that changed nothing has no record. Nobody is waited for afterwards."""
    monkeypatch.setattr(admin_module, "SHOWN_S", 0.01)

    async def test(plane: FakePlane, admin: Admin, controller: FakeController) -> None:
        assert (await create(admin)).topics[0].error_code == 0
        assert admin._unseen == {}

    with_admin(tmp_path, test)


def test_a_lease_that_ends_meanwhile(tmp_path: Path) -> None:
    """A fenced broker vouches for nothing: the client hears 7."""

    async def test(plane: FakePlane, admin: Admin, controller: FakeController) -> None:
        answer = create(admin)
        await plane.settle()
        plane.active = False
        admin.committed(51, recorded(plane.now, controller.ids[0]))
        await plane.settle()
        assert answer.result().topics[0].error_code == ErrorCode.request_timed_out

    with_admin(tmp_path, test)
