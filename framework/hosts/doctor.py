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
from typing import Final

from framework.hosts.choose import PREFERENCE, lacks
from framework.hosts.namespaces.provider import trial
from framework.plugins import registry
from framework.plugins.fault import Nemesis
from framework.plugins.host import Ability, HostProvider

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


def diagnose() -> Diagnosis:
    """Look at everything. Changes nothing."""
    sections = [Section("machine", [_python(), _java(), _tc()])]
    usable = []
    for kind in registry.names("hosts"):
        provider: HostProvider = registry.load("hosts", kind)
        hosts = Section(f"hosts: {kind}", _asked(provider.abilities))
        faults = Section(f"faults on {kind}", _faults(kind))
        sections += [hosts, faults]
        if hosts.works and faults.works:
            usable.append(kind)
    return Diagnosis(sections, usable, _auto())


def _auto() -> str | None:
    for kind in PREFERENCE:
        if kind in registry.names("hosts") and not lacks(registry.load("hosts", kind)):
            return kind
    return None


def _faults(kind: str) -> list[Ability]:
    found = []
    for name in registry.names("nemeses"):
        nemesis: Nemesis = registry.load("nemeses", name)
        for ability in _asked(partial(nemesis.abilities, kind)):
            found.append(
                Ability(f"{name}: {ability.name}", ability.works, ability.detail, ability.remedy)
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


def _tc() -> Ability:
    """No fault of ours needs it yet, so its absence breaks nothing."""
    works, complaint = trial("tc qdisc add dev lo root netem delay 1ms")
    detail = "delays packets" if works else f"not here ({complaint}); no fault needs it yet"
    return Ability("tc netem", True, detail)
