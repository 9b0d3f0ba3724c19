"""At which levels of its features a cluster begins (KIP-584, KIP-1022): at those of its release, or
at others that a run asks for.

Which there are, and which go together, Kafka's own StorageTool knows, and says when it formats.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from framework.errors import UsageError
from nodes.kafka.promises.rules import ELIGIBLE_LEADERS, METADATA_VERSION
from nodes.kafka.quorum import DYNAMIC, DYNAMIC_SINCE, QUORUM, is_dynamic
from nodes.kafka.releases import is_since

PREFIX: Final = "feature."
RELEASE: Final = "release_version"
UNSTABLE: Final = "unstable.feature.versions.enable"
"""Kafka's own: without it there are no levels but those that a release calls stable."""
SINCE: Final = "3.9"
"""The first release whose StorageTool has `--feature`; `--release-version` all have."""
_KRAFT: Final = "kraft.version"
_DYNAMIC_FROM: Final = 21
"""Of `metadata.version`: 3.9-IV0. Not every StorageTool says so."""
_REGISTERED_SINCE: Final = "3.7"
_REGISTERED_FROM: Final = 15
"""Of `metadata.version`: 3.7-IV0, from which on controllers register, and tell of each other."""
_SHRINKING_RAISES_BEFORE: Final = "3.6"
SHRINKING_RAISES_BELOW: Final = 12
"""Of `metadata.version`: 3.6-IV0, from which on an ISR loses a member within a leader epoch."""
_ELIGIBLE_SINCE: Final = "4.1"
_ELIGIBLE_FROM: Final = 26
"""Of `metadata.version`: 4.1-IV0, from which on a cluster begins with eligible leader replicas."""


@dataclass(frozen=True, slots=True)
class Levels:
    """What is asked for. `release`: the levels of another release, as StorageTool names it; empty:
    its own. `each`: a feature and its level, over those. `unstable`: any level will do."""

    release: str = ""
    each: tuple[tuple[str, str], ...] = ()
    unstable: bool = False

    @property
    def asked(self) -> bool:
        """Whether anything but what a release begins with by itself."""
        return bool(self.release or self.each)

    @property
    def arguments(self) -> list[str]:
        """StorageTool's."""
        release = ["--release-version", self.release] if self.release else []
        return [*release, *(f"--feature={name}={level}" for name, level in self.each)]

    @property
    def key(self) -> str:
        """One word for these."""
        text = repr((self.release, self.each, self.unstable))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def __str__(self) -> str:
        """As one types it."""
        release = [f"--set {RELEASE}={self.release}"] if self.release else []
        return " ".join([*release, *(f"--set {PREFIX}{name}={at}" for name, at in self.each)])


AS_RELEASED: Final = Levels()


def is_of_format(key: str) -> bool:
    """Whether a setting is of the levels that a cluster begins with: no node's configuration."""
    return key == RELEASE or key.startswith(PREFIX)


def asked_for(wanted: Mapping[str, str]) -> Levels:
    """What a node's settings say."""
    named = {key.removeprefix(PREFIX): wanted[key] for key in wanted if key.startswith(PREFIX)}
    release = wanted.get(RELEASE, "")
    unstable = bool(named or release) and wanted.get(UNSTABLE) == "true"
    return Levels(release, tuple(sorted(named.items())), unstable)


def check(wanted: Sequence[Mapping[str, str]], versions: Sequence[str]) -> None:
    """`wanted`: each node's settings, of which `versions` are the releases. Raises `UsageError` for
    levels that nodes of these cannot be asked for, whatever features they have."""
    asked = {asked_for(each) for each in wanted}
    if len(asked) > 1:
        raise UsageError(
            f"--set {PREFIX}NAME, {RELEASE}: a cluster begins with one level of a feature, so it "
            "is of no node or role"
        )
    for name, level in (found for levels in asked for found in levels.each):
        said = f"--set {PREFIX}{name}={level}"
        if not level.isdecimal():
            raise UsageError(f"{said}: a level is a whole number from 0 up")
        if name == _KRAFT:
            raise UsageError(f"{said}: --set {QUORUM}={DYNAMIC} says that")
        if old := [version for version in versions if not is_since(version, SINCE)]:
            raise UsageError(
                f"{said}: StorageTool of Apache Kafka {old[0]} has no --feature, releases from "
                f"{SINCE} on have (KIP-1022); --set {RELEASE} they all have"
            )
    if any(map(is_dynamic, wanted)) and any(map(_is_too_low, asked)):
        raise UsageError(
            f"--set {QUORUM}={DYNAMIC}: it takes levels of {DYNAMIC_SINCE} or newer, "
            f"{METADATA_VERSION} {_DYNAMIC_FROM} (KIP-853)"
        )


def registers_controllers(wanted: Mapping[str, str]) -> bool:
    """Whether a cluster that begins at these levels has registrations of controllers (KIP-919), if
    its releases have."""
    levels = asked_for(wanted)
    level = dict(levels.each).get(METADATA_VERSION, str(_REGISTERED_FROM))
    old = bool(levels.release) and not is_since(levels.release, _REGISTERED_SINCE)
    return not old and int(level) >= _REGISTERED_FROM


def shrinking_raises(version: str, wanted: Mapping[str, str]) -> bool:
    """Whether in a cluster of this release that begins at these levels an ISR that loses a member
    has another leader epoch (KAFKA-15021)."""
    levels = asked_for(wanted)
    level = dict(levels.each).get(METADATA_VERSION)
    if level is not None:
        return int(level) < SHRINKING_RAISES_BELOW
    return not is_since(levels.release or version, _SHRINKING_RAISES_BEFORE)


def _is_too_low(levels: Levels) -> bool:
    """For a dynamic quorum."""
    level = dict(levels.each).get(METADATA_VERSION, str(_DYNAMIC_FROM))
    old = bool(levels.release) and not is_since(levels.release, DYNAMIC_SINCE)
    return old or int(level) < _DYNAMIC_FROM


def on(version: str, wanted: Mapping[str, str]) -> frozenset[str]:
    """Of the features on which promises rest, those that a cluster of this release begins with.
    Nobody changes them in a run."""
    levels = asked_for(wanted)
    said = dict(levels.each)
    begins = is_since(levels.release or version, _ELIGIBLE_SINCE)
    if METADATA_VERSION in said:
        begins = int(said[METADATA_VERSION]) >= _ELIGIBLE_FROM
    if ELIGIBLE_LEADERS in said:
        begins = int(said[ELIGIBLE_LEADERS]) > 0
    return frozenset({ELIGIBLE_LEADERS} if begins else ())
