"""The one source of randomness of a run.

Every part draws from its own stream, named after it, so that adding a draw in one part does
not shift the draws of another.
"""

import hashlib
import random


def stream(seed: int, *names: object) -> random.Random:
    """A generator of random numbers that `seed` and `names` fix for ever."""
    label = "/".join(map(str, (seed, *names)))
    return random.Random(int.from_bytes(hashlib.sha256(label.encode()).digest()[:16]))
