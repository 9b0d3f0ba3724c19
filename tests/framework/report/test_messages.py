"""Messages from evidence: drawn where both ends are known, and belong together."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from framework.evidence.brokers import HeartbeatAnswered
from framework.evidence.kinds import Evidence
from framework.evidence.partitions import PartitionAppended
from framework.evidence.processes import Booted
from framework.evidence.quorum import Appended, Committed, Elected, RoleTaken, Voted
from framework.evidence.requests import Decided
from framework.report.messages import Message, messages

PLAN = {"nodes": {name: {"ids": {"x": n}} for n, name in enumerate(("c1", "c2", "c3", "b1"), 1)}}


def at(time_s: float, evidence: Evidence) -> Evidence:
    return replace(evidence, at_ns=round(time_s * 1e9))


def routes(evidence: Sequence[Evidence]) -> list[tuple[str, str, float, str, float]]:
    def route(each: Message) -> tuple[str, str, float, str, float]:
        sent, received = each.sent, each.received
        return each.kind, sent.node, sent.time_s, received.node, received.time_s

    return [route(each) for each in messages(evidence, PLAN)]


def role(node: str, what: str, epoch: int, leader: int | None = None) -> RoleTaken:
    return RoleTaken(node=node, role=what, epoch=epoch, leader=leader)  # type: ignore[arg-type]


def vote(node: str, candidate: int, epoch: int, granted: bool = True) -> Voted:
    return Voted(
        node=node,
        epoch=epoch,
        candidate=candidate,
        granted=granted,
        candidate_log=(),
        own_log=None,
    )


ELECTION = [
    at(1.0, role("c1", "candidate", 3)),
    at(1.1, vote("c2", 1, 3)),
    at(1.2, vote("c3", 1, 3, granted=False)),
    at(1.3, Elected(node="c1", epoch=3, votes=(1, 2))),
    at(1.4, role("c2", "follower", 3, leader=1)),
]


def test_an_election_is_asked_for_voted_for_and_learned_of() -> None:
    assert routes(ELECTION) == [
        ("vote", "c1", 1.0, "c2", 1.1),
        ("refusal", "c1", 1.0, "c3", 1.2),
        ("vote", "c2", 1.1, "c1", 1.3),
        ("leader", "c1", 1.3, "c2", 1.4),
    ]


def test_what_is_of_another_epoch_or_candidate_is_no_end() -> None:
    assert routes([*ELECTION[:1], at(1.1, vote("c2", 1, 4))]) == []
    assert routes([*ELECTION[:1], at(1.1, vote("c2", 3, 3))]) == []
    assert routes([at(1.1, vote("c2", 1, 2)), ELECTION[3]]) == []
    assert routes([at(1.1, vote("c2", 3, 3)), ELECTION[3]]) == []
    assert routes([ELECTION[3], at(1.4, role("c2", "follower", 4, leader=1))]) == []
    own = [ELECTION[0], at(1.1, vote("c1", 1, 3)), ELECTION[3], at(1.4, role("c1", "leader", 3, 1))]
    assert routes(own) == []


def test_a_leader_is_learned_of_once() -> None:
    again = at(2.0, role("c2", "follower", 3, leader=1))
    assert routes([*ELECTION, again]) == routes(ELECTION)


def append(node: str, base: int, end: int, epoch: int, leading: bool | None) -> Appended:
    return Appended(
        node=node,
        base_offset=base,
        end_offset=end,
        epoch=epoch,
        control=False,
        crcs=(),
        leading=leading,
    )


FOLLOWS = at(0.5, role("c2", "follower", 3, leader=1))
WRITTEN = [at(1.0, append("c1", 5, 7, 3, True)), at(1.1, append("c1", 7, 9, 3, True))]


@pytest.mark.parametrize(
    ("base", "end", "epoch", "sent_s"),
    [
        (5, 6, 3, 1.0),
        (5, 7, 3, 1.0),
        (6, 8, 3, 1.1),
        (8, 9, 3, 1.1),
        (8, 10, 3, None),
        (4, 5, 3, None),
        (5, 7, 2, None),
    ],
)
def test_records_come_from_the_append_that_has_the_last_of_them(
    base: int, end: int, epoch: int, sent_s: float | None
) -> None:
    taken = at(2.0, append("c2", base, end, epoch, False))
    expected = [] if sent_s is None else [("append", "c1", sent_s, "c2", 2.0)]
    assert routes([FOLLOWS, *WRITTEN, taken]) == expected


def test_records_come_from_the_leader_that_is_followed() -> None:
    taken = at(2.0, append("c2", 5, 6, 3, False))
    assert routes([*WRITTEN, taken]) == []
    assert routes([FOLLOWS, at(0.6, role("c2", "follower", 4, leader=3)), *WRITTEN, taken]) == []
    assert routes([FOLLOWS, *WRITTEN, replace(taken, leading=None)]) == []
    assert routes([FOLLOWS, taken, *(at(3.0, each) for each in WRITTEN)]) == []


def test_a_high_watermark_comes_from_the_first_commit_that_reaches_it() -> None:
    def commit(node: str, offset: int, leading: bool) -> Committed:
        return Committed(node=node, offset=offset, epoch=3, leading=leading)

    led = [at(1.0 + n / 10, commit("c1", offset, True)) for n, offset in enumerate((5, 9))]
    for offset, sent_s in ((4, 1.0), (5, 1.0), (6, 1.1), (9, 1.1)):
        found = routes([FOLLOWS, *led, at(2.0, commit("c2", offset, False))])
        assert found == [("commit", "c1", sent_s, "c2", 2.0)]
    assert routes([FOLLOWS, *led, at(2.0, commit("c2", 10, False))]) == []


def test_a_partition_s_records_are_those_of_the_same_partition_and_epoch() -> None:
    led = PartitionAppended(
        node="b1",
        topic_id="t",
        partition=0,
        base_offset=4,
        end_offset=6,
        epoch=1,
        crc=0,
        leading=True,
        producer_id=None,
        base_sequence=None,
    )
    own = at(1.0, led)
    taken = replace(own, node="b2", leading=False, at_ns=2_000_000_000)
    assert routes([own, taken]) == [("data", "b1", 1.0, "b2", 2.0)]
    for other in ({"partition": 1}, {"topic_id": "u"}, {"epoch": 2}, {"end_offset": 7}):
        assert routes([own, replace(taken, **other)]) == []  # type: ignore[arg-type]
    assert routes([own, replace(taken, leading=None)]) == []
    assert routes([own, replace(taken, node="b1")]) == []


def decided(**fields: object) -> Decided:
    plain: dict[str, object] = {
        "node": "c1",
        "request": "1",
        "api": "Beat",
        "f": "heartbeat",
        "accepted": True,
        "code": "0",
        "as_of": 0,
        "records": (),
        "epoch": 3,
        "broker_id": 4,
        "target": "active",
    }
    return Decided(**(plain | fields))  # type: ignore[arg-type]


def answered(accepted: bool = True) -> HeartbeatAnswered:
    return HeartbeatAnswered(
        node="b1",
        broker_id=4,
        broker_epoch=1,
        target="active",
        accepted=accepted,
        stale=False,
        next_state="active",
        answered_epoch=1,
    )


REQUEST = ("request", "b1", 1.0, "c1", 1.0)


def test_a_heartbeat_is_asked_and_answered() -> None:
    beat = at(1.0, decided())
    assert routes([beat, at(1.5, answered())]) == [REQUEST, ("answer", "c1", 1.0, "b1", 1.5)]
    # The answer to one decision is one; a refusal is no acceptance; nothing answers what comes.
    twice = routes([beat, at(1.5, answered()), at(1.6, answered())])
    assert len(twice) == 2
    assert routes([beat, at(1.5, answered(accepted=False))]) == [REQUEST]
    assert routes([at(0.5, answered()), beat]) == [REQUEST]


def test_other_requests_are_of_nodes_and_have_no_answer_of_heartbeats() -> None:
    assert routes([at(1.0, decided(target=None)), at(1.5, answered())]) == [REQUEST]
    for nobody in (None, 99, 1):  # not a broker's, a client's own broker, the controller itself
        assert routes([at(1.0, decided(broker_id=nobody))]) == []


def test_an_id_is_of_the_process_that_had_it_then() -> None:
    later = at(5.0, Booted(node="b1-second", broker_id=4))
    beats = [at(1.0, decided()), at(6.0, decided())]
    assert [route[1] for route in routes([later, *beats])] == ["b1", "b1-second"]


def test_malformed_plans_name_nobody() -> None:
    for plan in ({}, {"nodes": 4}, {"nodes": {"c1": 4}}, {"nodes": {"c1": {"ids": [1]}}}):
        assert messages([at(1.0, decided())], plan) == []
