"""Requests that go to the active controller: heartbeats, ISR changes, linearizable reads, dry runs.

Controllers are asked in turn, starting with the one that answered last, until one is active.
A connection that could not be made says that there was certainly no effect, and so does
NOT_CONTROLLER at the top of a response, where the system's table has it as a failure: asking the
next controller is then still the same request. After anything less certain a request is over,
but for reads, which have no effect. Where NOT_CONTROLLER is no certain failure, a question without
effect finds the active controller before the first request, and again after one that failed.
"""

import time
from collections.abc import Mapping
from typing import Final

import tenacity
from kio.schema.errors import ErrorCode
from kio.static.protocol import RequestPayload, ResponsePayload

from framework.plugins.dialect import AnyLeadership
from framework.plugins.outcomes import OutcomeTable
from workloads.kafka.connection import Breakdown, Connection, FateUnknown, NotSent
from workloads.kafka.messages import name_of

DEADLINE_S: Final = 3.0
SEARCH_S: Final = 2.0
"""No new attempt later than this, so that the last one has time for its answer too."""
READ_ATTEMPT_S: Final = 1.0
"""A read waits no longer for one controller: it may be paused or cut off."""
ROUND_PAUSE_S: Final = 0.05
"""Pause after all controllers were asked in vain."""


class NotActive(Exception):
    """The controller `node` answered that it is not the active one."""

    def __init__(self, node: str, response: ResponsePayload) -> None:
        super().__init__(f"{node} is not the active controller")
        self.node = node
        self.response = response


def code_of(response: ResponsePayload) -> int | None:
    """Of a response as a whole. CreateTopics has one for each topic, and one topic; None: it has
    no such code."""
    told = getattr(response, "topics", ())[:1]
    of_topic = getattr(told[0], "error_code", None) if told else None
    return getattr(response, "error_code", of_topic)


class ControllerClient:
    """Finds the active controller. For one thread at a time."""

    def __init__(
        self,
        connections: Mapping[str, Connection],
        outcomes: OutcomeTable,
        first: int = 0,
        leadership: AnyLeadership | None = None,
    ) -> None:
        """`connections`: a controller's name to a connection to its control listener. `first`:
        the position of the one to ask first. `leadership`: how to find the active one; None: by
        being refused."""
        self._leadership = leadership
        self._found = leadership is None
        self._redirects = name_of(ErrorCode.not_controller) in outcomes.fails
        self._connections = connections
        self._names = list(connections)
        self._position = first % max(1, len(self._names))

    def call(
        self,
        request: RequestPayload,
        *,
        read: bool = False,
        search_s: float = SEARCH_S,
        deadline_s: float = DEADLINE_S,
    ) -> tuple[str, ResponsePayload]:
        """(node, response). The response is NOT_CONTROLLER where no controller was active in
        time. Raises `NotSent`, `FateUnknown` (of a read: the last of several)."""
        harmless: tuple[type[Exception], ...] = (NotSent,)
        if read or self._redirects:
            harmless += (NotActive,)
        if read:
            harmless += (FateUnknown,)
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(harmless),
            stop=tenacity.stop_after_delay(search_s),
            wait=self._pause,
            reraise=True,
        )
        deadline = time.monotonic() + deadline_s
        if self._leadership is not None and not (read or self._found):
            self._find(self._leadership, search_s)
        try:
            return retrying(self._attempt, request, read, deadline)
        except NotActive as inactive:
            return inactive.node, inactive.response

    def turn(self) -> None:
        """It is the next controller's turn, after a pause where all had theirs."""
        self._position = (self._position + 1) % len(self._names)
        if self._position == 0:
            time.sleep(ROUND_PAUSE_S)

    def _attempt(
        self, request: RequestPayload, read: bool, deadline: float
    ) -> tuple[str, ResponsePayload]:
        """Ask the controller whose turn it is; after a failure it is the next one's turn."""
        name = self._names[self._position]
        if read:
            deadline = min(deadline, time.monotonic() + READ_ATTEMPT_S)
        try:
            response = self._connections[name].call(request, deadline)
            if code_of(response) == ErrorCode.not_controller:
                raise NotActive(name, response)
        except (NotActive, Breakdown) as error:
            self._position = (self._position + 1) % len(self._names)
            self._found = self._leadership is None
            error.node = name
            raise
        return name, response

    def _find(self, leadership: AnyLeadership, search_s: float) -> None:
        """Until it is the active controller's turn. Raises `NotSent`."""
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type((NotActive, Breakdown)),
            stop=tenacity.stop_after_delay(search_s),
            wait=self._pause,
            reraise=True,
        )
        try:
            retrying(self._look, leadership)
        except (NotActive, Breakdown) as error:
            raise NotSent(f"no active controller was found: {error}") from error
        self._found = True

    def _look(self, leadership: AnyLeadership) -> None:
        """Ask the one whose turn it is."""
        name, response = self._attempt(leadership.request, True, float("inf"))
        if not leadership.shown(response):
            self.turn()
            raise NotActive(name, response)

    def _pause(self, state: tenacity.RetryCallState) -> float:
        return 0.0 if state.attempt_number % len(self._names) else ROUND_PAUSE_S
