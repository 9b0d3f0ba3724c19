"""UpdateFeatures (key 57, KIP-584): administrators raise the level of a feature that the cluster
has finalized.

The rules are those of Kafka's FeatureControlManager: all who are registered have to know the level,
and a lower one is refused. Kafka has downgrades that lose nothing; `metadata.format` has none, as
what was written in a level stays in the log (docs/node.md). So version 0, which says whether it may
go down, needs no rules of its own.
"""

from __future__ import annotations

from collections import Counter
from enum import IntEnum
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode
from kio.static.primitive import i16
from kio.static.protocol import Entity, ResponsePayload

from nodes.kraft.controller.answers import (
    NO_THROTTLE,
    Refusal,
    code_of,
    item_schema,
    make,
    message_of,
    schema_of,
)
from nodes.kraft.controller.members import Members
from nodes.kraft.controller.permission import Allows, require
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.metadata.features import SUPPORTED
from nodes.kraft.metadata.image import Image
from nodes.kraft.security.authorizer import Operation, ResourceType
from nodes.kraft.wire.records import FeatureLevelRecord

if TYPE_CHECKING:
    from nodes.kraft.wire.metadata_requests import FeatureUpdate, UpdateFeaturesRequest


class UpdateType(IntEnum):
    """Kafka's types of updates (KIP-778)."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


def update_features(
    builder: RecordBatchBuilder, request: UpdateFeaturesRequest, members: Members, allows: Allows
) -> ResponsePayload:
    """Decide the request; adds a record a feature whose level rises, none where it is only asked
    whether it could."""
    try:
        require(allows, Operation.ALTER, ResourceType.CLUSTER)
    except Refusal as refusal:
        return _response(request, refusal, {})
    only_validates = getattr(request, "validate_only", False)
    named = Counter(each.feature for each in request.feature_updates)
    results: dict[str, Refusal | None] = {}
    for update in request.feature_updates:
        try:
            if named[update.feature] > 1:
                raise Refusal(ErrorCode.invalid_request, "the feature is named twice")
            _check(builder.image, members, update)
        except Refusal as refusal:
            results[update.feature] = refusal
            continue
        results[update.feature] = None
        finalized = builder.image.features.get(update.feature, 0)
        if update.max_version_level > finalized and not only_validates:
            level = i16(update.max_version_level)
            builder.add(FeatureLevelRecord(name=update.feature, feature_level=level))
    return _response(request, None, results)


def _check(image: Image, members: Members, update: FeatureUpdate) -> None:
    """Raises `Refusal` where the level cannot be finalized."""
    name, level = update.feature, int(update.max_version_level)
    finalized = image.features.get(name, 0)
    try:
        kind = UpdateType(getattr(update, "upgrade_type", UpdateType.UPGRADE))
    except ValueError:
        raise _invalid(update, "there is no such type of update") from None
    if name not in SUPPORTED:
        raise _invalid(update, "there is no such feature")
    low, high = SUPPORTED[name]
    if not low <= level <= high:
        raise _invalid(update, f"the controller knows levels {low} to {high}")
    if level > finalized and kind is not UpdateType.UPGRADE:
        raise _invalid(update, f"{finalized} is finalized: that is no downgrade")
    if level < finalized and kind is UpdateType.UPGRADE:
        raise _invalid(update, f"{finalized} is finalized, and that is no upgrade")
    if level < finalized:
        raise _invalid(update, f"{finalized} is finalized, and what was written in it stays")
    if level > finalized:
        _require_all(image, members, update)


def _require_all(image: Image, members: Members, update: FeatureUpdate) -> None:
    """Raises `Refusal` where a registered broker is not known to work with the level. Brokers tell
    by heartbeats, each leader of the quorum anew."""
    for broker_id in sorted(image.brokers):
        levels = members.levels.get(broker_id)
        if levels is None:
            raise Refusal(
                ErrorCode.feature_update_failed,
                f"broker {broker_id} has yet to tell what it supports: ask again, or unregister it",
            )
        low, high = levels.get(update.feature, (0, 0))
        if not low <= update.max_version_level <= high:
            raise _invalid(update, f"broker {broker_id} knows levels {low} to {high}")


def _invalid(update: FeatureUpdate, why: str) -> Refusal:
    text = f"invalid level {update.max_version_level} for feature {update.feature}: {why}"
    return Refusal(ErrorCode.invalid_update_version, text)


def _response(
    request: UpdateFeaturesRequest, refusal: Refusal | None, results: dict[str, Refusal | None]
) -> ResponsePayload:
    schema = schema_of(request)
    result_schema = item_schema(schema, "results")
    return make(
        schema,
        throttle_time=NO_THROTTLE,
        error_code=code_of(refusal),
        error_message=message_of(refusal),
        results=tuple(_result(result_schema, name, each) for name, each in results.items()),
    )


def _result(schema: type[Entity], feature: str, refusal: Refusal | None) -> Entity:
    return make(
        schema, feature=feature, error_code=code_of(refusal), error_message=message_of(refusal)
    )
