"""The cells of the grid: histories of known verdict, by number."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from benchmarks.histories import Plant, QueuePlant, cell, keys, queue
from checkers.linearizability.encoded import EncodedHistory

KEYS: Final = (1, 100)
OPERATIONS: Final = (1_000, 10_000, 100_000, 1_000_000)
CLIENTS: Final = (5, 20, 100)
INFO: Final = (0.0, 0.01, 0.05)
VALUES: Final = (None, 5)
PLANTS: Final[Sequence[Plant]] = ("none", "phantom", "stale", "burst")
QUEUE_PLANTS: Final[Sequence[QueuePlant]] = ("none", "swap", "lost", "repeat", "empty")
_LEAST_PLANTED: Final = 1_000
"""Operations of a key, for a violation to stand among."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of history. `operations` in all; `clients` of each key, its own."""

    model: str = "register"
    keys: int = 1
    operations: int = 1_000
    clients: int = 5
    values: int | None = None
    """Of a register; None: every write writes a new one. A queue's are all new."""
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

    def _one(self, number: int) -> EncodedHistory:
        operations = self.operations // self.keys
        plant = self.plant if number == self.keys // 2 else "none"
        seed = self.seed * self.keys + number
        if self.model == "queue":
            planted = cast(QueuePlant, plant)
            return queue(operations, self.clients, info=self.info, seed=seed, plant=planted)
        return cell(
            operations,
            self.clients,
            values=self.values,
            info=self.info,
            seed=seed,
            plant=cast(Plant, plant),
        )


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
    """All cells, small ones first."""
    for operations in OPERATIONS:
        for number in KEYS:
            for clients in CLIENTS:
                for info in INFO:
                    yield from _cells(number, operations, clients, info)


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
