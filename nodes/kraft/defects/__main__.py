"""`python -m nodes.kraft.defects NAME --config server.properties`"""

import importlib
import sys

from nodes.kraft.__main__ import main
from nodes.kraft.defects.catalogue import DEFECTS


def run(argv: list[str]) -> int:
    """Install the named defect, then run the node."""
    if not argv or argv[0] not in DEFECTS:
        print(f"name a defect: {', '.join(sorted(DEFECTS))}", file=sys.stderr)
        return 254
    importlib.import_module(f"nodes.kraft.defects.{argv[0].replace('-', '_')}").install()
    return main(argv[1:])


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
