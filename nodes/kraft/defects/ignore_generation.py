"""A group's coordinator takes commits of whoever was a member once, in whatever generation."""

from typing import Final

from kio.schema.errors import ErrorCode

from nodes.kraft.group import core
from nodes.kraft.group.state import Group
from nodes.kraft.group.steps import Commit

FENCED: Final = (ErrorCode.illegal_generation, ErrorCode.unknown_member_id)


def install() -> None:
    healthy = core.commit_error

    def commit_error(group: Group | None, request: Commit) -> ErrorCode:
        error = healthy(group, request)
        return ErrorCode.none if error in FENCED else error

    core.commit_error = commit_error
