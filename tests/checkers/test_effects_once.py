"""No operation takes effect twice, none after it failed (D.20)."""

import itertools

from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_logs import LogStory
from planted_runs import OTHER, TOPIC, assert_valid

from checkers.effects_once import effects_once
from framework.verdict import Verdict

THIRD = "33333333-3333-3333-3333-333333333333"


def created(story: LogStory, topic_id: str, name: str = "t") -> None:
    story.topic(name, topic_id)
    story.new_partition([4], topic_id=topic_id)


def requested(story: LogStory, request_id: str) -> int:
    return story.record("RequestRecord", request_id=request_id, answer="")


def played(story: LogStory, incarnation: str, type: str = "ok") -> None:
    value = {"broker_id": 101, "broker_epoch": -1, "incarnation": incarnation}
    story.op("heartbeat", "broker-101", value, {"broker_epoch": 9}, type=type, error="X")


def clean() -> LogStory:
    """An acknowledged topic comes and goes; one whose create timed out comes later."""
    story = LogStory(readers=("c1",))
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
    played(story, "00000000-0000-0000-0000-000000000101")
    story.register(101, incarnation_id="00000000-0000-0000-0000-000000000101")
    created(story, THIRD, "of-nobody-who-is-recorded")
    return story


def test_clean_run_is_accepted() -> None:
    outcome = effects_once(clean().run_events())
    assert_valid(outcome)
    assert outcome.figures == {"topics": 4, "requests": 2, "registrations": 1}


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
    played(story, "00000000-0000-0000-0000-000000000102", "fail")
    story.register(101, incarnation_id="00000000-0000-0000-0000-000000000102")


PLANTED = Plants.of(
    clean,
    {
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
