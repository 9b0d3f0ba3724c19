"""`python -m checkers.linearizability.warm`: compiles every kernel ahead of all checks."""

from time import monotonic

import pyarrow as pa

from checkers.linearizability.decide import METHODS
from checkers.linearizability.encoding.encode import encode
from checkers.linearizability.encoding.models import REGISTER
from checkers.linearizability.rehearsal import ready
from framework.history.columns import OPERATIONS

_WRITE = {"op": 0, "end": 1, "f": "write", "key": "1", "value": "1", "type": "ok"}


def main() -> None:
    began = monotonic()
    encode(REGISTER.name, pa.Table.from_pylist([_WRITE], OPERATIONS))
    for method in METHODS:
        ready(method)
    print(f"linearizability kernels are compiled ({monotonic() - began:.1f} s)")


if __name__ == "__main__":
    main()
