"""Brokers beside those of a plan: what their processes log of themselves, and what is done to them.

The lines are those of Apache Kafka 3.9.1 and 4.2.0, which have the same.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from framework.plugins.host import Completed
from nodes.adapting.slot import Description
from nodes.kafka import states
from nodes.kafka.disk import node_of
from nodes.kafka.extra_broker import KafkaExtraBroker
from nodes.kafka.life_lines import LET_GO, life

WHO = "INFO kafka.server.BrokerLifecycleManager - [BrokerLifecycleManager id=301]"
BEGINS = f"{WHO} Incarnation f7QAVGFnQW6vxIxpKR1jPA of broker 301 in cluster GtO9 is now STARTING."
INCARNATION = "7fb40054-6167-416e-afc4-8c69291d633c"
NO_ANSWER = f"{WHO} Unable to register the broker because the RPC got timed out before it was sent."
REFUSED = (
    f"{WHO} Unable to register broker 301 because the controller returned error "
    "DUPLICATE_BROKER_REGISTRATION"
)
REGISTERED = f"{WHO} Successfully registered broker 301 with broker epoch 52"
CAUGHT_UP = f"{WHO} The broker has caught up. Transitioning from STARTING to RECOVERY."
SERVES = f"{WHO} The broker has been unfenced. Transitioning from RECOVERY to RUNNING."
LEAVES = f"{WHO} Beginning controlled shutdown."
MAY_GO = f"{WHO} The controller has asked us to exit controlled shutdown."
GONE = f"{WHO} Transitioning from PENDING_CONTROLLED_SHUTDOWN to SHUTTING_DOWN."


@pytest.mark.parametrize(
    ("lines", "state", "epoch", "refused"),
    [
        ([BEGINS], "starting", -1, False),
        ([BEGINS, NO_ANSWER], "starting", -1, False),
        ([BEGINS, REFUSED], "starting", -1, True),
        ([BEGINS, REFUSED, NO_ANSWER], "starting", -1, True),
        ([BEGINS, REFUSED, REGISTERED], "starting", 52, False),
        ([BEGINS, REGISTERED, CAUGHT_UP], "fenced", 52, False),
        ([BEGINS, REGISTERED, CAUGHT_UP, SERVES], "active", 52, False),
        ([BEGINS, REGISTERED, CAUGHT_UP, SERVES, LEAVES], "leaving", 52, False),
        ([BEGINS, REGISTERED, CAUGHT_UP, SERVES, LEAVES, MAY_GO, GONE], "leaving", 52, False),
        ([BEGINS, REGISTERED, CAUGHT_UP, SERVES, BEGINS], "starting", -1, False),
    ],
)
def test_a_process_logs_its_life(lines: list[str], state: Any, epoch: int, refused: bool) -> None:
    found = life(lines)
    assert found.described() == Description(INCARNATION, state, epoch)
    assert found.refused == refused


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], None),
        ([BEGINS], "ended starting, without a grant"),
        ([BEGINS, REGISTERED, CAUGHT_UP, SERVES, LEAVES], "ended leaving, without a grant"),
        ([BEGINS, REGISTERED, CAUGHT_UP, SERVES, LEAVES, MAY_GO, GONE], LET_GO),
        ([BEGINS, SERVES, LEAVES, MAY_GO, GONE, BEGINS, SERVES], "ended active, without a grant"),
    ],
)
def test_why_a_process_ended_is_by_its_own_lines(lines: list[str], reason: str | None) -> None:
    assert life(lines).reason() == reason
    assert (life(lines).described() is None) == (not lines)


# --- processes ----------------------------------------------------------------------------


class ThisMachine:
    """A host with real processes, in a directory."""

    address, python, software, name = "127.0.0.1", "python3", "", "b1"

    def __init__(self, workdir: Path) -> None:
        self.workdir = str(workdir)
        self.processes: dict[int, subprocess.Popen[bytes]] = {}

    def run(self, argv: Sequence[str], *, check: bool = True) -> Completed:
        done = subprocess.run(argv, capture_output=True, text=True, check=check)
        return Completed(done.returncode, done.stdout, done.stderr)

    def start(self, argv: Sequence[str], *, log: str) -> int:
        with Path(log).open("ab") as out:
            process = subprocess.Popen(argv, stdout=out, stderr=out)
        self.processes[process.pid] = process
        return process.pid

    def alive(self, pid: int) -> bool:
        return self.processes[pid].poll() is None

    def exit_code(self, pid: int) -> int | None:
        return self.processes[pid].poll()

    def signal(self, pid: int, number: signal.Signals) -> None:
        os.kill(pid, number)

    def read(self, path: str) -> bytes:
        return Path(path).read_bytes()

    def write(self, path: str, data: bytes) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(data)


class Software:
    """Of a node: a process says some lines, and waits until it is asked to end, for which it has
    others."""

    def __init__(self) -> None:
        self.says, self.last = [BEGINS, REGISTERED, CAUGHT_UP, SERVES], [LEAVES, MAY_GO, GONE]
        self.formats = 0

    def settings(self, cluster: object, node: str, workdir: str) -> dict[str, str]:
        return {"node.id": "4", "process.roles": "broker,controller", "log.dirs": f"{workdir}/data"}

    def formatted(self, cluster: object, node: str, spec: Any) -> dict[str, bytes]:
        self.formats += 1
        return {"data/meta.properties": f"{spec.name} {spec.votes} {spec.ids}".encode()}

    def command(self, cluster: object, node: str, properties: str) -> list[str]:
        says, last = (
            "; ".join(f"echo '{line}'" for line in each) for each in (self.says, self.last)
        )
        return ["sh", "-c", f"trap '' HUP; trap \"{last}; exit 143\" TERM; {says}; read x < fifo"]


@pytest.fixture
def broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KafkaExtraBroker]:
    host = ThisMachine(tmp_path / "nodes" / "b1")
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.chdir(tmp_path)

    def nobody(address: str, port: int, timeout_s: float) -> socket.socket:
        raise ConnectionRefusedError

    cluster: Any = SimpleNamespace(
        host=lambda node: host,
        with_role=lambda role: ["b1"],
        fleet=SimpleNamespace(connect=nobody),
    )
    made: Any = Software()
    yield KafkaExtraBroker(cluster, 301, 0, 0, made)
    for process in host.processes.values():
        process.kill()
        process.wait()


def eventually(condition: Callable[[], bool]) -> None:
    end_s = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.01)


def test_a_slot_is_formatted_once_and_told_who_and_where_it_is(broker: KafkaExtraBroker) -> None:
    broker.start()
    lines = Path(broker.directory, "server.properties").read_text().splitlines()
    assert {"node.id=301", "process.roles=broker", "listeners=CLIENT://127.0.0.1:9300"} <= {*lines}
    meta = Path(broker.directory, "data/meta.properties")
    assert meta.read_text() == "g301a False {'broker': 301}"
    meta.write_text("its own")
    broker.kill()
    broker.start()
    assert meta.read_text() == "its own"
    assert broker.system.formats == 1  # type: ignore[attr-defined]


def test_a_process_that_says_it_serves_has_to_answer(
    broker: KafkaExtraBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert broker.describe() is None
    broker.start()
    eventually(lambda: broker._life().state == "active")
    assert broker.describe() is None
    ready = False
    monkeypatch.setattr(states, "state", lambda *_: SimpleNamespace(ready=ready))
    assert broker.describe() == Description(INCARNATION, "fenced", 52)
    ready = True
    assert broker.describe() == Description(INCARNATION, "active", 52)
    broker.kill()
    assert broker.describe() is None


def test_what_a_former_process_logged_is_not_said_of_the_next_one(
    broker: KafkaExtraBroker,
) -> None:
    broker.start()
    eventually(lambda: broker._life().state == "active")
    broker.kill()
    broker.system.says = [BEGINS, REFUSED]  # type: ignore[attr-defined]
    broker.start()
    assert broker._life().state == "starting"
    eventually(broker.refused)
    assert broker.describe() == Description(INCARNATION, "starting", -1)
    broker.kill()
    broker.system.says = []  # type: ignore[attr-defined]
    broker.start()
    assert broker.describe() is None and not broker.refused()


@pytest.mark.parametrize("granted", [True, False])
def test_a_drain_waits_for_the_end_and_says_what_the_process_was_told(
    broker: KafkaExtraBroker, granted: bool
) -> None:
    if not granted:
        broker.system.last = [LEAVES]  # type: ignore[attr-defined]
    broker.start()
    eventually(lambda: broker._life().state == "active")
    reason = broker.drain(60)
    assert not broker.running()
    assert broker.granted(reason) == granted
    assert broker.granted(None) is None


def test_what_lies_in_a_slot_is_of_its_processes(tmp_path: Path) -> None:
    for home, name in (("n1", "n1"), ("n1/extra/301a", "g301a")):
        assert node_of(tmp_path, tmp_path / "nodes" / home) == name
