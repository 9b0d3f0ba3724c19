"""What configurations may be that are changed, by clients and the log
(`folds/requests/configured.py`)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.folds.metadata_log.committed_log import CommittedLog
from checkers.folds.requests.config_changes import by_brokers, by_the_log, granted_changes
from checkers.folds.requests.configured import (
    BY_ITSELF,
    Changes,
    Logged,
    Write,
    changes_of,
    last_writes,
    may_be,
    of_nobody,
    unmade,
)
from framework.evidence.changes import (
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    Change,
    ConfigSet,
    TopicCreated,
    TopicRemoved,
)
from framework.evidence.ids import LeaderEpoch, Offset
from framework.history.pairing import CompletionType, Operation
from framework.testing.story import Story
from tests.cases import cases

NAME: Final = "segment.bytes"
T: Final = (TOPIC_RESOURCE, "t")
B: Final = (BROKER_RESOURCE, "4")


def asks(story: Story, value: str | None, key: str = "t", **more: Any) -> Operation:
    f = "configure-broker" if key.startswith("broker") else "configure"
    asked = {"delete": [NAME]} if value is None else {"set": [[NAME, value]]}
    return story.op(f, key, asked, None, **more)


# --- what was asked for -------------------------------------------------------------------


def test_changes_are_by_what_they_change_and_refused_ones_are_none() -> None:
    story = Story()
    first = story.op("configure", "t", {"set": [["a", "1"], ["b", "2"]], "delete": ["c"]}, None)
    asks(story, "3", type="fail", error="INVALID_CONFIG")
    lost = asks(story, "4", type="info")
    of_broker = asks(story, "5", "broker-4")
    of_all = asks(story, "6", "brokers")
    story.op("create", "t", {"configs": [["a", "7"]]}, None)
    assert changes_of(story.operations) == {
        T: {
            "a": [Write(first, "1")],
            "b": [Write(first, "2")],
            "c": [Write(first, None)],
            NAME: [Write(lost, "4")],
        },
        B: {NAME: [Write(of_broker, "5")]},
        (BROKER_RESOURCE, ""): {NAME: [Write(of_all, "6")]},
    }


def test_settings_of_a_broker_that_were_granted_count_once() -> None:
    story = Story()
    for value in ("1", "2"):
        asks(story, value, "broker-4")
    asks(story, "1", "broker-5", type="info")
    story.op("configure-broker", "broker-4", {"set": [["a", "1"]], "delete": [NAME]}, None)
    asks(story, "1")
    assert granted_changes(story.operations) == (4, 2)


# --- the register, against all orders -----------------------------------------------------


@dataclass(frozen=True)
class History:
    """Writes of one setting, a read of it, and the create that made it (None: it was there)."""

    writes: tuple[Write, ...]
    read: Operation
    create: Operation | None
    first: str | None


Kinds = st.sampled_from(["ok", "ok", "ok", "info", "pending"])


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Intervals that overlap at random; of the read it is sure that it ends."""
    count = draw(st.integers(0, 4))
    made = draw(st.booleans())
    kinds = [draw(Kinds) for _ in range(count)]
    who = [*range(count), "read", *(["create"] if made else [])]
    ends = draw(st.permutations([each for each in who for _ in range(2)]))
    begin: dict[Any, int] = {}
    end: dict[Any, int] = {}
    for index, each in enumerate(ends):
        (end if each in begin else begin)[each] = index
    create_kind = draw(st.sampled_from(["ok", "info"]))

    def operation(each: Any, f: str, kind: str) -> Operation:
        type_: CompletionType = "ok" if kind == "ok" else "info"
        stop = None if kind == "pending" else end[each]
        return Operation(index=begin[each], f=f, type=type_, end=stop)

    values = st.sampled_from(["1", "2", None])
    writes = [Write(operation(n, "configure", kinds[n]), draw(values)) for n in range(count)]
    writes.sort(key=lambda each: each.operation.index)
    read = operation("read", "describe-configs", "ok")
    create = operation("create", "create", create_kind) if made else None
    return History(tuple(writes), read, create, draw(values) if made else None)


def before(one: Operation, other: Operation) -> bool:
    """In any order that is possible: an operation of unknown fate has no end."""
    return one.type == "ok" and one.end is not None and one.end < other.index


def orders(operations: Sequence[Operation]) -> Iterator[Sequence[Operation]]:
    """All in which operations may have taken effect."""
    for order in itertools.permutations(operations):
        if not any(before(later, one) for one, later in itertools.combinations(order, 2)):
            yield order


def readable(history: History) -> set[str | None]:
    """The values that the read may show, by trying all orders of all that may have happened."""
    sure = [each.operation for each in history.writes if each.operation.ok]
    lost = [each.operation for each in history.writes if not each.operation.ok]
    value = {id(each.operation): each.value for each in history.writes}
    found = set[str | None]()
    for size in range(len(lost) + 1):
        for some in itertools.combinations(lost, size):
            made = [] if history.create is None else [history.create]
            for order in orders([*sure, *some, *made, history.read]):
                at = order.index(history.read)
                if made and order.index(made[0]) > at:
                    continue  # what it shows is of the topic that this made
                seen: str | None = None
                for each in order[:at]:
                    seen = history.first if each is history.create else value[id(each)]
                found.add(seen)
    return found


@settings(max_examples=cases(400), deadline=None)
@given(histories())
def test_what_may_be_is_what_some_order_shows(history: History) -> None:
    expected = readable(history)
    if expected:  # else the create came after the read
        found = may_be(history.first, history.create, history.writes, history.read)
        assert set(found) == expected


def places_exist(writes: Sequence[Write], held: Sequence[str | None]) -> bool:
    """Whether each acknowledged write has a place, none before one that it surely followed."""
    own = [each for each in writes if each.operation.ok]
    fitting = [[at for at, value in enumerate(held) if value == each.value] for each in own]
    for places in itertools.product(*fitting):
        pairs = itertools.permutations(zip(own, places, strict=True), 2)
        if all(
            one[1] <= other[1]
            for one, other in pairs
            if before(one[0].operation, other[0].operation)
        ):
            return True
    return False


@settings(max_examples=cases(400), deadline=None)
@given(histories(), st.lists(st.sampled_from(["1", "2", None]), max_size=5))
def test_a_log_has_all_writes_where_each_can_have_a_place(
    history: History, held: list[str | None]
) -> None:
    assert (list(unmade(history.writes, held)) == []) == places_exist(history.writes, held)


def test_the_newest_sure_write_is_among_the_last_ones() -> None:
    story = Story()
    old, lost, new = asks(story, "1"), asks(story, "2", type="info"), asks(story, "3")
    writes = changes_of(story.operations)[T][NAME]
    read = story.op("describe-configs", "t", None, {"configs": []})
    late = asks(story, "4")
    found = last_writes([*writes, Write(late, "4")], read)
    assert [each.operation for each in found] == [lost, new]
    assert old.precedes(new)


# --- by the log ---------------------------------------------------------------------------


def log_of(*records: Change, gap: int | None = None) -> CommittedLog:
    """Each was applied by somebody at ten times its offset."""
    by_ns = [10 * offset for offset in range(len(records))]
    return CommittedLog(records, [0] * len(records), by_ns, gap, [])


HEAD: Final[dict[str, Any]] = {"node": "c1", "offset": Offset(0), "epoch": LeaderEpoch(1)}


def created(topic_id: str = "T", name: str = "t") -> TopicCreated:
    return TopicCreated(name=name, topic_id=topic_id, **HEAD)


def removed(topic_id: str = "T") -> TopicRemoved:
    return TopicRemoved(topic_id=topic_id, **HEAD)


def sets(value: str | None, resource: tuple[int, str] = T, name: str = NAME) -> ConfigSet:
    return ConfigSet(
        resource_type=resource[0], resource=resource[1], name=name, value=value, **HEAD
    )


def asked(index: int, value: str | None, **more: Any) -> Operation:
    """Its time is its index, and so is its end's, but for one."""
    made: dict[str, Any] = {"f": "configure", "key": "t", "type": "ok", "end": index + 1, **more}
    change = {"delete": [NAME]} if value is None else {"set": [[NAME, value]]}
    return Operation(index=index, value=change, invoked_ns=index, **made)


def changes(*operations: Operation) -> Changes:
    return changes_of(operations)


def test_a_topic_holds_what_it_was_made_with_until_it_goes() -> None:
    """Also where that stands before its record; the next one of the name begins anew."""
    log = log_of(
        *(sets("1"), created(), sets("2"), sets(None), sets(None), removed()),
        *(created("U"), sets("3"), sets("9", (TOPIC_RESOURCE, "of-nobody"))),
    )
    logged = Logged.of(log, changes(asked(0, "2")))
    assert logged.held == {(T, NAME): ["1", "2", None, None, "3"]}
    assert [each.value for each, _ in logged.records] == ["1", "2", None, "3"]
    assert [by_ns for _, by_ns in logged.records] == [0, 20, 30, 70]


def test_what_a_topic_had_goes_with_it() -> None:
    """And what is set before the next one's record is not held before that is there."""
    log = log_of(created(), sets("1"), removed(), created("U"), removed("U"), sets("2"))
    wanted = changes(asked(0, "9"))
    assert Logged.of(log, wanted).held == {(T, NAME): [None, "1", None]}
    whole = log_of(*log.records, created("V"))
    assert Logged.of(whole, wanted).held == {(T, NAME): [None, "1", None, "2"]}


def test_what_another_topic_had_stays() -> None:
    other = (TOPIC_RESOURCE, "u")
    wanted = changes(asked(0, "9"), asked(2, "9", key="u"))
    log = log_of(created(), created("U", "u"), sets("1", other), removed(), sets("2", other))
    assert Logged.of(log, wanted).held == {(T, NAME): [None], (other, NAME): [None, "1", "2"]}


def test_a_broker_is_there_from_the_beginning() -> None:
    of_broker = {"f": "configure-broker", "key": "broker-4"}
    log = log_of(sets(None, B), sets("1", B), sets("2", (BROKER_RESOURCE, "5")), removed("?"))
    logged = Logged.of(log, changes(asked(0, "1", **of_broker)))
    assert logged.held == {(B, NAME): [None, "1"]}
    assert len(logged.records) == 1


@pytest.mark.parametrize(
    ("operations", "value", "wrong"),
    [
        ([asked(0, "1")], "1", False),
        ([asked(0, "1", type="info", end=None)], "1", False),
        ([asked(20, "1")], "1", False),
        ([asked(21, "1")], "1", True),  # it was applied before anybody asked
        ([asked(0, "2")], "1", True),
        ([asked(0, "2"), asked(2, "1", type="fail")], "1", True),
        ([asked(0, "2"), asked(2, "1", key="u")], "1", True),
        ([asked(30, "1"), asked(2, "1")], "1", False),
    ],
)
def test_records_need_somebody_who_asked(
    operations: list[Operation], value: str, wrong: bool
) -> None:
    log = log_of(created(), created("V", "v"), sets(value))
    for once in (False, True):
        found = list(of_nobody(Logged.of(log, changes(*operations)), [], once=once))
        assert [each.value for each in found] == [value] * wrong


def test_each_who_asked_explains_one_record_where_nothing_is_done_again() -> None:
    log = log_of(created(), sets("1"), sets("2"), sets("1"), sets("1"))
    create = Operation(index=0, f="create", key="t", value={"configs": [[NAME, "1"]]}, end=1)
    logged = Logged.of(log, changes(asked(2, "2"), asked(4, "1")))
    assert list(of_nobody(logged, [create], once=False)) == []
    found = list(of_nobody(logged, [create], once=True))
    assert [id(each) for each in found] == [id(log.records[4])]


def test_what_a_system_writes_of_its_own_accord_hides_no_other_record() -> None:
    ((of_all, name),) = BY_ITSELF
    log = log_of(created(), sets("1", of_all, name), sets("2"))
    others = asked(1, "3"), asked(2, "3", f="configure-broker", key="brokers")
    logged = Logged.of(log, changes(*others))
    assert len(logged.records) == 2
    assert [each.value for each in of_nobody(logged, [], once=True)] == ["2"]


@pytest.mark.parametrize(
    ("key", "configs", "wrong"),
    [("t", [[NAME, "1"]], False), ("u", [[NAME, "1"]], True), ("t", None, True)],
)
def test_a_create_asks_too(key: str, configs: Any, wrong: bool) -> None:
    create = Operation(index=0, f="create", key=key, value={"configs": configs}, type="ok", end=1)
    log = log_of(created(), sets("1"))
    found = of_nobody(Logged.of(log, changes(asked(2, "7"))), [create], once=True)
    assert len(list(found)) == wrong


def judge(log: CommittedLog, *operations: Operation) -> tuple[int, list[str]]:
    compared, found = by_the_log(log, changes(*operations), [], once=False)
    return compared, [each.message for each in found]


def test_records_and_acknowledged_changes_are_counted() -> None:
    log = log_of(created(), sets("1"), sets("2"))
    lost = asked(4, "5", type="info", end=None)
    assert judge(log, asked(0, "1"), asked(2, "2"), lost) == (4, [])


def test_a_change_that_the_log_never_has_is_found() -> None:
    log = log_of(created(), sets("1"))
    compared, (message,) = judge(log, asked(0, "1"), asked(2, None))
    assert compared == 3
    assert "operation 2 was granted segment.bytes=none of t" in message


@pytest.mark.parametrize(
    "log",
    [log_of(), log_of(created("V", "v")), log_of(created(), gap=1), log_of(sets("2"))],
)
def test_what_the_log_does_not_tell_is_not_missed(log: CommittedLog) -> None:
    assert judge(log, asked(0, "2"), asked(2, "2"))[1] == []


def test_a_log_of_which_nothing_is_known_says_nothing_of_brokers() -> None:
    of_broker = asked(0, "1", f="configure-broker", key="broker-4")
    assert judge(log_of(), of_broker) == (0, [])
    assert len(judge(log_of(created()), of_broker)[1]) == 1


def test_who_follows_two_follows_the_later_place() -> None:
    """Also where that is the place of the one that was answered first."""
    story = Story()
    second = story.invoke("configure", "t", {"set": [[NAME, "2"]]})
    asks(story, "1")
    story.complete(second, "ok")
    third = asks(story, None)
    writes = changes_of(story.operations)[T][NAME]
    assert [each.operation for each in unmade(writes, ["2", None, "1"])] == [third]
    assert not list(unmade(writes, ["2", "1", None]))


def test_who_follows_one_of_two_need_not_follow_the_other() -> None:
    """Which is under way still."""
    first, open_ = asked(0, "1", end=3), asked(1, "2", end=9)
    writes = changes(first, open_, asked(4, "3"))[T][NAME]
    assert [each.value for each in unmade(writes, ["3", "1", "2"])] == ["3"]
    assert not list(unmade(writes, ["1", "3", "2"]))


def test_a_change_to_what_there_is_needs_no_record() -> None:
    log = log_of(created(), sets("1"))
    assert judge(log, asked(0, "1"), asked(2, "1")) == (3, [])


# --- by brokers ---------------------------------------------------------------------------


def tell(story: Story, *shown: tuple[str, str], broker: int = 4, **more: Any) -> Operation:
    configs = {"configs": [list(each) for each in shown]}
    return story.op("describe-broker-configs", f"broker-{broker}", None, configs, **more)


def brokers(story: Story) -> tuple[int, list[str]]:
    compared, found = by_brokers(story.operations, changes_of(story.operations))
    return compared, [each.message for each in found]


def test_brokers_tell_what_they_were_changed_to() -> None:
    story = Story()
    tell(story, (NAME, "wrong, but not in the end"))
    for value in ("1", "2"):
        asks(story, value, "broker-4")
    asks(story, "3", "broker-5")
    story.final()
    tell(story, (NAME, "2"))
    tell(story, type="fail", error="CLIENT_TIMED_OUT")
    tell(story, (NAME, "3"), broker=5)
    tell(story, broker=6)
    assert brokers(story) == (2, [])
    tell(story, (NAME, "1"))
    tell(story, broker=5)
    tell(story, ("a", "1"), broker=6)
    compared, messages = brokers(story)
    assert compared == 4
    assert ["segment.bytes=1" in messages[0], "not 2" in messages[0]] == [True, True]
    assert ["segment.bytes=none" in messages[1], "not 3" in messages[1]] == [True, True]
    assert ["a=1" in messages[2], "not none" in messages[2]] == [True, True]


def test_what_is_set_for_all_brokers_each_tells_apart_from_its_own() -> None:
    story = Story()
    asks(story, "1", "broker-4")
    asks(story, "2", "brokers")
    story.final()

    def of_all(node: str, *shown: tuple[str, str]) -> None:
        configs = {"configs": [list(each) for each in shown]}
        story.op("describe-broker-configs", "brokers", None, configs, node=node)

    tell(story, (NAME, "1"))
    tell(story, broker=5)
    of_all("b1", (NAME, "2"))
    assert brokers(story) == (2, [])
    of_all("b2", (NAME, "1"))
    of_all("b3")
    tell(story, (NAME, "2"), broker=5)
    compared, messages = brokers(story)
    assert compared == 4
    told = [each.partition(",")[0] for each in messages]
    assert told == [
        "b2 tells segment.bytes=1 of all brokers in the end",
        "b3 tells segment.bytes=none of all brokers in the end",
        "broker-5 tells segment.bytes=2 of itself in the end",
    ]


def test_what_a_system_sets_of_its_own_accord_hides_no_other_setting() -> None:
    story = Story()
    asks(story, "2", "brokers")
    story.final()
    told = {"configs": [["min.insync.replicas", "1"], [NAME, "1"]]}
    story.op("describe-broker-configs", "brokers", None, told, node="b1")
    compared, messages = brokers(story)
    assert (compared, len(messages)) == (1, 1) and "segment.bytes=1" in messages[0]
