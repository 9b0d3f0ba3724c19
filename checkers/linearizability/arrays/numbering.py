"""Values as indices of arrays."""

from dataclasses import replace

import numpy as np

from checkers.linearizability.encoded import EncodedHistory


def size_of(encoded: EncodedHistory) -> int:
    """All values are below it."""
    if not len(encoded):
        return encoded.initial + 1
    return max(int(encoded.a.max()), int(encoded.b.max()), encoded.initial) + 1


def compact(encoded: EncodedHistory) -> EncodedHistory:
    """The same with values numbered anew (and their texts left out), if only few of many are
    used; as where operations were taken from a longer history."""
    if size_of(encoded) <= 4 * len(encoded) + 16:
        return encoded
    used = np.unique(np.concatenate(([-1, encoded.initial], encoded.a, encoded.b)))
    a = (np.searchsorted(used, encoded.a) - 1).astype(np.int32)
    b = (np.searchsorted(used, encoded.b) - 1).astype(np.int32)
    initial = int(np.searchsorted(used, encoded.initial)) - 1
    return replace(encoded, a=a, b=b, initial=initial, values=())
