"""Brokers that serve while the committed log has them fenced, where no node tells of anything."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from planted_runs import MS, PLAN, TOPIC, Story

from checkers.folds.fencing.fenced_by_log import served_while_fenced
from checkers.folds.metadata_log.commit_dates import commit_dates
from checkers.folds.metadata_log.disk_logs import committed_on_disks
from framework.evidence.changes import BrokerRegistered
from framework.history.event import CompletionType
from framework.history.pairing import Operation

VOTERS = ("c1", "c2", "c3")


def lies(story: Story, kind: str, broker: int = 4, epoch: int = 7) -> None:
    for node in VOTERS:
        story.disks.write(node, 1, kind, broker_id=broker, broker_epoch=epoch)


def read(story: Story, end: int) -> Operation:
    return story.op("describe", "u", ext={"epoch": 1, "offset": end})


def granted(story: Story, lasts_ms: int = 100) -> Operation:
    """A client that plays a broker is granted a lease."""
    value = {"broker_id": 201, "broker_epoch": -1, "lease_start_ms": 1000}
    answer = {"broker_epoch": 1, "lease_end_ms": 1000 + lasts_ms}
    return story.op("heartbeat", "broker-201", value, answer)


def fenced() -> Story:
    """Broker 4, which is b1, is fenced and comes back; a read shows each."""
    story = Story(plan={**PLAN, "capabilities": ["broker-leases"], "fencing_s": 9})
    story.disks.lead(1, 1, *VOTERS)
    lies(story, "BrokerRecord")
    lies(story, "UnfenceBrokerRecord")
    lies(story, "FenceBrokerRecord")
    lies(story, "UnfenceBrokerRecord")
    granted(story)
    read(story, 3)
    read(story, 4)
    return story


def metadata(story: Story, node: str = "b1", f: str = "metadata", type: str = "ok") -> Operation:
    result = {"topic_id": TOPIC, "partitions": []}
    return story.op(f, "t", None, result, node=node, type=type)  # type: ignore[arg-type]


def found(story: Story) -> tuple[int, list[str]]:
    events = story.run_events()
    left = committed_on_disks(events)
    judged, findings = served_while_fenced(events, left, commit_dates(events, left))
    return judged, [each.message for each in findings]


def test_success_after_a_lease_and_before_a_read_that_shows_it_in_no_service() -> None:
    story = fenced()
    story.wait(100)
    served = metadata(story)
    metadata(story, type="fail")
    later = read(story, 4)
    read(story, 5)
    judged, (message,) = found(story)
    assert judged == 2
    assert f"operation {served.index} (metadata of t) was answered ok by b1 without" in message
    assert (
        "it was fenced by the record at offset 3" in message
        and f"until operation {later.index}" in message
    )


def test_who_is_not_put_into_service_again_is_out_of_it_to_the_end() -> None:
    story = fenced()
    for node in VOTERS:
        story.disks.cut(node, 4)
    story.wait(100)
    metadata(story)
    read(story, 4)
    assert found(story)[0] == 1


def test_an_observer_shows_both_moments() -> None:
    """Of one who wrote after it had answered."""
    story = fenced()
    story.operations = story.operations[:1]
    answer = {"leader": 1, "leader_epoch": 1, "high_watermark": 4, "voters": [[1, 4]]}
    story.ask("c1", "describe-quorum", answer)
    story.wait(100)
    metadata(story)
    story.ask("c1", "describe-quorum", answer)
    assert found(story)[0] == 1


def within_a_lease(story: Story) -> None:
    story.wait(80)
    metadata(story)
    read(story, 4)


def asked_within_a_lease(story: Story) -> None:
    asked = story.invoke("metadata", "t", node="b1")
    story.wait(200)
    story.complete(asked, result={"topic_id": TOPIC, "partitions": []})
    read(story, 4)


def read_before_its_end(story: Story) -> None:
    story.wait(200)
    asked = story.invoke("metadata", "t", node="b1")
    read(story, 4)
    story.complete(asked, result={"topic_id": TOPIC, "partitions": []})


def read_that_shows_it_in_service(story: Story) -> None:
    story.wait(200)
    metadata(story)
    read(story, 5)


def another_broker(story: Story) -> None:
    story.wait(200)
    metadata(story, "b2")
    metadata(story, "c1")
    read(story, 4)


def another_operation(story: Story) -> None:
    story.wait(200)
    metadata(story, f="describe")
    read(story, 4)


def system_without_leases(story: Story) -> None:
    story.plan["capabilities"] = ["synthetic-brokers"]
    story.wait(200)
    metadata(story)
    read(story, 4)


def plan_that_does_not_say_what_its_system_has(story: Story) -> None:
    del story.plan["capabilities"]
    story.wait(200)
    metadata(story)
    read(story, 4)


def nobody_who_was_shown_the_fence(story: Story) -> None:
    story.operations = story.operations[:2]
    story.wait(200)
    metadata(story)
    read(story, 3)


def longest_lease_is_longer(story: Story) -> None:
    granted(story, 900)
    granted(story, 100)
    story.wait(200)
    metadata(story)
    read(story, 4)


def no_lease_is_known(story: Story) -> None:
    """Then it is as long as the system may take to fence somebody."""
    story.operations = [each for each in story.operations if each.f != "heartbeat"]
    story.op("heartbeat", "broker-201", {"broker_id": 201}, {"broker_epoch": 1})
    story.wait(8_900)
    metadata(story)
    read(story, 4)


def nobody_who_shows_that_it_was_not_back(story: Story) -> None:
    """An observer of a node was shown the fence, which tells not that no more was committed."""
    story.operations = story.operations[:1]
    view = {"leader": 1, "leader_epoch": 1, "high_watermark": 4, "voters": [[1, 4]]}
    story.ask("c1", "describe-node", view)
    story.wait(200)
    metadata(story)


@pytest.mark.parametrize(
    "what",
    [
        within_a_lease,
        asked_within_a_lease,
        read_before_its_end,
        read_that_shows_it_in_service,
        another_broker,
        another_operation,
        system_without_leases,
        plan_that_does_not_say_what_its_system_has,
        nobody_who_was_shown_the_fence,
        longest_lease_is_longer,
        no_lease_is_known,
        nobody_who_shows_that_it_was_not_back,
    ],
)
def test_what_does_not_show_that_it_had_no_lease(what: Callable[[Story], None]) -> None:
    story = fenced()
    what(story)
    assert found(story) == (0, [])


STARTS = {"broker_id": 201, "lease_start_ms": 1000}
ENDS = {"broker_epoch": 1, "lease_end_ms": 9000}


@pytest.mark.parametrize(
    ("f", "type", "value", "result"),
    [
        ("heartbeat", "fail", STARTS, ENDS),
        ("describe", "ok", STARTS, ENDS),
        ("heartbeat", "ok", {"broker_id": 201}, ENDS),
        ("heartbeat", "ok", None, ENDS),
        ("heartbeat", "ok", STARTS, {"broker_epoch": 1}),
        ("heartbeat", "ok", STARTS, None),
    ],
)
def test_what_grants_no_lease_makes_none_longer(
    f: str, type: CompletionType, value: object, result: object
) -> None:
    story = fenced()
    story.op(f, "broker-201", value, result, type=type)
    story.wait(200)
    metadata(story)
    read(story, 4)
    assert found(story)[0] == 1


def test_a_broker_of_which_the_log_has_nothing_before_is_fenced_by_it() -> None:
    """A snapshot has the place of what was before."""
    story = fenced()
    for node in VOTERS:
        story.disks.cut(node, 1)
    lies(story, "FenceBrokerRecord")
    story.operations = story.operations[:1]
    read(story, 2)
    story.wait(200)
    metadata(story)
    read(story, 2)
    judged, (message,) = found(story)
    assert judged == 1 and "the record at offset 1" in message


def test_a_lapse_of_which_nobody_knows_the_end_hides_no_later_one() -> None:
    story = fenced()
    lies(story, "FenceBrokerRecord")
    story.operations = story.operations[:1]
    read(story, 6)
    story.wait(200)
    metadata(story)
    read(story, 6)
    judged, (message,) = found(story)
    assert judged == 1 and "the record at offset 5" in message


def test_without_a_known_lease_fencing_is_the_bound() -> None:
    story = fenced()
    story.operations = [each for each in story.operations if each.f != "heartbeat"]
    story.wait(9_100)
    metadata(story)
    read(story, 4)
    assert found(story)[0] == 1


def test_a_broker_that_is_fenced_again_was_out_of_service_all_along() -> None:
    story = fenced()
    for node in VOTERS:
        story.disks.cut(node, 4)
    lies(story, "FenceBrokerRecord")
    read(story, 5)
    story.wait(200)
    metadata(story)
    read(story, 5)
    assert found(story)[0] == 1


def test_processes_that_register_anew_are_not_in_service_by_that() -> None:
    story = fenced()
    for node in VOTERS:
        story.disks.cut(node, 4)
    lies(story, "BrokerRecord", epoch=9)
    lies(story, "UnfenceBrokerRecord", epoch=9)
    story.wait(200)
    metadata(story)
    read(story, 5)
    assert found(story)[0] == 1


def registered(*, epoch: int = 7, before: bool = False) -> Story:
    """Broker 4 registers, after a process of it that was in service or none, and a read shows
    it."""
    story = fenced()
    for node in VOTERS:
        story.disks.cut(node, 3 if before else 1)
    if before:
        story.operations = story.operations[:1]
    else:
        story.operations = [each for each in story.operations if each.f == "heartbeat"]
    lies(story, "BrokerRecord", epoch=epoch)
    read(story, 4 if before else 2)
    return story


def begin_with(story: Story, base: int, kind: str) -> None:
    """The log begins with a record of broker 4's at `base`, above a snapshot."""
    for node in VOTERS:
        story.disks.cut(node, 0)
        story.disks.snapshot(node, base, 1)
        story.disks.begin(node, base)
        story.disks.write(node, 1, kind, base=base, broker_id=4, broker_epoch=7)


@pytest.mark.parametrize("before", [True, False])
def test_registered_and_never_put_into_service(before: bool) -> None:
    """Nobody leased it anything under its epoch; a lease of the process before is over."""
    story = registered(epoch=9, before=before)
    metadata(story)
    story.wait(100)
    served = metadata(story)
    metadata(story, type="fail")
    read(story, 4 if before else 2)
    judged, (message,) = found(story)
    assert judged == 2
    assert f"operation {served.index} (metadata of t) was answered ok by b1 without" in message
    assert f"registered, fenced, by the record at offset {3 if before else 1}" in message


def test_registered_until_it_is_put_into_service() -> None:
    story = registered()
    story.wait(200)
    metadata(story)
    lies(story, "UnfenceBrokerRecord")
    assert found(story) == (0, []), "nobody shows that it was not in service yet"
    read(story, 2)
    assert found(story)[0] == 1
    read(story, 3)
    metadata(story)
    read(story, 3)
    assert found(story)[0] == 1


def test_a_process_in_service_that_amends_its_registration_stays_in_it() -> None:
    story = registered(before=True)
    story.wait(200)
    metadata(story)
    read(story, 4)
    assert found(story) == (0, [])
    read(story, 3)
    assert found(story) == (0, []), "whoever reads of less afterwards says nothing of it"


def test_a_registration_that_is_not_fenced_puts_nobody_out_of_service() -> None:
    story = registered()
    story.disks.evidence = [
        replace(each, fenced=False) if isinstance(each, BrokerRegistered) else each
        for each in story.disks.evidence
    ]
    story.wait(200)
    metadata(story)
    read(story, 2)
    assert found(story) == (0, [])


def test_a_new_process_is_fenced_where_the_log_begins_with_the_one_before() -> None:
    story = registered()
    begin_with(story, 5, "UnfenceBrokerRecord")
    lies(story, "BrokerRecord", epoch=9)
    read(story, 7)
    story.wait(200)
    metadata(story)
    read(story, 7)
    judged, (message,) = found(story)
    assert judged == 1 and "registered, fenced, by the record at offset 6" in message


@pytest.mark.parametrize("base", [1, 5])
def test_a_registration_above_a_snapshot_may_amend_one_in_service(base: int) -> None:
    story = registered()
    begin_with(story, base, "BrokerRecord")
    story.operations = story.operations[:1]
    read(story, base + 1)
    story.wait(200)
    metadata(story)
    read(story, base + 1)
    assert found(story) == (0, [])
    lies(story, "UnfenceBrokerRecord")
    lies(story, "FenceBrokerRecord")
    read(story, base + 3)
    story.wait(200)
    metadata(story)
    read(story, base + 3)
    assert found(story)[0] == 1, "the log is known up to there"


def test_answers_of_no_known_time_show_nothing() -> None:
    story = fenced()
    story.operations = [replace(each, completed_ns=None) for each in story.operations]
    story.wait(200)
    metadata(story)
    read(story, 4)
    assert found(story) == (0, [])


def test_the_moment_at_which_a_lease_ends_is_of_the_lease() -> None:
    story = fenced()
    shown = story.operations[-1].completed_ns or 0
    story.wait(200)
    served = metadata(story)
    read(story, 4)
    at = story.operations.index(served)
    for since_ns, judged in ((shown + 100 * MS, 0), (shown + 100 * MS + 1, 1)):
        story.operations[at] = replace(served, invoked_ns=since_ns)
        assert found(story)[0] == judged
