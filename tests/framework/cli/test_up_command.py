"""`up -- COMMAND` takes its cluster down however the command ends."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from framework.cli import up
from framework.cli.app import main


@pytest.fixture
def taken_down(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """A cluster of no nodes."""
    done: list[bool] = []
    fleet = SimpleNamespace(
        run_inside=lambda argv, env: subprocess.run(argv, env={**os.environ, **env}).returncode
    )

    @contextmanager
    def cluster_of(*_: Any, **__: Any) -> Any:
        try:
            yield SimpleNamespace(fleet=fleet, nodes={})
        finally:
            done.append(True)

    system = SimpleNamespace(
        layout=lambda _: [],
        image_with=lambda *_: None,
        check_settings=lambda *_: None,
        environment=lambda _: {"BOOTSTRAP_SERVERS": "b"},
    )
    monkeypatch.setattr(up.clusters, "cluster_of", cluster_of)
    monkeypatch.setattr(up.registry, "load", lambda *_: system)
    monkeypatch.setattr(up, "choose", lambda *_: (SimpleNamespace(clean=list), "nowhere"))
    before = signal.getsignal(signal.SIGTERM)
    yield done
    assert signal.getsignal(signal.SIGTERM) is before


def test_ends_with_the_commands_exit_code(taken_down: list[bool]) -> None:
    assert main(["up", "--", "sh", "-c", "test $BOOTSTRAP_SERVERS = b && exit 7"]) == 7
    assert taken_down == [True]


def test_is_taken_down_when_it_is_reported_to_end(taken_down: list[bool]) -> None:
    assert main(["up", "--", "sh", "-c", "kill -TERM $PPID; exec sleep 30"]) == 130
    assert taken_down == [True]
