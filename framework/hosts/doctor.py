"""What this machine can do, asked of every provider and nemesis, and of the machine itself."""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from framework.hosts.choose import PREFERENCE, lacks
from framework.plugins import registry
from framework.plugins.fault import Nemesis
from framework.plugins.host import Ability, HostProvider, NeedsInventory
from framework.plugins.system import System

PYTHON_LEAST: Final = (3, 11)
JAVA_LEAST: Final = 17


@dataclass(frozen=True, slots=True)
class Section:
    """Abilities that belong together: the machine, a kind of hosts, faults on that kind."""

    name: str
    abilities: Sequence[Ability]

    @property
    def works(self) -> bool:
        return all(ability.works for ability in self.abilities)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that was found."""

    sections: Sequence[Section]
    usable: Sequence[str]
    """Kinds of hosts that work fully, with all faults."""
    chosen: str | None
    """What `--hosts auto` takes."""


def diagnose(inventory: Path | None = None) -> Diagnosis:
    """Look at everything. Changes nothing. Raises `UsageError` for a wrong inventory."""
    sections = [Section("machine", [_python(), _java()])]
    usable = []
    for kind in registry.names("hosts"):
        provider: HostProvider = registry.load("hosts", kind)
        if isinstance(provider, NeedsInventory):
            if inventory is None:
                continue
            provider = provider.with_inventory(inventory)
        hosts = Section(f"hosts: {kind}", _asked(provider.abilities))
        sections.append(hosts)
        if not hosts.works:
            continue
        systems = Section(f"systems on {kind}", _systems(provider))
        faults = Section(f"faults on {kind}", _faults(provider))
        sections += [systems, faults]
        if faults.works and any(system.works for system in systems.abilities):
            usable.append(kind)
    return Diagnosis(sections, usable, _auto())


def _auto() -> str | None:
    for kind in PREFERENCE:
        if kind in registry.names("hosts") and not lacks(registry.load("hosts", kind)):
            return kind
    return None


def _systems(provider: HostProvider) -> list[Ability]:
    """A line a system: whether a node of it can run on these hosts."""
    found = []
    for name in registry.names("systems"):
        system: System = registry.load("systems", name)
        asked = _asked(partial(_carried, provider, system))
        wrong = [ability for ability in asked if not ability.works]
        reported = wrong or asked
        found.append(
            Ability(
                name,
                not wrong,
                "; ".join(f"{each.name}: {each.detail}" for each in reported)
                or "nothing else is needed",
                "; ".join(dict.fromkeys(each.remedy for each in wrong if each.remedy)),
            )
        )
    return found


def _carried(provider: HostProvider, system: System) -> Sequence[Ability]:
    return provider.carries(system.image(), 1)


def _faults(provider: HostProvider) -> list[Ability]:
    found = []
    for name in registry.names("nemeses"):
        nemesis: Nemesis = registry.load("nemeses", name)
        for fault in nemesis.faults:
            for one in _asked(partial(fault.abilities, provider)):
                found.append(
                    Ability(f"{fault.name}: {one.name}", one.works, one.detail, one.remedy)
                )
    return found


def _asked(question: Callable[[], Sequence[Ability]]) -> Sequence[Ability]:
    """A plugin that cannot even answer is one that does not work."""
    try:
        return question()
    except Exception as error:
        return [Ability("plugin", False, f"{type(error).__name__}: {error}", "reinstall it")]


def _python() -> Ability:
    return Ability(
        "python",
        sys.version_info[:2] >= PYTHON_LEAST,
        f"{platform.python_version()} at {sys.executable}",
        "apt-get install python3 python3-venv (Debian 12, Ubuntu 24.04, or newer)",
    )


def _java() -> Ability:
    """Spark's: JAVA_HOME, else the PATH's."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    remedy = f"apt-get install openjdk-{JAVA_LEAST}-jre-headless (or newer)"
    if java is None:
        where = f"not in JAVA_HOME {home}" if home else "not found"
        return Ability("java", False, f"{where}; checkers run on Spark", remedy)
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Ability("java", False, f"{java}: {error}", remedy)
    version = re.search(r'version "(?:1\.)?(\d+)[^"]*"', done.stderr)
    if version is None:
        return Ability("java", False, f"{java} does not tell its version", remedy)
    works = int(version[1]) >= JAVA_LEAST
    return Ability("java", works, f"{version[0].split(chr(34))[1]} at {java}", remedy)
