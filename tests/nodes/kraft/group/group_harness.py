"""A group coordinator's core with a log beside it: writes, failovers and time by hand."""

from collections.abc import Sequence
from typing import Any

from immutables import Map
from kio.schema.errors import ErrorCode

from nodes.kraft.group import core
from nodes.kraft.group.config import GroupConfig
from nodes.kraft.group.records import decode_changes, encode_changes
from nodes.kraft.group.state import Offset
from nodes.kraft.group.steps import (
    Answer,
    Append,
    Beat,
    Change,
    Commit,
    Delete,
    Input,
    Join,
    Leave,
    Request,
    RequestReceived,
    Resign,
    Sync,
    Tick,
    Written,
)

RANGE = (("range", b"topics"),)


class Coordinator:
    """`settle`: whether writes commit at once. The log holds what was appended, as bytes are."""

    def __init__(self, *, settle: bool = True, **settings: Any) -> None:
        self.config = GroupConfig(**{"initial_delay_ms": 100} | settings)
        self.state = core.initial(self.config)
        self.settle = settle
        self.now_ms = 0
        self.log: list[tuple[Change, ...]] = []
        self.writes: list[Append] = []
        self.token = 0
        self.fresh = 0
        self.answers: dict[int, Any] = {}

    def feed(self, event: Input) -> None:
        self.state, effects = core.step(self.state, event, self.now_ms)
        for effect in effects:
            match effect:
                case Answer(token, result):
                    assert token not in self.answers, "answered twice"
                    self.answers[token] = result
                case Append():
                    self.writes.append(effect)
        while self.settle and self.writes:
            self.written()

    def written(self, error: ErrorCode = ErrorCode.none, *, reach: bool = True) -> None:
        """The oldest write ends. `reach`: whether its records are in the log, error or not."""
        write = self.writes.pop(0)
        if reach:
            self.log.append(write.changes)
        self.feed(Written(write.write, error, len(self.log) - 1))

    def ask(self, request: Request) -> Any:
        """The answer, or None where it waits; its token is `self.token`."""
        self.token += 1
        self.feed(RequestReceived(self.token, request))
        return self.answers.get(self.token)

    def pass_ms(self, ms: int) -> None:
        self.now_ms += ms
        self.feed(Tick())

    def fail_over(self) -> None:
        """Another broker goes on, with nothing but what the log has."""
        self.feed(Resign())
        self.writes = []
        state = core.initial(self.config)
        for number, changes in enumerate(self.log):
            decoded = decode_changes(encode_changes(changes, 1_700_000_000_000))
            assert not decoded.unreadable
            state = core.replay(state, [(number, change) for _, change in decoded.changes])
        self.state = core.activate(state, self.now_ms)

    # --- requests -------------------------------------------------------------------------

    def join(
        self,
        member_id: str = "",
        *,
        group: str = "g",
        instance: str | None = None,
        protocols: Any = RANGE,
        protocol_type: str = "consumer",
        session_ms: int = 10_000,
        rebalance_ms: int = 30_000,
        id_first: bool = False,
        may_skip: bool = True,
    ) -> Any:
        self.fresh += 1
        return self.ask(
            Join(
                group_id=group,
                member_id=member_id,
                instance_id=instance,
                client_id="client",
                client_host="/127.0.0.1",
                session_ms=session_ms,
                rebalance_ms=rebalance_ms,
                protocol_type=protocol_type,
                protocols=protocols,
                fresh_id=f"m{self.fresh}",
                id_first=id_first,
                may_skip=may_skip,
            )
        )

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        *,
        group: str = "g",
        instance: str | None = None,
        **reported: str | None,
    ) -> Any:
        return self.ask(
            Sync(
                group_id=group,
                generation=generation,
                member_id=member_id,
                instance_id=instance,
                assignments=Map(assignments or {}),
                **reported,
            )
        )

    def beat(
        self, member_id: str, generation: int, group: str = "g", instance: str | None = None
    ) -> ErrorCode:
        ask = Beat(group_id=group, generation=generation, member_id=member_id, instance_id=instance)
        error: ErrorCode = self.ask(ask).error
        return error

    def leave(self, *members: str | tuple[str, str], group: str = "g") -> Any:
        pairs = tuple((each, None) if isinstance(each, str) else each for each in members)
        return self.ask(Leave(group_id=group, members=pairs))

    def commit(
        self,
        offset: int,
        member_id: str = "",
        generation: int = -1,
        *,
        group: str = "g",
        partition: int = 0,
        instance: str | None = None,
    ) -> Any:
        offsets = Map({("t", partition): Offset(offset=offset)})
        ask = Commit(
            group_id=group,
            generation=generation,
            member_id=member_id,
            instance_id=instance,
            offsets=offsets,
        )
        return self.ask(ask)

    def delete(self, group: str = "g") -> Any:
        return self.ask(Delete(group_id=group))

    # --- looking --------------------------------------------------------------------------

    def group(self, group: str = "g") -> Any:
        return self.state.groups[group]

    def position(self, partition: int = 0, group: str = "g") -> int | None:
        found = self.state.groups.get(group)
        kept = None if found is None else found.offsets.get(("t", partition))
        return None if kept is None else kept.offset

    def stable(self, count: int = 2, instances: Sequence[str | None] = ()) -> list[str]:
        """A stable group of that many members, the leader first; or of these instances."""
        tokens = []
        for instance in instances or [None] * count:
            assert self.join(instance=instance) is None
            tokens.append(self.token)
        self.pass_ms(self.config.initial_delay_ms)
        members = [self.answers[token].member_id for token in tokens]
        generation = self.answers[tokens[0]].generation
        leader = self.answers[tokens[0]].leader
        members.sort(key=lambda each: each != leader)
        for member in members[1:]:
            assert self.sync(member, generation) is None
        parts = {member: member.encode() for member in members}
        assert self.sync(leader, generation, parts).assignment == leader.encode()
        return members
