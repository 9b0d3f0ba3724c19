"""Clients of the simulated cluster, the brokers' forwarding for them, and their history.

`Forwarding` mirrors runtime/forwarding.py and what runtime/data.py makes of its result: one request
id for all attempts, REQUEST_TIMED_OUT where an earlier attempt's fate is unknown.
"""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kio.schema.create_topics.v7 import request as create
from kio.schema.create_topics.v7.response import CreateTopicsResponse
from kio.schema.delete_topics.v6 import request as delete
from kio.schema.delete_topics.v6.response import DeleteTopicsResponse
from kio.schema.errors import ErrorCode
from kio.schema.types import TopicName
from kio.static.primitive import i16, i32, i32Timedelta
from kio.static.protocol import ResponsePayload

from nodes.kraft.broker import view
from nodes.kraft.simulation.histories import Row, history_check
from nodes.kraft.simulation.machine import Machine
from nodes.kraft.simulation.replica import REQUEST_TIMEOUT_MS
from nodes.kraft.simulation.schedule import Operation
from nodes.kraft.simulation.violation import Violation
from nodes.kraft.wire.codes import codes, first_error, with_code
from nodes.kraft.wire.debug import ReadTopicsRequest, ReadTopicsResponse

if TYPE_CHECKING:
    from nodes.kraft.simulation.world import World
    from nodes.kraft.wire.requests import DecidedRequest

TIMEOUT_MS: Final = 1500
RETRY_MS: Final = 50
FLEETING: Final = frozenset({ErrorCode.not_controller, ErrorCode.request_timed_out})
PATIENCE_MS: Final = TIMEOUT_MS + 500
READ_TIMEOUT_MS: Final = 800
_TIMEOUT: Final = i32Timedelta.parse(datetime.timedelta(milliseconds=TIMEOUT_MS))

Reply = Callable[[ResponsePayload | None], None]


class Forwarding:
    """One client request on its way through a broker to the active controller."""

    def __init__(
        self, machine: Machine, request: DecidedRequest, request_id: bytes, reply: Reply
    ) -> None:
        self.machine = machine
        self.world = machine.world
        self.request = request
        self.request_id = request_id
        self.reply = reply
        self.unknown = False
        self.deadline = self.world.now + TIMEOUT_MS
        self._attempt()

    def _attempt(self) -> None:
        left = self.deadline - self.world.now
        assert self.machine.replica is not None
        if left <= 0:
            self._finish(None)
            return
        leader = self.machine.replica.state.leader_id
        if leader < 0:
            self._again()
            return
        self.world.network.call(
            self.machine,
            self.world.machines[leader],
            lambda callee, answer: callee.controller.ask(self.request, answer, self.request_id),
            self._settle,
            timeout_ms=min(left, REQUEST_TIMEOUT_MS),
        )

    def _settle(self, response: ResponsePayload | None, sent: bool) -> None:
        if response is None:
            self.unknown = self.unknown or sent
            self._again()
            return
        fleeting = set(codes(response)) & FLEETING
        self.unknown |= ErrorCode.request_timed_out in fleeting
        if fleeting:
            self._again()
        else:
            self._finish(response)

    def _again(self) -> None:
        left = max(1, self.deadline - self.world.now)
        self.world.at_machine(self.machine, min(RETRY_MS, left), self._attempt)

    def _finish(self, response: ResponsePayload | None) -> None:
        if response is None:
            code = ErrorCode.request_timed_out if self.unknown else ErrorCode.not_controller
            response = with_code(self._refusal(), code)
        elif self.unknown:
            response = with_code(response, ErrorCode.request_timed_out)
        assert self.machine.member is not None
        if not self.machine.member.serving():
            response = with_code(self._refusal(), ErrorCode.request_timed_out)
        self.reply(response)

    def _refusal(self) -> ResponsePayload:
        refusal = view.refusal(self.request)
        assert refusal is not None, "forwarded requests can all be refused"
        return refusal


class Clients:
    """`rows` is the history, as the checkers' kernels take it; a client has one operation open
    at a time."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rows: list[Row] = []
        self._index = 0
        self._processes = 0
        self._busy: set[int] = set()

    @property
    def idle(self) -> bool:
        return not self._busy

    def operate(self, operation: Operation) -> None:
        """Invoke, if the client is idle."""
        client = operation.client
        if client in self._busy:
            return
        if operation.f == "describe":
            self._describe(operation)
        else:
            self._change(operation)

    def _change(self, operation: Operation) -> None:
        machines = [m for m in self.world.machines.values() if m.member is not None]
        if not machines:
            return
        machine = machines[operation.via % len(machines)]
        request: DecidedRequest
        if operation.f == "create":
            topic = create.CreatableTopic(
                name=TopicName(operation.topic),
                num_partitions=i32(operation.partitions),
                replication_factor=i16(-1),
                assignments=(),
                configs=(),
            )
            request = create.CreateTopicsRequest(topics=(topic,), timeout=_TIMEOUT)
        else:
            named = delete.DeleteTopicState(name=TopicName(operation.topic), topic_id=None)
            request = delete.DeleteTopicsRequest(topics=(named,), timeout=_TIMEOUT)
        row, reply = self._invoke(operation, machine)
        assert machine.member is not None
        if not machine.member.serving():
            reply(view.refusal(request))
            return
        request_id = uuid.UUID(int=(self.world.schedule.seed << 32) + row["index"]).bytes
        self.world.at_machine(
            machine, 0, lambda: Forwarding(machine, request, request_id, reply) and None
        )

    def _describe(self, operation: Operation) -> None:
        controllers = [self.world.machines[key] for key in self.world.profile.voter_keys]
        machine = controllers[operation.via % len(controllers)]
        if machine.replica is not None and not machine.replica.leads:
            machine = self.world.machines.get(machine.replica.state.leader_id, machine)
        _, reply = self._invoke(operation, machine)
        request = ReadTopicsRequest(names=(operation.topic,))

        def ask() -> None:
            assert machine.control is not None
            machine.control.ask(
                request, lambda response: self.world.later(1, lambda: reply(response))
            )

        if machine.up:
            self.world.at_machine(machine, 1, ask)
        else:
            reply(None)

    # --- the history ----------------------------------------------------------------------

    def _next(self) -> int:
        self._index += 1
        return self._index

    def _invoke(self, operation: Operation, machine: Machine) -> tuple[Row, Reply]:
        client = operation.client
        self._busy.add(client)
        row: Row = {
            "index": self._next(),
            "end": None,
            "process": client,
            "f": operation.f,
            "key": json.dumps(operation.topic),
            "value": "null",
            "type": "info",
            "result": "null",
            "error_code": None,
            "error_message": None,
            "node": repr(machine),
        }
        self.rows.append(row)
        self.world.note(machine, "is asked to %s %s", operation.f, operation.topic)
        done = False

        def reply(response: ResponsePayload | None) -> None:
            nonlocal done
            if done:
                return
            done = True
            kind, result, error = _outcome(operation.f, response)
            row["end"] = self._next()
            row["type"], row["result"], row["error_code"] = kind, json.dumps(result), error
            self._busy.discard(client)
            self.world.note(machine, "%s %s: %s", operation.f, operation.topic, error or result)

        patience = READ_TIMEOUT_MS if operation.f == "describe" else PATIENCE_MS
        self.world.later(patience, lambda: reply(None))
        return row, reply

    def check(self) -> None:
        """D.1: the history of each name has an order, as far as somebody judges histories. Raises
        `Violation`."""
        check = history_check()
        if check is None:
            return
        for name in sorted({row["key"] for row in self.rows}):
            rows = [row for row in self.rows if row["key"] == name]
            outcome = check(rows, budget_s=5.0)
            if outcome.verdict.value == "INVALID":
                raise Violation("linearizability", f"topic {name}: {outcome.findings[0].message}")


def _outcome(
    f: str, response: ResponsePayload | None
) -> tuple[str, dict[str, str] | None, str | None]:
    """(type, result, error code) of a completion; the table of docs/checking.md."""
    if response is None:
        return ("fail" if f == "describe" else "info"), None, "TIMEOUT"
    code = first_error(response)
    if f == "describe":
        if code == 3:
            return "ok", None, None
        if code != 0:
            return "fail", None, ErrorCode(code).name.upper()
        assert isinstance(response, ReadTopicsResponse)
        return "ok", {"topic_id": str(response.topics[0].topic_id)}, None
    if code == ErrorCode.request_timed_out:
        return "info", None, "REQUEST_TIMED_OUT"
    if code != 0:
        return "fail", None, ErrorCode(code).name.upper()
    if isinstance(response, CreateTopicsResponse):
        return "ok", {"topic_id": str(response.topics[0].topic_id)}, None
    assert isinstance(response, DeleteTopicsResponse)
    return "ok", {"topic_id": str(response.responses[0].topic_id)}, None
