"""What a promise is, and when one is made."""

from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from framework.evidence.systems import HeldRule
from nodes.kafka.releases import is_since

NOT_VERIFIED: Final = "not verified"
Why: TypeAlias = Literal["not promised", "done otherwise", "not asked", "not told"]
"""not promised, done otherwise: clauses that want it are not judged. not asked: it is promised, and
no client of ours asks for it. not told: it may be promised, and only a node could tell of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The releases from `since` on, and before `before`; empty: no bound among those that can be
    had here (3.3 and later). `feature`: only where a cluster begins with that (KIP-584)."""

    since: str = ""
    before: str = ""
    feature: str = ""

    def hold(self, releases: Iterable[str], on: Set[str] = frozenset()) -> bool:
        """Of every one of these releases; with bounds, of no release that nobody knows. `on`: the
        features that the cluster begins with."""
        known = list(releases)
        return (
            bool(known or not (self.since or self.before))
            and all(map(self._holds, known))
            and (not self.feature or self.feature in on)
        )

    def _holds(self, release: str) -> bool:
        return (not self.since or is_since(release, self.since)) and not (
            self.before and is_since(release, self.before)
        )

    def text(self) -> str:
        """In a few words; empty: no bound."""
        said = [f"since {self.since}"] * bool(self.since)
        said += [f"before {self.before}"] * bool(self.before)
        return ", ".join(said + [f"where {self.feature} is on"] * bool(self.feature))


ALWAYS: Final = Bounds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What holds of Apache Kafka, by its own word.

    name: a few words with hyphens, unique in the table.
    says: what is promised, as a sentence.
    source: where: a KIP, a page of the documentation, or a class that does it.
    bounds: the releases that make it. asked: those on which somebody here asks for it.
    bounded_by: where these bounds are known from, or `NOT_VERIFIED`; empty without bounds.
    capabilities: of the framework's, those that a system has by it, where it is asked for.
    clauses: `checker/clause`, those that rest on it.
    rule: of the metadata log, where it is one; wrong: what breaks that.
    """

    name: str
    says: str
    source: str
    bounds: Bounds = ALWAYS
    asked: Bounds = ALWAYS
    bounded_by: str = ""
    capabilities: frozenset[str] = frozenset()
    clauses: tuple[str, ...] = ()
    rule: HeldRule | None = None
    wrong: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPromise:
    """What other systems may promise, and Apache Kafka does not, or nobody sees.

    says: what that is. instead: what Apache Kafka does, and `source` where that is said.
    so: what is done about it here.
    bounds: the releases of which that is so. bounded_by: as of a promise.
    capabilities: of the framework's, those that it does not have for this.
    clauses: those that want it, and are not judged.
    """

    name: str
    says: str
    why: Why
    instead: str
    source: str
    so: str
    bounds: Bounds = ALWAYS
    bounded_by: str = ""
    capabilities: frozenset[str] = frozenset()
    clauses: tuple[str, ...] = ()


def of(checker: str, *clauses: str) -> tuple[str, ...]:
    """`checker/clause` of each."""
    return tuple(f"{checker}/{each}" for each in clauses)
