"""`python -m nodes.kraft --config server.properties`"""

import gc
import sys

if __name__ == "__main__":
    # Until all code is loaded there is no garbage, only ever more to look through for it.
    gc.disable()
# kio registers its types with hypothesis wherever that is installed. A node has no use for it,
# and would start seconds later.
sys.modules.setdefault("hypothesis", None)  # type: ignore[arg-type]

# ruff: noqa: E402
import argparse
import asyncio
import logging
import resource
import threading
from dataclasses import replace
from pathlib import Path
from typing import Final

from nodes.kraft.config import Config, ConfigError, load
from nodes.kraft.net.limits import affordable
from nodes.kraft.server import Node
from nodes.kraft.storage.errors import StorageError

MAX_FILES: Final = 65_536
SWITCH_INTERVAL_S: Final = 0.0005
"""How long one thread may keep the interpreter while the other plane's waits for it."""
GC_THRESHOLDS: Final = (5_000, 10, 10_000)
"""A collection of the oldest generation stops both planes for hundreds of ms, so it is left for
when there is nearly nothing else to do: what the node holds for long has no cycles."""


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
    config = _within_file_limit(config)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    threading.excepthook = _log_thread_failure
    try:
        node = Node(config)
        _settle_memory()
        return _run(node)
    except (OSError, StorageError) as error:
        print(f"{config.name}: {error}", file=sys.stderr)
        return 1


def _run(node: Node) -> int:
    with asyncio.Runner(loop_factory=node.loop) as runner:
        reason = runner.run(node.run())
    logging.getLogger(__name__).info("stopped: %s", reason)
    return 1 if reason.startswith("fatal") else 0


def _within_file_limit(config: Config) -> Config:
    """Ask for as many files as this user may have, and take no more connections than that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    listeners = len(config.client_listeners) + len(config.controller_listeners)
    files = MAX_FILES if soft == resource.RLIM_INFINITY else soft
    limits = affordable(config.limits, listeners, files)
    if limits != config.limits:
        logging.getLogger(__name__).warning(
            "only %d files may be open: max.connections is %d", files, limits.connections
        )
    return replace(config, limits=limits)


def _settle_memory() -> None:
    """Code, and what was recovered from disk, stays: no collection need look at it."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(*GC_THRESHOLDS)


def _log_thread_failure(failure: threading.ExceptHookArgs) -> None:
    """Into the log, and so into the events."""
    error = failure.exc_value
    logging.getLogger(__name__).error("thread failed", exc_info=error)


if __name__ == "__main__":
    sys.exit(main())
