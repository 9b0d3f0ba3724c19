"""Scenarios of the control plane, to be read: what is done, and what has to come of it.

Controllers are 1, 2, 3 (c1 ...), brokers 11, 12, 13 (b11 ...); times are ms. On a quiet network
the first leader is there within a second, and its brokers are active soon after.
"""

import pytest

from nodes.kraft.simulation import (
    LEADER,
    Crash,
    Cut,
    Drain,
    Operation,
    Pause,
    Replace,
    StaleHeartbeat,
    Violation,
    scenario,
)
from nodes.kraft.simulation.variants import VARIANTS


def create(at: int, topic: str, via: int = 11, client: int = 0) -> Operation:
    return Operation(at=at, client=client, f="create", topic=topic, via=via)


def delete(at: int, topic: str, via: int = 11, client: int = 0) -> Operation:
    return Operation(at=at, client=client, f="delete", topic=topic, via=via)


def test_a_new_leader_keeps_what_the_old_one_acknowledged() -> None:
    """The leader dies with all that it had not synced. What clients were told of is there."""
    run = scenario(
        create(1500, "a"),
        Crash(at=2000, victim=LEADER, down_ms=800, keep=0.0),
        create(2100, "b"),
        create(3500, "a", client=1),
    )
    run.check()
    dead = next(each.who for each in run.events if "dies" in each.what)
    heir = next(each for each in run.events if each.at_ms > 2000 and "leads epoch" in each.what)
    assert heir.who != dead
    assert run.types("create", "a") == ["ok", "fail"], "it was there already"
    assert run.types("create", "b") == ["ok"], "the broker looked for the next controller"


def test_a_leader_behind_a_cut_acknowledges_nothing() -> None:
    """It leads on in its own eyes, until no majority fetches from it. The others elect. Of what it
    was asked meanwhile, nobody is told anything; what is asked later, the next one does."""
    run = scenario(
        Cut(at=1500, victim=LEADER, for_ms=2000, shape="isolate", mask=0),
        create(1600, "a"),
        create(4300, "b", client=1),
        duration_ms=5000,
    )
    run.check()
    cut = next(each for each in run.events if "is cut off" in each.what)
    heir = next(
        each for each in run.events if each.at_ms > cut.at_ms and "leads epoch" in each.what
    )
    assert heir.who != cut.who
    assert run.types("create", "a") == ["info"]
    assert run.types("create", "b") == ["ok"]


def test_a_restarted_broker_takes_its_id_back_before_its_lease_is_over() -> None:
    """Its new process has an incarnation of its own, and gets an epoch of its own (KIP-380)."""
    run = scenario(Crash(at=2000, victim=11, down_ms=100, keep=1.0), lease_ms=2000)
    run.check()
    back = [each.at_ms for each in run.events if each.who == "b11" and "-> ACTIVE" in each.what]
    assert len(back) == 2
    assert back[1] < 2000 + 1000, "well before the old lease's end"


def test_of_two_processes_with_one_id_the_older_one_fences_itself() -> None:
    run = scenario(Replace(at=2000, victim=11), duration_ms=5000)
    run.check()
    assert run.when("b11'", "-> ACTIVE") < run.when("b11", "ACTIVE -> FENCED")


def test_a_paused_broker_serves_no_longer_than_its_lease() -> None:
    run = scenario(Pause(at=2000, victim=11, for_ms=3000), lease_ms=1200, duration_ms=6000)
    run.check()
    assert run.when("b11", "ACTIVE -> FENCED") >= 5000, "as soon as it runs again"


def test_a_drained_broker_hands_over_before_it_ends() -> None:
    run = scenario(
        create(1500, "a", via=12), Drain(at=2000, victim=11, down_ms=500), duration_ms=5000
    )
    run.check()
    assert run.when("b11", "-> SHUTDOWN") >= 2000


def test_a_topic_that_was_deleted_stays_so_over_a_failover() -> None:
    run = scenario(
        create(1500, "a"),
        delete(1800, "a"),
        Crash(at=2200, victim=LEADER, down_ms=500, keep=1.0),
        delete(3500, "a", client=1),
    )
    run.check()
    assert run.types("delete", "a") == ["ok", "fail"]


@pytest.mark.parametrize("name", ["ignores-broker-epoch"])
def test_a_scenario_shows_what_a_defect_breaks(name: str) -> None:
    """A heartbeat of a broker's earlier life arrives after a restart: refused, or a rule breaks."""
    variant = next(each for each in VARIANTS if each.name == name)
    items = (
        Crash(at=2000, victim=11, down_ms=200, keep=1.0),
        *(
            StaleHeartbeat(at=3000 + 50 * pick, victim=11, pick=pick, target=target)
            for pick, target in enumerate((3, 2, 4))
        ),
    )
    scenario(*items).check()
    broken = scenario(*items, broken=variant.broken)
    assert isinstance(broken.violation, Violation)
    assert broken.violation.rule in variant.rules
