"""A cluster of real node processes on loopback, for tests of the node alone."""

from __future__ import annotations

import json
import random
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from nodes.kraft.wire.codec import decode_response, encode_request, frame
from nodes.kraft.wire.debug import DescribeNodeRequest

T = TypeVar("T")


_FIRST, _END = 20_000, 32_000
"""Below what the kernel gives to connections and to whoever binds port 0, on Linux as it comes."""
_given: set[int] = set()


def free_ports(count: int) -> list[int]:
    """Ports for processes that are started later. Nobody is given one by chance in between, and
    none is given twice by this process: of two nodes with one port the second would not start."""
    found: list[int] = []
    while len(found) < count:
        port = random.SystemRandom().randrange(_FIRST, _END)  # tests that seed theirs share nothing
        if port not in _given and _is_free(port):
            found.append(port)
            _given.add(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def call(port: int, request: Any, timeout_s: float = 30.0) -> Any:
    """One request on a connection of its own."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout_s) as connection:
        connection.sendall(frame(encode_request(request, correlation_id=1, client_id="test")))
        stream = connection.makefile("rb")
        head = stream.read(4)
        if len(head) < 4:
            raise ConnectionError("closed without an answer")
        (size,) = struct.unpack(">i", head)
        return decode_response(request.__api_key__, request.__version__, stream.read(size))[1]


PATIENCE_S = 120.0
"""For what only a broken node never does: also on a machine with other things to do."""


def until(condition: Callable[[], T], timeout_s: float = PATIENCE_S) -> T:
    """Wait for a true value; whatever it raises meanwhile counts as false."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            value = condition()
        except (OSError, AssertionError) as error:
            value, last = None, error
        else:
            last = None  # type: ignore[assignment]
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s} s: {condition!r} ({last})")
        time.sleep(0.02)


def stands_still(pid: int) -> bool:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return all((each / "stat").read_text().rpartition(") ")[2][0] in "TZ" for each in tasks)


class NodeFailed(RuntimeError):
    """A node that a test waits for will not come."""


class Loopback:
    """`controllers` dedicated controllers, `brokers` dedicated brokers, or `combined` both."""

    def __init__(
        self,
        directory: Path,
        *,
        controllers: int = 0,
        brokers: int = 0,
        combined: int = 0,
        **extra: str,
    ) -> None:
        self.directory = directory
        self.extra = extra
        voters = controllers + combined
        ports = free_ports(2 * voters + brokers)
        self.control = dict(zip(range(1, voters + 1), ports, strict=False))
        self.client: dict[str, int] = {}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.settings: dict[str, dict[str, str]] = {}
        clients = iter(ports[voters:])
        for number in range(1, voters + 1):
            name = f"n{number}" if combined else f"c{number}"
            self._node(name, number, voters + number if combined else None, clients)
        for number in range(1, brokers + 1):
            self._node(f"b{number}", None, voters + number, clients)

    def _node(self, name: str, controller: int | None, broker: int | None, clients: Any) -> None:
        listeners, roles = [], []
        settings = {
            "node.name": name,
            "cluster.id": "test",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,CLIENT:PLAINTEXT",
            "controller.quorum.voters": ",".join(
                f"{ident}@127.0.0.1:{port}" for ident, port in self.control.items()
            ),
            "log.dirs": str(self.directory / name),
            **{key.replace("_", "."): value for key, value in self.extra.items()},
        }
        if controller is not None:
            roles.append("controller")
            listeners.append(f"CONTROLLER://127.0.0.1:{self.control[controller]}")
            settings |= {"controller.id": str(controller), "controller.listeners": "CONTROLLER"}
        if broker is not None:
            roles.append("broker")
            self.client[name] = next(clients)
            listeners.append(f"CLIENT://127.0.0.1:{self.client[name]}")
            settings["broker.id"] = str(broker)
        settings |= {"process.roles": ",".join(roles), "listeners": ",".join(listeners)}
        self.settings[name] = settings

    def __enter__(self) -> Loopback:
        for name in self.settings:
            self.start(name)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()

    def start(self, name: str) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / f"{name}.properties"
        path.write_text("".join(f"{k}={v}\n" for k, v in self.settings[name].items()))
        with (self.directory / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", "nodes.kraft", "--config", str(path)],
                stdout=log,
                stderr=log,
            )

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def signal(self, name: str, number: signal.Signals) -> None:
        """Returns from SIGSTOP when every thread stands still: until the one that is told has
        its turn on a busy machine, the others run on."""
        self.processes[name].send_signal(number)
        if number == signal.SIGSTOP:
            until(lambda: stands_still(self.processes[name].pid))

    def port(self, name: str) -> int:
        return self.client.get(name) or self.control[int(name[1:])]

    def state(self, name: str) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(call(self.port(name), DescribeNodeRequest()).state)
        return state

    def active(self) -> str:
        """The active controller; fails where there is none or more than one."""
        found = []
        for name in self.settings:
            if self.processes[name].poll() is None:
                try:
                    state = self.state(name)
                except OSError:
                    continue
                if state["active_epoch"] is not None:
                    found.append(name)
        assert len(found) == 1, f"active controllers: {found}"
        return found[0]

    def ready(self) -> str:
        """Wait until one controller leads and every broker is active; the controller's name."""
        leader = until(lambda: self.none_failed() and self.active())
        for name in self.client:
            until(lambda name=name: self.none_failed() and self.is_active(name))  # type: ignore[misc]
        return str(leader)

    def is_active(self, name: str) -> bool:
        """A broker, by its lease."""
        return bool(self.state(name)["broker_state"] == "ACTIVE")

    def none_failed(self) -> bool:
        """Or an error that names the node that ended by itself, and what it said last."""
        for name, process in self.processes.items():
            if (process.poll() or 0) > 0:
                last = (self.directory / f"{name}.log").read_text()[-500:]
                raise NodeFailed(f"{name} ended with {process.returncode}: {last}")
        return True

    def events(self, name: str, kind: str) -> list[dict[str, Any]]:
        text = (self.directory / name / "events.jsonl").read_text()
        lines = text[: text.rfind("\n") + 1].splitlines()  # the last may be half written
        return [event for line in lines if (event := json.loads(line))["type"] == kind]
