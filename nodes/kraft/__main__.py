"""`python -m nodes.kraft --config server.properties`"""

import sys

# kio registers its types with hypothesis wherever that is installed. A node has no use for it,
# and would start seconds later.
sys.modules.setdefault("hypothesis", None)  # type: ignore[arg-type]

# ruff: noqa: E402
import argparse
import asyncio
import logging
from pathlib import Path
from typing import Final

from nodes.kraft.config import Config, ConfigError, load
from nodes.kraft.server import Node
from nodes.kraft.storage.errors import StorageError

SWITCH_INTERVAL_S: Final = 0.0005
"""How long one thread may keep the interpreter while the other plane's waits for it."""


def main(argv: list[str] | None = None) -> int:
    """Run a node until it is stopped. Exit code: 0 stopped, 1 fatal, 254 bad configuration."""
    parser = argparse.ArgumentParser(prog="nodes.kraft", description="A Python KRaft node.")
    parser.add_argument("--config", required=True, type=Path, help="server.properties")
    arguments = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    try:
        config = load(arguments.config)
    except (ConfigError, OSError) as error:
        print(f"{arguments.config}: {error}", file=sys.stderr)
        return 254
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    return asyncio.run(_run(config))


async def _run(config: Config) -> int:
    try:
        node = Node(config)
        reason = await node.run()
    except (OSError, StorageError) as error:
        print(f"{config.name}: {error}", file=sys.stderr)
        return 1
    logging.getLogger(__name__).info("stopped: %s", reason)
    return 1 if reason.startswith("fatal") else 0


if __name__ == "__main__":
    sys.exit(main())
