"""The cells of the grid: histories of known verdict, by number."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from benchmarks.histories import Plant, QueuePlant, cell, keys, queue
from benchmarks.objects import element, growing, repeating, set_steps, strings
from checkers.linearizability.encoded import EncodedHistory
from checkers.linearizability.methods.grow_only import SetHistory

KEYS: Final = (1, 100)
OPERATIONS: Final = (1_000, 10_000, 100_000, 1_000_000)
CLIENTS: Final = (5, 20, 100)
INFO: Final = (0.0, 0.01, 0.05)
VALUES: Final = (None, 5)
PLANTS: Final[Sequence[Plant]] = ("none", "phantom", "stale", "burst")
QUEUE_PLANTS: Final[Sequence[QueuePlant]] = ("none", "swap", "lost", "repeat", "empty")
OTHERS: Final = (
    "set/1/10000/20/2/0/none",
    "set/1/10000/100/2/0.05/none",
    "queue/1/100/3/6/0/none",
    "queue/1/100/3/6/0.02/none/1",
    "queue/1/300/3/6/0/none/1",
    "queue/1/300/3/6/0/lost/1",
    "kv/1/1000/5/3/0/none",
    "kv/1/1000/5/3/0/phantom",
    "kv/1/1000/5/3/0.05/phantom",
    "kv/1/10000/5/3/0/none",
    "kv/1/10000/5/3/0/phantom",
    "kv/1/10000/5/3/0.01/none",
    "logged-kv/1/10000/20/3/0/none",
    "grow-only-set/1/1000/5/unique/0/none",
    "grow-only-set/1/1000/20/unique/0.05/none",
    "grow-only-set/1/1000/20/unique/0.05/lost",
    "grow-only-set/1/10000/20/unique/0.05/none",
)
"""Cells of other objects: some of the sizes that are decided."""
_LEAST_PLANTED: Final = 1_000
"""Operations of a key, for a violation to stand among."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of history. `operations` in all; `clients` of each key, its own.

    Models are `register` and `queue`; `set` (one element), `kv` (strings), `logged-kv` (its log is
    known besides), and `grow-only-set`, as `check --model` knows them."""

    model: str = "register"
    keys: int = 1
    operations: int = 1_000
    clients: int = 5
    values: int | None = None
    """How many there are, of a string letters; None: every write writes a new one."""
    info: float = 0.0
    plant: str = "none"
    """A violation; of many keys the middle one has it."""
    seed: int = 0

    @property
    def name(self) -> str:
        """As in `register/100/1000000/5/unique/0.05/none`: model, keys, operations, clients,
        values, share that never returns, violation; the seed, if it is not 0."""
        values = "unique" if self.values is None else str(self.values)
        parts = [self.model, self.keys, self.operations, self.clients, values]
        parts += [f"{self.info:g}", self.plant] + ([self.seed] if self.seed else [])
        return "/".join(map(str, parts))

    @property
    def expected(self) -> str:
        return "VALID" if self.plant == "none" else "INVALID"

    def histories(self) -> list[EncodedHistory]:
        """One for each key."""
        if self.keys == 1:
            return [self._one(0)]
        return keys(self.keys, self._one)

    def sets(self) -> list[SetHistory]:
        """One for each key of a `grow-only-set`: what the method for these knows."""
        if self.model != "grow-only-set":
            return []
        return [
            growing(operations, self.clients, self.info, seed, plant)
            for operations, seed, plant in map(self._part, range(self.keys))
        ]

    def _part(self, number: int) -> tuple[int, int, str]:
        """Of a key: operations, seed, violation."""
        plant = self.plant if number == self.keys // 2 else "none"
        return self.operations // self.keys, self.seed * self.keys + number, plant

    def _one(self, number: int) -> EncodedHistory:
        operations, seed, plant = self._part(number)
        clients, values, info = self.clients, self.values, self.info
        match self.model:
            case "register":
                planted = cast(Plant, plant)
                return cell(operations, clients, values=values, info=info, seed=seed, plant=planted)
            case "queue":
                spoilt = cast(QueuePlant, plant)
                if values is not None:
                    return repeating(operations, clients, values, info, seed, spoilt)
                return queue(operations, clients, info=info, seed=seed, plant=spoilt)
            case "set":
                return element(operations, clients, info, seed)
            case "kv" | "logged-kv":
                logged = self.model != "kv"
                return strings(operations, clients, values or 1, info, seed, plant, logged)
            case "grow-only-set":
                return set_steps(growing(operations, clients, info, seed, plant))
        raise ValueError(f"no histories of {self.model!r}")


def named(name: str) -> Cell:
    """The cell of a name."""
    model, number, operations, clients, values, info, plant, *seed = name.split("/")
    return Cell(
        model,
        int(number),
        int(operations),
        int(clients),
        None if values == "unique" else int(values),
        float(info),
        plant,
        int(seed[0]) if seed else 0,
    )


def grid() -> Iterator[Cell]:
    """All cells: registers and queues, small ones first, then others."""
    for operations in OPERATIONS:
        for number in KEYS:
            for clients in CLIENTS:
                for info in INFO:
                    yield from _cells(number, operations, clients, info)
    yield from map(named, OTHERS)


def _cells(number: int, operations: int, clients: int, info: float) -> Iterator[Cell]:
    can_plant = operations // number >= _LEAST_PLANTED
    for values in VALUES:
        for plant in PLANTS if can_plant else PLANTS[:1]:
            if values is None or plant != "stale":
                yield Cell("register", number, operations, clients, values, info, plant)
    for planted in QUEUE_PLANTS if can_plant else QUEUE_PLANTS[:1]:
        yield Cell("queue", number, operations, clients, None, info, planted)


def quick() -> Iterator[Cell]:
    """Some of them: a minute or two without another checker."""
    for wanted in grid():
        is_end = wanted.operations in (OPERATIONS[0], OPERATIONS[-1]) and wanted.clients != 20
        if is_end and wanted.info != 0.01 and wanted.plant in ("none", "burst", "lost"):
            yield wanted
