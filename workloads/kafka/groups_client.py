"""The client of the `groups` workload: perhaps a member of a group, and somebody who asks its
coordinator, or is a static member there.

The member is another's client, in a process of its own (`member_process`). Questions for offsets,
their deletion, commits of who is no member, and those under a former member's name, which no honest
client would send, go to the coordinator in our own codec, once: a commit is not sent again after an
answer that leaves its fate open. So do all operations of static members (`instance`), which are
nobody's processes: one that is restarted is one that joins again. Which groups a broker has, any
broker is asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import tenacity
from kio.schema.api_versions.v3.response import ApiVersionsResponse
from kio.schema.errors import ErrorCode
from kio.schema.join_group.v9.response import JoinGroupResponse
from kio.schema.offset_delete.v0.response import OffsetDeleteResponse
from kio.schema.offset_fetch.v7.response import OffsetFetchResponse
from kio.schema.sync_group.v5.response import SyncGroupResponse
from kio.static.protocol import RequestPayload, ResponsePayload

from framework.history.event import Completion, Invocation, Json
from framework.plugins import outcomes
from framework.plugins.dialect import UnexpectedResponse
from framework.plugins.outcomes import Answer, Failure, Ok, Refused, completion
from framework.plugins.system import Cluster
from workloads.kafka.broker_client import BrokerClient
from workloads.kafka.client import connections
from workloads.kafka.codec import Codec, expected
from workloads.kafka.connection import Breakdown, no_answer
from workloads.kafka.coordinators import GROUP, Coordinators
from workloads.kafka.group_messages import (
    committed_answer,
    committed_request,
    forget_answer,
    forget_request,
    list_request,
    listed_answer,
    versions_request,
)
from workloads.kafka.instance_messages import (
    EXCHANGES,
    join_request,
    joined_answer,
    sync_request,
)
from workloads.kafka.leaders import NoAnswer
from workloads.kafka.log_client import LogClient
from workloads.kafka.member_process import (
    LOST,
    MemberFailed,
    MemberProcess,
    group_member,
    unanswered,
)
from workloads.kafka.messages import name_of, refused
from workloads.kafka.operations.groups import Commit, Left, MemberFetch, Membership
from workloads.kafka.relay import Relay
from workloads.kafka.roles import BROKER
from workloads.kafka.system import system_of

SEARCH_S: Final = 3.0
"""No new attempt later than this after the operation began."""
ATTEMPT_S: Final = 2.0
PAUSE_S: Final = 0.1
ASKED: Final = ("committed", "forget")
"""Of a group's coordinator, by whoever likes."""
NO_MEMBER: Final = "NO_MEMBER"
"""This client has no such member, or none any more."""
MOVED: Final = frozenset(
    {
        outcomes.CONNECTION_FAILED,
        *map(
            name_of,
            (
                ErrorCode.not_coordinator,
                ErrorCode.coordinator_not_available,
                ErrorCode.coordinator_load_in_progress,
            ),
        ),
    }
)
"""Answers after which a question goes to whoever coordinates now."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of an operation; `again`: another may have a better result."""

    result: Ok | Failure
    node: str | None
    again: bool = False


class GroupsClient:
    """Implements the engine's `Client`. Closed, its member is gone without a word."""

    def __init__(
        self,
        cluster: Cluster,
        thread: int,
        *,
        topics: tuple[str, ...],
        session_ms: int,
        started: Callable[[Invocation], None] = lambda _: None,
    ) -> None:
        self._cluster, self._topics, self._session_ms = cluster, topics, session_ms
        self._log = LogClient(cluster, thread, started)
        self._outcomes = system_of(cluster).dialect().outcomes
        self._brokers = connections(cluster, BROKER, f"groups-{thread}", Codec())
        names = {cluster.nodes[node].ids[BROKER]: node for node in self._brokers}
        self._any = BrokerClient(self._brokers, thread)
        self._coordinators = Coordinators(self._any, names, GROUP)
        self._relay: Relay | None = None
        self._member: MemberProcess | None = None

    def invoke(self, invocation: Invocation) -> Completion:
        """The completion, within 10 s."""
        value = invocation.value if isinstance(invocation.value, dict) else {}
        if invocation.f == "groups":
            return self._listed(invocation)
        if invocation.f in ASKED or "instance" in value or _under_its_name(invocation):
            return self._asked(invocation)
        if invocation.f in _OF_MEMBERS and "group" in value:
            return self._by_member(invocation)
        return self._log.invoke(invocation)

    def close(self) -> None:
        """Close all connections; the member is killed."""
        self._vanish()
        if self._relay is not None:
            self._relay.close()
        self._log.close()
        for connection in self._brokers.values():
            connection.close()

    # --- the member -----------------------------------------------------------------------

    def _by_member(self, invocation: Invocation) -> Completion:
        try:
            result = _OF_MEMBERS[invocation.f](self, invocation)
        except MemberFailed as error:
            if error.code in LOST:
                self._vanish()
            return unanswered(self._outcomes, invocation, error)
        return invocation.completed("ok", result)

    def _join(self, invocation: Invocation) -> Json:
        asked = Membership.from_json(invocation.value)
        self._vanish()
        if self._relay is None:
            self._relay = Relay(self._cluster)
        self._member = group_member(
            self._relay,
            group=asked.group,
            name=asked.member,
            topics=self._topics,
            session_ms=self._session_ms,
        )
        try:
            return self._member.ask("join")
        except MemberFailed as error:
            if not error.sent and error.code not in LOST:
                raise  # it goes on trying, and will tell when it is asked for its assignment
            self._vanish()
            # It may have become a member for a moment.
            raise MemberFailed(error.code, str(error), sent=True) from error

    def _assignment(self, invocation: Invocation) -> Json:
        return self._of(Membership.from_json(invocation.value).member).ask("assignment")

    def _fetch(self, invocation: Invocation) -> Json:
        asked = MemberFetch.from_json(invocation.value)
        return self._of(asked.member).ask(
            "fetch", key=invocation.key, start=asked.start, generation=asked.generation
        )

    def _commit(self, invocation: Invocation) -> Json:
        asked = Commit.from_json(invocation.value)
        self._of(asked.member).ask(
            "commit", key=invocation.key, offset=asked.offset, generation=asked.generation
        )
        value: Json = invocation.value
        return value

    def _leave(self, invocation: Invocation) -> Json:
        """Of whoever is a member here; that nobody is, is as good."""
        member, self._member = self._member, None
        if member is None:
            return Left(None).to_json()
        try:
            member.ask("leave")
        finally:
            member.kill()
        return Left(member.name).to_json()

    def _crash(self, invocation: Invocation) -> Json:
        name = None if self._member is None else self._member.name
        self._vanish()
        return Left(name).to_json()

    def _of(self, name: str) -> MemberProcess:
        """The member of that name. Raises `MemberFailed`."""
        if self._member is None or self._member.name != name:
            raise MemberFailed(NO_MEMBER, f"{name} is not here", sent=False)
        return self._member

    def _vanish(self) -> None:
        member, self._member = self._member, None
        if member is not None:
            member.kill()

    # --- the coordinator ------------------------------------------------------------------

    def _asked(self, invocation: Invocation) -> Completion:
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_result(lambda attempt: attempt.again),
            stop=tenacity.stop_after_delay(SEARCH_S),
            wait=tenacity.wait_fixed(PAUSE_S),
            retry_error_callback=lambda state: state.outcome and state.outcome.result(),
        )
        last: Attempt = retrying(self._attempt, invocation)
        return completion(invocation, last.result, last.node)

    def _attempt(self, invocation: Invocation) -> Attempt:
        group = str(invocation.value["group"])
        try:
            node = self._coordinators.find(group)
        except NoAnswer as missing:
            return Attempt(Failure("fail", missing.error), missing.node, again=True)
        result = self._exchanged(invocation, node)
        if isinstance(result, Ok):
            return Attempt(result, node)
        if result.error[0] in MOVED or result.type == "info":
            self._coordinators.forget(group)
        return Attempt(result, node, again=result.type == "fail" and result.error[0] in MOVED)

    def _exchanged(self, invocation: Invocation, node: str) -> Ok | Failure:
        try:
            if invocation.f == "join":
                return self._static_join(invocation, node)
            answer = self._answered(invocation, node)
        except (Breakdown, UnexpectedResponse) as error:
            return no_answer(self._outcomes, invocation.f, error)
        if isinstance(answer, Refused):
            return self._outcomes.refused(invocation.f, answer, retried=False)
        return answer

    def _answered(self, invocation: Invocation, node: str) -> Answer:
        if invocation.f == "committed":
            response = self._called(node, committed_request(invocation))
            return committed_answer(invocation, expected(OffsetFetchResponse, response))
        if invocation.f == "forget":
            response = self._called(node, forget_request(invocation))
            return forget_answer(invocation, expected(OffsetDeleteResponse, response))
        exchange = EXCHANGES[invocation.f]
        return exchange.answer(invocation, self._called(node, exchange.request(invocation)))

    def _static_join(self, invocation: Invocation, node: str) -> Ok | Failure:
        """Once the coordinator has let it in, it may be a member, whatever comes after."""
        joined = expected(JoinGroupResponse, self._called(node, join_request(invocation)))
        if joined.error_code != 0:
            why = refused(joined.error_code)
            return self._outcomes.refused(invocation.f, why, retried=False)
        try:
            synced = self._called(node, sync_request(invocation, joined))
            answer = joined_answer(joined, expected(SyncGroupResponse, synced))
        except Breakdown as error:
            return self._outcomes.unanswered(invocation.f, error.code, str(error), sent=True)
        if isinstance(answer, Refused):
            return Failure("info", (answer.code, answer.message))
        return answer

    def _called(self, node: str, request: RequestPayload) -> ResponsePayload:
        return self._brokers[node].call(request, time.monotonic() + ATTEMPT_S)

    # --- any broker -----------------------------------------------------------------------

    def _listed(self, invocation: Invocation) -> Completion:
        """Which groups a broker has, by the newest version that it serves."""
        node = invocation.node
        try:
            node, served = self._any.call(versions_request(), node=node)
            request = list_request(invocation, expected(ApiVersionsResponse, served))
            node, response = self._any.call(request, node=node)
            answer = listed_answer(response)
        except (Breakdown, UnexpectedResponse) as error:
            node = error.node if isinstance(error, Breakdown) else node
            return completion(invocation, no_answer(self._outcomes, "groups", error), node)
        if isinstance(answer, Refused):
            refusal = self._outcomes.refused("groups", answer, retried=False)
            return completion(invocation, refusal, node)
        return completion(invocation, answer, node)


def _under_its_name(invocation: Invocation) -> bool:
    """Whether it is a commit under a former member's name, or under none."""
    return invocation.f == "commit" and "id" in invocation.value


_OF_MEMBERS: Final[dict[str, Callable[[GroupsClient, Invocation], Json]]] = {
    "join": GroupsClient._join,
    "assignment": GroupsClient._assignment,
    "fetch": GroupsClient._fetch,
    "commit": GroupsClient._commit,
    "leave": GroupsClient._leave,
    "crash": GroupsClient._crash,
}
