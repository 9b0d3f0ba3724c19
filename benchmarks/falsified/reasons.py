"""Why lies may stay unfound: what no system promises, or what nothing that was seen contradicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Reason:
    """f, field, change: patterns (`fnmatch`, brackets as they are) of lies; why they may stay."""

    f: str
    field: str
    change: str
    why: str

    def covers(self, row: Mapping[str, Any]) -> bool:
        """Whether it is about such a lie."""
        pairs = ((row["f"], self.f), (row["field"], self.field), (row["change"], self.change))
        return all(fnmatchcase(text, pattern.replace("[", "[[]")) for text, pattern in pairs)


REASONS: Final[Sequence[Reason]] = ()


def reason_for(row: Mapping[str, Any]) -> str:
    """Of the first that covers it; empty: nobody knows one."""
    return next((each.why for each in REASONS if each.covers(row)), "")
