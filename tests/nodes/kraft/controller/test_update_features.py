"""UpdateFeatures: a feature's level rises, when all who are registered know it."""

from __future__ import annotations

from typing import Any

import pytest
from admin_asks import ALICE, ROOT, SECURED, ask_as, create_acls, creation
from controller_harness import Harness, State
from kio.schema.errors import ErrorCode
from kio.schema.update_features.v0 import request as v0
from kio.schema.update_features.v1 import request as v1

from nodes.kraft.metadata.snapshot import image_of, records_of
from nodes.kraft.wire.records import FeatureLevelRecord

ALTER, CLUSTER = 7, 4
FORMAT = "metadata.format"
UPGRADE, SAFE, UNSAFE = 1, 2, 3
INVALID = ErrorCode.invalid_update_version
REQUEST_ID = b"0123456789abcdef"


def update(
    level: int = 2, kind: int = UPGRADE, name: str = FORMAT, *more: Any, dry: bool = False
) -> Any:
    own = v1.FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)  # type: ignore[arg-type]
    return v1.UpdateFeaturesRequest(feature_updates=(own, *more), validate_only=dry)


@pytest.fixture
def harness() -> Harness:
    """Level 1 is finalized, and brokers 4 and 5 know 1 and 2."""
    return led(levels=(1, 2))


def led(levels: tuple[int, int] | None, **settings: Any) -> Harness:
    harness = Harness(metadata_format=1, **settings).claim()
    harness.tick(0)
    for broker in (4, 5):
        epoch = harness.heartbeat(broker, levels=levels).broker_epoch
        harness.heartbeat(broker, epoch, levels=levels)
    return harness


def result(harness: Harness, request: Any) -> tuple[int, str | None]:
    answer = harness.ask(request)
    assert answer.error_code == 0
    (only,) = answer.results
    assert only.feature == request.feature_updates[0].feature
    return only.error_code, only.error_message


def test_a_level_that_all_know_is_finalized(harness: Harness) -> None:
    start = len(harness.log)
    assert result(harness, update()) == (0, None)
    assert harness.records(start) == [FeatureLevelRecord(name=FORMAT, feature_level=2)]
    assert dict(harness.committed.features) == {FORMAT: 2}
    harness.create("t", assignment=[[4, 5]])
    assert (2, 1) in {tuple(each[:2]) for each in harness.log}, "what follows is in its format"
    assert image_of(records_of(harness.committed)) == harness.committed
    harness.fail_over()
    harness.tick(1)
    assert dict(harness.committed.features) == {FORMAT: 2}


def test_the_level_that_is_finalized_needs_no_record(harness: Harness) -> None:
    start = len(harness.log)
    for kind in (UPGRADE, SAFE, UNSAFE):
        assert result(harness, update(1, kind)) == (0, None)
    assert len(harness.log) == start


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (update(3), "the controller knows levels 1 to 2"),
        (update(0), "the controller knows levels 1 to 2"),
        (update(-1), "the controller knows levels 1 to 2"),
        (update(1, name="kraft.version"), "no such feature"),
        (update(2, SAFE), "no downgrade"),
        (update(2, UNSAFE), "no downgrade"),
        (update(2, 4), "no such type"),
        (update(2, 0), "no such type"),
    ],
)
def test_what_cannot_be_finalized(harness: Harness, request_: Any, why: str) -> None:
    """95, and nothing is appended."""
    start = len(harness.log)
    code, message = result(harness, request_)
    assert code == INVALID
    assert message is not None and why in message
    assert len(harness.log) == start


@pytest.mark.parametrize("kind", [UPGRADE, SAFE, UNSAFE])
def test_no_level_goes_back(harness: Harness, kind: int) -> None:
    assert result(harness, update()) == (0, None)
    start = len(harness.log)
    code, message = result(harness, update(1, kind))
    assert (code, len(harness.log)) == (INVALID, start)
    assert message is not None and "2 is finalized" in message


@pytest.mark.parametrize("levels", [(1, 1), None])
def test_a_broker_that_lacks_the_level(levels: tuple[int, int] | None) -> None:
    """One that says nothing knows level 1; a fenced one counts as others, one that is registered no
    more does not."""
    harness = led((1, 2))
    harness.heartbeat(6, levels=(1, 2))
    epoch = harness.committed.brokers[6].epoch
    harness.heartbeat(6, epoch, target=State.FENCED, levels=levels)
    code, message = result(harness, update())
    assert code == INVALID
    assert message is not None and "broker 6 knows levels 1 to 1" in message
    members = harness.state.leadership.members.without(6)  # type: ignore[union-attr]
    assert 6 not in members.levels
    harness.heartbeat(6, epoch, target=State.FENCED, levels=(1, 2))
    assert result(harness, update()) == (0, None)


def test_a_controller_that_has_not_heard_a_broker_does_not_know(harness: Harness) -> None:
    """96, until that one's next heartbeat: what a broker supports is not in the log."""
    harness.fail_over()
    code, message = result(harness, update())
    assert code == ErrorCode.feature_update_failed
    assert message is not None and "broker 4 has yet to tell" in message
    for broker in (4, 5):
        harness.heartbeat(broker, harness.committed.brokers[broker].epoch, levels=(1, 2))
    assert result(harness, update()) == (0, None)


def test_a_refused_heartbeat_tells_nothing(harness: Harness) -> None:
    harness.heartbeat(4, harness.committed.brokers[4].epoch + 99, levels=(1, 1))
    assert result(harness, update()) == (0, None)


def test_validate_only_appends_nothing(harness: Harness) -> None:
    start = len(harness.log)
    assert result(harness, update(dry=True)) == (0, None)
    assert result(harness, update(3, dry=True))[0] == INVALID
    assert len(harness.log) == start


def test_each_feature_has_its_own_result(harness: Harness) -> None:
    other = v1.FeatureUpdateKey(feature="other", max_version_level=1)  # type: ignore[arg-type]
    answer = harness.ask(update(2, UPGRADE, FORMAT, other))
    assert {each.feature: each.error_code for each in answer.results} == {
        FORMAT: 0,
        "other": INVALID,
    }


def test_a_feature_that_is_named_twice_stays_as_it_is(harness: Harness) -> None:
    start = len(harness.log)
    again = v1.FeatureUpdateKey(feature=FORMAT, max_version_level=2)  # type: ignore[arg-type]
    (only,) = harness.ask(update(2, UPGRADE, FORMAT, again)).results
    assert only.error_code == ErrorCode.invalid_request
    assert len(harness.log) == start


@pytest.mark.parametrize("down", [False, True])
def test_version_0(harness: Harness, down: bool) -> None:
    """Which says whether a level may go down; none may."""

    def asks(level: int) -> Any:
        key = v0.FeatureUpdateKey(feature=FORMAT, max_version_level=level, allow_downgrade=down)  # type: ignore[arg-type]
        return v0.UpdateFeaturesRequest(feature_updates=(key,))

    assert result(harness, asks(2)) == (0, None)
    assert result(harness, asks(1))[0] == INVALID


def test_who_may() -> None:
    """ALTER on the cluster; 31 of the whole otherwise."""
    secured = led((1, 2), authorizer=SECURED)
    start = len(secured.log)
    answer = ask_as(secured, ALICE, update())
    assert (answer.error_code, answer.results) == (31, ())
    assert len(secured.log) == start
    allowed = creation("kafka-cluster", kind=CLUSTER, operation=ALTER)
    ask_as(secured, ROOT, create_acls(allowed))
    assert ask_as(secured, ALICE, update()).results[0].error_code == 0


def test_a_retry_is_answered_what_the_first_attempt_did(harness: Harness) -> None:
    first = ask_as(harness, ROOT, update(), REQUEST_ID)
    harness.fail_over()
    assert ask_as(harness, ROOT, update(), REQUEST_ID) == first
    assert first.results[0].error_code == 0


def test_a_leader_that_falls_does_not_know(harness: Harness) -> None:
    """7 where the record may be committed yet."""
    harness.settle = False
    assert harness.ask(update()) is None
    token = harness.token
    harness.fail_over()
    assert harness.answers[token].error_code == 7
