"""A leader answers as soon as it has appended: it takes its own log for committed."""

from nodes.kraft.controller import core
from nodes.kraft.controller.steps import Commit, Effect, Input, Propose


def install() -> None:
    healthy = core.step

    def step(
        state: core.ControllerState, event: Input, now_ms: int
    ) -> tuple[core.ControllerState, list[Effect]]:
        after, effects = healthy(state, event, now_ms)
        if after.leadership is not None and any(isinstance(each, Propose) for each in effects):
            appended = Commit(after.leadership.end_offset, after.leadership.speculative)
            after, answers = healthy(after, appended, now_ms)
            effects = [*effects, *answers]
        return after, effects

    core.step = step
