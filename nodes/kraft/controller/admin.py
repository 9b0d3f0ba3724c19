"""What clients ask of the controller through a broker, by api key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kio.static.protocol import ResponsePayload

from nodes.kraft.controller import acls, answers, configs, elect_leaders, topics
from nodes.kraft.controller.config import ControllerConfig
from nodes.kraft.controller.draws import Draws
from nodes.kraft.controller.elections import CanLead
from nodes.kraft.controller.permission import Allows
from nodes.kraft.controller.record_batch import RecordBatchBuilder

if TYPE_CHECKING:
    from nodes.kraft.wire.requests import (
        AlterConfigsRequest,
        CreateAclsRequest,
        CreatePartitionsRequest,
        CreateTopicsRequest,
        DeleteAclsRequest,
        DeleteTopicsRequest,
        ElectLeadersRequest,
        IncrementalAlterConfigsRequest,
    )


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """What a decision takes besides the state and the request."""

    config: ControllerConfig
    draws: Draws
    can_lead: CanLead
    allows: Allows


# The key of `APIS` says which request it takes.
Decision: TypeAlias = Callable[[RecordBatchBuilder, Any, DecisionContext], ResponsePayload]


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


APIS: Final[dict[int, Decision]] = {
    answers.CREATE_TOPICS: _create_topics,
    answers.DELETE_TOPICS: _delete_topics,
    answers.CREATE_PARTITIONS: _create_partitions,
    answers.ALTER_CONFIGS: _alter_configs,
    answers.INCREMENTAL_ALTER_CONFIGS: _incremental_alter_configs,
    answers.CREATE_ACLS: _create_acls,
    answers.DELETE_ACLS: _delete_acls,
    answers.ELECT_LEADERS: _elect_leaders,
}
"""Each gives the response; its records go to the builder."""
