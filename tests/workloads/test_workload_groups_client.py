"""The client of the `groups` workload: its member is a program that does as the test says, its
coordinators are sockets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from kio.schema.api_versions.v3 import response as versions
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v3.response import FindCoordinatorResponse
from kio.schema.heartbeat.v4.response import HeartbeatResponse
from kio.schema.join_group.v9.response import JoinGroupResponse
from kio.schema.leave_group.v5 import response as leave
from kio.schema.list_groups.v4 import response as listed_untyped
from kio.schema.list_groups.v5 import response as listed
from kio.schema.offset_commit.v8 import response as committed
from kio.schema.offset_delete.v0 import response as deleted
from kio.schema.offset_fetch.v7 import response as fetched
from kio.schema.sync_group.v5.response import SyncGroupResponse
from kio.schema.types import BrokerId, GroupId, TopicName
from kio.static.primitive import i16, i32, i64
from loopback_server import CLOSE, LoopbackServer

from framework.history.event import Completion, Invocation
from framework.plugins.outcomes import ABSENT, PRESENT, STALE
from framework.plugins.system import NodeSpec
from framework.testing.loopback import cluster_of
from nodes.kraft.adapter.system import KraftSystem
from nodes.kraft.controller.answers import NO_THROTTLE
from workloads.kafka import member_process
from workloads.kafka.groups_client import GroupsClient

KEY = "t/0"

STUB = """
import json, os, sys
configuration = json.loads(sys.argv[1])
answers = json.load(open(os.environ["STUB_ANSWERS"]))
for line in sys.stdin:
    asked = json.loads(line)
    with open(os.environ["STUB_ANSWERS"] + ".asked", "a") as log:
        print(json.dumps([configuration["settings"]["client_id"], asked]), file=log)
    answer = answers.get(asked["do"], {"ok": {}})
    if answer == "die":
        os._exit(1)
    if answer != "hang":
        print(json.dumps(answer), flush=True)
"""
"""A member that answers each kind of request in one way, and writes down what it was asked."""


class Coordinator:
    """Both brokers: who coordinates, and the codes that its answers have in turn."""

    def __init__(self) -> None:
        self.coordinator = 4
        self.find_codes: list[int] = []
        self.codes: list[Any] = []
        self.offset = -1
        self.sync_codes: list[Any] = []
        self.leader, self.skips = "i-1", False
        self.newest = 5
        """Version of ListGroups."""
        self.topic_code = 0
        self.seen: list[Any] = []

    def __call__(self, request: Any) -> Any:
        self.seen.append(request)
        return getattr(self, type(request).__name__)(request)

    def FindCoordinatorRequest(self, request: Any) -> Any:
        code = self.find_codes.pop(0) if self.find_codes else 0
        return FindCoordinatorResponse(
            throttle_time=NO_THROTTLE,
            error_code=ErrorCode(code),
            error_message=None,
            node_id=BrokerId(self.coordinator),
            host="elsewhere",
            port=i32(1),
        )

    def OffsetCommitRequest(self, request: Any) -> Any:
        code = self.codes.pop(0) if self.codes else 0
        if code is CLOSE:
            return CLOSE
        partition = committed.OffsetCommitResponsePartition(
            partition_index=i32(0), error_code=ErrorCode(code)
        )
        topic = committed.OffsetCommitResponseTopic(name=TopicName("t"), partitions=(partition,))
        return committed.OffsetCommitResponse(throttle_time=NO_THROTTLE, topics=(topic,))

    def OffsetFetchRequest(self, request: Any) -> Any:
        code = self.codes.pop(0) if self.codes else 0
        if code is CLOSE:
            return CLOSE
        partition = fetched.OffsetFetchResponsePartition(
            partition_index=i32(0),
            committed_offset=i64(self.offset),
            committed_leader_epoch=i32(-1),
            metadata="",
            error_code=ErrorCode.none,
        )
        topic = fetched.OffsetFetchResponseTopic(name=TopicName("t"), partitions=(partition,))
        return fetched.OffsetFetchResponse(
            throttle_time=NO_THROTTLE, topics=(topic,), error_code=ErrorCode(code)
        )

    def JoinGroupRequest(self, request: Any) -> Any:
        code = self.codes.pop(0) if self.codes else 0
        return JoinGroupResponse(
            throttle_time=NO_THROTTLE,
            error_code=ErrorCode(code),
            generation_id=i32(4),
            protocol_type=request.protocol_type,
            protocol_name=request.protocols[0].name,
            leader=self.leader,
            skip_assignment=self.skips,
            member_id="i-1",
            members=(),
        )

    def SyncGroupRequest(self, request: Any) -> Any:
        code = self.sync_codes.pop(0) if self.sync_codes else 0
        if code is CLOSE:
            return CLOSE
        given = request.assignments[0].assignment if request.assignments else b"before"
        return SyncGroupResponse(
            throttle_time=NO_THROTTLE,
            error_code=ErrorCode(code),
            protocol_type=None,
            protocol_name=None,
            assignment=given,
        )

    def HeartbeatRequest(self, request: Any) -> Any:
        code = self.codes.pop(0) if self.codes else 0
        return HeartbeatResponse(throttle_time=NO_THROTTLE, error_code=ErrorCode(code))

    def LeaveGroupRequest(self, request: Any) -> Any:
        (member,) = request.members
        code = self.codes.pop(0) if self.codes else 0
        own = leave.MemberResponse(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            error_code=ErrorCode(code),
        )
        return leave.LeaveGroupResponse(
            throttle_time=NO_THROTTLE, error_code=ErrorCode.none, members=(own,)
        )

    def OffsetDeleteRequest(self, request: Any) -> Any:
        code = self.codes.pop(0) if self.codes else 0
        if code is CLOSE:
            return CLOSE
        own = deleted.OffsetDeleteResponsePartition(
            partition_index=i32(0), error_code=ErrorCode(self.topic_code)
        )
        topic = deleted.OffsetDeleteResponseTopic(name=TopicName("t"), partitions=(own,))
        topics = () if code else (topic,)
        return deleted.OffsetDeleteResponse(
            error_code=ErrorCode(code), throttle_time=NO_THROTTLE, topics=topics
        )

    def ApiVersionsRequest(self, request: Any) -> Any:
        def served(key: int, newest: int) -> Any:
            return versions.ApiVersion(
                api_key=i16(key), min_version=i16(0), max_version=i16(newest)
            )

        return versions.ApiVersionsResponse(
            error_code=ErrorCode.none,
            api_keys=(served(3, 9), served(16, self.newest)),
            throttle_time=NO_THROTTLE,
        )

    def ListGroupsRequest(self, request: Any) -> Any:
        code = self.codes.pop(0) if self.codes else 0
        if code is CLOSE:
            return CLOSE
        groups: list[Any] = []
        for group in ("h", "g"):
            told = {
                "group_id": GroupId(group),
                "protocol_type": "consumer",
                "group_state": "Stable",
            }
            if request.__version__ >= 5:
                groups.append(listed.ListedGroup(**told, group_type="classic"))
            else:
                groups.append(listed_untyped.ListedGroup(**told))
        made: Any = listed if request.__version__ >= 5 else listed_untyped
        return made.ListGroupsResponse(
            throttle_time=NO_THROTTLE, error_code=ErrorCode(code), groups=tuple(groups)
        )

    def of(self, kind: str) -> list[Any]:
        return [each for each in self.seen if type(each).__name__ == f"{kind}Request"]


@contextmanager
def clients(*brokers: Coordinator) -> Iterator[GroupsClient]:
    with ExitStack() as stack:
        names = [f"b{number}" for number in range(1, len(brokers) + 1)]
        servers = {
            name: stack.enter_context(LoopbackServer(broker))
            for name, broker in zip(names, brokers, strict=True)
        }
        nodes = [
            NodeSpec(
                name=name,
                roles=frozenset({"broker"}),
                ports={"client": 1},
                ids={"broker": 4 + number},
            )
            for number, name in enumerate(names)
        ]
        cluster = cluster_of(servers, nodes, KraftSystem())
        client = GroupsClient(cluster, 0, topics=("t",), session_ms=3000)
        stack.callback(client.close)
        yield client


@pytest.fixture
def broker() -> Coordinator:
    return Coordinator()


@pytest.fixture
def client(broker: Coordinator) -> Iterator[GroupsClient]:
    with clients(broker) as made:
        yield made


def invoked(f: str, key: str | None = None, **value: Any) -> Invocation:
    return Invocation(process=0, f=f, key=key, value={"group": "g", **value})


def stale(offset: int = 7) -> Invocation:
    return invoked("commit", KEY, member="a", generation=3, offset=offset, id="a-1")


# --- the coordinator ----------------------------------------------------------------------


def test_a_commit_under_anothers_name_says_what_that_one_would(
    client: GroupsClient, broker: Coordinator
) -> None:
    done = client.invoke(stale())
    assert (done.type, done.value, done.node) == ("ok", stale().value, "b1")
    (request,) = broker.of("OffsetCommit")
    assert (request.group_id, request.member_id) == ("g", "a-1")
    assert request.generation_id_or_member_epoch == 3
    (topic,) = request.topics
    assert (topic.name, topic.partitions[0].committed_offset) == ("t", 7)


@pytest.mark.parametrize(
    ("code", "type_"),
    [
        (ErrorCode.illegal_generation, "fail"),
        (ErrorCode.unknown_member_id, "fail"),
        (ErrorCode.rebalance_in_progress, "fail"),
        (ErrorCode.not_coordinator, "info"),
        (ErrorCode.coordinator_not_available, "info"),
        (ErrorCode.unknown_server_error, "info"),
        (CLOSE, "info"),
    ],
)
def test_a_commit_is_sent_once_unless_nothing_came_of_it(
    client: GroupsClient, broker: Coordinator, code: Any, type_: str
) -> None:
    broker.codes = [code]
    assert client.invoke(stale()).type == type_
    assert len(broker.of("OffsetCommit")) == 1


def test_a_commit_waits_while_the_coordinator_loads(
    client: GroupsClient, broker: Coordinator
) -> None:
    broker.codes = [ErrorCode.coordinator_load_in_progress]
    assert client.invoke(stale()).type == "ok"
    assert len(broker.of("OffsetCommit")) == 2


@pytest.mark.parametrize(("offset", "reported"), [(-1, None), (0, 0), (9, 9)])
def test_a_question_tells_what_is_committed(
    client: GroupsClient, broker: Coordinator, offset: int, reported: int | None
) -> None:
    broker.offset = offset
    done = client.invoke(invoked("committed", KEY))
    assert (done.type, done.value) == ("ok", {"offset": reported})
    assert broker.of("OffsetFetch")[0].group_id == "g"


@pytest.mark.parametrize("code", [ErrorCode.not_coordinator, ErrorCode.coordinator_not_available])
def test_a_question_goes_to_whoever_coordinates_now(code: ErrorCode) -> None:
    old, new = Coordinator(), Coordinator()
    with clients(old, new) as client:
        assert client.invoke(invoked("committed", KEY)).node == "b1"
        old.codes, old.coordinator, new.coordinator = [code], 5, 5
        done = client.invoke(invoked("committed", KEY))
    assert (done.type, done.node) == ("ok", "b2")


def test_a_question_is_asked_again_where_nobody_knows_a_coordinator(
    client: GroupsClient, broker: Coordinator
) -> None:
    broker.find_codes = [ErrorCode.coordinator_not_available]
    assert client.invoke(invoked("committed", KEY)).type == "ok"
    assert len(broker.of("FindCoordinator")) == 2


# --- deletions, and lists -----------------------------------------------------------------


def forget() -> Invocation:
    return invoked("forget", KEY)


def test_a_deletion_is_of_one_partition(client: GroupsClient, broker: Coordinator) -> None:
    done = client.invoke(forget())
    assert (done.type, done.value, done.node) == ("ok", None, "b1")
    (request,) = broker.of("OffsetDelete")
    (topic,) = request.topics
    assert (request.group_id, topic.name) == ("g", "t")
    assert [each.partition_index for each in topic.partitions] == [0]


@pytest.mark.parametrize(
    ("error", "type_"),
    [
        (ErrorCode.non_empty_group, "fail"),
        (ErrorCode.group_id_not_found, "fail"),
        (ErrorCode.not_coordinator, "info"),
        (ErrorCode.coordinator_not_available, "info"),
        (CLOSE, "info"),
    ],
)
def test_a_deletion_is_sent_once(
    client: GroupsClient, broker: Coordinator, error: Any, type_: str
) -> None:
    broker.codes = [error]
    done = client.invoke(forget())
    assert done.type == type_
    saw = {ErrorCode.group_id_not_found: ABSENT, ErrorCode.non_empty_group: PRESENT}
    assert (done.ext or {}) == ({"asserts": saw[error]} if error in saw else {})
    assert len(broker.of("OffsetDelete")) == 1


def test_a_deletion_is_refused_for_its_topic(client: GroupsClient, broker: Coordinator) -> None:
    broker.topic_code = ErrorCode.group_subscribed_to_topic
    done = client.invoke(forget())
    assert (done.type, code(done)) == ("fail", "GROUP_SUBSCRIBED_TO_TOPIC")


def test_a_deletion_waits_while_the_coordinator_loads(
    client: GroupsClient, broker: Coordinator
) -> None:
    broker.codes = [ErrorCode.coordinator_load_in_progress]
    assert client.invoke(forget()).type == "ok"
    assert len(broker.of("OffsetDelete")) == 2


def test_who_is_no_member_commits_without_a_name(client: GroupsClient, broker: Coordinator) -> None:
    value = {"member": "", "generation": -1, "offset": 7, "id": ""}
    assert client.invoke(invoked("commit", KEY, **value)).type == "ok"
    (request,) = broker.of("OffsetCommit")
    said = (request.member_id, request.generation_id_or_member_epoch, request.group_instance_id)
    assert said == ("", -1, None)


def a_list(node: str | None = None, **value: Any) -> Invocation:
    return Invocation(process=0, f="groups", key=None, value=value or None, node=node)


@pytest.mark.parametrize(("newest", "type_"), [(6, "classic"), (5, "classic"), (4, None)])
def test_a_broker_lists_its_groups_with_types_where_it_knows_any(
    client: GroupsClient, broker: Coordinator, newest: int, type_: str | None
) -> None:
    broker.newest = newest
    done = client.invoke(a_list(states=["Stable"], types=["classic"]))
    told = [["g", "Stable", type_], ["h", "Stable", type_]]
    assert (done.type, done.value, done.node) == ("ok", {"groups": told}, "b1")
    (request,) = broker.of("ListGroups")
    assert request.__version__ == min(newest, 5)
    assert request.states_filter == ("Stable",)
    assert getattr(request, "types_filter", None) == (("classic",) if type_ else None)


def test_all_groups_are_listed_where_nothing_else_is_said(
    client: GroupsClient, broker: Coordinator
) -> None:
    assert client.invoke(a_list()).type == "ok"
    (request,) = broker.of("ListGroups")
    assert (request.states_filter, request.types_filter) == ((), ())


def test_a_list_is_of_the_broker_that_is_named() -> None:
    brokers = [Coordinator(), Coordinator()]
    with clients(*brokers) as client:
        assert [client.invoke(a_list("b2")).node for _ in range(2)] == ["b2", "b2"]
        assert {client.invoke(a_list()).node for _ in range(2)} == {"b1", "b2"}
    assert len(brokers[1].of("ListGroups")) == 3


@pytest.mark.parametrize("error", [ErrorCode.coordinator_load_in_progress, CLOSE])
def test_a_list_without_an_answer_has_failed(
    client: GroupsClient, broker: Coordinator, error: Any
) -> None:
    broker.codes = [error]
    done = client.invoke(a_list())
    assert (done.type, done.node) == ("fail", "b1")


# --- a static member ----------------------------------------------------------------------


def static(f: str, key: str | None = None, **value: Any) -> Invocation:
    return invoked(f, key, member="s", instance="i", **value)


def of_process(f: str, key: str | None = None, **value: Any) -> Invocation:
    return static(f, key, generation=4, id="i-0", **value)


@pytest.mark.parametrize(
    ("leader", "skips", "part"),
    [("i-1", False, "s"), ("i-1", True, "before"), ("i-0", False, "before")],
)
def test_a_static_member_assigns_where_it_has_to(
    client: GroupsClient, broker: Coordinator, leader: str, skips: bool, part: str
) -> None:
    broker.leader, broker.skips = leader, skips
    done = client.invoke(static("join", session_ms=3000))
    told = {"generation": 4, "assigned": [], "positions": [], "id": "i-1", "part": part}
    assert (done.type, done.value, done.node) == ("ok", told, "b1")
    (joined,), (synced,) = broker.of("JoinGroup"), broker.of("SyncGroup")
    assert (joined.group_instance_id, joined.member_id) == ("i", "")
    assert joined.session_timeout.total_seconds() == 3
    assert (synced.group_instance_id, synced.member_id, synced.generation_id) == ("i", "i-1", 4)


@pytest.mark.parametrize(
    ("joined", "synced", "type_"),
    [
        (ErrorCode.rebalance_in_progress, 0, "fail"),
        (ErrorCode.unknown_server_error, 0, "info"),
        (0, ErrorCode.rebalance_in_progress, "info"),
        (0, CLOSE, "info"),
    ],
)
def test_one_that_was_let_in_may_be_a_member(
    client: GroupsClient, broker: Coordinator, joined: Any, synced: Any, type_: str
) -> None:
    broker.codes, broker.sync_codes = [joined], [synced]
    assert client.invoke(static("join", session_ms=3000)).type == type_
    assert len(broker.of("JoinGroup")) == 1


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        (of_process("beat"), "Heartbeat"),
        (of_process("commit", KEY, offset=0), "OffsetCommit"),
        (of_process("leave"), "LeaveGroup"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_its_processes_speak_under_their_ids(
    client: GroupsClient, broker: Coordinator, operation: Invocation, kind: str
) -> None:
    assert client.invoke(operation).type == "ok"
    (request,) = broker.of(kind)
    said = request.members[0] if kind == "LeaveGroup" else request
    assert (said.member_id, said.group_instance_id) == ("i-0", "i")
    broker.codes = [ErrorCode.fenced_instance_id]
    refused = client.invoke(operation)
    assert (refused.type, code(refused)) == ("fail", "FENCED_INSTANCE_ID")
    stale = {} if operation.f == "leave" else {"asserts": STALE}
    assert (refused.ext or {}) == stale


# --- the member ---------------------------------------------------------------------------


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Members are stubs from now on, with these answers."""
    (tmp_path / "stub_member.py").write_text(STUB)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("STUB_ANSWERS", str(tmp_path / "answers"))
    monkeypatch.setattr(member_process, "MODULE", "stub_member")

    def answers(**reported: Any) -> None:
        (tmp_path / "answers").write_text(json.dumps(reported))

    answers()
    return answers


def asked(tmp_path: Path) -> list[Any]:
    return [json.loads(line) for line in (tmp_path / "answers.asked").read_text().splitlines()]


def a_fetch(member: str = "a") -> Invocation:
    value = {"consumer": f"{member}@1", "from": 3, "member": member, "generation": 1}
    return invoked("fetch", KEY, **value)


def a_commit() -> Invocation:
    return invoked("commit", KEY, member="a", generation=1, offset=5)


def test_the_member_does_what_is_asked_until_it_leaves(
    client: GroupsClient, stub: Callable[..., None], tmp_path: Path
) -> None:
    reported = {"generation": 1, "assigned": [KEY], "positions": [[KEY, 3]], "id": "a-1"}
    records = {"records": [[3, 9]], "position": 4}
    stub(join={"ok": reported}, assignment={"ok": reported}, fetch={"ok": records})
    done = [
        client.invoke(each)
        for each in (
            invoked("join", member="a"),
            invoked("assignment", member="a"),
            a_fetch(),
            a_commit(),
            invoked("leave", member=""),
            invoked("leave", member=""),
        )
    ]
    assert {each.type for each in done} == {"ok"}
    values = [reported, reported, records, a_commit().value, {"member": "a"}, {"member": None}]
    assert [each.value for each in done] == values
    assert asked(tmp_path) == [
        ["a", {"do": "join"}],
        ["a", {"do": "assignment"}],
        ["a", {"do": "fetch", "key": KEY, "start": 3, "generation": 1}],
        ["a", {"do": "commit", "key": KEY, "offset": 5, "generation": 1}],
        ["a", {"do": "leave"}],
    ]


@pytest.mark.parametrize(
    ("operation", "answer", "type_"),
    [
        (a_fetch(), {"error": ["REBALANCED", ""], "sent": False}, "fail"),
        (a_fetch(), {"error": ["KafkaTimeoutError", ""], "sent": True}, "fail"),
        (a_commit(), {"error": ["REBALANCED", ""], "sent": False}, "fail"),
        (a_commit(), {"error": ["CommitFailedError", ""], "sent": True}, "info"),
        (a_commit(), "die", "info"),
    ],
)
def test_what_came_of_it_is_reported(
    client: GroupsClient,
    stub: Callable[..., None],
    operation: Invocation,
    answer: Any,
    type_: str,
) -> None:
    stub(**{operation.f: answer})
    client.invoke(invoked("join", member="a"))
    assert client.invoke(operation).type == type_


@pytest.mark.parametrize("answer", ["die", {"error": ["KafkaError", ""], "sent": True}])
def test_a_join_that_ends_it_may_have_been_one_for_a_moment(
    client: GroupsClient, stub: Callable[..., None], answer: Any
) -> None:
    stub(join=answer)
    assert client.invoke(invoked("join", member="a")).type == "info"
    assert code(client.invoke(a_fetch())) == "NO_MEMBER"


def test_a_member_that_is_not_given_its_part_in_time_goes_on_waiting(
    client: GroupsClient, stub: Callable[..., None], tmp_path: Path
) -> None:
    stub(join={"error": ["NOT_ASSIGNED", ""], "sent": False})
    done = client.invoke(invoked("join", member="a"))
    assert (done.type, code(done)) == ("fail", "NOT_ASSIGNED")
    assert client.invoke(invoked("assignment", member="a")).type == "ok"
    assert asked(tmp_path) == [["a", {"do": "join"}], ["a", {"do": "assignment"}]], "one process"


def test_a_member_that_does_not_answer_is_killed(
    client: GroupsClient, stub: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    stub(fetch="hang")
    client.invoke(invoked("join", member="a"))
    monkeypatch.setattr(member_process, "ANSWER_S", 0.05)
    assert code(client.invoke(a_fetch())) == "MEMBER_SILENT"
    assert code(client.invoke(a_fetch())) == "NO_MEMBER"


@pytest.mark.parametrize("end", ["crash", "close"])
def test_who_vanishes_says_nothing(
    client: GroupsClient, stub: Callable[..., None], tmp_path: Path, end: str
) -> None:
    client.invoke(invoked("join", member="a"))
    if end == "crash":
        assert client.invoke(invoked("crash", member="a")).value == {"member": "a"}
    else:
        client.close()
    assert asked(tmp_path) == [["a", {"do": "join"}]]
    assert code(client.invoke(a_fetch())) == "NO_MEMBER"


def test_nobody_acts_for_another_member(client: GroupsClient, stub: Callable[..., None]) -> None:
    client.invoke(invoked("join", member="a"))
    assert code(client.invoke(a_fetch("b"))) == "NO_MEMBER"
    assert client.invoke(a_fetch("a")).type == "ok"


def code(done: Completion) -> str | None:
    return None if done.error is None else done.error[0]
