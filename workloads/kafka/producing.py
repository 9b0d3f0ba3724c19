"""What `transactor` asks of a transactional producer, whoever's it is.

None of it is done for certain until it returns; whatever is raised says why it is not.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

ProducerKind: TypeAlias = Literal["librdkafka", "raw"]
"""Whose it is: librdkafka's, or one in our own codec."""

TRANSACTION_MS: Final = 5000
"""After which the coordinator aborts what is left open."""
REQUEST_MS: Final = 1000
"""After which a producer gives a request up, and sends it again."""


class ProducerFailed(Exception):
    """`code`: why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Reader:
    """Who read: a consumer of `group` that is assigned its partitions. `metadata`: as librdkafka
    says it."""

    group: str
    metadata: object


class TransactionalProducer(Protocol):
    """One transaction at a time. `most_s`: seconds that a step may take."""

    def begin(self) -> None: ...

    def send(self, key: str, value: int, most_s: float) -> int:
        """The offset of what was sent to a partition and acknowledged."""
        ...

    def send_offsets(self, positions: Mapping[str, int], reader: Reader, most_s: float) -> None:
        """How far was read, by partitions' keys, is committed with the transaction."""
        ...

    def commit(self, most_s: float) -> None:
        """End the transaction; asked again and again while that may help."""
        ...

    def abort(self, most_s: float) -> None: ...


Initialized: TypeAlias = Callable[[str, float], TransactionalProducer]
"""(transactional id, seconds) -> a producer. Whoever had the id is fenced, and what it left open
is aborted."""
