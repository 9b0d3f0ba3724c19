"""What clients ask of the controller through a broker, by api key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, cast

from kio.static.protocol import ResponsePayload

from nodes.kraft.controller import (
    acls,
    configs,
    elect_leaders,
    reassignments,
    topics,
    update_features,
)
from nodes.kraft.controller.config import ControllerConfig
from nodes.kraft.controller.draws import Draws
from nodes.kraft.controller.elections import CanLead
from nodes.kraft.controller.members import Members
from nodes.kraft.controller.permission import Allows
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.wire import api_keys
from nodes.kraft.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from nodes.kraft.wire.metadata_requests import (
        AlterConfigsRequest,
        AlterPartitionReassignmentsRequest,
        CreateAclsRequest,
        CreatePartitionsRequest,
        CreateTopicsRequest,
        DeleteAclsRequest,
        DeleteTopicsRequest,
        ElectLeadersRequest,
        ImageRequest,
        IncrementalAlterConfigsRequest,
        ListPartitionReassignmentsRequest,
        UpdateFeaturesRequest,
    )


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """What a decision takes besides the state and the request."""

    config: ControllerConfig
    draws: Draws
    members: Members
    allows: Allows

    @property
    def can_lead(self) -> CanLead:
        return self.members.can_lead


R = TypeVar("R", bound="ImageRequest")
Decision: TypeAlias = (
    "Callable[[RecordBatchBuilder, ImageRequest, DecisionContext], ResponsePayload]"
)
"""Gives the response; its records go to the builder."""


def _create_topics(
    builder: RecordBatchBuilder, request: CreateTopicsRequest, context: DecisionContext
) -> ResponsePayload:
    return topics.create_topics(
        builder, request, context.config, context.draws, context.can_lead, context.allows
    )


def _create_partitions(
    builder: RecordBatchBuilder, request: CreatePartitionsRequest, context: DecisionContext
) -> ResponsePayload:
    return topics.create_partitions(builder, request, context.can_lead, context.allows)


def _delete_topics(
    builder: RecordBatchBuilder, request: DeleteTopicsRequest, context: DecisionContext
) -> ResponsePayload:
    return topics.delete_topics(builder, request, context.allows)


def _alter_configs(
    builder: RecordBatchBuilder, request: AlterConfigsRequest, context: DecisionContext
) -> ResponsePayload:
    return configs.alter_configs(builder, request, context.allows)


def _incremental_alter_configs(
    builder: RecordBatchBuilder, request: IncrementalAlterConfigsRequest, context: DecisionContext
) -> ResponsePayload:
    return configs.incremental_alter_configs(builder, request, context.allows)


def _create_acls(
    builder: RecordBatchBuilder, request: CreateAclsRequest, context: DecisionContext
) -> ResponsePayload:
    enabled = context.config.authorizer.enabled
    return acls.create_acls(builder, request, enabled=enabled, allows=context.allows)


def _delete_acls(
    builder: RecordBatchBuilder, request: DeleteAclsRequest, context: DecisionContext
) -> ResponsePayload:
    enabled = context.config.authorizer.enabled
    return acls.delete_acls(builder, request, enabled=enabled, allows=context.allows)


def _elect_leaders(
    builder: RecordBatchBuilder, request: ElectLeadersRequest, context: DecisionContext
) -> ResponsePayload:
    return elect_leaders.elect_leaders(builder, request, context.can_lead, context.allows)


def _alter_reassignments(
    builder: RecordBatchBuilder,
    request: AlterPartitionReassignmentsRequest,
    context: DecisionContext,
) -> ResponsePayload:
    return reassignments.alter_reassignments(builder, request, context.can_lead, context.allows)


def _list_reassignments(
    builder: RecordBatchBuilder,
    request: ListPartitionReassignmentsRequest,
    context: DecisionContext,
) -> ResponsePayload:
    return reassignments.list_reassignments(builder.image, request, context.allows)


def _update_features(
    builder: RecordBatchBuilder, request: UpdateFeaturesRequest, context: DecisionContext
) -> ResponsePayload:
    return update_features.update_features(builder, request, context.members, context.allows)


def _decides(
    key: ApiKey[R], decision: Callable[[RecordBatchBuilder, R, DecisionContext], ResponsePayload]
) -> tuple[int, Decision]:
    """An entry of the table. By its key alone is a request given to this decision, so that it is
    one of `R`."""
    return key, cast("Decision", decision)


APIS: Final[dict[int, Decision]] = dict(
    (
        _decides(api_keys.CREATE_TOPICS, _create_topics),
        _decides(api_keys.DELETE_TOPICS, _delete_topics),
        _decides(api_keys.CREATE_PARTITIONS, _create_partitions),
        _decides(api_keys.ALTER_CONFIGS, _alter_configs),
        _decides(api_keys.INCREMENTAL_ALTER_CONFIGS, _incremental_alter_configs),
        _decides(api_keys.CREATE_ACLS, _create_acls),
        _decides(api_keys.DELETE_ACLS, _delete_acls),
        _decides(api_keys.ELECT_LEADERS, _elect_leaders),
        _decides(api_keys.ALTER_PARTITION_REASSIGNMENTS, _alter_reassignments),
        _decides(api_keys.LIST_PARTITION_REASSIGNMENTS, _list_reassignments),
        _decides(api_keys.UPDATE_FEATURES, _update_features),
    )
)
