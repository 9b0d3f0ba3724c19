"""Values as indices of arrays."""

from dataclasses import replace

import numpy as np

from checkers.linearizability.coded import Coded


def size_of(coded: Coded) -> int:
    """All values are below it."""
    if not len(coded):
        return coded.initial + 1
    return max(int(coded.a.max()), int(coded.b.max()), coded.initial) + 1


def compact(coded: Coded) -> Coded:
    """The same with values numbered anew (and their texts left out), if only few of many are
    used; as where operations were taken from a longer history."""
    if size_of(coded) <= 4 * len(coded) + 16:
        return coded
    used = np.unique(np.concatenate(([-1, coded.initial], coded.a, coded.b)))
    a = (np.searchsorted(used, coded.a) - 1).astype(np.int32)
    b = (np.searchsorted(used, coded.b) - 1).astype(np.int32)
    initial = int(np.searchsorted(used, coded.initial)) - 1
    return replace(coded, a=a, b=b, initial=initial, values=())
