"""Modes, roles, ids and listeners, as operators meet them (KIP-631's draft, A.1.1-18)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nodes.kraft.config import ConfigError, from_settings
from tests.nodes.kraft.loopback import Loopback, until
from tests.nodes.kraft.test_node_config import BOTH, BROKER, CONTROLLER
from tests.nodes.kraft.test_node_process import create_topic

processes = pytest.mark.xdist_group("processes")


# --- what is said before anything is started --------------------------------------------------


@pytest.mark.parametrize("roles", [None, "", "zookeeper", "broker,observer", "Broker"])
def test_there_is_one_mode_and_it_is_chosen(roles: str | None) -> None:
    """A.1.1, A.1.3: without roles Kafka runs in legacy mode, which this node does not have: no
    cluster can be mixed."""
    settings = {key: value for key, value in BOTH.items() if key != "process.roles"}
    if roles is not None:
        settings["process.roles"] = roles
    with pytest.raises(ConfigError, match=r"process\.roles"):
        from_settings(settings)


def test_a_bad_configuration_ends_the_process_with_one_line(tmp_path: Path) -> None:
    """A.1.1: exit code 254, no traceback."""
    path = tmp_path / "server.properties"
    path.write_text("process.roles=zookeeper\n")
    ended = subprocess.run(
        [sys.executable, "-m", "nodes.kraft", "--config", str(path)],
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 254
    assert ended.stderr.count("\n") == 1
    assert "process.roles=zookeeper" in ended.stderr


@pytest.mark.parametrize("settings", [BROKER, CONTROLLER, BOTH])
def test_no_zookeeper_is_named_anywhere(settings: dict[str, str]) -> None:
    """A.1.2: every role starts from settings without one."""
    assert not [key for key in settings if "zookeeper" in key]
    from_settings(settings)


@pytest.mark.parametrize(("role", "key"), [(BROKER, "broker.id"), (CONTROLLER, "controller.id")])
@pytest.mark.parametrize("value", ["-1", "2147483648", "one", ""])
def test_ids_are_whole_numbers_from_zero(role: dict[str, str], key: str, value: str) -> None:
    """A.1.12, A.1.73: 32 bits, not negative."""
    with pytest.raises(ConfigError, match=key.replace(".", r"\.")):
        from_settings({**role, key: value})


@pytest.mark.parametrize(("role", "key"), [(BROKER, "broker.id"), (CONTROLLER, "controller.id")])
def test_no_id_is_made_up(role: dict[str, str], key: str) -> None:
    """A.1.12, A.1.15: an id that is not set is a mistake, not a request for one."""
    with pytest.raises(ConfigError, match=f"{key} is missing".replace(".", r"\.")):
        from_settings({name: value for name, value in role.items() if name != key})


def test_brokers_and_controllers_share_one_space_of_ids() -> None:
    """A.1.13, A.1.14, A.1.73: also in one process, each role has an id of its own."""
    config = from_settings(BOTH)
    assert config.broker_id != config.controller_id
    with pytest.raises(ConfigError, match="share one space"):
        from_settings({**BOTH, "broker.id": BOTH["controller.id"]})
    with pytest.raises(ConfigError, match="share one space"):
        from_settings({**BROKER, "broker.id": "1"})


def test_controllers_have_a_listener_apart() -> None:
    """A.1.16, A.1.17, A.1.71, A.2.1: one that is named, and that is not a client listener as
    well."""
    config = from_settings(BOTH)
    control = {each.port for each in config.controller_listeners}
    assert control
    assert not control & {each.port for each in config.client_listeners}
    for names in ("", "CLIENT"):
        with pytest.raises(ConfigError, match="listener"):
            from_settings({**BOTH, "controller.listeners": names})
    published = {each.name for each in config.advertised}
    assert published == {"CLIENT"}, "A.1.17: clients are never told of a controller's address"


@pytest.mark.parametrize("key", ["controller.connect", "controller.quorum.voters"])
def test_the_controllers_addresses_are_required(key: str) -> None:
    """A.1.8, A.1.72, A.4.2: under the draft's name, or Kafka's."""
    bare = {name: value for name, value in BROKER.items() if name != "controller.quorum.voters"}
    assert from_settings({**bare, key: "1@a:1,2@b:2"}).voters[1].host == "b"
    with pytest.raises(ConfigError, match=r"controller\.quorum\.voters is missing"):
        from_settings(bare)


def test_addresses_may_be_of_ipv6() -> None:
    config = from_settings(
        BROKER
        | {
            "listeners": "PLAINTEXT://[::]:9092",
            "advertised.listeners": "PLAINTEXT://[fe80::1]:9092",
            "controller.quorum.voters": "1@[::1]:9093",
        }
    )
    assert config.client_listeners[0].host == "::"
    assert (config.advertised[0].host, config.voters[0].host) == ("fe80::1", "::1")


# --- clusters ---------------------------------------------------------------------------------


@processes
@pytest.mark.parametrize("controllers", [1, 3, 5])
def test_quorums_of_one_three_and_five_form(tmp_path: Path, controllers: int) -> None:
    """A.1.6, A.1.7, A.4.1, A.4.2: of dedicated controllers."""
    with Loopback(tmp_path, controllers=controllers) as cluster:
        leader = until(cluster.active)
        ident = int(leader[1:])
        until(lambda: {cluster.state(each)["leader_id"] for each in cluster.settings} == {ident})


@processes
def test_a_broker_never_leads_the_quorum(tmp_path: Path) -> None:
    """A.1.5: not even where all controllers are gone."""
    with Loopback(tmp_path, controllers=1, brokers=2) as cluster:
        cluster.ready()
        cluster.kill("c1")
        for name in ("b1", "b2"):
            # Their leases last for several election time-outs.
            until(lambda name=name: cluster.events(name, "bstate")[-1]["why"] == "lease expired")
            assert cluster.processes[name].poll() is None
            assert cluster.state(name)["role"] == "observer"
            assert cluster.events(name, "elected") == []
            roles = {event["role"] for event in cluster.events(name, "role")}
            assert roles <= {"observer", "unattached"}


@processes
def test_one_right_address_is_enough_and_is_needed_once(tmp_path: Path) -> None:
    """A.1.9, A.1.10: a broker that knows the right address of one controller, not the leader,
    and wrong ones of the others, finds the quorum; when that one is gone, and the leader, too,
    it goes on with addresses that it was never configured with."""
    with Loopback(tmp_path, controllers=3) as cluster:
        leader = until(cluster.active)
        # The last one, so that others are asked in vain before it is.
        right = max(ident for ident in cluster.control if f"c{ident}" != leader)
        broker = Loopback(tmp_path / "b", brokers=1, controllers=1)
        settings = broker.settings["b1"]
        settings["broker.id"] = "4"
        settings["controller.quorum.voters"] = ",".join(
            f"{ident}@127.0.0.1:{port if ident == right else 1}"
            for ident, port in cluster.control.items()
        )
        broker.settings = {"b1": settings}
        with broker:
            until(lambda: broker.state("b1")["broker_state"] == "ACTIVE")
            cluster.kill(f"c{right}")
            port = broker.client["b1"]
            until(lambda: create_topic(port, "a").error_code in (0, 36))
            cluster.start(f"c{right}")
            until(lambda: cluster.state(f"c{right}")["leader_id"] >= 0)
            cluster.kill(leader)
            until(lambda: create_topic(port, "b").error_code in (0, 36))
