"""Nothing is left of a run, however it ended."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import tenacity

import docker
from framework.hosts import runs
from framework.hosts.processes import ProcessId
from framework.plugins.host import HostProvider

ROOT = Path(__file__).parents[3]

# Whoever was started in the background of a script ignores Ctrl-C, and its children with it.
HARNESS = """
import os, signal, sys, time
from pathlib import Path
from framework.plugins import registry
from nodes.kraft.adapter.image import image
signal.signal(signal.SIGINT, signal.default_int_handler)
kind, run_id, scratch = sys.argv[1:]
with registry.load("hosts", kind).fleet(run_id, ["a", "b"], Path(scratch), image()) as fleet:
    for host in fleet.hosts.values():
        host.start(["sleep", "1000"], log=f"{host.workdir}/log")
    print("ready", flush=True)
    time.sleep(1000)
"""


def processes_that_mention(text: str) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line and entry.parent.name != str(os.getpid()):
            found.append(f"{entry.parent.name} {line}")
    return found


def things_of(run_id: str) -> list[str]:
    """Containers and networks of a run, whoever asks."""
    client = docker.from_env()
    wanted = {"label": f"kraft-proof.run={run_id}"}
    return [
        str(thing.name)
        for thing in (
            *client.containers.list(all=True, filters=wanted),
            *client.networks.list(filters=wanted),
        )
    ]


@pytest.mark.parametrize("provider", ["docker", "namespaces"], indirect=True)
@pytest.mark.parametrize("signals", [[signal.SIGKILL], [signal.SIGINT]], ids=["killed", "Ctrl-C"])
def test_nothing_is_left(
    provider: HostProvider, tmp_path: Path, signals: list[signal.Signals]
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    run_id = f"left-{tmp_path.name}"
    harness = subprocess.Popen(
        [sys.executable, "-c", HARNESS, provider.name, run_id, str(scratch)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
    )
    assert harness.stdout is not None
    assert harness.stdout.readline().strip() == "ready"
    assert not [line for line in provider.leftovers() if run_id in line], "it lives"
    assert not [line for line in provider.clean() if run_id in line], "it lives"
    if provider.name == "docker":
        assert len(things_of(run_id)) == 3
    else:
        assert processes_that_mention(str(scratch))

    for number in signals:
        harness.send_signal(number)
    try:
        harness.wait(120)
    finally:
        harness.kill()
    if signal.SIGKILL in signals:
        assert [line for line in provider.leftovers() if run_id in line]
        assert [line for line in provider.clean() if run_id in line]
        assert not scratch.exists()

    assert not [line for line in provider.leftovers() if run_id in line]
    assert not [line for line in provider.clean() if run_id in line]
    assert things_of(run_id) == []
    assert processes_that_mention(str(scratch)) == []
    assert not list(runs.directory().glob(f"*{run_id}*"))


def test_a_harness_that_dies_early_leaves_no_hub(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Killed between the start of the hub and the plan: the hub ends on its own."""
    from framework.hosts.namespaces import provider as module

    script = (
        "import os, sys; from pathlib import Path; from framework.plugins.host import Image; "
        "import framework.hosts.namespaces.provider as our; "
        "our.json.dumps = lambda *_: os.kill(os.getpid(), 9); "
        "provider, image = our.NamespacesProvider(), Image(name='x'); "
        "provider.fleet('early', ['a'], Path(sys.argv[1]), image).__enter__()"
    )
    # Kill once the keeper is in the register; json.dumps above is the next step.
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, timeout=120)
    assert done.returncode == -signal.SIGKILL
    (file,) = [
        path
        for path in runs.directory().glob("namespaces-*-early.json")
        if json.loads(path.read_text())["scratch"] == str(tmp_path)
    ]
    keeper = ProcessId.parse(json.loads(file.read_text())["keeper"])

    @tenacity.retry(stop=tenacity.stop_after_delay(60), wait=tenacity.wait_fixed(0.05))
    def gone() -> None:
        assert not keeper.alive()

    gone()
    assert module.NamespacesProvider().clean()
    assert not file.exists()


def test_a_reused_pid_is_another_process() -> None:
    me = ProcessId.current()
    assert me.alive()
    assert ProcessId.parse(str(me)) == me
    assert not ProcessId(me.pid, "1@elsewhere").alive()
    assert not ProcessId(2**22 + 1, me.started).alive()
