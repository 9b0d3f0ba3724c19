"""`--set` for Python KRaft nodes: what they would start with, and what they would not."""

import pytest

from framework.errors import UsageError
from framework.run.settings import node_settings
from nodes.kraft.adapter.evidence import EVIDENCE
from nodes.kraft.adapter.settings import node_settings as settings_of
from nodes.kraft.adapter.system import KraftSystem
from nodes.kraft.config import from_settings

MAP = "listener.security.protocol.map"


def checked(*items: str, nodes: str = "3+3") -> None:
    system = KraftSystem()
    specs = system.layout(nodes)
    system.check_settings(specs, node_settings(items, specs))


@pytest.mark.parametrize("nodes", ["1", "3", "3+3"])
def test_settings_that_runs_are_made_with(nodes: str) -> None:
    checked("broker.takeover=deferred", nodes=nodes)
    checked("metadata.max.fetch.records=1", "controller.quorum.prevote=false", nodes=nodes)
    checked("authorizer.enabled=true", "super.users=User:ANONYMOUS", nodes=nodes)
    checked("authorizer.enabled=true", nodes=nodes)
    for protocol in ("SSL", "SASL_PLAINTEXT", "SASL_SSL"):
        checked(f"{MAP}=CLIENT:{protocol},CONTROLLER:{protocol}", nodes=nodes)
    checked("broker:broker.lease.ms=2000", "controller:metadata.snapshot.interval.ms=900")


@pytest.mark.parametrize(
    ("item", "says"),
    [
        ("broker.take.over=deferred", "node c1: it has no setting 'broker.take.over'"),
        ("broker.takeover=later", "broker.takeover=later: it is immediate or deferred"),
        ("b2:metadata.max.fetch.records=none", "node b2: metadata.max.fetch.records=none"),
        ("process.roles=broker", "process.roles: the layout of the cluster decides that"),
        ("c1:listeners=CONTROLLER://:1", "listeners: the layout of the cluster decides that"),
        ("events.file=/x", "events.file: a run decides where it is; empty, nodes write none"),
        ("c1:ssl.keystore.location=/key.pem", "runs make their keys and logins themselves"),
        ("sasl.password=secret", "runs make their keys and logins themselves"),
        ("sasl.enabled.mechanisms=GSSAPI", "it is one of PLAIN, SCRAM-SHA-256"),
        (f"{MAP}=CLIENT:TLS,CONTROLLER:TLS", "protocols: PLAINTEXT, SSL, SASL_PLAINTEXT"),
        (f"{MAP}=CLIENT:SSL", f"{MAP} has no entry for CONTROLLER"),
        (
            f"broker:{MAP}=CLIENT:SSL,CONTROLLER:SSL",
            "CONTROLLER is PLAINTEXT and SSL to different nodes",
        ),
        (f"b1:{MAP}=CLIENT:SSL,CONTROLLER:PLAINTEXT", "CLIENT is PLAINTEXT and SSL to different"),
    ],
)
def test_settings_that_nodes_would_not_start_with(item: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked(item)
    assert says in str(caught.value)


LOGINS = f"{MAP}=CLIENT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"


@pytest.mark.parametrize(
    ("items", "says"),
    [
        (
            (LOGINS, "b1:sasl.enabled.mechanisms=PLAIN"),
            "b1 logs in by PLAIN, and c1 has SCRAM-SHA-256",
        ),
        (
            ("authorizer.enabled=true", "super.users=User:alice"),
            "node c1: super.users: User:ANONYMOUS is missing",
        ),
        (
            (LOGINS, "authorizer.enabled=true", "super.users=User:client"),
            "node c1: super.users: User:node is missing",
        ),
    ],
)
def test_settings_that_do_not_go_together(items: tuple[str, ...], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked(*items)
    assert says in str(caught.value)


def test_what_was_asked_for_is_what_a_node_is_configured_with() -> None:
    asked = {
        "broker.takeover": "deferred",
        "metadata.max.fetch.records": "1",
        "controller.quorum.prevote": "false",
    }
    (spec,) = KraftSystem().layout("1")
    for wanted in ({}, asked):
        reported = settings_of(
            "n1", {"n1": spec}, {"n1": "10.0.0.1"}, wanted, workdir="/node", seed=1
        )
        config = from_settings(reported)
        assert config.deferred_takeover is bool(wanted)
        assert (config.max_fetch_records == 1) is bool(wanted)
        assert config.prevote is not bool(wanted)


def test_clients_need_not_be_super_users() -> None:
    checked(LOGINS, "authorizer.enabled=true", "super.users=User:node;User:alice")
    checked(LOGINS, "sasl.users=alice=secret")


def test_time_to_recover_follows_from_the_slowest_nodes_timeouts() -> None:
    system = KraftSystem()
    specs = system.layout("3+3")
    assert system.recovery_s(specs, {}) == 15
    items = ("b2:broker.lease.ms=20000", "controller.quorum.election.timeout.ms=100")
    assert system.recovery_s(specs, node_settings(items, specs)) == 26


def test_a_silent_broker_is_fenced_a_lease_and_an_election_later() -> None:
    system = KraftSystem()
    specs = system.layout("3+3")
    assert system.fencing_s(specs, {}) == 10
    items = ("c2:broker.lease.ms=8000", "controller.quorum.election.timeout.ms=100")
    assert system.fencing_s(specs, node_settings(items, specs)) == pytest.approx(10.6)


def test_what_a_system_can_do_goes_by_its_settings() -> None:
    system = KraftSystem()
    specs = system.layout("3+3")

    def capabilities(*items: str) -> frozenset[str]:
        settings = node_settings(items, specs)
        system.check_settings(specs, settings)
        return system.capabilities_with(specs, settings)

    assert capabilities() == capabilities("controller:events.file=") == system.capabilities
    mute = capabilities("events.file=")
    assert system.capabilities - mute == EVIDENCE
    assert {"disk:appended", "disk:applied", "metadata-log"} <= mute
    assert capabilities("auto.create.topics.enable=false") == system.capabilities
    assert capabilities("b1:auto.create.topics.enable=true") == system.capabilities
    on_demand = capabilities("auto.create.topics.enable=true")
    assert on_demand - system.capabilities == {"topics-on-demand"}
