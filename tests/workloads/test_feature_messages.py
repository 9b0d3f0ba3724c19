"""Operations on feature levels as Kafka's messages, and back."""

from typing import Any

import pytest
from kio.schema.api_versions.v3 import response as versions
from kio.schema.errors import ErrorCode
from kio.schema.update_features.v1 import response as updated
from kio.static.primitive import i16, i64

from framework.history.event import Invocation
from framework.plugins.dialect import UnexpectedResponse
from framework.plugins.outcomes import OUT_OF_RANGE, Failure, Ok, OutcomeTable, Refused
from nodes.kafka.outcomes import OUTCOMES as KAFKA
from nodes.kraft.adapter.outcomes import OUTCOMES as KRAFT
from nodes.kraft.controller.answers import NO_THROTTLE
from workloads.kafka.feature_messages import (
    EXCHANGES,
    features_answer,
    features_request,
    update_answer,
    update_request,
)

ASKS = Invocation(process=0, f="features", key=None, value=None)


def asked(**value: Any) -> Invocation:
    return Invocation(process=0, f="update-feature", key="f", value={"level": 2, **value})


@pytest.mark.parametrize(
    ("type_", "code"), [("upgrade", 1), ("safe-downgrade", 2), ("unsafe-downgrade", 3)]
)
@pytest.mark.parametrize("dry", [None, True])
def test_an_update_is_of_one_feature(type_: str, code: int, dry: bool | None) -> None:
    more = {} if dry is None else {"dry": dry}
    request = update_request(asked(type=type_, **more))
    (only,) = request.feature_updates
    assert (only.feature, only.max_version_level, only.upgrade_type) == ("f", 2, code)
    assert request.validate_only == bool(dry)


def answered(top: int = 0, code: int = 0, name: str = "f") -> Any:
    result = updated.UpdatableFeatureResult(
        feature=name, error_code=ErrorCode(code), error_message="why" if code else None
    )
    return updated.UpdateFeaturesResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode(top),
        error_message="no" if top else None,
        results=() if top else (result,),
    )


def test_its_answer_says_nothing_more() -> None:
    update = asked(type="upgrade")
    assert update_answer(update, answered()) == Ok(None)
    assert update_answer(update, answered(code=95)) == Refused("INVALID_UPDATE_VERSION", "why")
    assert update_answer(update, answered(top=31)) == Refused("CLUSTER_AUTHORIZATION_FAILED", "no")
    with pytest.raises(UnexpectedResponse):
        update_answer(update, answered(name="other"))


def told(code: int = 0, *finalized: versions.FinalizedFeatureKey) -> Any:
    return versions.ApiVersionsResponse(
        error_code=ErrorCode(code),
        api_keys=(),
        throttle_time=NO_THROTTLE,
        supported_features=(
            versions.SupportedFeatureKey(name="f", min_version=i16(1), max_version=i16(2)),
        ),
        finalized_features_epoch=i64(7),
        finalized_features=finalized,
    )


@pytest.mark.parametrize("level", [None, 2])
def test_levels_are_told_with_the_end_of_the_log(level: int | None) -> None:
    assert features_request(ASKS).client_software_name
    key = (
        ()
        if level is None
        else (
            versions.FinalizedFeatureKey(
                name="f", max_version_level=i16(level), min_version_level=i16(1)
            ),
        )
    )
    feature = {"name": "f", "level": level, "lowest": 1, "highest": 2}
    assert features_answer(ASKS, told(0, *key)) == Ok({"epoch": 7, "features": [feature]})
    assert features_answer(ASKS, told(35)) == Refused("UNSUPPORTED_VERSION")


@pytest.mark.parametrize(
    ("table", "code", "type", "asserts"),
    [
        (KRAFT, 95, "fail", OUT_OF_RANGE),
        (KRAFT, 96, "fail", None),
        (KRAFT, 7, "info", None),
        (KAFKA, 95, "info", OUT_OF_RANGE),
        (KAFKA, 96, "info", None),
    ],
)
def test_what_a_refusal_means(
    table: OutcomeTable, code: int, type: str, asserts: str | None
) -> None:
    """A level that some node does not know is the fault of who asks. Of Apache Kafka's brokers
    nobody knows whether they forwarded it twice."""
    answer = update_answer(asked(type="upgrade"), answered(code=code))
    assert isinstance(answer, Refused)
    failure = table.refused("update-feature", answer, retried=EXCHANGES["update-feature"].forwarded)
    assert failure == Failure(type, (answer.code, "why"), asserts)  # type: ignore[arg-type]
