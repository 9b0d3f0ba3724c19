"""No operation takes effect twice, none after it failed (D.20)."""

import itertools

from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import assert_unknown, judged, silent
from planted_logs import LogStory
from planted_runs import OTHER, TOPIC, accepted, assert_valid, change

from checkers.effects_once import EffectsOnce, effects_once
from framework.verdict import Verdict

THIRD = "33333333-3333-3333-3333-333333333333"
FOURTH = "44444444-4444-4444-4444-444444444444"
FIFTH = "55555555-5555-5555-5555-555555555555"


def created(story: LogStory, topic_id: str, name: str = "t") -> None:
    story.topic(name, topic_id)
    story.new_partition([4], topic_id=topic_id)


def requested(story: LogStory, request_id: str) -> int:
    return story.record("RequestRecord", request_id=request_id, answer="")


def synthetic(story: LogStory, incarnation: str, type: str = "ok") -> None:
    value = {"broker_id": 101, "broker_epoch": -1, "incarnation": incarnation}
    story.op("heartbeat", "broker-101", value, {"broker_epoch": 9}, type=type, error="X")


def clean(readers: tuple[str, ...] = ("c1",), keepers: tuple[str, ...] = ()) -> LogStory:
    """An acknowledged topic comes and goes; one whose create timed out comes later."""
    story = LogStory(readers=readers, keepers=keepers)
    story.brokers(4)
    first = story.invoke("create", "t", {})
    created(story, TOPIC)
    requested(story, "r1")
    story.complete(first, "ok", {"topic_id": TOPIC})
    story.create("t", type="fail", error="TOPIC_ALREADY_EXISTS")
    gone = story.invoke("delete", "t")
    story.drop("t", TOPIC)
    requested(story, "r2")
    story.complete(gone, "ok", {"topic_id": TOPIC})
    story.op("create", "t", {}, type="info", error="CLIENT_TIMED_OUT")
    story.op("delete", "t", type="info", error="CLIENT_TIMED_OUT")
    created(story, OTHER)
    story.drop("t", OTHER)
    for incarnation in ("101", "104"):
        synthetic(story, f"00000000-0000-0000-0000-000000000{incarnation}")
        story.register(101, incarnation_id=f"00000000-0000-0000-0000-000000000{incarnation}")
    created(story, THIRD, "of-nobody-who-is-recorded")
    made_smaller(story)
    return story


def made_smaller(story: LogStory) -> None:
    """By its leader, which a client plays, twice."""
    story.topic("w", FIFTH)
    story.new_partition([4, 5, 6], topic_id=FIFTH)
    for version, isr in enumerate(([4, 5, 6], [4, 5], [4])):
        asked = story.invoke("alter-isr", "w/0", change(version, isr, topic_id=FIFTH))
        story.isr(isr, 4, topic_id=FIFTH)
        story.complete(asked, "ok", accepted(asked.value))


def test_clean_run_is_accepted() -> None:
    outcome = effects_once(clean().run_events())
    assert_valid(outcome)
    assert outcome.figures == {
        "topics": 4,
        "requests": 2,
        "registrations": 2,
        "members_taken_away": 2,
    }


def test_nothing_seen_is_unknown() -> None:
    assert effects_once(LogStory().run_events()).verdict is Verdict.UNKNOWN


def failed_create(story: LogStory) -> None:
    story.create("u", type="fail", error="NOT_CONTROLLER")
    created(story, THIRD, "u")


def failed_delete(story: LogStory) -> None:
    created(story, THIRD, "u")
    story.op("delete", "u", type="fail", error="NOT_CONTROLLER")
    story.drop("u", THIRD)


def before_it_was_asked_for(story: LogStory) -> None:
    created(story, THIRD, "u")
    story.op("create", "u", {}, type="info", error="CLIENT_TIMED_OUT")


def next_incarnation(story: LogStory) -> None:
    """A delete by name that ended before the topic that it is said to have deleted began."""
    story.delete("t", THIRD)
    created(story, THIRD)


def removed_before(story: LogStory) -> None:
    story.delete("t", OTHER)


def decided_twice(story: LogStory) -> None:
    for node in ("c1", "c2"):
        at = story.record("NoOpRecord")
        event = story.decide("CreateTopics", {}, [at], node=node)
        event.fields["forwarded"] = "ab"  # type: ignore[index]


def refused_registration(story: LogStory) -> None:
    synthetic(story, "00000000-0000-0000-0000-000000000102", "fail")
    story.register(101, incarnation_id="00000000-0000-0000-0000-000000000102")


def stays(story: LogStory) -> None:
    """Its delete is acknowledged, and it is gone for all who read; the log has it."""
    created(story, THIRD, "u")
    story.delete("u", THIRD)


def delete_before_another_operation(story: LogStory) -> None:
    stays(story)
    later = story.invoke("create", "v", {})
    created(story, FOURTH, "v")
    story.complete(later, "ok", {"topic_id": FOURTH})


def delete_before_it_settled(story: LogStory) -> None:
    stays(story)
    story.final()


def applied_again(story: LogStory) -> None:
    """A change whose answer was lost takes a member away, and again when it has come back."""
    played_partition(story)
    story.op("alter-isr", "u/0", change(0, [4, 5], topic_id=THIRD), type="info")
    story.isr([4, 5], 4, topic_id=THIRD)
    back = story.invoke("alter-isr", "u/0", change(1, [4, 5, 6], topic_id=THIRD))
    story.isr([4, 5, 6], 4, topic_id=THIRD)
    story.complete(back, "ok", accepted(back.value))
    story.isr([4, 5], 4, topic_id=THIRD)


def asked_for_afterwards(story: LogStory) -> None:
    played_partition(story)
    story.isr([4, 5], 4, topic_id=THIRD)
    story.op("alter-isr", "u/0", change(0, [4, 5], topic_id=THIRD), type="info")


def played_partition(story: LogStory) -> None:
    story.brokers(5, 6)
    story.topic("u", THIRD)
    story.new_partition([4, 5, 6], topic_id=THIRD)
    story.op("alter-isr", "u/0", change(9, [4], topic_id=THIRD), type="fail", error="X")


PLANTED = Plants.of(
    clean,
    {
        "acknowledged delete of which the log knows nothing, and of a later create": (
            "no committed record removes topic",
            delete_before_another_operation,
        ),
        "acknowledged delete of which a settled log knows nothing": (
            "no committed record removes topic",
            delete_before_it_settled,
        ),
        "change that was applied again": ("takes [6], in service, out of the ISR", applied_again),
        "change that was asked for afterwards": ("nobody asked for that", asked_for_afterwards),
        "t was created at offset": lambda story: created(story, THIRD),
        "refused create": ("u was created", failed_create),
        "u was removed at offset": failed_delete,
        "create that began later": ("u was created", before_it_was_asked_for),
        "2 operations on t were answered that they had created": lambda story: story.create("t"),
        "2 operations on t were answered that they had removed": lambda story: story.delete("t"),
        "which was created after it had ended": next_incarnation,
        "which had been removed before it began": removed_before,
        "request r1 took effect twice": lambda story: requested(story, "r1"),
        "request ab was carried out twice": decided_twice,
        "all its process's requests were refused": refused_registration,
    },
)


CHECKER = EffectsOnce()


def test_disks_are_enough() -> None:
    """No node tells of anything; the log lies on the disks of all who vote."""
    for plant, verdict in ((None, Verdict.VALID), (failed_create, Verdict.INVALID)):
        story = clean(readers=(), keepers=("c1", "c2", "c3"))
        if plant is not None:
            plant(story)
        result = judged(CHECKER, story)
        assert result.verdict is verdict, (result.note, result.findings)
    assert list(result.findings[0].contracts) == ["clients", "disks"]


def test_nodes_that_tell_nothing_are_not_believed() -> None:
    clauses = ("topics", "requests", "registrations", "isr-shrinks")
    assert_unknown(CHECKER, silent(clean()), *clauses)


def test_end_of_the_log_that_nobody_tells_may_hold_a_delete() -> None:
    """No operation after it is in the log, and nobody saw the cluster agree."""
    story = clean()
    stays(story)
    assert_valid(effects_once(story.run_events()))
    story.final(settled=False)
    assert_valid(effects_once(story.run_events()))


def test_log_that_has_a_gap_may_hold_a_delete() -> None:
    story = clean()
    stays(story)
    story.offset += 1
    story.record("NoOpRecord")
    story.final()
    assert_valid(effects_once(story.run_events()))


def test_create_that_was_under_way_with_the_delete_shows_nothing_of_it() -> None:
    """Its record may be below the delete's, of which the log does not tell."""
    story = clean()
    other = story.invoke("create", "v", {})
    stays(story)
    created(story, FOURTH, "v")
    story.complete(other, "ok", {"topic_id": FOURTH})
    assert_valid(effects_once(story.run_events()))


def test_members_that_are_out_of_service_or_leave_it_are_taken_away() -> None:
    story = clean()
    played_partition(story)
    story.fence(6)
    story.isr([4, 5], 4, topic_id=THIRD)
    leaves = {"broker_id": 5, "broker_epoch": 9, "target": "leaving", "incarnation": "i"}
    story.op("heartbeat", "broker-5", leaves, type="info")
    story.isr([4], 4, topic_id=THIRD)
    asked = story.invoke("alter-isr", "u/0", change(2, [4, 5], topic_id=THIRD))
    story.isr([4, 5], 4, topic_id=THIRD)
    story.complete(asked, "info")
    story.op("alter-isr", "u/0", change(3, [4], topic_id=THIRD), type="info")
    story.isr([4], 4, topic_id=THIRD)
    outcome = effects_once(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["members_taken_away"] == 5


def test_leaders_that_no_client_plays_ask_without_being_heard() -> None:
    story = clean()
    story.brokers(5, 6)
    story.topic("u", THIRD)
    story.new_partition([4, 5, 6], topic_id=THIRD)
    story.isr([4, 5], 4, topic_id=THIRD)
    assert_valid(effects_once(story.run_events()))


Attempts = st.lists(
    st.tuples(st.sampled_from(["info", "fail", "ok", "record"]), st.integers(0, 1)), max_size=7
)


@settings(max_examples=150, deadline=None)
@given(Attempts)
def test_agrees_with_brute_force(steps: list[tuple[str, int]]) -> None:
    """Creates of one name and topics that came to be, in any order; an answered create is
    answered with a topic that stands in the log already, a new one each time, or with none."""
    story = LogStory(readers=("c1",))
    made: list[tuple[str, int]] = []
    asked: list[tuple[str | None, int]] = []
    free: list[str] = []
    story.op("create", "t", {}, type="fail", error="X")
    for number, (kind, with_id) in enumerate(steps):
        topic_id = f"00000000-0000-0000-0000-{number:012d}"
        if kind == "record":
            created(story, topic_id)
            made.append((topic_id, story.now_ns))
            free.append(topic_id)
        else:
            owned = free.pop() if kind == "ok" and with_id and free else None
            result = {"topic_id": owned} if owned else None
            operation = story.op("create", "t", {}, result, type=kind, error="X")
            if kind != "fail":
                asked.append((owned, operation.invoked_ns or 0))
    right = any(
        all(_may_be(ask, effect) for ask, effect in zip(chosen, made, strict=True))
        for chosen in itertools.permutations(asked, len(made))
    )
    assert (effects_once(story.run_events()).verdict is not Verdict.INVALID) == right


def _may_be(ask: tuple[str | None, int], effect: tuple[str, int]) -> bool:
    """An operation that named its topic caused that one, whenever; any other one begins first."""
    owned, begun = ask
    if owned is not None:
        return owned == effect[0]
    return begun <= effect[1]
