"""What was asked is what was made."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import clause_of
from planted_logs import LogStory
from planted_runs import OTHER, TOPIC, Story, assert_invalid, assert_valid, shown

from checkers.asked_is_made import AskedIsMade, asked_is_made
from framework.checking.keyed import outcome_row
from framework.checking.results import CheckerResult, checker_result
from framework.evidence.changes import Change, EligibleForgotten, FeatureSet, VotersNamed
from framework.evidence.kinds import Evidence
from framework.history.event import CompletionType
from framework.history.pairing import Operation
from framework.plugins.outcomes import NEEDLESS
from framework.verdict import Verdict
from tests.cases import cases

ASKED = {"partitions": 2, "replication": 2, "configs": [["retention.ms", "60000"]]}
MADE = [[4, 5], [5, 4]]
LOST = "33333333-3333-3333-3333-333333333333"
NEXT = "44444444-4444-4444-4444-444444444444"
FIFTH = "55555555-5555-5555-5555-555555555555"
MOVED = "77777777-7777-7777-7777-777777777777"
CHANGED = "88888888-8888-8888-8888-888888888888"
LED = "99999999-9999-9999-9999-999999999999"
TRIED_ID = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"
NOT_ASKED = "bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb"
VOTERS = ("c1", "c2", "c3")
APART = ("unregistered", "untold")
"""Clauses that are not about topics."""
TRIED = ("dry-runs", "controllers")
"""Clauses of what controllers are asked."""
LEVELS = ("levels", "levels-made", "levels-told")
STILL = ("moves", "moved", *LEVELS, "changes", "broker-configurations", *APART, "elected", *TRIED)
"""Clauses of which there is nothing to say where nobody asked for more than topics."""
PLACED = {"assignment": [[5, 4], [4, 5]]}


def topic(*replicas: list[int], topic_id: str = TOPIC) -> dict[str, Any]:
    """As reads show it."""
    partitions = [
        shown(0, each, partition=at, replicas=each, leader=each[0])
        for at, each in enumerate(replicas)
    ]
    return {"topic_id": topic_id, "partitions": partitions}


def create(story: Story, name: str, asked: Any, topic_id: str | None, **more: Any) -> Operation:
    """Answered with the id and no more; without one: not answered."""
    if topic_id is None:
        return story.op("create", name, asked, type="info", error="CLIENT_TIMED_OUT")
    return story.op("create", name, asked, {"topic_id": topic_id, **more})


def logged(story: LogStory, name: str, topic_id: str, *replicas: list[int], **configs: str) -> None:
    story.topic(name, topic_id)
    for each, value in configs.items():
        story.config(each.replace("_", "."), value, name)
    for number, each in enumerate(replicas):
        story.new_partition(each, number, topic_id)
    story.record("RequestRecord", request_id=topic_id, answer="")


def wish(story: Story, replicas: list[int] | None, number: int = 0, **more: Any) -> Operation:
    return story.op("reassign", f"m/{number}", {"replicas": replicas}, None, **more)


def move(story: LogStory, replicas: list[int], number: int = 0, **more: Any) -> None:
    story.move(replicas, number, MOVED, **more)


def looked(story: Story, *under_way: str) -> Operation:
    moving = [{"key": each, "replicas": [], "adding": [], "removing": []} for each in under_way]
    return story.op("reassignments", None, None, moving)


def moves(story: LogStory) -> None:
    """m/0 goes from 4, 5 to 6, 5; m/1 to 6 and 4, which is cancelled, then to 6 and 5."""
    create(story, "m", {"assignment": MADE}, MOVED)
    logged(story, "m", MOVED, *MADE)
    story.op("describe", "m", None, topic(*MADE, topic_id=MOVED))
    wish(story, [6, 5])
    move(story, [6, 5, 4], isr=[4, 5], adding_replicas=[6], removing_replicas=[4])
    story.op("describe", "m", None, topic([6, 5, 4], MADE[1], topic_id=MOVED))
    move(story, [6, 5], leader=5, rises=True)
    wish(story, [6, 4], 1)
    move(story, [6, 4, 5], 1, isr=[4, 5], adding_replicas=[6], removing_replicas=[5])
    wish(story, None, 1)
    move(story, [4, 5], 1, rises=True)
    wish(story, [6, 5], 1)
    move(story, [6, 5], 1, rises=True)


def change(story: Story, key: str, asked: dict[str, str | None], **more: Any) -> Operation:
    """None: it is taken away."""
    given = [[name, value] for name, value in asked.items() if value is not None]
    gone = [name for name, value in asked.items() if value is None]
    f = "configure-broker" if key.startswith("broker") else "configure"
    return story.op(f, key, {"set": given, "delete": gone}, None, **more)


def changes(story: LogStory) -> None:
    """Of a topic that is made with retention.ms=60000: that goes, and another setting comes twice.
    Of broker 4: it is set, and taken away, and set once more, perhaps."""
    create(story, "c", ASKED, CHANGED)
    logged(story, "c", CHANGED, *MADE, retention_ms="60000")
    change(story, "c", {"retention.ms": None, "segment.bytes": "7"})
    story.config("retention.ms", None, "c")
    story.config("segment.bytes", "7", "c")
    change(story, "c", {"retention.ms": "9"}, type="fail", error="INVALID_CONFIG")
    change(story, "c", {"segment.bytes": "8"})
    story.config("segment.bytes", "8", "c")
    for value in ("5", None):
        change(story, "broker-4", {"message.max.bytes": value, "log.segment.bytes": "6"})
        story.config("message.max.bytes", value, "4", kind=4)
    story.config("log.segment.bytes", "6", "4", kind=4)
    change(story, "broker-4", {"message.max.bytes": "4"}, type="info", error="CLIENT_TIMED_OUT")


def ends(story: Story) -> None:
    """How it is in the end."""
    shows_configs(story, "c", {"segment.bytes": "8"})
    shows_configs(story, "broker-4", {"log.segment.bytes": "6"})


def shows_configs(story: Story, key: str, configs: dict[str, str]) -> Operation:
    shown_ = {"configs": [list(each) for each in configs.items()]}
    if key.startswith("broker"):
        return story.op("describe-broker-configs", key, None, shown_, node="b1")
    story.op("describe", key, None, topic(*MADE, topic_id=CHANGED))
    return story.op("describe-configs", key, None, shown_)


def changed() -> LogStory:
    story = clean(changes)
    ends(story)
    return story


def moved() -> LogStory:
    """All that there is to be right: other replicas, levels of features, configurations,
    elections, creates that are only tried, and a broker less."""

    def during(story: LogStory) -> None:
        moves(story)
        asked = story.invoke("elect", "m/0")
        story.isr([6, 5], 6, 0, MOVED)
        story.complete(asked)
        needless(story, "m/0")
        changes(story)
        tried(story)
        story.brokers(7)
        for epoch, level in ((3, 1), (5, 1), (7, 2)):  # g has none yet, and need not be named
            shows_level(story, level, epoch)
        raised(story, 1)
        raised(story, 2)

    story = clean(during)
    ends(story)
    shows_level(story, 2, story.offset - 1, "g", f=2)
    looked(story, "m/1")
    looked(story)
    shows(story, [6, 5])
    shows(story, [6, 5])
    serves(story)
    goes(story)
    return story


def raised(story: LogStory, level: int) -> None:
    """g is asked to have that level, has it, and is told to; f has one, where anybody tells."""
    asked = asks_level(story, level, ends=False)
    at = story.feature("g", level)
    story.complete(asked, "ok")
    shows_level(story, level, at, "g", f=2)


def tried(story: LogStory) -> None:
    """d is tried, made and configured, and goes; c1, which leads, and c2 are asked. What nobody
    makes is tried as well."""
    story.record("LeaderChange", leader_id=1)
    tries(story, "d", exists=False)
    tries(story, "d", "c1", exists=False)
    told(story, "d", "c2", None)
    create(story, "d", ASKED, TRIED_ID)
    logged(story, "d", TRIED_ID, *MADE, retention_ms="60000")
    told(story, "d", "c1", {"retention.ms": "60000"})
    tries(story, "d", "c1", exists=True)
    change(story, "d", {"retention.ms": "9"})
    story.config("retention.ms", "9", "d")
    tries(story, "never", exists=False)
    tries(story, "never", "c1", exists=False)
    tries(story, "never", type="fail", error="INVALID_REPLICATION_FACTOR")
    tries(story, "d", exists=True)
    told(story, "d", "c2", {"retention.ms": "9"})
    story.record("RemoveTopicRecord", topic_id=TRIED_ID)
    story.op("delete", "d", None, {"topic_id": TRIED_ID}, node="b1")
    told(story, "d", "c1", None)
    tries(story, "d", "c1", exists=False)
    story.op("describe", "never", None, None)


def tries(
    story: Story, name: str, node: str = "b1", exists: bool | None = None, **more: Any
) -> Operation:
    """A create, at a controller or by way of a broker; without `exists`, not answered so."""
    f = "controller-dry-create" if node.startswith("c") else "dry-create"
    result = None if exists is None else {"exists": exists, **more.pop("told", {})}
    return story.op(f, name, ASKED, result, node=node, **more)


def told(story: Story, name: str, node: str, configs: dict[str, str] | None) -> Operation:
    """How a controller has a topic configured; None: that there is none."""
    result = None if configs is None else {"configs": [list(each) for each in configs.items()]}
    return story.op("controller-configs", name, None, result, node=node)


def shows(story: Story, replicas: list[int]) -> None:
    story.op("describe", "m", None, topic(replicas, [6, 5], topic_id=MOVED))


def serves(story: LogStory, broker: int = 9) -> Operation:
    """A process of the broker registers, and serves."""
    asked = story.invoke("start", f"broker-{broker}")
    story.register(broker)
    story.unfence(broker)
    return story.complete(asked, "ok", {"broker_state": "active", "broker_epoch": 1})


def goes(story: LogStory, broker: int = 9) -> Operation:
    """It is killed and unregistered, which one of the others learns late."""
    story.op("kill", f"broker-{broker}", None, {"broker_id": broker})
    asked = takes_off(story, broker)
    lists(story, "b1", 4, 5)
    lists(story, "b2", 4, 5, broker)
    lists(story, "b2", 4, 5)
    return asked


def takes_off(story: LogStory, broker: int = 9, records: int = 1, **more: Any) -> Operation:
    asked = story.invoke("unregister", f"broker-{broker}")
    for _ in range(records):
        story.unregister(broker)
    return story.complete(asked, more.pop("type", "ok"), None, **more)


def lists(story: Story, node: str, *brokers: int, **more: Any) -> Operation:
    """Who is there, by that broker."""
    there = [{"id": each, "host": "h", "port": each} for each in brokers]
    return story.op("list-brokers", None, None, {"brokers": there}, node=node, **more)


def nothing(story: LogStory) -> None:
    """That is all."""


def clean(
    then: Callable[[LogStory], None] = nothing, begins: Callable[[LogStory], None] = nothing
) -> LogStory:
    """One by numbers, that is deleted and made anew otherwise; one by assignment; one whose create
    has no answer. A cache lags, and may show a part."""
    story = LogStory(readers=("c1",))
    begins(story)
    reported = {"num_partitions": 2, "replication_factor": 2, "configs": ASKED["configs"]}
    lost = story.invoke("create", "lost", {"partitions": 1, "replication": 1})
    logged(story, "t", TOPIC, *MADE, retention_ms="60000")
    create(story, "t", ASKED, TOPIC, **reported)
    logged(story, "lost", LOST, [6])
    story.op("create", "t", {"partitions": 9}, type="fail", error="TOPIC_ALREADY_EXISTS")
    story.op("describe", "t", None, topic(*MADE))
    story.op("metadata", "t", None, topic(MADE[0]))
    story.complete(lost, "info")
    story.op("describe", "lost", None, topic([6], topic_id=LOST))
    story.delete("t")
    create(story, "t", PLACED, OTHER, num_partitions=2, replication_factor=2)
    logged(story, "t", OTHER, *PLACED["assignment"])
    story.op("metadata", "t", None, topic(*MADE))
    story.op("describe", "t", None, topic(*PLACED["assignment"], topic_id=OTHER))
    create(story, "u", ASKED, NEXT)
    then(story)
    story.final()
    story.op("metadata", "t", None, topic(*PLACED["assignment"], topic_id=OTHER))
    story.op("describe", "u", None, topic(*MADE, topic_id=NEXT))
    story.op("describe-configs", "u", None, {"configs": ASKED["configs"]})
    story.op("describe-configs", "t", None, {"configs": []})
    return story


def test_clean_run_is_accepted() -> None:
    outcome = asked_is_made(clean().run_events())
    assert_valid(outcome)
    told = {name: count for name, count in outcome.figures.items() if count}
    assert told == {"answers": 2, "reads": 7, "log": 3, "configurations": 2}


@pytest.mark.parametrize("replicas", [[[4, 5], [5, 4]], []])
@pytest.mark.parametrize(
    "told", [None, partial(EligibleForgotten, topic="u"), partial(VotersNamed, voters=())]
)
def test_what_says_nothing_of_a_topic_may_stand_in_between(
    replicas: list[list[int]], told: Callable[..., Change] | None
) -> None:
    """Kafka clears who is eligible as it sets `min.insync.replicas`, and the quorum itself may
    name its voters anywhere."""
    story = LogStory(readers=("c1",))
    create(story, "u", ASKED, NEXT)
    story.topic("u", NEXT)
    story.config("retention.ms", "60000", "u")
    cleared = story.record("ClearElrRecord", topic_name="u")
    for number, each in enumerate(replicas):
        story.new_partition(each, number, NEXT)
    logged(story, "v", FIFTH, *MADE)
    events = story.run_events()
    if told is not None:
        head = {"node": "c1", "incarnation": "1", "seq": 1, "epoch": story.epoch}
        others = [each for each in events.of(Evidence) if getattr(each, "offset", -1) != cleared]
        events = replace(events, evidence=[*others, told(**head, offset=cleared)])
    outcome = asked_is_made(events)
    assert outcome.figures["log"] == 1
    assert [each.message for each in outcome.findings] == (
        []
        if replicas
        else [
            f"topic u, id {NEXT}, that operation 0 asked for, has the partitions [], not 0 to 1: "
            "the log"
        ]
    )


def test_what_nobody_shows_is_unknown() -> None:
    """A create's own answer is an echo."""
    story = Story()
    create(story, "t", ASKED, TOPIC, num_partitions=2, replication_factor=2)
    story.op("describe", "of-nobody-who-is-recorded", None, topic([4], topic_id=OTHER))
    result = judged(story)
    assert result.verdict is Verdict.UNKNOWN
    reads = clause_of(result, "reads")
    assert reads.verdict is Verdict.UNKNOWN
    assert reads.compared == 0


def judged(story: Story) -> CheckerResult:
    """As the engine has it."""
    row = outcome_row("r", "asked-is-made", "", asked_is_made(story.run_events()))
    return checker_result("asked-is-made", "", [row], clauses=AskedIsMade.clauses)


def silent(capabilities: list[str] | None) -> CheckerResult:
    story = clean()
    story.events = []
    if capabilities is not None:
        story.plan = {**story.plan, "capabilities": capabilities}
    return judged(story)


@pytest.mark.parametrize("capabilities", [None, ["evidence:applied"], ["disk:applied"]])
def test_nodes_that_leave_their_records_out_are_unknown(capabilities: list[str] | None) -> None:
    result = silent(capabilities)
    assert result.verdict is Verdict.UNKNOWN
    assert "log: 0" in result.note


def test_system_that_promises_no_records_is_judged_by_clients() -> None:
    result = silent([])
    assert result.verdict is Verdict.VALID
    assert [each.name for each in result.clauses if each.verdict is None] == ["log", *STILL]


@pytest.mark.parametrize(
    ("left_out", "clauses"),
    [
        ({"create"}, {"answers", "reads", "log", "configurations", *STILL}),
        ({"describe-configs"}, {"configurations", *STILL}),
    ],
)
def test_what_nobody_asked_for_gave_no_occasion(left_out: set[str], clauses: set[str]) -> None:
    story = clean()
    story.operations = [each for each in story.operations if each.f not in left_out]
    assert {each.name for each in judged(story).clauses if each.verdict is None} == clauses


def test_topics_that_were_left_and_whose_configurations_nobody_tells_are_unknown() -> None:
    story = clean()
    asked = [each for each in story.operations if each.f == "describe-configs"]
    story.operations = [each for each in story.operations if each not in asked]
    for each in asked:
        story.op("describe-configs", each.key, type="fail", error="CLIENT_TIMED_OUT")
    result = judged(story)
    assert result.verdict is Verdict.UNKNOWN
    assert "configurations: 0" in result.note


def test_one_topic_that_was_left_is_no_occasion() -> None:
    story = clean()
    story.operations = [each for each in story.operations if each.phase == "main"]
    story.op("describe", "u", None, topic(*MADE, topic_id=NEXT))
    story.op("describe-configs", "u", None, {"configs": ASKED["configs"]})
    story.op("describe-configs", "gone", type="fail", error="NO", ext={"asserts": "absent"})
    result = judged(story)
    assert [each.name for each in result.clauses if each.verdict is None] == [
        "configurations",
        *STILL,
    ]


def test_one_topic_that_clients_asked_for_is_no_occasion_to_confuse_it() -> None:
    story = Story()
    create(story, "t", {"partitions": 1, "replication": 3}, TOPIC, num_partitions=1)
    found = {each.name: each.verdict for each in judged(story).clauses}
    assert found["answers"] is None
    assert found["log"] is Verdict.UNKNOWN  # which nobody has shown


# --- clients alone ------------------------------------------------------------------------

PLANTED = Plants(moved)


def shows_level(
    story: Story, level: int | None, epoch: int, name: str = "f", **others: int | None
) -> Operation:
    """What a broker tells of that feature, and of others."""
    return story.op("features", None, None, levels_at(epoch, **{name: level, **others}))


def levels_at(epoch: int, **levels: int | None) -> Any:
    named = [
        {"name": name, "level": level, "lowest": 1, "highest": 2} for name, level in levels.items()
    ]
    return {"epoch": epoch, "features": named}


def raises(story: Story, level: int, dry: bool | None = None, **more: Any) -> Operation:
    value = {"level": level, "type": "upgrade", **({} if dry is None else {"dry": dry})}
    return story.op("update-feature", "f", value, None, **more)


def asks_level(story: Story, level: int, ends: bool = True, **more: Any) -> Any:
    """Of g, up or down."""
    value = {"level": level, "type": "safe-downgrade", **more}
    invoked = story.invoke("update-feature", "g", value)
    return story.complete(invoked, "ok") if ends else invoked


ONLY_RISE = ["evidence:applied", "feature-levels"]
FALL = ["evidence:applied", "lowered-feature-levels"]


def leveled() -> LogStory:
    """A level is raised, which one broker tells late; what is refused or tried changes nothing.
    None falls by what the system promises; the log does not reach so far that it told."""

    def during(story: LogStory) -> None:
        shows_level(story, None, 1001)
        shows_level(story, 1, 1003)
        raises(story, 3, type="fail", error="INVALID_UPDATE_VERSION")
        raises(story, 3, dry=True)
        raises(story, 3, type="info", error="CLIENT_TIMED_OUT")
        raises(story, 2)
        raises(story, 2)
        shows_level(story, 2, 1007, other=1)
        shows_level(story, 1, 1006, other=1)
        shows_level(story, 1, 1005, other=1)
        shows_level(story, None, -1)  # who knows nothing of the log yet

    story = clean(during)
    story.plan = {**story.plan, "capabilities": ONLY_RISE}
    shows_level(story, 2, 1008, other=1)
    shows_level(story, 2, 1008, other=1)
    return story


def lowered() -> LogStory:
    """By a system whose levels fall. The cluster begins with g at 1; that goes up and down, and
    what has no answer takes effect late, and twice, as who forwards it asks again. What is refused,
    tried, or asked for as it is already changes nothing."""

    def during(story: LogStory) -> None:
        asks_level(story, 0, dry=True)
        unknown = asks_level(story, 0, ends=False)
        shows_level(story, 1, 2, "g")
        raised(story, 2)
        shows_level(story, 1, 2, "g")  # late: the log had that
        asks_level(story, 2)
        refused = asks_level(story, 3, ends=False)
        story.complete(refused, "fail", error="INVALID_UPDATE_VERSION")
        at = story.feature("g", 0)
        shows_level(story, None, at, "g")
        shows_level(story, None, at, "other")  # g has none there: it need not be named
        shows_level(story, 2, at - 1, "g")
        raised(story, 1)
        story.complete(unknown, "info", error="CLIENT_TIMED_OUT")
        story.feature("g", 0)
        story.feature("g", 0)
        raised(story, 1)
        for nowhere in (-1, 10**6):  # what nobody knows
            shows_level(story, None if nowhere > 0 else 1, nowhere, "g")
        late = levels_at(0, g=2)
        story.op("features", None, None, late, type="info", error="CLIENT_TIMED_OUT")
        story.op("features", None, None, None)

    story = clean(during, begins=begun)
    story.plan = {**story.plan, "capabilities": FALL}
    shows_level(story, 1, story.offset - 1, "g")
    shows_level(story, None, story.offset - 1, "other", g=1)
    return story


def begun(story: LogStory) -> None:
    """Nobody asked for how a cluster begins."""
    story.feature("g", 2)
    story.feature("g", 1)
    story.brokers(4)


def test_levels_that_fall_as_they_were_asked_to_are_accepted() -> None:
    outcome = asked_is_made(lowered().run_events())
    assert_valid(outcome)
    assert outcome.clauses["levels-made"] == 4 + 6, "granted, and records since brokers are there"
    assert outcome.clauses["levels-told"] == 9, "what is left out is not told"
    assert outcome.clauses["levels"] == "levels of features may fall"


@PLANTED.violation("sets g to level 3", "nobody had asked for that", on=lowered)
def a_level_that_was_only_tried(story: LogStory) -> None:
    asks_level(story, 3, dry=True)
    story.feature("g", 3)


@PLANTED.violation("sets h to level 1", "nobody had asked for that", on=lowered)
def a_level_of_a_feature_that_nobody_named(story: LogStory) -> None:
    story.feature("h", 1)


@PLANTED.violation("was granted level 3 of g", "the log does not have that", on=lowered)
def a_level_that_was_granted_and_not_made(story: LogStory) -> None:
    asks_level(story, 3)


@PLANTED.violation("was granted level 2 of g", "behind what had been granted", on=lowered)
def a_level_that_was_granted_again_and_not_made_again(story: LogStory) -> None:
    """The log has it, but before the one that it must follow."""
    asks_level(story, 2)


@PLANTED.violation("tells level 2 of g", "the log has 1 at offset", on=lowered)
def a_level_that_is_told_and_that_the_log_has_not(story: LogStory) -> None:
    shows_level(story, 2, story.offset - 1, "g")


@PLANTED.violation("tells level 0 of g", "the log has 2 at offset 0", on=lowered)
def a_level_that_is_told_of_another_place(story: LogStory) -> None:
    shows_level(story, None, 0, "g")


@PLANTED.violation("tells level 1 of new", "the log has 0", on=lowered)
def a_level_that_is_granted_and_told_and_nowhere_else(story: LogStory) -> None:
    story.op("update-feature", "new", {"level": 1, "type": "upgrade"}, None)
    shows_level(story, 1, story.offset - 1, "new", g=1)


@PLANTED.violation("tells level 2 of g", "in the end, not 0 or 1", on=lowered)
def a_broker_that_stays_behind(story: LogStory) -> None:
    """What it tells is what the log had."""
    shows_level(story, 2, 0, "g")


@PLANTED.violation("sets g to level 3", "nobody had asked for that", on=lowered)
def a_level_that_somebody_asked_for_later(story: LogStory) -> None:
    story.feature("g", 3)
    story.wait(1_000)
    asks_level(story, 3, ends=False)


@PLANTED.violation("tells level 2 of g", "the log has 1 at offset", on=lowered)
def a_level_that_is_told_behind_one_of_which_nothing_is_known(story: LogStory) -> None:
    shows_level(story, 2, story.offset - 1, "before", g=2, behind=2)


@PLANTED.violation("leaves out g", "the log has 1 at offset", on=lowered)
def a_feature_that_is_left_out(story: LogStory) -> None:
    """Where all that is told beside it is so."""
    shows_level(story, None, story.offset - 1, "other")


@PLANTED.violation("leaves out g", "the log has 2 at offset 0", on=lowered)
def a_feature_that_was_left_out_before_it_had_none(story: LogStory) -> None:
    story.op("features", None, None, levels_at(0))


@PLANTED.violation("leaves out g", "in the end, not 2")
def a_feature_that_is_left_out_by_a_broker_that_stays_behind(story: LogStory) -> None:
    """The log had none of that name at the offset that is told."""
    shows_level(story, 1, 3)


def test_a_feature_is_left_out_where_it_may_have_no_level_in_the_end() -> None:
    """Somebody asked for that, and nobody knows what became of it."""
    story = lowered()
    story.op("features", None, None, levels_at(fell(story)))
    assert asked_is_made(story.run_events()).findings == []


def fell(story: LogStory) -> int:
    """Where the log takes g's level away, as a broker tells."""
    answers = [each.result for each in story.operations if each.f == "features" and each.ok]
    return next(
        each["epoch"]
        for each in filter(None, answers)
        for one in each["features"]
        if (one["name"], one["level"]) == ("g", None)
    )


def test_a_broker_that_is_one_record_ahead_of_the_log_tells_what_nobody_knows() -> None:
    story = lowered()
    records = asked_is_made(story.run_events()).clauses["levels-told"]
    shows_level(story, 2, story.offset, "g")
    outcome = asked_is_made(story.run_events())
    assert (outcome.findings, outcome.clauses["levels-told"]) == ([], records)


def test_a_broker_may_stay_behind_where_the_cluster_never_settled() -> None:
    story = lowered()
    a_broker_that_stays_behind(story)
    assert asked_is_made(story.run_events()).findings
    assert not asked_is_made(replace(story.run_events(), nemesis=[])).findings


def test_levels_that_only_rise_are_not_held_against_what_was_asked_for() -> None:
    assert why_none(leveled(), "levels-made") == "no level of a feature may fall"


@pytest.mark.parametrize("capabilities", [["evidence:applied"], []])
def test_where_no_level_changes_none_is_held_against_the_log(capabilities: list[str]) -> None:
    story = risen()
    shows_level(story, 1, rises_at(story, 2) + 1, "g")  # where they change it is found
    story.plan = {**story.plan, "capabilities": capabilities}
    for clause in ("levels-made", "levels-told"):
        assert why_none(story, clause) == "no level of a feature may fall"
    assert not [each for each in judged(story).findings if str(each.clause).startswith("levels")]
    assert why_none(story, "levels") == "levels of features may fall"


def risen() -> LogStory:
    """By a system whose levels only rise. The cluster begins with g at 1, of which nobody tells
    before it has risen."""

    def during(story: LogStory) -> None:
        raised(story, 2)
        raised(story, 3)
        story.brokers(5)

    def begun_low(story: LogStory) -> None:
        story.feature("g", 1)
        story.brokers(4)

    story = clean(during, begins=begun_low)
    story.plan = {**story.plan, "capabilities": ONLY_RISE}
    return story


def rises_at(story: LogStory, level: int) -> int:
    """The offset at which the log sets g to it."""
    sets = [each for each in story.run_events().of(FeatureSet) if each.level == level]
    return sets[0].offset


def test_levels_that_only_rise_are_told_as_the_log_has_them() -> None:
    """By the offset of the last record that is known, or the end of what is."""
    story = risen()
    for level in (2, 3):
        at = rises_at(story, level)
        shows_level(story, level - 1, at, "g")
        shows_level(story, level, at, "g")
        shows_level(story, level, at + 1, "g")
    outcome = asked_is_made(story.run_events())
    assert [each for each in outcome.findings if each.clause == "levels-told"] == []
    assert outcome.clauses["levels-told"] == 2 + 6


@PLANTED.violation("tells level 1 of g", "the log has 3 at offset", on=risen)
def a_level_of_which_nobody_told_before_is_that_of_the_past(story: LogStory) -> None:
    shows_level(story, 1, rises_at(story, 2) + 1, "g")


@PLANTED.violation("leaves out g", "the log has 1 at offset 1", on=risen)
def a_feature_of_which_nobody_told_before_is_left_out(story: LogStory) -> None:
    story.op("features", None, None, levels_at(1, other=None))


@PLANTED.violation("tells level 3 of g", "the log has 2 at offset", on=risen)
def a_level_is_told_before_the_log_has_it(story: LogStory) -> None:
    shows_level(story, 3, rises_at(story, 3) - 1, "g")


def test_levels_of_a_system_that_shows_no_log_are_not_held_against_it() -> None:
    story = lowered()
    story.plan = {**story.plan, "capabilities": ["lowered-feature-levels"]}
    for clause in ("levels-made", "levels-told"):
        assert why_none(story, clause).startswith("by its plan the system gives no evidence")


@pytest.mark.parametrize(("granted", "is_few"), [(1, True), (2, False)])
def test_of_few_granted_levels_little_can_be_told(granted: int, is_few: bool) -> None:
    """Where more were granted and no broker told of one, something was missed."""
    story = clean(begins=begun)
    story.plan = {**story.plan, "capabilities": FALL}
    for _ in range(granted):
        asked = asks_level(story, 2, ends=False)
        story.feature("g", 2)
        story.complete(asked, "ok")
    told = clause_of(judged(story), "levels-told")
    assert told.verdict is (None if is_few else Verdict.UNKNOWN)
    assert told.note.startswith("hardly a level of a feature was granted") == is_few


def test_a_level_that_the_cluster_began_with_needs_no_record() -> None:
    story = clean(begins=begun)
    story.plan = {**story.plan, "capabilities": FALL}
    asks_level(story, 1)
    assert_valid(asked_is_made(story.run_events()))


def test_of_a_log_of_which_a_part_is_missing_only_what_it_has_is_judged() -> None:
    story = lowered()
    a_level_that_was_granted_and_not_made(story)
    story.offset += 1
    story.feature("g", 3)
    assert asked_is_made(story.run_events()).findings == []
    a_level_of_a_feature_that_nobody_named(story)
    assert asked_is_made(story.run_events()).findings == []


def test_changes_of_configurations_are_accepted() -> None:
    outcome = asked_is_made(changed().run_events())
    assert_valid(outcome)
    assert outcome.clauses["changes"] == 7 + 7
    assert outcome.clauses["broker-configurations"] == 2
    assert outcome.clauses["configurations"] == 3


@PLANTED.violation(
    "topic c", "{'segment.bytes': '7'}, not to {'segment.bytes': '8'}", on=partial(clean, changes)
)
def an_older_change_in_the_end(story: Story) -> None:
    shows_configs(story, "c", {"segment.bytes": "7"})


@PLANTED.violation("topic c", "is configured to {}", on=partial(clean, changes))
def half_of_a_change(story: Story) -> None:
    shows_configs(story, "c", {})


@PLANTED.violation(
    "topic c", "{'retention.ms': '60000', 'segment.bytes': '8'}", on=partial(clean, changes)
)
def a_setting_that_was_taken_away(story: Story) -> None:
    shows_configs(story, "c", {"retention.ms": "60000", "segment.bytes": "8"})


@PLANTED.violation("topic c", "'max.message.bytes': '1'", on=partial(clean, changes))
def a_setting_that_nobody_asked_for(story: Story) -> None:
    shows_configs(story, "c", {"segment.bytes": "8", "max.message.bytes": "1"})


@PLANTED.violation("topic c", "'retention.ms': '9'", on=partial(clean, changes))
def a_change_that_was_refused(story: Story) -> None:
    shows_configs(story, "c", {"segment.bytes": "8", "retention.ms": "9"})


@PLANTED.violation("broker-4 tells log.segment.bytes=none", "not 6", on=partial(clean, changes))
def a_broker_that_forgot(story: Story) -> None:
    shows_configs(story, "broker-4", {})


def for_all(story: LogStory, value: str | None, *, logged: bool = True) -> None:
    change(story, "brokers", {"message.max.bytes": value})
    if logged:
        story.config("message.max.bytes", value, "", kind=4)


@PLANTED.violation("b1 tells message.max.bytes=none of all brokers", "not 7")
def a_broker_that_does_not_know_what_is_set_for_all(story: LogStory) -> None:
    for_all(story, "7")
    shows_configs(story, "brokers", {})


@PLANTED.violation("b1 tells message.max.bytes=7 of all brokers", "not none")
def what_was_taken_away_from_all_brokers(story: LogStory) -> None:
    for_all(story, "7")
    for_all(story, None)
    shows_configs(story, "brokers", {"message.max.bytes": "7"})


@PLANTED.violation("broker-4 tells message.max.bytes=7", "of itself")
def what_is_set_for_all_is_told_as_set_for_one(story: LogStory) -> None:
    for_all(story, "7")
    shows_configs(story, "broker-4", {"message.max.bytes": "7", "log.segment.bytes": "6"})


@PLANTED.violation("was granted message.max.bytes=7 of brokers", "the log does not have that")
def what_was_granted_for_all_brokers_is_not_in_the_log(story: LogStory) -> None:
    for_all(story, "7", logged=False)


@PLANTED.violation("gives all brokers message.max.bytes=8, and nobody had asked for that")
def the_log_gives_all_brokers_what_nobody_asked_for(story: LogStory) -> None:
    for_all(story, "7")
    story.config("message.max.bytes", "8", "", kind=4)


@PLANTED.violation("broker-4 tells message.max.bytes=5", "not none or 4")
def a_broker_that_tells_what_was_taken_away(story: Story) -> None:
    shows_configs(story, "broker-4", {"message.max.bytes": "5", "log.segment.bytes": "6"})


@PLANTED.violation("broker-5 tells log.segment.bytes=6", "not none")
def a_broker_that_tells_the_configuration_of_another(story: Story) -> None:
    shows_configs(story, "broker-5", {"log.segment.bytes": "6"})


@PLANTED.violation("gives c segment.bytes=9", "nobody had asked for that")
def a_record_of_what_nobody_asked_for(story: LogStory) -> None:
    story.config("segment.bytes", "9", "c")


@PLANTED.violation("gives c segment.bytes=9", "nobody had asked for that")
def a_record_of_what_only_a_refused_create_asked_for(story: LogStory) -> None:
    asked = {**ASKED, "configs": [["segment.bytes", "9"]]}
    story.op("create", "c", asked, type="fail", error="TOPIC_ALREADY_EXISTS")
    story.config("segment.bytes", "9", "c")


def with_ids() -> LogStory:
    """By a system that does nothing twice."""
    story = changed()
    story.plan = {**story.plan, "capabilities": ["evidence:applied", "request-ids"]}
    return story


@PLANTED.violation("gives c segment.bytes=7", "or not so often", on=with_ids)
def a_change_that_was_made_twice(story: LogStory) -> None:
    story.config("segment.bytes", "7", "c")


def test_a_change_may_be_made_again_where_requests_have_no_ids() -> None:
    assert asked_is_made(with_ids().run_events()).findings == []
    story = changed()
    story.plan = {**story.plan, "capabilities": ["evidence:applied"]}
    a_change_that_was_made_twice(story)
    assert asked_is_made(story.run_events()).findings == []


@PLANTED.violation("gives 4 log.segment.bytes=none", "nobody had asked for that")
def a_record_that_takes_away_what_it_was_not_asked_to(story: LogStory) -> None:
    story.config("log.segment.bytes", None, "4", kind=4)


@PLANTED.violation("was granted segment.bytes=3 of c", "the log does not have that")
def a_change_that_was_granted_and_forgotten(story: Story) -> None:
    change(story, "c", {"segment.bytes": "3"})


@PLANTED.violation("was granted segment.bytes=7 of c", "the log does not have that")
def a_change_back_that_was_granted_and_forgotten(story: Story) -> None:
    """The log has that value, but before the one that it must follow."""
    change(story, "c", {"segment.bytes": "7"})


@PLANTED.violation("was granted message.max.bytes=2 of broker-4", "the log does not have that")
def a_change_of_a_broker_that_was_granted_and_forgotten(story: Story) -> None:
    change(story, "broker-4", {"message.max.bytes": "2"})


def changed_by(*plants: Callable[[LogStory], Any]) -> list[str]:
    """What is found where that happens before the final phase, in which all is as in `changed`."""

    def during(story: LogStory) -> None:
        changes(story)
        for plant in plants:
            plant(story)

    story = clean(during)
    ends(story)
    return [each.message for each in asked_is_made(story.run_events()).findings]


def overlapping(story: LogStory) -> None:
    """Which one was the last one nobody knows."""
    open_ = story.invoke("configure", "c", {"set": [["segment.bytes", "3"]]})
    change(story, "c", {"segment.bytes": "8"})
    story.complete(open_, "ok")
    story.config("segment.bytes", "3", "c")
    story.config("segment.bytes", "8", "c")


def lost(story: LogStory) -> None:
    change(story, "c", {"segment.bytes": "3"}, type="info", error="CLIENT_TIMED_OUT")


def lost_and_made(story: LogStory) -> None:
    """Of unknown fate, and overwritten."""
    lost(story)
    story.config("segment.bytes", "3", "c")
    change(story, "c", {"segment.bytes": "8"})
    story.config("segment.bytes", "8", "c")


def the_same_again(story: LogStory) -> None:
    change(story, "c", {"segment.bytes": "8"})


def of_all_brokers(story: LogStory) -> None:
    """Which Apache Kafka's controller sets by itself."""
    story.config("min.insync.replicas", "2", "", kind=4)


@pytest.mark.parametrize(
    "plant", [overlapping, lost, lost_and_made, the_same_again, of_all_brokers]
)
def test_changes_that_look_as_if_something_were_wrong(plant: Callable[[LogStory], Any]) -> None:
    assert changed_by(plant) == []


@pytest.mark.parametrize("value", ["3", "8"])
def test_a_change_of_unknown_fate_may_take_effect_last(value: str) -> None:
    story = clean(lambda story: (changes(story), lost(story))[0])
    shows_configs(story, "c", {"segment.bytes": value})
    assert_valid(asked_is_made(story.run_events()))


def test_a_change_of_a_topic_that_went_is_not_of_the_next_one() -> None:
    """Which has what its own create asked for."""

    def during(story: LogStory) -> None:
        create(story, "v", ASKED, OTHER[::-1])
        change(story, "v", {"retention.ms": "1"})
        story.delete("v")
        create(story, "v", ASKED, FIFTH)
        change(story, "v", {"retention.ms": "2"}, type="fail")

    story = clean(during)
    story.op("describe", "v", None, topic(*MADE, topic_id=FIFTH))
    for value in ("60000", "1"):
        story.op("describe-configs", "v", None, {"configs": [["retention.ms", value]]})
    (found,) = asked_is_made(story.run_events()).findings
    assert "{'retention.ms': '1'}, not to {'retention.ms': '60000'}" in found.message


def test_hardly_a_change_was_no_occasion() -> None:
    def during(story: LogStory) -> None:
        change(story, "u", {"segment.bytes": "1"}, type="fail", error="INVALID_CONFIG")
        change(story, "broker-4", {"segment.bytes": "1"}, type="info")
        story.config("segment.bytes", "1", "4", kind=4)

    story = clean(during)
    assert why_none(story, "changes") == "hardly a change of a configuration was granted"
    why = "hardly a configuration of a broker was changed"
    assert why_none(story, "broker-configurations") == why


def test_one_change_and_what_it_made_were_an_occasion() -> None:
    def during(story: LogStory) -> None:
        change(story, "broker-4", {"segment.bytes": "1"})
        story.config("segment.bytes", "1", "4", kind=4)

    found = clause_of(judged(clean(during)), "changes")
    assert (found.verdict, found.compared) == (Verdict.VALID, 2)


@pytest.mark.parametrize("left_out", ["describe-broker-configs", "describe-configs"])
def test_changes_that_nobody_reads_in_the_end_are_unknown_or_no_occasion(left_out: str) -> None:
    story = changed()
    story.operations = [each for each in story.operations if each.f != left_out]
    result = judged(story)
    of_brokers = clause_of(result, "broker-configurations")
    none_left = left_out == "describe-broker-configs"
    assert of_brokers.verdict is (Verdict.UNKNOWN if none_left else Verdict.VALID)
    assert clause_of(result, "changes").verdict is Verdict.VALID


def test_brokers_of_a_cluster_that_did_not_settle_may_lag() -> None:
    story = changed()
    a_broker_that_forgot(story)
    unsettled = replace(story.run_events(), nemesis=[])
    assert asked_is_made(unsettled).findings == []
    reason = asked_is_made(unsettled).clauses["broker-configurations"]
    assert reason == "the cluster was not seen to settle"


def two_of_a_topic(story: LogStory) -> None:
    for value in ("1", "2"):
        change(story, "u", {"segment.bytes": value})


@pytest.mark.parametrize("during", [changes, two_of_a_topic])
def test_changes_that_the_log_does_not_tell_are_unknown(during: Callable[[LogStory], None]) -> None:
    story = clean(during)
    story.events = []
    changes_ = clause_of(judged(story), "changes")
    assert (changes_.verdict, changes_.compared) == (Verdict.UNKNOWN, 0)


@PLANTED.violation("f is at level 1", "as of 1009", "at 2", "as of 1008", on=leveled)
def a_level_that_falls(story: Story) -> None:
    shows_level(story, 1, 1009)


@PLANTED.violation("f is at level 3", "as of 1008", "at 2", on=leveled)
def two_levels_at_one_place_of_the_log(story: Story) -> None:
    shows_level(story, 3, 1008)


@PLANTED.violation("f was granted level 1", "after 2", on=leveled)
def a_level_that_is_lowered(story: Story) -> None:
    raises(story, 1)


@PLANTED.violation("f was granted level 2", "at 1 in the end", on=leveled)
def a_level_that_is_forgotten(story: Story) -> None:
    """By one that tells as of an earlier place."""
    shows_level(story, 1, 1004)


@PLANTED.violation("f was granted level 2", "at 0 in the end", on=leveled)
def a_level_that_was_granted_and_is_left_out(story: Story) -> None:
    story.op("features", None, None, levels_at(1004, other=1))


@PLANTED.violation("feature other is at level 0", "and at 1", on=leveled)
def a_level_that_is_left_out_of_a_later_answer(story: Story) -> None:
    """Nobody had asked for it."""
    shows_level(story, 2, 1009)


def levels_in(plant: Callable[[LogStory], None]) -> list[str]:
    """What is found where that happens before the final phase."""
    story = clean(plant)
    story.plan = {**story.plan, "capabilities": ONLY_RISE}
    return [each.message for each in asked_is_made(story.run_events()).findings]


def at_once(story: LogStory) -> None:
    """Which came first nobody knows."""
    raising = story.invoke("update-feature", "f", {"level": 2, "type": "upgrade"})
    raises(story, 1)
    story.complete(raising, "ok")


def only_tried(story: LogStory) -> None:
    raises(story, 2)
    raises(story, 1, dry=True)


def of_another(story: LogStory) -> None:
    shows_level(story, 2, 1003)
    shows_level(story, 2, 1004, other=1)
    raises(story, 2)


def told_late(story: LogStory) -> None:
    raises(story, 2)
    shows_level(story, 1, 1004)


def left_out_before(story: LogStory) -> None:
    """Who is behind names no feature that had no level there."""
    shows_level(story, 2, 1004)
    shows_level(story, 1, 1003, other=None)
    story.op("features", None, None, levels_at(1002))


@pytest.mark.parametrize("plant", [at_once, only_tried, of_another, told_late, left_out_before])
def test_levels_that_look_as_if_they_fell(plant: Callable[[LogStory], None]) -> None:
    assert levels_in(plant) == []


@pytest.mark.parametrize("count", [0, 1])
def test_levels_that_nobody_tells_are_unknown(count: int) -> None:
    story = clean(lambda story: None)
    raises(story, 2)
    for _ in range(count):
        shows_level(story, 2, 1003)
    levels = clause_of(judged(story), "levels")
    assert (levels.verdict, levels.compared) == (Verdict.UNKNOWN, 0)


def test_before_the_cluster_has_settled_a_broker_may_lag() -> None:
    story = leveled()
    shows_level(story, 1, 1004)
    events = story.run_events()
    unsettled = replace(events, nemesis=[])
    assert len(asked_is_made(events).findings) == 1
    assert asked_is_made(unsettled).findings == []


@PLANTED.violation("operation 0 asked for", "partitions [0], not 0 to 5", on=Story)
def one_partition_of_six(story: Story) -> None:
    create(story, "t", {"partitions": 6, "replication": 3}, TOPIC, num_partitions=6)
    story.op("describe", "t", None, topic([4, 5, 6]))


@PLANTED.violation("partitions [0, 1, 2], not 0 to 1", on=Story)
def more_partitions_in_a_cache(story: Story) -> None:
    create(story, "t", ASKED, TOPIC)
    story.op("metadata", "t", None, topic(*MADE, [4, 5]))


@PLANTED.violation("partitions [0, 2], not 0 to 1", on=Story)
def partitions_with_a_gap(story: Story) -> None:
    create(story, "t", ASKED, TOPIC)
    gap = topic(*MADE)
    gap["partitions"][1]["partition"] = 2
    story.op("describe", "t", None, gap)


@PLANTED.violation("partition 1 on [5], not on 2 brokers", on=Story)
def too_few_replicas(story: Story) -> None:
    create(story, "t", ASKED, TOPIC)
    story.op("metadata", "t", None, topic([4, 5], [5]))


@PLANTED.violation("partition 0 on [4, 4], not on 2 brokers", on=Story)
def one_broker_twice(story: Story) -> None:
    create(story, "t", ASKED, TOPIC)
    story.op("describe", "t", None, topic([4, 4], [4, 5]))


@PLANTED.violation("partition 0 on [4, 5], not on [5, 4]", on=Story)
def others_than_were_assigned(story: Story) -> None:
    create(story, "t", PLACED, TOPIC)
    story.op("describe", "t", None, topic(*MADE))


@PLANTED.violation("partition 0 on [4, 5], not on [5, 4]", on=Story)
def others_than_were_assigned_as_a_follower_is_shown(story: Story) -> None:
    create(story, "t", PLACED, TOPIC)
    story.op("follow", "t", None, topic(*MADE))


@PLANTED.violation("partitions [0], not 0 to 1", on=Story)
def part_of_a_topic_as_a_follower_is_shown(story: Story) -> None:
    """A create is one step: the log never has a part of a topic."""
    create(story, "t", ASKED, TOPIC)
    story.op("follow", "t", None, topic(MADE[0]))


@PLANTED.violation("has num_partitions 1, not 2", on=Story)
def answer_that_says_so_itself(story: Story) -> None:
    create(story, "t", ASKED, TOPIC, num_partitions=1)


@PLANTED.violation("has replication_factor 1, not 2", on=Story)
def answer_of_another_width_than_was_assigned(story: Story) -> None:
    create(story, "t", PLACED, TOPIC, num_partitions=2, replication_factor=1)


@PLANTED.violation("is configured to {}, not to {'retention.ms': '60000'}", on=Story)
def answer_without_the_configuration(story: Story) -> None:
    create(story, "t", ASKED, TOPIC, configs=[])


@PLANTED.violation("partitions [0], not 0 to 1", on=Story)
def cache_that_never_shows_all(story: Story) -> None:
    create(story, "t", ASKED, TOPIC)
    story.final()
    story.op("metadata", "t", None, topic(MADE[0]))


@PLANTED.violation("operation 0 or 2 asked for", "partitions [0, 1, 2], not 0 to 1", on=Story)
def topic_of_a_lost_create_that_none_asked_for(story: Story) -> None:
    create(story, "t", ASKED, None)
    create(story, "t", PLACED, None)
    story.op("describe", "t", None, topic(*MADE, [4, 5]))


@PLANTED.violation("is configured to {}", on=Story)
def configuration_that_was_dropped(story: Story) -> None:
    create(story, "t", ASKED, TOPIC)
    story.final()
    story.op("describe", "t", None, topic(*MADE))
    story.op("describe-configs", "t", None, {"configs": []})


@PLANTED.violation("is configured to {'retention.ms': '1'}, not to {}", on=Story)
def configuration_that_nobody_asked_for(story: Story) -> None:
    create(story, "t", PLACED, TOPIC)
    story.final()
    story.op("describe", "t", None, topic(*PLACED["assignment"]))
    story.op("describe-configs", "t", None, {"configs": [["retention.ms", "1"]]})


def test_cases_of_clients_have_no_word_of_a_node() -> None:
    stories = {name: each.story() for name, each in PLANTED.items()}
    blind = {name: each for name, each in stories.items() if type(each) is Story}
    assert len(blind) >= 13
    assert not [name for name, story in blind.items() if story.evidence or story.events]


# --- the log ------------------------------------------------------------------------------


@PLANTED.violation("partitions [0], not 0 to 1: the log")
def records_of_one_partition(story: LogStory) -> None:
    create(story, "v", ASKED, FIFTH)
    logged(story, "v", FIFTH, MADE[0], retention_ms="60000")


@PLANTED.violation("partition 1 on [4], not on 2 brokers: the log")
def records_of_too_few_replicas(story: LogStory) -> None:
    create(story, "v", ASKED, FIFTH)
    logged(story, "v", FIFTH, MADE[0], [4], retention_ms="60000")


@PLANTED.violation("is configured to {}, not to", "the log")
def records_without_the_configuration(story: LogStory) -> None:
    create(story, "v", ASKED, FIFTH)
    logged(story, "v", FIFTH, *MADE)


@PLANTED.violation("partitions [0], not 0 to 1: the log")
def records_of_a_topic_that_a_lost_create_made(story: LogStory) -> None:
    create(story, "v", ASKED, None)
    logged(story, "v", FIFTH, MADE[0], retention_ms="60000")


# --- other replicas -----------------------------------------------------------------------


def test_moves_that_were_asked_for_are_accepted() -> None:
    outcome = asked_is_made(moved().run_events())
    assert_valid(outcome)
    assert outcome.figures["moves"] == 8
    assert outcome.figures["moved"] == 2


@PLANTED.violation("moves m/0 to [5, 6]", "nobody asked for that")
def others_than_were_wished_for(story: LogStory) -> None:
    move(story, [5, 6])


@PLANTED.violation("moves m/0 to [5, 4]", "nobody asked for that")
def wish_that_was_refused(story: LogStory) -> None:
    wish(story, [5, 4], type="fail", error="INVALID_REPLICA_ASSIGNMENT")
    move(story, [5, 4])


@PLANTED.violation("moves m/0 to [6, 5]", "not so often")
def wish_that_was_granted_twice(story: LogStory) -> None:
    wish(story, [5, 4])
    move(story, [5, 4])
    move(story, [6, 5])


@PLANTED.violation("moves m/0 to [5]", "nobody asked for that")
def wish_that_came_later(story: LogStory) -> None:
    move(story, [5], rises=True)
    story.wait(60_000)
    wish(story, [5])


@PLANTED.violation("moves m/0 to [4]", "nobody asked for that")
def cancelled_to_what_was_not_there_before(story: LogStory) -> None:
    wish(story, None)
    move(story, [4])


@PLANTED.violation("was granted replicas [5, 4] of m/0, and the log never has them")
def wish_that_was_granted_and_forgotten(story: LogStory) -> None:
    wish(story, [5, 4])
    story.record("NoOpRecord")


@PLANTED.violation("was granted that the move of m/1 is cancelled", "or not so often")
def cancel_that_was_granted_and_forgotten(story: LogStory) -> None:
    wish(story, None, 1)
    story.record("NoOpRecord")


@PLANTED.violation("was granted that the move of m/0 is cancelled", "the log does not have that")
def cancel_of_a_move_that_goes_on(story: LogStory) -> None:
    """It ends where the wish wanted it."""
    wish(story, [4, 5])
    move(story, [4, 5, 6], isr=[5, 6], adding_replicas=[4], removing_replicas=[6])
    wish(story, None)
    move(story, [4, 5], rises=True)


def test_a_cancel_may_find_the_partition_where_it_was_before() -> None:
    """A wish had it go back there already; then the cancel changes no goal. One that found nothing
    needs no record."""
    story = clean(moves)
    wish(story, [6, 4])
    move(story, [6, 4, 5], isr=[5, 6], adding_replicas=[4], removing_replicas=[5])
    wish(story, [6, 5])
    move(story, [6, 5, 4], isr=[5, 6], adding_replicas=[4], removing_replicas=[4])
    wish(story, None)
    move(story, [6, 5])
    wish(story, None, type="info", error="NO_REASSIGNMENT_IN_PROGRESS")
    wish(story, None, type="fail", error="NO_REASSIGNMENT_IN_PROGRESS")
    assert asked_is_made(story.run_events()).findings == []


@PLANTED.violation("m/0 is on [6, 5] in the end", "for [4, 5]")
def last_wish_that_came_to_nothing(story: LogStory) -> None:
    wish(story, [4, 5])
    shows(story, [6, 5])


@PLANTED.violation("moves are under way long after the cluster had settled")
def move_that_never_ends(story: LogStory) -> None:
    looked(story, "m/0")
    story.wait(9_000)
    looked(story, "m/0")


def test_a_move_has_some_time_to_end() -> None:
    story = moved()
    looked(story, "m/0")
    shows(story, [4, 5])
    assert_valid(asked_is_made(story.run_events()))


def test_a_wish_of_which_nobody_knows_may_come_last() -> None:
    story = moved()
    wish(story, [5, 4], type="info", error="REQUEST_TIMED_OUT")
    wish(story, [4, 6])
    move(story, [4, 6])
    move(story, [5, 4])
    shows(story, [5, 4])
    assert_valid(asked_is_made(story.run_events()))


def test_a_move_that_may_have_been_cancelled_last_may_be_anywhere() -> None:
    story = moved()
    wish(story, [4, 5])
    wish(story, None, type="info", error="REQUEST_TIMED_OUT")
    move(story, [4, 5])
    shows(story, [6, 5])
    assert_valid(asked_is_made(story.run_events()))


def test_without_wishes_there_was_no_occasion() -> None:
    clauses = {each.name: each for each in judged(clean()).clauses}
    assert clauses["moves"].verdict is clauses["moved"].verdict is None
    assert "nobody asked for other replicas" in clauses["moves"].note


def why_none(story: Story, name: str) -> str:
    """Why there was no occasion for the clause; nothing, where there was one."""
    clause = clause_of(judged(story), name)
    return clause.note if clause.verdict is None else ""


def test_hardly_a_wish_that_was_granted_was_no_occasion() -> None:
    story = Story()
    create(story, "m", {"assignment": MADE}, MOVED)
    wish(story, [6, 5])
    wish(story, [6, 5], 1, type="info", error="REQUEST_TIMED_OUT")
    for each in ("moves", "moved"):
        assert "hardly a wish for replicas was granted" in why_none(story, each)


def test_one_change_that_only_a_lost_wish_explains_was_no_occasion() -> None:
    story = LogStory(readers=("c1",))
    create(story, "m", {"assignment": MADE}, MOVED)
    logged(story, "m", MOVED, *MADE)
    wish(story, [6, 5], type="info", error="REQUEST_TIMED_OUT")
    move(story, [6, 5], rises=True)
    assert asked_is_made(story.run_events()).figures["moves"] == 1
    assert "hardly a wish for replicas was granted" in why_none(story, "moves")


def test_where_moves_are_was_not_to_be_seen_before_the_cluster_settled() -> None:
    story = Story()
    create(story, "m", {"assignment": MADE}, MOVED)
    wish(story, [6, 5])
    wish(story, [6, 5], 1)
    story.final(settled=False)
    shows(story, [4, 5])
    assert_valid(asked_is_made(story.run_events()))
    assert "was not seen to settle" in why_none(story, "moved")
    assert "hardly" not in why_none(story, "moves")


def where_moved(*last: tuple[list[int] | None, int], reads: int = 2) -> Story:
    """These wishes for other replicas of partitions were granted; so often the end is read."""
    story = Story()
    create(story, "m", {"assignment": MADE}, MOVED)
    for replicas, number in last:
        wish(story, replicas, number)
    story.final()
    for _ in range(reads):
        shows(story, [6, 5])
    return story


@pytest.mark.parametrize(("reads", "seen"), [(0, 0), (1, 1), (2, 2), (3, 2)])
def test_two_partitions_in_one_read_are_one_sighting(reads: int, seen: int) -> None:
    moved = clause_of(judged(where_moved(([6, 5], 0), ([6, 5], 1), reads=reads)), "moved")
    assert moved.compared == seen
    assert moved.verdict is (Verdict.VALID if seen == 2 else Verdict.UNKNOWN)


@pytest.mark.parametrize("reads", [0, 1, 3])
@pytest.mark.parametrize(
    "wishes",
    [
        [([4, 5], 0), ([6, 5], 0)],
        [([6, 5], 0), (None, 1)],
        [([6, 5], 0), ([6, 5], 1), (None, 1)],
    ],
    ids=["moved twice", "the other is cancelled", "the other may be cancelled"],
)
def test_one_partition_that_was_moved_is_no_occasion_however_often_it_is_read(
    wishes: list[tuple[list[int] | None, int]], reads: int
) -> None:
    story = where_moved(*wishes, reads=reads)
    assert "of hardly a partition is known" in why_none(story, "moved")
    assert not why_none(story, "moves"), "two wishes were granted"


def test_a_wish_that_was_refused_moves_nothing() -> None:
    story = where_moved(([6, 5], 0), ([5, 6], 0), ([6, 5], 0), reads=0)
    wish(story, [6, 5], 1, type="fail")
    assert "of hardly a partition is known" in why_none(story, "moved")


def test_a_wish_that_the_log_has_was_an_occasion() -> None:
    story = LogStory(readers=("c1",))
    create(story, "m", {"assignment": MADE}, MOVED)
    logged(story, "m", MOVED, *MADE)
    wish(story, [6, 5])
    move(story, [6, 5], rises=True)
    assert clause_of(judged(story), "moves").verdict is Verdict.VALID


def test_what_was_granted_may_be_where_nobody_tells_of_the_log() -> None:
    story = moved()
    wish(story, [5, 4])
    untold = story.record("NoOpRecord")
    story.record("NoOpRecord")
    events = story.run_events()
    assert_invalid(asked_is_made(events), "the log never has them")
    known = [each for each in events.of(Evidence) if getattr(each, "offset", -1) != untold]
    assert "never has" not in str(asked_is_made(replace(events, evidence=known)).findings)


def test_replicas_that_the_log_does_not_tell_are_unknown() -> None:
    story = moved()
    story.events = []
    assert clause_of(judged(story), "moves").verdict is Verdict.UNKNOWN


# --- brokers that are taken off -----------------------------------------------------------

ABSENT = {"type": "fail", "error": "NO", "ext": {"asserts": "absent"}}


def with_a_broker() -> LogStory:
    """As `moved`, and broker 9 is back."""
    story = moved()
    serves(story)
    return story


def test_brokers_that_were_to_be_unregistered_are_accepted() -> None:
    outcome = asked_is_made(moved().run_events())
    assert_valid(outcome)
    assert (outcome.figures["unregistered"], outcome.figures["untold"]) == (2, 2)
    again = asked_is_made(with_a_broker().run_events())
    assert (again.figures["unregistered"], again.figures["untold"]) == (2, 2)


@PLANTED.violation("unregisters broker 9, and nobody asked for that", on=with_a_broker)
def broker_that_nobody_wanted_off(story: LogStory) -> None:
    story.unregister(9)


@PLANTED.violation("unregisters broker 9", "or not so often", on=with_a_broker)
def broker_that_is_taken_off_twice(story: LogStory) -> None:
    takes_off(story, records=2)


@PLANTED.violation("unregisters broker 9, and nobody asked for that", on=with_a_broker)
def broker_that_is_taken_off_though_that_was_refused(story: LogStory) -> None:
    takes_off(story, type="fail", error="INVALID_REQUEST")


@PLANTED.violation("unregisters broker 9, and nobody asked for that", on=with_a_broker)
def broker_that_is_taken_off_before_anybody_asked(story: LogStory) -> None:
    story.unregister(9)
    story.wait(60_000)
    takes_off(story, records=0)


@PLANTED.violation("unregisters broker 8, and nobody asked for that", on=with_a_broker)
def another_broker_is_taken_off(story: LogStory) -> None:
    serves(story, 8)
    asked = story.invoke("unregister", "broker-9")
    story.unregister(8)
    story.complete(asked, "ok")


@PLANTED.violation("was granted that broker-9 is unregistered", "no record", on=with_a_broker)
def broker_that_stays_though_it_was_to_go(story: LogStory) -> None:
    takes_off(story, records=0)


@PLANTED.violation("was granted that broker-9 is unregistered", "no record")
def broker_that_had_gone_before(story: LogStory) -> None:
    """Nothing was left to be granted."""
    takes_off(story, records=0)


@PLANTED.violation("was refused, since broker-9 is not registered; it served", on=with_a_broker)
def broker_that_is_said_to_be_none(story: LogStory) -> None:
    takes_off(story, records=0, **ABSENT)


@PLANTED.violation("was refused, since broker-9 is not registered; it served", on=with_a_broker)
def broker_that_went_by_itself_is_said_to_be_none(story: LogStory) -> None:
    story.op("drain", "broker-9", None, {"reason": None})
    takes_off(story, records=0, type="fail", error="INVALID_REQUEST")
    takes_off(story, records=0, **ABSENT)


@PLANTED.violation("b1 tells of broker 9", "s after that was unregistered", on=with_a_broker)
def broker_that_is_told_of_for_long(story: LogStory) -> None:
    goes(story)
    serves(story)
    story.op("kill", "broker-9", None, {"broker_id": 9})
    takes_off(story)
    lists(story, "b1", 4, 9)
    story.wait(8_000)
    lists(story, "b1", 4, 9)


@PLANTED.violation("b2 tells of broker 9", "s after that was unregistered")
def broker_that_is_told_of_again(story: LogStory) -> None:
    lists(story, "b2", 4, 9)


def test_brokers_that_come_and_go_are_accepted() -> None:
    """Unregistered before it was ever there, twice, by a lost request, and while it may be back."""
    story = moved()
    takes_off(story, records=0, **ABSENT)
    lost = takes_off(story, records=0, type="info", error="CLIENT_TIMED_OUT")
    serves(story)
    takes_off(story, records=0, **ABSENT)
    story.unregister(9)
    assert not lost.ok
    serves(story)
    lists(story, "b1", 4, 9)
    goes(story)
    takes_off(story, records=0, **ABSENT)
    takes_off(story, 99, records=0, **ABSENT)
    assert_valid(asked_is_made(story.run_events()))


@pytest.mark.parametrize("end", ["bounce", "drain"])
def test_a_refusal_is_right_while_another_one_may_have_taken_it_off(end: str) -> None:
    story = with_a_broker()
    other = story.invoke("unregister", "broker-9")
    story.op(end, "broker-9", None, {})
    takes_off(story, records=0, **ABSENT)
    story.complete(other, "info")
    assert_valid(asked_is_made(story.run_events()))


def test_a_refusal_that_may_have_followed_its_own_effect_is_right() -> None:
    story = with_a_broker()
    takes_off(story, records=0, **(ABSENT | {"type": "info"}))
    takes_off(story, records=0, type="fail", error="INVALID_REQUEST")
    assert_valid(asked_is_made(story.run_events()))


@pytest.mark.parametrize(
    ("capabilities", "found"), [(None, 1), (["request-ids"], 1), (["feature-levels"], 0)]
)
def test_without_ids_a_lost_request_may_be_carried_out_again(
    capabilities: list[str] | None, found: int
) -> None:
    story = with_a_broker()
    story.plan = {**story.plan, **({} if capabilities is None else {"capabilities": capabilities})}
    takes_off(story, type="info", error="CLIENT_TIMED_OUT")
    serves(story)
    story.unregister(9)
    messages = [each.message for each in asked_is_made(story.run_events()).findings]
    assert sum("or not so often" in each for each in messages) == found


def test_one_that_was_granted_is_not_carried_out_again() -> None:
    story = with_a_broker()
    story.plan = {**story.plan, "capabilities": []}
    takes_off(story)
    serves(story)
    story.unregister(9)
    assert_invalid(asked_is_made(story.run_events()), "or not so often")


def test_what_was_granted_comes_before_what_may_have_been() -> None:
    """One record, and of two requests one has to have it, whichever was asked for first."""
    story = with_a_broker()
    takes_off(story, records=0, type="info", error="CLIENT_TIMED_OUT")
    takes_off(story)
    assert_valid(asked_is_made(story.run_events()))


def test_a_record_may_be_where_nobody_tells_of_the_log() -> None:
    story = with_a_broker()
    untold = story.record("NoOpRecord")
    takes_off(story, records=0)
    story.record("NoOpRecord")
    events = story.run_events()
    assert_invalid(asked_is_made(events), "the log has no record")
    known = [each for each in events.of(Evidence) if getattr(each, "offset", -1) != untold]
    assert_valid(asked_is_made(replace(events, evidence=known)))


def test_a_broker_that_the_log_never_had_is_not_missed_in_it() -> None:
    story = moved()
    takes_off(story, 99, records=0)
    assert_valid(asked_is_made(story.run_events()))


@pytest.mark.parametrize("capabilities", [None, []])
def test_unregistrations_without_a_log(capabilities: list[str] | None) -> None:
    story = moved()
    story.events = []
    story.plan = {**story.plan, **({} if capabilities is None else {"capabilities": capabilities})}
    result = clause_of(judged(story), "unregistered")
    assert result.verdict is (Verdict.UNKNOWN if capabilities is None else None)


def test_nobody_wanted_a_broker_off() -> None:
    for name in APART:
        assert why_none(clean(), name) == "nobody asked to unregister a broker"


def test_where_nothing_was_granted_there_was_no_occasion() -> None:
    story = clean()
    serves(story)
    story.op("kill", "broker-9", None, {"broker_id": 9})
    takes_off(story, records=0, type="fail", error="INVALID_REQUEST")
    lists(story, "b1", 4)
    lists(story, "b2", 4)
    assert why_none(story, "unregistered") == "no broker was unregistered for sure"
    assert "hardly a broker was asked" in why_none(story, "untold")


def test_topics_need_not_be_asked_for() -> None:
    """What is about brokers is judged all the same."""
    story = LogStory(readers=("c1",))
    story.final()
    serves(story)
    goes(story)
    applied = {each.name: each.verdict for each in judged(story).clauses}
    assert {name for name, verdict in applied.items() if verdict is not None} == set(APART)


def told_by(*nodes: str, settled: bool = True, before: str = "kill", wait_s: float = 0) -> Story:
    """These tell of broker 9 when it was unregistered, so long ago."""
    story = LogStory(readers=("c1",))
    create(story, "t", ASKED, TOPIC)
    story.final(settled=settled)
    serves(story)
    story.op(before, "broker-9", None, {})
    takes_off(story)
    story.wait(1000 * wait_s)
    for node in nodes:
        lists(story, node, 4, 9)
    return story


@pytest.mark.parametrize(
    ("story", "verdict"),
    [
        (told_by("b1", "b2"), Verdict.UNKNOWN),
        (told_by("b1", "b2", wait_s=9), Verdict.INVALID),
        (told_by("b1", "b2", wait_s=9, before="drain"), Verdict.INVALID),
        (told_by("b1", "b2", wait_s=9, settled=False), None),
        (told_by("b1", "b2", wait_s=9, before="bounce"), None),
        (told_by("b1", wait_s=1), None),
        (told_by(wait_s=9), None),
    ],
    ids=["at once", "late", "drained", "unsettled", "it runs", "one broker", "nobody"],
)
def test_brokers_have_some_time_to_learn_that_one_is_gone(
    story: Story, verdict: Verdict | None
) -> None:
    assert clause_of(judged(story), "untold").verdict is verdict


def test_who_was_told_before_and_who_refuses_tell_nothing() -> None:
    story = told_by(wait_s=9)
    story.op("list-brokers", None, type="fail", error="CLIENT_TIMED_OUT", node="b1")
    late = story.invoke("list-brokers", None, node="b2")
    serves(story)
    there = [{"id": 9, "host": "h", "port": 9}]
    story.complete(late, "ok", {"brokers": there})
    assert "hardly a broker was asked" in why_none(story, "untold")


# --- preferred leaders --------------------------------------------------------------------


def elect(story: Story, key: str = "e/0", **more: Any) -> Operation:
    return story.op("elect", key, None, None, **more)


def needless(story: Story, key: str = "e/0") -> Operation:
    return elect(story, key, type="fail", error="NO", ext={"asserts": NEEDLESS})


def granted(story: LogStory, isr: list[int], leader: int, number: int = 0) -> None:
    asked = story.invoke("elect", f"e/{number}")
    story.isr(isr, leader, number, LED)
    story.complete(asked)


def elections() -> LogStory:
    """e/0 is led by another one, given back, given other replicas and elected again; e/1 is given
    back by the controller alone, which two clients had asked for in vain, and e is made again."""
    story = LogStory(readers=("c1",), keepers=VOTERS)
    create(story, "e", {"assignment": MADE}, LED)
    logged(story, "e", LED, *MADE)
    needless(story)
    story.isr([5], 5, 0, LED)
    elect(story, type="fail", error="NOT_THERE")
    story.isr([4, 5], 5, 0, LED)
    granted(story, [4, 5], 4)
    needless(story)
    story.op("reassign", "e/0", {"replicas": [5, 4]}, None)
    story.move([5, 4], 0, LED, leader=4)
    granted(story, [5, 4], 5)
    story.isr([5, 4], 4, 1, LED)
    elect(story, "e/1", type="info", error="CLIENT_TIMED_OUT")
    story.isr([5, 4], 5, 1, LED)
    elect(story, "e/1", type="info", error="CLIENT_TIMED_OUT")
    story.drop("e", LED)
    create(story, "e", {"assignment": MADE}, MOVED)
    logged(story, "e", MOVED, *MADE)
    needless(story)
    story.wait(60_000)
    return story


def test_elections_of_which_the_log_has_each_are_accepted() -> None:
    story = elections()
    outcome = asked_is_made(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["elected"] == 5
    assert clause_of(judged(story), "elected").verdict is Verdict.VALID
    story.events = []
    assert asked_is_made(story.run_events()).figures["elected"] == 5, "disks are enough"


@PLANTED.violation("granted an election of e/0", "no record is left", on=elections)
def election_that_was_granted_and_forgotten(story: LogStory) -> None:
    elect(story)


@PLANTED.violation("granted an election of e/0", "3 elections were granted", on=elections)
def two_elections_that_were_granted_for_one_record(story: LogStory) -> None:
    story.events = []
    elect(story)


@PLANTED.violation("granted an election of e/0", "no record is left", on=elections)
def election_of_another_than_the_first_replica(story: LogStory) -> None:
    story.isr([4, 5], 4, 0, MOVED)
    story.wait(60_000)
    asked = story.invoke("elect", "e/0")
    story.isr([4, 5], 5, 0, MOVED)
    story.complete(asked)


@PLANTED.violation("granted an election of e/0", "no record is left", on=elections)
def election_of_which_the_record_is_older_as_an_observer_was_shown(story: LogStory) -> None:
    story.isr([5], 5, 0, MOVED)
    story.isr([4, 5], 4, 0, MOVED)
    story.events = []
    view = {"leader": 1, "leader_epoch": 1, "high_watermark": story.offset}
    story.ask("c1", "describe-quorum", {**view, "voters": [[1, story.offset]]})
    elect(story)


@PLANTED.violation("granted an election of f/0", "the leader by no record", on=elections)
def election_of_a_partition_that_nobody_made(story: LogStory) -> None:
    elect(story, "f/0")


@PLANTED.violation("an election of g/0, was refused as needless", "no record", on=elections)
def election_that_was_refused_where_the_first_replica_never_led(story: LogStory) -> None:
    create(story, "g", {"assignment": [[4, 5]]}, FIFTH)
    story.topic("g", FIFTH)
    story.new_partition([4, 5], 0, FIFTH, leader=5)
    needless(story, "g/0")


@PLANTED.violation("an election of e/0, was refused as needless", on=elections)
def election_that_was_refused_though_another_one_led(story: LogStory) -> None:
    """By a controller that knows whether it leads."""
    story.plan = {**story.plan, "capabilities": ["linearizable-topic-read"]}
    story.isr([4, 5], 5, 0, MOVED)
    story.wait(60_000)
    needless(story)


def test_without_elections_there_was_no_occasion() -> None:
    assert "nobody asked for an election" in why_none(clean(), "elected")


def test_elections_that_the_log_does_not_tell_are_unknown() -> None:
    story = elections()
    story.keepers = ()
    story.disks.evidence.clear()
    story.events = []
    assert clause_of(judged(story), "elected").verdict is Verdict.UNKNOWN


# --- what looks alarming, and is right ----------------------------------------------------


def test_end_of_the_log_may_be_in_the_middle_of_a_topic() -> None:
    story = clean()
    create(story, "v", ASKED, FIFTH)
    story.topic("v", FIFTH)
    story.config("retention.ms", "60000", "v")
    story.new_partition(MADE[0], 0, FIFTH)
    assert_valid(asked_is_made(story.run_events()))
    story.record("NoOpRecord")
    assert_invalid(asked_is_made(story.run_events()), "topic v")


def test_configuration_that_is_changed_later_is_not_the_creates() -> None:
    story = clean()
    create(story, "v", PLACED, FIFTH)
    logged(story, "v", FIFTH, *PLACED["assignment"])
    story.config("retention.ms", "1", "v")
    story.topic("w", "66666666-6666-6666-6666-666666666666")
    story.config("retention.ms", "1", "v")
    assert_valid(asked_is_made(story.run_events()))


def test_topic_may_be_what_any_lost_create_asked_for() -> None:
    """Also one that began later than another, and one that is still under way."""
    story = Story()
    create(story, "t", ASKED, None)
    story.op("describe", "t", None, topic(*MADE))
    story.invoke("create", "t", {"partitions": 1, "replication": 1})
    story.op("describe", "t", None, topic([4], topic_id=OTHER))
    assert_valid(asked_is_made(story.run_events()))


def test_create_that_began_after_a_read_is_not_what_it_shows() -> None:
    story = Story()
    create(story, "t", {"partitions": 1, "replication": 1}, None)
    story.op("describe", "t", None, topic(*MADE))
    create(story, "t", ASKED, None)
    assert_invalid(asked_is_made(story.run_events()), "operation 0 asked for")


def test_caches_that_did_not_settle_may_lag() -> None:
    story = Story()
    create(story, "t", ASKED, TOPIC)
    story.op("describe", "t", None, topic(*MADE))
    story.final(settled=False)
    story.op("metadata", "t", None, topic(MADE[0]))
    story.op("describe-configs", "t", None, {"configs": []})
    assert_valid(asked_is_made(story.run_events()))
    configurations = clause_of(judged(story), "configurations")
    assert configurations.verdict is None and "was not seen to settle" in configurations.note


def test_configuration_may_be_of_a_topic_that_came_between_two_reads() -> None:
    story = Story()
    create(story, "t", ASKED, TOPIC)
    story.op("delete", "t", type="info")
    create(story, "t", PLACED, None)
    story.final()
    story.op("describe", "t", None, topic(*MADE))
    story.op("describe-configs", "t", None, {"configs": []})
    assert_valid(asked_is_made(story.run_events()))


@pytest.mark.parametrize(
    "asked",
    [
        None,
        {},
        {"partitions": 1},
        {"partitions": -1, "replication": 2},
        {"partitions": 0, "replication": 0},
    ],
)
def test_what_was_not_asked_for_is_the_systems_choice(asked: Any) -> None:
    story = Story()
    create(story, "t", asked, TOPIC)
    story.op("describe", "t", None, topic([4, 5]))
    assert_valid(asked_is_made(story.run_events()))


# --- what shows something -----------------------------------------------------------------


def test_an_answer_that_tells_all_is_one() -> None:
    story = Story()
    create(story, "t", ASKED, TOPIC, num_partitions=2, replication_factor=2, configs=[])
    assert asked_is_made(story.run_events()).figures["answers"] == 1


WRONG = topic([4])


@pytest.mark.parametrize(
    ("f", "result", "type"),
    [
        ("describe", WRONG, "fail"),
        ("describe", {**WRONG, "topic_id": None}, "ok"),
        ("describe", None, "ok"),
        ("describe", {"topic_id": TOPIC}, "ok"),
        ("delete", WRONG, "ok"),
    ],
)
def test_what_shows_nothing_of_a_topic(f: str, result: Any, type: CompletionType) -> None:
    story = Story()
    create(story, "t", ASKED, TOPIC)
    story.op(f, "t", None, result, type=type)
    outcome = asked_is_made(story.run_events())
    assert outcome.findings == [] and outcome.figures["reads"] == 0


def test_a_read_that_tells_no_id_is_of_no_create() -> None:
    story = Story()
    create(story, "t", ASKED, None)
    story.op("describe", "t", None, {**WRONG, "topic_id": None})
    outcome = asked_is_made(story.run_events())
    assert outcome.findings == [] and outcome.figures["reads"] == 0


def test_replicas_that_are_not_reported_of_some_partitions() -> None:
    story = Story()
    create(story, "t", ASKED, TOPIC)
    shown = {"topic_id": TOPIC, "partitions": [{"partition": 0}, {"partition": 1}]}
    story.op("describe", "t", None, shown)
    assert_valid(asked_is_made(story.run_events()))
    shown["partitions"][1] |= {"replicas": [4]}  # type: ignore[index, operator]
    assert_invalid(asked_is_made(story.run_events()), "partition 1 on [4], not on 2 brokers")


def test_a_create_without_an_answer_may_be_that_of_any_id() -> None:
    story = Story()
    story.op("create", "t", ASKED, {"topic_id": OTHER}, type="info")
    story.op("describe", "t", None, WRONG)
    outcome = asked_is_made(story.run_events())
    assert_invalid(outcome, "operation 0 asked for")
    assert outcome.findings[0].operations == (0, 2) and not outcome.findings[0].events


@pytest.mark.parametrize(
    ("result", "type"), [({"configs": []}, "fail"), (None, "ok"), ("nothing", "ok")]
)
def test_what_shows_no_configuration(result: Any, type: CompletionType) -> None:
    story = Story()
    create(story, "t", ASKED, TOPIC)
    story.op("describe-configs", "t", None, {"configs": []})  # before the end
    story.final()
    story.op("describe", "t", None, topic(*MADE))
    story.op("describe-configs", "t", None, result, type=type)
    story.op("describe-configs", "gone", None, {"configs": []})
    outcome = asked_is_made(story.run_events())
    assert outcome.findings == [] and outcome.figures["configurations"] == 0


def test_configuration_of_a_name_that_two_topics_have_in_the_end() -> None:
    story = Story()
    create(story, "t", ASKED, TOPIC)
    create(story, "t", ASKED, OTHER)
    story.final()
    for each in (TOPIC, OTHER):
        story.op("describe", "t", None, topic(*MADE, topic_id=each))
    story.op("describe-configs", "t", None, {"configs": []})
    assert_valid(asked_is_made(story.run_events()))


def test_configurations_that_were_asked_for_before_the_end_are_no_occasion() -> None:
    story = Story()
    for name, each in (("t", TOPIC), ("u", OTHER)):
        create(story, name, ASKED, each)
        story.op("describe-configs", name, type="fail", error="CLIENT_TIMED_OUT")
    story.final()
    for name, each in (("t", TOPIC), ("u", OTHER)):
        story.op("describe", name, None, topic(*MADE, topic_id=each))
    story.op("describe-configs", "u", type="fail", error="CLIENT_TIMED_OUT")
    configurations = clause_of(judged(story), "configurations")
    assert configurations.verdict is None and "too few topics were left" in configurations.note


def test_nobody_asked_how_topics_are_configured() -> None:
    story = clean()
    story.operations = [each for each in story.operations if each.f != "describe-configs"]
    assert "nobody asked how" in clause_of(judged(story), "configurations").note


@pytest.mark.parametrize(
    ("other", "outcome", "verdict"),
    [
        ("describe", "ok", None),
        ("create", "info", None),
        ("create", "fail", None),
        ("create", "ok", Verdict.UNKNOWN),  # which tells nothing
    ],
)
def test_of_one_topic_alone_nothing_can_be_confused(
    other: str, outcome: str, verdict: Verdict | None
) -> None:
    story = Story()
    create(story, "t", ASKED, TOPIC, num_partitions=2)
    story.op(other, "u", ASKED, {"topic_id": OTHER} if outcome == "ok" else None, type=outcome)
    answers = clause_of(judged(story), "answers")
    assert answers.verdict is verdict
    assert verdict is not None or answers.note == "clients were acknowledged one topic alone"


def after_its_partitions(plant: Callable[[LogStory], Any]) -> LogStory:
    """Records that follow those of a topic at once."""
    story = clean()
    create(story, "v", {"partitions": 1, "replication": 2}, FIFTH)
    story.topic("v", FIFTH)
    story.config("retention.ms", None, "v")  # says that there is none
    story.new_partition(MADE[0], 0, FIFTH)
    plant(story)
    story.record("NoOpRecord")
    return story


@pytest.mark.parametrize(
    "plant",
    [
        lambda story: story.new_partition(MADE[1], 1, OTHER),
        lambda story: story.config("retention.ms", "1", "v"),
        lambda story: story.config("retention.ms", "1", "w"),
    ],
)
def test_records_that_are_not_the_topics(plant: Callable[[LogStory], Any]) -> None:
    assert_valid(asked_is_made(after_its_partitions(plant).run_events()))


def test_configuration_of_another_topic_is_not_its() -> None:
    story = clean()
    create(story, "v", {"partitions": 0}, FIFTH)
    story.topic("v", FIFTH)
    story.config("retention.ms", "1", "w")
    story.record("RequestRecord", request_id="r", answer="")
    assert_valid(asked_is_made(story.run_events()))


@pytest.mark.parametrize(
    ("before", "fits"),
    [
        ([("v", "60000")], True),
        ([("v", "1"), ("v", "60000")], True),
        ([("w", "1"), ("v", "60000")], True),
        ([("v", "60000"), ("w", "1")], False),
        ([("v", "60000"), ("v", None)], False),
        ([("v", None), ("v", "60000")], True),
        ([("v", "60000"), ("v", "1")], False),
        ([("v", "1")], False),
        ([("w", "60000")], False),
        ([], False),
    ],
)
def test_a_create_may_set_the_configuration_before_the_topic(
    before: list[tuple[str, str | None]], fits: bool
) -> None:
    """As Apache Kafka 3.3 has it."""
    story = clean()
    create(story, "v", ASKED, FIFTH)
    for name, value in before:
        story.config("retention.ms", value, name)
    story.topic("v", FIFTH)
    for number, each in enumerate(MADE):
        story.new_partition(each, number, FIFTH)
    story.record("NoOpRecord")
    judged = asked_is_made(story.run_events())
    assert_valid(judged) if fits else assert_invalid(judged, "topic v")


def test_of_several_configurations_before_the_topic_the_last_of_each_counts() -> None:
    asked = {**ASKED, "configs": [["retention.ms", "60000"], ["cleanup.policy", "compact"]]}
    story = clean()
    create(story, "v", asked, FIFTH)
    for name, value in (("retention.ms", "1"), *asked["configs"]):
        story.config(name, value, "v")
    logged(story, "v", FIFTH, *MADE)
    outcome = asked_is_made(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["log"] == 4


def test_a_finding_of_the_log_shows_the_topics_records() -> None:
    story = clean()
    records_without_the_configuration(story)
    (found,) = asked_is_made(story.run_events()).findings
    assert [each["type"] for each in found.events] == [
        "topic-created",
        "partition-created",
        "partition-created",
    ]


def test_a_create_that_began_after_the_records_did_not_make_them() -> None:
    story = clean()
    logged(story, "v", FIFTH, MADE[0])
    create(story, "v", ASKED, None)
    assert_valid(asked_is_made(story.run_events()))


# --- brute force --------------------------------------------------------------------------

BROKERS = (4, 5)
Topic = dict[int, tuple[int, ...]]


def placements(width: int) -> list[tuple[int, ...]]:
    return list(itertools.permutations(BROKERS, width))


def allowed(asked: dict[str, Any]) -> Iterator[Topic]:
    """Every topic that a create may make, on these brokers."""
    if "assignment" in asked:
        yield {number: tuple(each) for number, each in enumerate(asked["assignment"])}
        return
    for made in itertools.product(placements(asked["replication"]), repeat=asked["partitions"]):
        yield dict(enumerate(made))


Asked = st.one_of(
    st.fixed_dictionaries({"partitions": st.integers(1, 2), "replication": st.integers(1, 2)}),
    st.fixed_dictionaries(
        {"assignment": st.lists(st.sampled_from([[4], [5], [4, 5], [5, 4]]), max_size=2)}
    ),
)
Seen = st.dictionaries(
    st.integers(0, 2), st.sampled_from([(4,), (5,), (4, 5), (5, 4), (4, 4)]), max_size=3
)


@settings(max_examples=cases(300), deadline=None)
@given(
    creates=st.lists(st.tuples(Asked, st.sampled_from(["ok", "info", "fail"])), max_size=3),
    seen=Seen,
    f=st.sampled_from(["describe", "metadata"]),
)
def test_agrees_with_brute_force(
    creates: list[tuple[dict[str, Any], str]], seen: Topic, f: str
) -> None:
    """One read of a topic; the first create that was answered made it, if any was."""
    story = Story()
    for number, (asked, kind) in enumerate(creates):
        answer = {"topic_id": TOPIC if all(each[1] != "ok" for each in creates[:number]) else "x"}
        story.op("create", "t", asked, answer if kind == "ok" else None, type=kind)
    partitions = [{"partition": at, "replicas": list(each)} for at, each in seen.items()]
    story.op(f, "t", None, {"topic_id": TOPIC, "partitions": partitions})
    own = [asked for asked, kind in creates if kind == "ok"][:1]
    makers = own or [asked for asked, kind in creates if kind == "info"]
    fits = any(
        seen == made or (f == "metadata" and seen.items() <= made.items())
        for asked in makers
        for made in allowed(asked)
    )
    outcome = asked_is_made(story.run_events())
    assert bool(outcome.findings) == bool(makers and not fits)
    assert outcome.figures.get("reads", 0) == bool(makers)


def test_what_is_set_for_all_brokers_and_for_one_are_two_settings() -> None:
    """Of one whose fate nobody knows, either is right."""
    story = changed()
    for_all(story, "7")
    shows_configs(story, "brokers", {"message.max.bytes": "7"})
    shows_configs(story, "broker-4", {"log.segment.bytes": "6"})
    change(story, "brokers", {"message.max.bytes": None}, type="info", error="X")
    for told in ({"message.max.bytes": "7"}, {}):
        shows_configs(story, "brokers", told)
    found = judged(story)
    assert found.verdict is Verdict.VALID, found.findings


# --- what controllers are asked -----------------------------------------------------------


def test_dry_runs_and_answers_of_controllers_are_accepted() -> None:
    outcome = asked_is_made(moved().run_events())
    assert_valid(outcome)
    assert outcome.clauses["dry-runs"] == 5
    assert outcome.clauses["controllers"] == 9


@PLANTED.violation("topic never, id bbbb", "nobody but dry runs asked for it")
def a_dry_run_that_made_a_topic(story: LogStory) -> None:
    logged(story, "never", NOT_ASKED, *MADE)


@PLANTED.violation("topic never, id bbbb", "nobody but dry runs asked for it")
def a_dry_run_whose_topic_a_client_is_shown(story: Story) -> None:
    story.op("metadata", "never", None, topic(*MADE, topic_id=NOT_ASKED))


@PLANTED.violation("topic d, id bbbb", "nobody but dry runs asked for it")
def a_dry_run_that_made_a_topic_once_more(story: LogStory) -> None:
    """Where a create makes one topic, and that one is another."""
    story.plan = {**story.plan, "capabilities": ["request-ids", "evidence:applied"]}
    logged(story, "d", NOT_ASKED, *MADE, retention_ms="60000")


@PLANTED.violation("has num_partitions 3, not 2")
def a_dry_run_of_something_else(story: Story) -> None:
    tries(story, "never", exists=False, told={"num_partitions": 3})


@PLANTED.violation("topic never is there", "at none of its points")
def a_topic_that_never_was(story: Story) -> None:
    tries(story, "never", exists=True)


@PLANTED.violation("topic g is there", "create of g", "asked for only later")
def a_topic_that_is_only_to_come(story: LogStory) -> None:
    tries(story, "g", exists=True)
    create(story, "g", ASKED, NOT_ASKED)
    logged(story, "g", NOT_ASKED, *MADE, retention_ms="60000")


@PLANTED.violation("there is no topic g", "delete of g", "asked for only later")
def a_topic_that_is_only_to_go(story: LogStory) -> None:
    create(story, "g", ASKED, NOT_ASKED)
    logged(story, "g", NOT_ASKED, *MADE, retention_ms="60000")
    tries(story, "g", "c1", exists=True)
    told(story, "g", "c1", {"retention.ms": "60000"})
    told(story, "g", "c1", None)
    story.record("RemoveTopicRecord", topic_id=NOT_ASKED)
    story.delete("g", NOT_ASKED)


def test_what_was_asked_for_while_a_dry_run_was_under_way_may_be_there() -> None:
    story = moved()
    asked = story.invoke("dry-create", "g", ASKED, node="b1")
    create(story, "g", ASKED, NOT_ASKED)
    logged(story, "g", NOT_ASKED, *MADE, retention_ms="60000")
    story.complete(asked, "ok", {"exists": True})
    assert_valid(asked_is_made(story.run_events()))


@PLANTED.violation("'retention.ms': '7'", "at none of its points")
def a_configuration_that_never_was(story: Story) -> None:
    told(story, "d", "c3", {"retention.ms": "7"})


@PLANTED.violation("topic d is there", "the same process had reached that in operation")
def an_active_controller_that_goes_back(story: Story) -> None:
    tries(story, "d", "c1", exists=True)


@PLANTED.violation("'segment.bytes': '7'", "the same process had reached that in operation")
def a_cache_of_a_controller_that_goes_back(story: Story) -> None:
    for value in ("8", "7"):
        told(story, "c", "c2", {"segment.bytes": value})


def led() -> LogStory:
    """c1 leads, and acknowledges a topic; then c2 does. A fault holds from the begin on, so that
    nobody owes what others acknowledged."""
    story = LogStory(readers=("c1",))
    story.inject(healed=False, healed_ns=None)
    story.record("LeaderChange", leader_id=1)
    for name, topic_id in (("d", TRIED_ID), ("e", NEXT)):
        create(story, name, ASKED, topic_id)
        logged(story, name, topic_id, *MADE, retention_ms="60000")
    story.epoch = 2
    story.record("LeaderChange", leader_id=2)
    create(story, "f", ASKED, FIFTH)
    logged(story, "f", FIFTH, *MADE, retention_ms="60000")
    for _ in range(5):
        tries(story, "d", "c2", exists=True)
        tries(story, "never", exists=False)
    return story


@PLANTED.violation("there is no topic e", "acknowledged by that controller itself", on=led)
def a_controller_that_forgets_what_it_acknowledged(story: Story) -> None:
    tries(story, "e", "c1", exists=False)


@PLANTED.violation("there is no topic f", "acknowledged before", on=led)
def a_dry_run_that_is_late_where_reads_are_linearizable(story: Story) -> None:
    story.plan = {**story.plan, "capabilities": ["linearizable-topic-read", "evidence:applied"]}
    tries(story, "f", exists=False)


def healed() -> LogStory:
    """Likewise, and long after that fault had ended."""
    story = led()
    story.faults[:] = [replace(each, healed=True, healed_ns=story.now_ns) for each in story.faults]
    story.wait(60_000)
    create(story, "g", ASKED, LOST)
    logged(story, "g", LOST, *MADE, retention_ms="60000")
    story.wait(60_000)
    return story


@PLANTED.violation("there is no topic g", "acknowledged long before", on=healed)
def a_deposed_controller_that_answers_in_peace(story: Story) -> None:
    tries(story, "g", "c1", exists=False)


@PLANTED.violation("there is no topic g", "acknowledged long before", on=healed)
def a_cache_of_a_controller_that_stays_behind(story: Story) -> None:
    told(story, "g", "c3", None)


@pytest.mark.parametrize(
    "late",
    [
        lambda story: tries(story, "f", "c1", exists=False),
        lambda story: tries(story, "f", exists=False),
        lambda story: (tries(story, "f", exists=True), tries(story, "f", exists=False))[1],
        lambda story: told(story, "f", "c1", None),
        lambda story: told(story, "d", "c2", None),
        lambda story: told(story, "d", "c1", {}),
    ],
    ids=[
        "deposed",
        "by a broker",
        "by a broker that asks another one",
        "a cache",
        "a cache of who leads",
        "a cache of who led",
    ],
)
def test_what_was_deposed_or_is_a_cache_may_be_late_under_faults(
    late: Callable[[Story], Operation],
) -> None:
    story = led()
    late(story)
    assert_valid(asked_is_made(story.run_events()))


def test_a_process_that_was_killed_begins_anew() -> None:
    story = moved()
    story.inject(fault="kill", lasts_ms=20, victims={"c2": []})
    told(story, "d", "c2", None)
    told(story, "d", "c2", {"retention.ms": "60000"})
    assert_valid(AskedIsMade().check_run(story.run_events()))


def test_dry_runs_that_overlap_have_no_order() -> None:
    story = led()
    first = story.invoke("controller-dry-create", "f", ASKED, node="c3")
    later = story.invoke("controller-dry-create", "f", ASKED, node="c3")
    story.complete(later, "ok", {"exists": False})
    story.complete(first, "ok", {"exists": True})
    assert_valid(asked_is_made(story.run_events()))


def test_a_create_that_is_sent_again_may_make_a_topic_of_a_name_that_is_tried() -> None:
    """Without ids of requests one that was acknowledged may have made another one before."""
    story = moved()
    story.plan = {**story.plan, "capabilities": ["evidence:applied"]}
    logged(story, "d", NOT_ASKED, *MADE, retention_ms="60000")
    assert_valid(asked_is_made(story.run_events()))


def test_a_create_of_unknown_fate_may_have_made_it() -> None:
    story = moved()
    story.plan = {**story.plan, "capabilities": ["request-ids", "evidence:applied"]}
    create(story, "d", ASKED, None)
    logged(story, "d", NOT_ASKED, *MADE, retention_ms="60000")
    assert_valid(asked_is_made(story.run_events()))


@pytest.mark.parametrize(("capabilities", "ids"), [([], False), (["request-ids"], True)])
def test_without_ids_a_create_may_have_made_another_topic_than_it_was_answered_with(
    capabilities: list[str], ids: bool
) -> None:
    """It was sent again, when what it had made first was deleted."""
    story = LogStory()
    story.plan = {**story.plan, "capabilities": ["evidence:applied", *capabilities]}
    story.op("create", "u", {"partitions": 1}, type="info", error="CLIENT_TIMED_OUT")
    under_way = story.invoke("create", "u", ASKED)
    for topic_id in (LOST, NEXT):
        logged(story, "u", topic_id, *MADE, retention_ms="60000")
        if topic_id == LOST:
            story.drop("u", LOST)
    story.complete(under_way, "ok", {"topic_id": NEXT})
    wrong = [each for each in asked_is_made(story.run_events()).findings if each.clause == "log"]
    assert [LOST in each.message for each in wrong] == [True] * ids


@pytest.mark.parametrize("clause", TRIED)
@pytest.mark.parametrize("asked", [0, 9])
def test_nobody_tried_anything(clause: str, asked: int) -> None:
    """Or not often."""
    assert "hardly" in why_none(tried_in_vain(asked), clause)


@pytest.mark.parametrize("clause", TRIED)
def test_who_is_told_nothing_though_it_asks_often_knows_nothing(clause: str) -> None:
    assert clause_of(judged(tried_in_vain(10)), clause).verdict is Verdict.UNKNOWN


def tried_in_vain(times: int) -> LogStory:
    story = clean()
    for _ in range(times):
        tries(story, "t", "c1", type="fail", error="CLIENT_TIMED_OUT")
    return story


def test_a_system_without_a_log_has_none_to_try_creates_against() -> None:
    story = tried_in_vain(10)
    story.plan = {**story.plan, "capabilities": []}
    for clause in TRIED:
        assert why_none(story, clause).startswith("by its plan the system gives no evidence")


def test_who_shows_a_topic_that_was_only_tried_is_a_witness() -> None:
    """Beside the first five that tried."""
    story = clean()
    tried_ = [tries(story, "never", exists=False) for _ in range(7)]
    read = story.op("metadata", "never", None, topic(*MADE, topic_id=NOT_ASKED))
    (found,) = asked_is_made(story.run_events()).findings
    assert list(found.operations) == [each.index for each in [*tried_[:5], read]]


@pytest.mark.parametrize("look", ["describe", "follow", "metadata"])
def test_without_a_log_dry_runs_are_judged_by_who_looked(look: str) -> None:
    """And was answered."""
    story = LogStory(readers=())
    create(story, "t", ASKED, TOPIC)
    for name in ("never", "never", "unseen"):
        tries(story, name, exists=False)
    story.op(look, "never", None, None)
    story.op(look, "unseen", type="info", error="CLIENT_TIMED_OUT")
    assert asked_is_made(story.run_events()).clauses["dry-runs"] == 2
    story.op(look, "never", None, topic(*MADE, topic_id=NOT_ASKED))
    assert_invalid(asked_is_made(story.run_events()), "nobody but dry runs asked for it")


@pytest.mark.parametrize(("name", "own"), [("min.insync.replicas", True), ("unasked", False)])
def test_what_a_system_sets_for_all_brokers_of_its_own_accord(name: str, own: bool) -> None:
    """Apache Kafka's controllers do that with one setting, where they track who is eligible to
    lead (KIP-966)."""
    story = changed()
    story.config(name, "1", "", kind=4)
    for_all(story, "7")
    shows_configs(story, "brokers", {"message.max.bytes": "7", name: "1"})
    found = judged(story)
    assert (found.verdict is Verdict.VALID) == own, found.findings


@PLANTED.violation("gives 4 min.insync.replicas=1", "nobody had asked for that")
def a_setting_of_one_broker_that_nobody_asked_for(story: LogStory) -> None:
    change(story, "broker-4", {"log.segment.bytes": "6"})
    story.config("min.insync.replicas", "1", "4", kind=4)
