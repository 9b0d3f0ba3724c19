"""What clients ask of the controller through a broker, by api key."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from nodes.kraft.controller import acls, answers, configs, topics
from nodes.kraft.controller.config import ControllerConfig
from nodes.kraft.controller.draft import Draft
from nodes.kraft.controller.draws import Draws
from nodes.kraft.controller.elections import CanLead
from nodes.kraft.controller.permission import Allows


@dataclass(frozen=True, slots=True)
class Means:
    """What a decision takes besides the state and the request."""

    config: ControllerConfig
    draws: Draws
    can_lead: CanLead
    allows: Allows


Decision: TypeAlias = Callable[[Draft, Any, Means], Any]


def _create_topics(draft: Draft, request: Any, means: Means) -> Any:
    return topics.create_topics(
        draft, request, means.config, means.draws, means.can_lead, means.allows
    )


def _create_partitions(draft: Draft, request: Any, means: Means) -> Any:
    return topics.create_partitions(draft, request, means.can_lead, means.allows)


def _delete_topics(draft: Draft, request: Any, means: Means) -> Any:
    return topics.delete_topics(draft, request, means.allows)


def _alter_configs(draft: Draft, request: Any, means: Means) -> Any:
    return configs.alter_configs(draft, request, means.allows)


def _incremental_alter_configs(draft: Draft, request: Any, means: Means) -> Any:
    return configs.incremental_alter_configs(draft, request, means.allows)


def _create_acls(draft: Draft, request: Any, means: Means) -> Any:
    enabled = means.config.authorizer.enabled
    return acls.create_acls(draft, request, enabled=enabled, allows=means.allows)


def _delete_acls(draft: Draft, request: Any, means: Means) -> Any:
    enabled = means.config.authorizer.enabled
    return acls.delete_acls(draft, request, enabled=enabled, allows=means.allows)


APIS: Final[dict[int, Decision]] = {
    answers.CREATE_TOPICS: _create_topics,
    answers.DELETE_TOPICS: _delete_topics,
    answers.CREATE_PARTITIONS: _create_partitions,
    answers.ALTER_CONFIGS: _alter_configs,
    answers.INCREMENTAL_ALTER_CONFIGS: _incremental_alter_configs,
    answers.CREATE_ACLS: _create_acls,
    answers.DELETE_ACLS: _delete_acls,
}
"""Each gives the response; its records go to the draft."""
