"""What one check of one history said and cost."""

from dataclasses import dataclass

VERDICTS = ("VALID", "INVALID")


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement. `verdict` is VALID, INVALID, UNKNOWN, or why there is none: time, memory,
    failed."""

    verdict: str
    seconds: float
    peak_bytes: int
    """The greatest resident memory of the process, its arrays included; 0: not known."""
    method: str
    first_s: float | None = None
    """When it had found the first key that is wrong, where `seconds` are those of all keys."""

    @property
    def has_verdict(self) -> bool:
        return self.verdict in VERDICTS
