"""A broker answers a change when it shows that change itself, and what changed nothing at once."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from group_plane import FakePlane, ask, image_of
from kio.schema.errors import ErrorCode
from virtual_time import run_virtually

from nodes.kraft.controller.answers import item_result, items_response, refused
from nodes.kraft.ids import Offset
from nodes.kraft.runtime.admin import Admin
from nodes.kraft.runtime.auto_topics import creatable
from nodes.kraft.runtime.forwarding import Forwarded
from nodes.kraft.security.authorizer import Requester

CREATE_TOPICS = 19
END = 51
"""Below it is what the controller recorded."""
LIMIT_S = 1.0
NOTHING = Offset(0)


class FakeController:
    """Says yes, or another code, after `takes_s`; what it did is below `end_offset`."""

    def __init__(
        self,
        code: ErrorCode = ErrorCode.none,
        end_offset: int = END,
        takes_s: float = 0.0,
        unknown: bool = False,
    ) -> None:
        self.code = code
        self.end_offset = Offset(end_offset)
        self.takes_s = takes_s
        self.unknown = unknown

    async def forward(self, request: Any, timeout_s: float, requester: Requester) -> Forwarded:
        await asyncio.sleep(self.takes_s)
        if self.code != ErrorCode.none:
            return Forwarded(refused(request, self.code), self.unknown, self.end_offset)
        made = [item_result(request, name=each.name) for each in request.topics]
        return Forwarded(items_response(request, made), self.unknown, self.end_offset)


def create(admin: Admin) -> asyncio.Future[Any]:
    return ask(
        admin,
        CREATE_TOPICS,
        7,
        topics=(creatable("t", 1, 1),),
        timeout=datetime.timedelta(seconds=LIMIT_S),
    )


def code_of(answer: asyncio.Future[Any]) -> int:
    return int(answer.result().topics[0].error_code)


def now_s() -> float:
    return asyncio.get_running_loop().time()


Test = Callable[[FakePlane, Admin], Awaitable[None]]


def with_admin(directory: Path, controller: FakeController, test: Test) -> None:
    async def main() -> None:
        plane = FakePlane(directory, image_of())
        await test(plane, Admin(plane, controller))  # type: ignore[arg-type]

    run_virtually(main())


def test_a_success_waits_for_the_image(tmp_path: Path) -> None:
    """For one that has all that was recorded for it."""

    async def test(plane: FakePlane, admin: Admin) -> None:
        answer = create(admin)
        await plane.settle()
        admin.committed(END - 1, plane.now)
        await plane.settle()
        assert not answer.done()
        admin.committed(END, plane.now)
        await plane.settle()
        assert (code_of(answer), now_s()) == (0, 0.0)

    with_admin(tmp_path, FakeController(), test)


@pytest.mark.parametrize("published", [END, END + 7])
def test_an_image_that_has_it_already(tmp_path: Path, published: int) -> None:
    async def test(plane: FakePlane, admin: Admin) -> None:
        admin.committed(published, plane.now)
        answer = create(admin)
        await plane.settle()
        assert code_of(answer) == 0

    with_admin(tmp_path, FakeController(), test)


@pytest.mark.parametrize(
    "code",
    [ErrorCode.none, ErrorCode.topic_already_exists, ErrorCode.invalid_partitions],
)
def test_what_changed_nothing_is_answered_at_once(tmp_path: Path, code: ErrorCode) -> None:
    """Successes, too: a value that was set already, a request that only validates."""

    async def test(plane: FakePlane, admin: Admin) -> None:
        answer = create(admin)
        await plane.settle()
        assert (code_of(answer), now_s()) == (code, 0.0)

    with_admin(tmp_path, FakeController(code, NOTHING), test)


@pytest.mark.parametrize("takes_s", [0.0, 0.7])
def test_what_is_not_shown_in_time_is_not_vouched_for(tmp_path: Path, takes_s: float) -> None:
    """The client hears 7 when its own time is over: what was forwarded took part of it."""

    async def test(plane: FakePlane, admin: Admin) -> None:
        answer = create(admin)
        await answer
        assert code_of(answer) == ErrorCode.request_timed_out
        assert now_s() == pytest.approx(LIMIT_S)
        await plane.settle()
        assert admin._unseen == {}

    with_admin(tmp_path, FakeController(takes_s=takes_s), test)


def test_a_retry_whose_first_attempt_took_effect_waits_too(tmp_path: Path) -> None:
    """The controller remembers: its answer is a success with the log's end as it is by then."""

    async def test(plane: FakePlane, admin: Admin) -> None:
        answer = create(admin)
        asyncio.get_running_loop().call_later(LIMIT_S / 2, admin.committed, END, plane.now)
        await answer
        assert (code_of(answer), now_s()) == (0, pytest.approx(LIMIT_S / 2))

    with_admin(tmp_path, FakeController(unknown=True), test)


def test_many_wait_for_one_image(tmp_path: Path) -> None:
    async def test(plane: FakePlane, admin: Admin) -> None:
        answers = [create(admin) for _ in range(3)]
        await plane.settle()
        admin.committed(END, plane.now)
        await plane.settle()
        assert [code_of(each) for each in answers] == [0, 0, 0]

    with_admin(tmp_path, FakeController(), test)


def test_a_lease_that_ends_meanwhile(tmp_path: Path) -> None:
    """A fenced broker vouches for nothing: the client hears 7."""

    async def test(plane: FakePlane, admin: Admin) -> None:
        answer = create(admin)
        await plane.settle()
        plane.active = False
        admin.committed(END, plane.now)
        await plane.settle()
        assert code_of(answer) == ErrorCode.request_timed_out

    with_admin(tmp_path, FakeController(), test)
