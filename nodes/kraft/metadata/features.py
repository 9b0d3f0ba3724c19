"""Finalized features (KIP-584): what all nodes of the cluster are known to understand.

There is one, `metadata.format`, which decides what the active controller writes into the log
and every replica into its snapshots (KIP-631's draft, "Record Formats"):

    level 1   the draft's records, version 0, with tagged fields for what the draft lacks
    level 2   PartitionRecord and IsrChangeRecord in version 1, whose partition epoch is an
              ordinary field; the rest as before

This software reads both at any level. A level never goes down. It is raised by a controller that is
configured for a higher one, when it becomes active, or by an administrator (UpdateFeatures).
"""

from typing import Final

from nodes.kraft.metadata.image import Image

METADATA_FORMAT: Final = "metadata.format"
SUPPORTED: Final[dict[str, tuple[int, int]]] = {METADATA_FORMAT: (1, 2)}
"""Feature -> the lowest and the highest level that this software works with."""
FIRST_LEVEL: Final = 1


def format_level(image: Image) -> int:
    """The finalized level of `metadata.format`; 1 before any is."""
    return image.features.get(METADATA_FORMAT, FIRST_LEVEL)
