"""What a system says of a clause of a checker: who promises it, or that nobody does."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """source: where the system's users are promised what the clause says, in a few words, as in
    "KIP-841 (since 3.3)"; of one that is not `made`: why not. It is not judged then."""

    source: str
    made: bool = True
