"""`--set` for Python KRaft nodes: what they would start with, and what they would not."""

import pytest

from framework.errors import UsageError
from framework.run.settings import node_settings
from nodes.kraft.adapter.system import KraftSystem


def checked(*items: str, nodes: str = "3+3") -> None:
    system = KraftSystem()
    specs = system.layout(nodes)
    system.check_settings(specs, node_settings(items, specs))


@pytest.mark.parametrize("nodes", ["1", "3", "3+3"])
def test_settings_that_runs_are_made_with(nodes: str) -> None:
    checked("broker.takeover=deferred", nodes=nodes)
    checked("metadata.max.fetch.records=1", "controller.quorum.prevote=false", nodes=nodes)
    checked("authorizer.enabled=true", "super.users=User:ANONYMOUS", nodes=nodes)
    checked("broker:broker.lease.ms=2000", "controller:metadata.snapshot.interval.ms=900")


@pytest.mark.parametrize(
    ("item", "says"),
    [
        ("broker.take.over=deferred", "node c1: it has no setting 'broker.take.over'"),
        ("broker.takeover=later", "broker.takeover=later: it is immediate or deferred"),
        ("b2:metadata.max.fetch.records=none", "node b2: metadata.max.fetch.records=none"),
        ("process.roles=broker", "process.roles: the layout of the cluster decides that"),
        ("c1:listeners=CONTROLLER://:1", "listeners: the layout of the cluster decides that"),
        ("c1:ssl.keystore.location=/no/such/file", "/no/such/file"),
    ],
)
def test_settings_that_nodes_would_not_start_with(item: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked(item)
    assert says in str(caught.value)
