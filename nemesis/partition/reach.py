"""Whether packets arrive: connections tried from node to node, and what the drop rules counted."""

import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from framework.history.event import Json
from framework.plugins.fault import Probe
from framework.plugins.system import Cluster
from nemesis.inspect import dropped
from nemesis.partition.grudges import Grudge

MAX_PAIRS: Final = 60
"""More pairs than this are sampled."""
WAIT_S: Final = 0.8
"""A packet that has not arrived then, on a bridge inside one machine, does not arrive."""
PORT: Final = 9
"""Nobody listens there. An answer, be it a refusal, says that packets go both ways, whatever the
node's own process does; and that process is not disturbed."""

_TRY: Final = """
import json, select, socket, sys, time
wait_s, port, *addresses = sys.argv[1:]
poll, pending, reached = select.poll(), {}, {}
for address in addresses:
    attempt = socket.socket()
    attempt.setblocking(False)
    attempt.connect_ex((address, int(port)))
    poll.register(attempt, select.POLLOUT)
    pending[attempt.fileno()] = address, attempt
end = time.monotonic() + float(wait_s)
while pending and (left := end - time.monotonic()) > 0:
    for handle, _ in poll.poll(left * 1000):
        address, attempt = pending.pop(handle)
        poll.unregister(handle)
        reached[address] = attempt.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) in (0, 111)
print(json.dumps({**dict.fromkeys(addresses, False), **reached}))
"""

Pair = tuple[str, str]
"""Source and destination."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was seen between nodes."""

    reached: Mapping[Pair, bool]
    before: Mapping[str, Mapping[str, int]]
    """Node -> source node -> packets dropped, before the connections were tried."""
    after: Mapping[str, Mapping[str, int]]


def pairs(grudge: Grudge, nodes: Iterable[str]) -> tuple[list[Pair], list[Pair]]:
    """Which pairs to try: some whose packets must be dropped, some that must connect."""
    names = list(nodes)
    cut = [(source, node) for node, sources in grudge.items() for source in sources]
    either = {*cut, *((node, source) for source, node in cut)}
    free = [(a, b) for a in names for b in names if a != b and (a, b) not in either]
    return _some(cut), _some(free)


def _some(found: list[Pair]) -> list[Pair]:
    step = -(-len(found) // MAX_PAIRS)
    return found[:: max(1, step)]


def look(cluster: Cluster, grudge: Grudge, tried: Sequence[Pair]) -> Seen:
    """Try the pairs, all sources at once, and read the counters before and after."""
    names = {cluster.host(node).address: node for node in cluster.nodes}
    by_source: dict[str, list[str]] = {}
    for source, destination in tried:
        by_source.setdefault(source, []).append(destination)

    def counters(node: str) -> dict[str, int]:
        return {names.get(at, at): count for at, count in dropped(cluster.host(node)).items()}

    def attempt(source: str) -> dict[Pair, bool]:
        host = cluster.host(source)
        addresses = [cluster.host(node).address for node in by_source[source]]
        done = host.run([host.python, "-I", "-S", "-c", _TRY, str(WAIT_S), str(PORT), *addresses])
        return {(source, names[at]): good for at, good in json.loads(done.out).items()}

    with ThreadPoolExecutor(len(cluster.nodes)) as pool:
        before = dict(zip(grudge, pool.map(counters, grudge), strict=True))
        reached = {
            pair: good for part in pool.map(attempt, by_source) for pair, good in part.items()
        }
        after = dict(zip(grudge, pool.map(counters, grudge), strict=True))
    return Seen(reached=reached, before=before, after=after)


def judge(cut: Sequence[Pair], free: Sequence[Pair], seen: Seen) -> Probe:
    """Bites: every pair that must be cut is, by our rule's own count, and the others connect.
    Does not: every pair connects, and no rule is there. Anything else cannot be told."""
    counted = {
        (source, node): seen.after[node].get(source, 0) - seen.before[node].get(source, 0)
        for source, node in cut
    }
    ruled = {(source, node) for source, node in cut if source in seen.after[node]}
    held = [pair for pair in cut if not seen.reached[pair] and counted[pair] > 0]
    astray = [pair for pair in free if not seen.reached[pair]]
    bites: bool | None = None
    if not astray and len(held) == len(cut):
        bites = True
    elif not astray and not ruled and all(seen.reached[pair] for pair in cut):
        bites = False
    evidence: dict[str, Json] = {
        "cut": {
            f"{source}->{node}": {
                "arrives": seen.reached[source, node],
                "rule": (source, node) in ruled,
                "dropped": counted[source, node],
            }
            for source, node in cut
        },
        "free_pairs": len(free),
        "free_but_silent": [f"{source}->{node}" for source, node in astray],
    }
    return Probe(bites=bites, evidence=evidence)
