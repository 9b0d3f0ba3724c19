"""Ending a node's process: asked first, then made to; without grace, made to at once."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from nodes.adapting import processes

STUBBORN = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
READY = "print('ready', flush=True); sys.stdin.read()"


@dataclass
class Here:
    """A host that is this machine."""

    sent: list[int] = field(default_factory=list)
    process: Any = None

    def signal(self, pid: int, number: int) -> None:
        self.sent.append(number)
        os.kill(pid, number)

    def alive(self, pid: int) -> bool:
        assert pid == self.process.pid
        return self.process.poll() is None


@pytest.fixture(params=["polite", "stubborn"])
def host(request: pytest.FixtureRequest) -> Iterator[Here]:
    body = f"import sys; {STUBBORN if request.param == 'stubborn' else ''}{READY}"
    process = subprocess.Popen(
        [sys.executable, "-c", body], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    yield Here(process=process)
    process.kill()
    process.communicate()


@pytest.mark.parametrize("host", ["polite"], indirect=True)
def test_who_goes_when_it_is_asked_is_not_killed(host: Here) -> None:
    processes.end(host, host.process.pid, 30.0)  # type: ignore[arg-type]
    assert host.sent == [signal.SIGTERM] and host.process.returncode == -signal.SIGTERM


@pytest.mark.parametrize("host", ["stubborn"], indirect=True)
def test_who_does_not_is_killed(host: Here) -> None:
    processes.end(host, host.process.pid, 0.1)  # type: ignore[arg-type]
    assert host.sent == [signal.SIGTERM, signal.SIGKILL]
    assert host.process.returncode == -signal.SIGKILL


def test_without_grace_nobody_is_asked(host: Here) -> None:
    processes.end(host, host.process.pid, 0)  # type: ignore[arg-type]
    assert host.sent == [signal.SIGKILL] and host.process.returncode == -signal.SIGKILL
