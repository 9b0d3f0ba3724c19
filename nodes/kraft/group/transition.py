"""One step of the coordinator in the making: the state so far, and the effects."""

from dataclasses import replace

from nodes.kraft.group.state import Group, State, Token, Write
from nodes.kraft.group.steps import Answer, Append, Change, Effect, Result


class Transition:
    """Lives within one step of the core, which is pure: a transition never outlives it."""

    def __init__(self, state: State, now_ms: int) -> None:
        self.state = state
        self.now_ms = now_ms
        self.effects: list[Effect] = []

    def answer(self, token: Token | None, result: Result) -> None:
        """Tell whoever waits under the token, if anybody does."""
        if token is not None:
            self.effects.append(Answer(token, result))

    def append(self, write: Write, changes: tuple[Change, ...]) -> int:
        """Send changes to the log; the write's number."""
        number = self.state.next_write
        writes = self.state.writes.set(number, write)
        self.state = replace(self.state, writes=writes, next_write=number + 1)
        self.effects.append(Append(number, changes))
        return number

    def put(self, group: Group) -> None:
        """Keep the group, or forget it where nothing is known of it."""
        groups = self.state.groups
        if not group.forgettable:
            groups = groups.set(group.group_id, group)
        elif group.group_id in groups:
            groups = groups.delete(group.group_id)
        self.state = replace(self.state, groups=groups)
