"""Who does not hear whom. A grudge maps a node to the nodes whose packets it drops.

Pure functions. Shapes are drawn over the control plane, where a cut decides who can lead; the
other nodes are strewn over its sides. The shapes are Jepsen's, with its small-cluster traps
closed: see `majorities_ring`.
"""

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

Grudge: TypeAlias = dict[str, list[str]]


def cut(drops: Iterable[tuple[str, str]]) -> Grudge:
    """A grudge from pairs (node, the node whose packets it drops)."""
    grudge: dict[str, set[str]] = {}
    for node, source in drops:
        if node != source:
            grudge.setdefault(node, set()).add(source)
    return {node: sorted(grudge[node]) for node in sorted(grudge)}


def apart(sides: Sequence[Sequence[str]]) -> Grudge:
    """Nobody hears anybody on another side."""
    return cut(
        (node, source)
        for here in sides
        for there in sides
        if here is not there
        for node in here
        for source in there
    )


def isolate(group: Sequence[str], nodes: Iterable[str]) -> Grudge:
    """A group hears only itself. A group of everybody falls apart into single nodes."""
    others = [node for node in nodes if node not in group]
    return apart([group, others] if others else [[node] for node in group])


def _halves(nodes: Sequence[str], rng: random.Random) -> tuple[list[str], list[str]]:
    shuffled = rng.sample(list(nodes), len(nodes))
    middle = len(nodes) // 2
    return shuffled[:middle], shuffled[middle:]


def _strew(rest: Iterable[str], sides: Sequence[list[str]], rng: random.Random) -> None:
    for node in rest:
        rng.choice(sides).append(node)


def halves(core: Sequence[str], rest: Sequence[str], rng: random.Random) -> Grudge:
    """Two sides, the smaller one a minority. Needs a core of 2."""
    sides = _halves(core, rng)
    _strew(rest, sides, rng)
    return apart(sides)


def one_way(core: Sequence[str], rest: Sequence[str], rng: random.Random) -> Grudge:
    """Two sides; one does not hear the other, but is heard. Needs a core of 2.

    No TCP connection survives between the sides, yet what the deaf side sends still arrives.
    """
    sides = _halves(core, rng)
    _strew(rest, sides, rng)
    deaf, heard = rng.sample(sides, 2)
    return cut((node, source) for node in deaf for source in heard)


def bridge(
    core: Sequence[str], rest: Sequence[str], rng: random.Random, middle: str | None = None
) -> Grudge:
    """Two sides and one node of the core between them that hears both: `middle`, or whoever is
    drawn. Needs a core of 3."""
    others = rng.sample(list(core), len(core))
    middle = middle or others[0]
    others.remove(middle)
    sides = _halves(others, rng)
    _strew(rest, [*sides, [middle]], rng)
    return apart(sides)


def majorities_ring(core: Sequence[str], rest: Sequence[str], rng: random.Random) -> Grudge:
    """Every node of the core hears a majority of it, no two the same one. Needs a core of 4.

    The nodes stand in a ring and hear as many neighbours on the left as on the right, so that
    whoever is heard hears too. The textbook window of exactly a majority is lopsided when a
    majority is even: with 3 nodes it cuts one direction of each pair, and no connection at all
    survives. With 3, every node hearing a majority of its own is the shape `bridge`.
    """
    ring = rng.sample(list(core), len(core))
    size = len(ring)
    radius = -(-(size // 2) // 2)

    def hears(one: int, other: int) -> bool:
        return min((one - other) % size, (other - one) % size) <= radius

    places = {node: place for place, node in enumerate(ring)}
    places |= {node: rng.randrange(size) for node in rest}  # beside a node of the core
    return cut(
        (node, source)
        for node in places
        for source in places
        if (node in ring or source in ring) and not hears(places[node], places[source])
    )


def together(
    grudge: Mapping[str, Sequence[str]], nodes: Iterable[str], voters: Collection[str]
) -> list[str]:
    """Nodes of which each hears each, sorted: with as many voters as one finds who begins with each
    node in turn and takes in whoever fits, voters and those who miss few before the others."""
    apart = {frozenset((node, source)) for node, sources in grudge.items() for source in sources}
    names = list(nodes)
    missed = {name: sum(name in pair for pair in apart) for name in names}
    order = sorted(names, key=lambda name: (name not in voters, missed[name], name))
    groups = []
    for first in names:
        group = [first]
        for name in order:
            if name != first and all(frozenset((name, each)) not in apart for each in group):
                group.append(name)
        groups.append(group)
    best = max(groups, key=lambda group: (sum(name in voters for name in group), len(group)))
    return sorted(best)


def cut_off(
    grudge: Mapping[str, Sequence[str]], nodes: Iterable[str], voters: Collection[str]
) -> list[str]:
    """Nodes that reach no voter that reaches a majority of the voters, sorted. A connection needs
    both directions; each node reaches itself."""
    apart = {frozenset((node, source)) for node, sources in grudge.items() for source in sources}

    def reaches(node: str) -> set[str]:
        return {voter for voter in voters if frozenset((node, voter)) not in apart}

    able = {voter for voter in voters if 2 * len(reaches(voter)) > len(voters)}
    return sorted(node for node in nodes if not reaches(node) & able)
