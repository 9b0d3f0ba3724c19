"""Between operations on feature levels and Kafka's messages: pure, as `messages` is."""

import datetime
from typing import Final

from kio.schema.api_versions.v4.request import ApiVersionsRequest
from kio.schema.api_versions.v4.response import ApiVersionsResponse
from kio.schema.update_features.v1 import request as update
from kio.schema.update_features.v1 import response as updated
from kio.static.primitive import i8, i16, i32Timedelta

from framework.history.event import Invocation
from framework.plugins.dialect import Exchange, Exchanges
from framework.plugins.outcomes import Answer, Ok
from workloads.kafka.messages import REQUEST_TIMEOUT_MS, refused, the_one
from workloads.kafka.operations.features import Feature, Features, UpdateFeature
from workloads.kafka.roles import BROKER

TYPES: Final = {"upgrade": i8(1), "safe-downgrade": i8(2), "unsafe-downgrade": i8(3)}
_TIMEOUT: Final = i32Timedelta.parse(datetime.timedelta(milliseconds=REQUEST_TIMEOUT_MS))


def update_request(invocation: Invocation) -> update.UpdateFeaturesRequest:
    """Of one feature."""
    asked = UpdateFeature.from_json(invocation.value)
    key = update.FeatureUpdateKey(
        feature=str(invocation.key),
        max_version_level=i16(asked.level),
        upgrade_type=TYPES[asked.type],
    )
    return update.UpdateFeaturesRequest(
        timeout=_TIMEOUT, feature_updates=(key,), validate_only=bool(asked.dry)
    )


def update_answer(invocation: Invocation, response: updated.UpdateFeaturesResponse) -> Answer:
    """Ok: null."""
    if response.error_code != 0:
        return refused(response.error_code, response.error_message)
    own = the_one(response.results, lambda each: each.feature == invocation.key)
    return Ok(None) if own.error_code == 0 else refused(own.error_code, own.error_message)


def features_request(invocation: Invocation) -> ApiVersionsRequest:
    """What any client asks first; before version 4 it is not told of features that may have none
    (KAFKA-17492)."""
    return ApiVersionsRequest(client_software_name="harness", client_software_version="1")


def features_answer(invocation: Invocation, response: ApiVersionsResponse) -> Answer:
    """Ok: `Features`."""
    if response.error_code != 0:
        return refused(response.error_code)
    levels = {each.name: int(each.max_version_level) for each in response.finalized_features}
    features = tuple(
        Feature(each.name, levels.get(each.name), int(each.min_version), int(each.max_version))
        for each in response.supported_features
    )
    return Ok(Features(int(response.finalized_features_epoch), features).to_json())


EXCHANGES: Final[Exchanges] = {
    "update-feature": Exchange(
        at=BROKER, request=update_request, answer=update_answer, forwarded=True
    ),
    "features": Exchange(at=BROKER, request=features_request, answer=features_answer),
}
