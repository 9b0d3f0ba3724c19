"""Where the controllers are: as configured, and as they themselves say.

A broker needs one right address at its start (A.1.9); whoever answers there tells where all
controllers are, in the tagged field NodeEndpoints of its Fetch responses, and from then on the
configured addresses are not needed any more (A.1.10).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kio.schema.fetch.v17.response import NodeEndpoint

MAX_LEARNED: Final = 100


class Addresses:
    """Controller id -> (host, port). Written on the control loop, read on any thread."""

    def __init__(self, configured: Mapping[int, tuple[str, int]]) -> None:
        self._known = dict(configured)

    def of(self, controller_id: int) -> tuple[str, int]:
        """Raises `KeyError` for one that nobody has told of."""
        return self._known[controller_id]

    def learn(self, endpoints: Iterable[NodeEndpoint]) -> None:
        """`endpoints`: NodeEndpoint entities. They replace what was known of the same ids."""
        reported = {int(each.node_id): (each.host, int(each.port)) for each in endpoints}
        if reported and len(self._known | reported) <= MAX_LEARNED:
            self._known = self._known | reported
