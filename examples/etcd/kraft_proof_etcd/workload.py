"""Registers: reads, writes and compare-and-sets, on one key after another."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from framework import generators
from framework.generators import Context, Generator, Offer, Pending
from framework.history.event import Event, Json
from framework.plugins.system import Cluster
from framework.plugins.workload import Client, WorkloadOptions
from kraft_proof_etcd.client import RegisterClient

OPERATIONS: Final = 100
UNKNOWN: Final = 8
"""A key retires after so many operations, or so many of unknown fate: its history stays small."""


@dataclass(frozen=True, slots=True)
class RegisterOptions:
    reads: Literal["linearizable", "serializable"] = "linearizable"


class Registers:
    name = "register"
    requires = frozenset({"etcd-kv"})
    provides = frozenset({"register-operations"})
    min_roles: Mapping[str, int] = {"member": 1}
    min_threads = 1
    Options = RegisterOptions

    def __init__(self, options: RegisterOptions) -> None:
        self._serializable = options.reads == "serializable"
        self._keys: list[str] = []
        """Those that were handed out, for the final reads."""

    def generator(self, options: WorkloadOptions) -> Generator:
        """As many keys at a time as there are groups of threads: threes, if that is possible."""
        threads = options.threads
        size = next((size for size in range(3, threads) if threads % size == 0), threads)
        register = generators.process_limit(size + UNKNOWN, Register())
        each = generators.limit(OPERATIONS, register)
        return generators.concurrent_keys(size, self._key, lambda _: each)

    def final_generator(self, options: WorkloadOptions) -> Generator:
        return generators.sequential_keys(self._keys, lambda _: generators.op("read"))

    def client(self, cluster: Cluster, thread: int) -> Client:
        """A thread stays with its member: one that is cut off keeps its clients."""
        nodes = sorted(cluster.nodes)
        return RegisterClient(cluster, nodes[thread % len(nodes)], serializable=self._serializable)

    def _key(self, position: int) -> str:
        key = f"register-{position}"
        if position == len(self._keys):
            self._keys.append(key)
        return key


@dataclass(frozen=True, slots=True)
class Register:
    """Operations on one register. Every value is written once, so that who reads it knows who
    wrote it. `seen`: what somebody saw last, and the next compare-and-set expects."""

    seen: Json = None
    taken: int = 0

    def offer(self, context: Context) -> Offer:
        """The next operation; how many there were before is what it writes."""
        (f,) = context.rng(self.taken).choices(["read", "write", "cas"], [5, 3, 2])
        value: Json = {"read": None, "write": self.taken, "cas": [self.seen, self.taken]}[f]
        chosen = generators.assign(context.fork(self.taken), generators.op(f, value=value))
        after = self if isinstance(chosen, Pending) else replace(self, taken=self.taken + 1)
        return Offer(chosen, after)

    def update(self, context: Context, event: Event) -> Generator:
        if event.type != "ok":
            return self
        return replace(self, seen=event.value[1] if event.f == "cas" else event.value)
