"""What all our workloads have in common: their client, and final reads of every topic that was
ever named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from framework.generators import PENDING, Context, Generator, Offer, Pending, assign, op, phases
from framework.history.event import Event, Invocation, Json, Process
from framework.plugins.capabilities import OR
from framework.plugins.system import Cluster
from framework.plugins.workload import Client, WorkloadOptions
from workloads.kafka.client import KafkaClient
from workloads.kafka.operations.topics import NAMES_A_TOPIC
from workloads.kafka.roles import ONE_OF_EACH, brokers

ATTEMPTS: Final = 3
LAST: Final = 2
"""Topics of which every broker is asked in the end."""
LINEARIZABLE_READ: Final = "linearizable-topic-read"
"""The capability of which `describe` makes use."""
COMMITTED_READ: Final = "committed-topic-read"
"""The capability of which `follow` makes use."""
VERSIONED_READ: Final = OR.join((LINEARIZABLE_READ, COMMITTED_READ))
"""A read that shows versions of partitions."""
TOPIC_CONFIGS: Final = "topic-configs"
"""The capability of which `describe-configs` makes use."""
LEAST_IN_SYNC: Final = (("min.insync.replicas", "2"),)
"""Of topics on three brokers or more: an ISR of one is too small."""


class KafkaWorkload:
    """Remembers the topics that its clients named, which are the universe of the final reads:
    what was acknowledged on any of them must be there, and nothing else."""

    min_roles: Mapping[str, int] = ONE_OF_EACH

    def __init__(self) -> None:
        self._named: dict[str, None] = {}
        self._configured: dict[str, None] = {}
        self._there: dict[str, None] = {}
        """Topics that the final reads found."""

    def client(self, cluster: Cluster, thread: int) -> Client:
        """A client for any operation of ours."""
        return KafkaClient(cluster, thread, self._started)

    def final_generator(self, options: WorkloadOptions) -> Generator:
        """A read of each topic, again where it had no result; of configurations, where a create or
        a change asked for some. Then the last ones that are there as each broker shows them, and
        once more: what brokers serve is judged in every run, also where clients hardly ask them,
        and against what held before and after. So are the last ones that are gone: one may be all
        that a run deleted."""
        nodes: list[str | None] = [*brokers(options.nodes)] or [None]
        read = topic_read(options)
        return phases(
            FinalReads(names=lambda: tuple(self._named), f=read, found=self._found),
            FinalReads(names=lambda: tuple(self._configured), f="describe-configs"),
            *(FinalReads(names=self._last, f="metadata", node=node) for node in nodes),
            FinalReads(names=self._last, f=read),
            FinalReads(names=self._gone, f=read),
        )

    def _found(self, topic: str) -> None:
        self._there[topic] = None

    def _last(self) -> Sequence[str]:
        """Those that are there; where there are none, it is to be seen that nobody shows them."""
        there = [topic for topic in self._named if topic in self._there]
        return (there or list(self._named))[-LAST:]

    def _gone(self) -> Sequence[str]:
        """Of those that are not among the last."""
        gone = [topic for topic in self._named if topic not in self._there]
        return gone[-LAST:] if self._there else ()

    def _started(self, invocation: Invocation) -> None:
        if invocation.f in NAMES_A_TOPIC:
            self._named[invocation.key] = None
        configures = invocation.f == "create" and invocation.value.get("configs")
        if configures or invocation.f == "configure":
            self._configured[invocation.key] = None


def topic_read(options: WorkloadOptions) -> str:
    """The operation that reads a topic: linearizable where the system has such a read."""
    return "describe" if LINEARIZABLE_READ in options.capabilities else "metadata"


def versioned_read(options: WorkloadOptions) -> str:
    """The operation that reads a topic with the versions of its partitions."""
    return "describe" if LINEARIZABLE_READ in options.capabilities else "follow"


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalReads:
    """Reads each name once, by operation `f` of `value`, of one `node` where that is said, and
    again, up to `ATTEMPTS` times, where that was not ok. `found` is told each name that is there.

    `names` is asked at the first offer, when the main phase is over: the schedule as a whole is
    built before it begins.
    """

    names: Callable[[], Sequence[str]]
    f: str
    node: str | None = None
    value: Json = None
    found: Callable[[str], None] = lambda _: None
    left: tuple[tuple[str, int], ...] | None = None
    """(name, attempts left), in order; None before the first offer."""
    open: Mapping[Process, tuple[str, int]] = field(default_factory=dict)

    def offer(self, context: Context) -> Offer | None:
        left = self.left
        if left is None:
            left = tuple((name, ATTEMPTS) for name in self.names())
        if not left:
            return Offer(PENDING, self) if self.open else None
        chosen = assign(context.fork(len(left)), self._read(left[0][0]))
        if isinstance(chosen, Pending):
            return Offer(chosen, replace(self, left=left))
        under_way = {**self.open, chosen.process: left[0]}
        return Offer(chosen, replace(self, left=left[1:], open=under_way))

    def _read(self, name: str) -> Invocation:
        return op(self.f, key=name, value=self.value, node=self.node)

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "invoke" or event.process not in self.open or self.left is None:
            return self
        name, attempts = self.open[event.process]
        if event.type == "ok" and event.value is not None:
            self.found(name)
        rest = {process: each for process, each in self.open.items() if process != event.process}
        again = event.type != "ok" and attempts > 1
        left = (*self.left, (name, attempts - 1)) if again else self.left
        return replace(self, left=left, open=rest)
