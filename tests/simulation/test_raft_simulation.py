"""Raft on a simulated network: the rules hold on every seed, and broken cores break them."""

import pytest

from nodes.kraft.simulation.raft_invariants import Violation
from nodes.kraft.simulation.raft_parts import Profile
from nodes.kraft.simulation.raft_variants import VARIANTS, Variant
from nodes.kraft.simulation.raft_world import World

SEEDS = 40
CHUNK = 20
ENOUGH = 400
"""Seeds within which each broken variant has to be caught."""
FEW = {
    "continues-another-leaders-download": 20,
    "counts-older-epochs": 33,
    "forgets-its-vote": 8,
    "keeps-a-log-as-long-as-its-snapshot": 24,
    "votes-by-offset-alone": 20,
}
"""Variants that few seeds show: where the search begins, which takes seconds otherwise."""


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_rules_hold(first: int) -> None:
    """A.1.24, A.1.25, A.1.30, A.1.39, A.1.40, A.4.9, A.4.13, A.4.18, A.5.2, A.6.2: whatever the
    world does. B.4.5, D.25: about a third of the worlds do without PreVote."""
    committed = reads = snapshots = downloads = 0
    for seed in range(first, first + CHUNK):
        world = World(seed)
        try:
            world.run()
        except Violation as violation:
            pytest.fail(f"seed {seed}: {violation}")
        committed += world.invariants.committed
        reads += world.reads
        snapshots += world.snapshots
        downloads += world.downloads
    assert committed > CHUNK * 10, "hardly anything was committed: the check saw nothing"
    assert reads > CHUNK * 5, "hardly any read was confirmed: the check saw nothing"
    assert snapshots > CHUNK, "hardly any snapshot was made: the check saw nothing"
    assert downloads > 5, "hardly any snapshot was fetched: the check saw nothing"


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_broken_core_is_caught(variant: Variant) -> None:
    caught: str | None = None
    with variant.broken():
        for seed in range(FEW.get(variant.name, 0), ENOUGH):
            try:
                variant.world(seed, variant.profile).run()
            except Violation as violation:
                if violation.rule in variant.rules:
                    caught = violation.rule
                    break
    assert caught is not None


PROFILES = sorted({variant.profile for variant in VARIANTS}, key=repr)


@pytest.mark.parametrize("profile", PROFILES, ids=range(len(PROFILES)))
def test_healthy_core_holds_where_the_variants_break(profile: Profile) -> None:
    for seed in range(8):
        World(seed, profile).run()


def test_a_seed_fixes_the_history() -> None:
    histories = []
    for _ in range(2):
        world = World(7)
        world.run()
        disks = {node_id: node.disk.prefixes.digests for node_id, node in world.nodes.items()}
        histories.append((world.steps, world.reads, disks))
    assert histories[0] == histories[1]
