"""A group of no members: clients commit for it without joining, as those do that assign partitions
to themselves, and administrators delete what was committed (OffsetDelete, KIP-496).

Nobody is ever in it, so that nothing is a reason to refuse either.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from framework.generators import op
from framework.history.event import Event, Invocation
from workloads.kafka.operations.groups import Commit, OfGroup

COMMIT_SHARE, FORGET_SHARE = 0.45, 0.3
"""Of what is done of it; the rest are questions for what is committed."""
NO_GENERATION: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleGroup:
    """What is known of it. `ends`: key -> up to where its partition surely goes; `committed`: the
    highest offset that anybody tried to commit: as of a reader, who does not go back."""

    group: str
    ends: Mapping[str, int] = field(default_factory=dict)
    committed: Mapping[str, int] = field(default_factory=dict)

    def next(self, rng: random.Random, key: str) -> Invocation:
        """What is done of it next, in a partition."""
        draw = rng.random()
        if draw < COMMIT_SHARE:
            least = self.committed.get(key, 0)
            return self._commit(key, rng.randint(least, max(least, self.ends.get(key, 0))))
        f = "forget" if draw < COMMIT_SHARE + FORGET_SHARE else "committed"
        return op(f, key=key, value=OfGroup(self.group).to_json())

    def _commit(self, key: str, offset: int) -> Invocation:
        value = Commit(group=self.group, member="", generation=NO_GENERATION, offset=offset, id="")
        return op("commit", key=key, value=value.to_json())

    def begun(self, chosen: Invocation) -> SimpleGroup:
        """With that operation of its own under way."""
        if chosen.f != "commit":
            return self
        offset = int(chosen.value["offset"])
        return replace(self, committed={**self.committed, str(chosen.key): offset})

    def produced(self, event: Event) -> SimpleGroup:
        """After a produce that was acknowledged."""
        key = str(event.key)
        end = max(self.ends.get(key, 0), int(event.value["offset"]) + 1)
        return replace(self, ends={**self.ends, key: end})
