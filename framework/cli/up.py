"""`up`: the default cluster without a test."""

import secrets
import shutil
import signal
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from framework.errors import UsageError
from framework.hosts.choose import choose
from framework.plugins import registry
from framework.plugins.system import System
from framework.run import cluster as clusters
from framework.run.interrupt import interruptible
from framework.run.settings import node_settings


def up_command(
    hosts: str,
    nodes: str | None,
    command: Sequence[str],
    inventory: Path | None = None,
    system_name: str | None = None,
    settings: Sequence[str] = (),
) -> int:
    """Start, run the command or wait for Ctrl-C, and take everything down again."""
    console = Console(stderr=True)
    _need_command(command)
    system: System = registry.load("systems", system_name or registry.default("systems"))
    specs = system.layout(nodes)
    wanted = node_settings(settings, specs)
    system.check_settings(specs, wanted)
    provider, reason = choose(hosts, system.image_with(specs, wanted), len(specs), inventory)
    console.print(reason, highlight=False)
    for line in provider.clean():
        console.print(f"left by an earlier run: {line}", highlight=False)
    with ExitStack() as stack:
        if command:  # which Ctrl-C reaches by itself; either signal ends it, and then the cluster
            stop = threading.Event()
            previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
            stack.callback(signal.signal, signal.SIGTERM, previous)
        else:
            stop = stack.enter_context(interruptible("taking the cluster down"))
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="kraft-proof-"))
        cluster = stack.enter_context(
            clusters.cluster_of(
                system,
                provider,
                specs,
                run_id=f"up-{secrets.token_hex(4)}",
                seed=secrets.randbelow(2**31),
                scratch=Path(scratch),
                settings=wanted,
                stop=stop.is_set,
            )
        )
        environment = system.environment(cluster)
        for name, value in environment.items():
            Console().print(f"{name}={value}", highlight=False, soft_wrap=True)
        if command:
            return cluster.fleet.run_inside(command, environment)
        console.print("the cluster runs until Ctrl-C", highlight=False)
        stop.wait()
        clusters.stop_all(cluster)
        return 0


def _need_command(command: Sequence[str]) -> None:
    """Raises `UsageError` for what cannot be run, before a cluster is started for it."""
    if command and command[0].startswith("-"):
        raise UsageError(f"no such option: {command[0]} (a command follows --: up -- COMMAND)")
    if command and shutil.which(command[0]) is None:
        raise UsageError(f"up: no such command: {command[0]}")
