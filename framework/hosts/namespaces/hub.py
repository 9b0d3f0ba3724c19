"""Process 1 of a run's PID namespace: makes the bridge and the nodes, opens connections to them.

    python -m framework.hosts.namespaces.hub < plan.json

The plan, {"directory": sockets, "nodes": {name: {"address", "workdir"}}}, comes on standard
input; if the harness dies before it has written it, the hub ends. Then the hub serves
DIRECTORY/hub.sock. When it dies, the kernel ends all processes of the run and drops its networks.
"""

import errno
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

from framework.hosts.namespaces.agent import READY, serve
from framework.hosts.namespaces.messages import Directory, receive, send, send_error
from framework.hosts.namespaces.network import make_bridge, plug_in

NAME: Final = "hub"
ISOLATE_NODE: Final = (
    "unshare",
    *("--net", "--mount", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc"),
)


def start_nodes(plan: dict[str, dict[str, dict[str, str]]], directory: str) -> None:
    """Start an agent a node, all at once, and plug each into the bridge."""
    agents = {
        name: subprocess.Popen(
            [
                *ISOLATE_NODE,
                *(sys.executable, "-m", "framework.hosts.namespaces.agent"),
                *(directory, name, node["workdir"]),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, node in plan["nodes"].items()
    }
    for name, agent in agents.items():
        assert agent.stdout is not None
        if agent.stdout.readline().strip() != READY:
            raise SystemExit(f"node {name} could not be isolated")
        plug_in(name, agent.pid, plan["nodes"][name]["address"])


def handle(peer: socket.socket) -> None:
    """Open a TCP connection in this network namespace, and hand it over (SCM_RIGHTS)."""
    with peer:
        fields, _ = receive(peer)
        try:
            with socket.create_connection(
                (fields["address"], fields["port"]), fields["timeout_s"]
            ) as connection:
                connection.settimeout(None)
                send(peer, {})
                socket.send_fds(peer, [b"."], [connection.fileno()])
        except TimeoutError:
            send_error(peer, TimeoutError(errno.ETIMEDOUT, "timed out"))
        except OSError as error:
            send_error(peer, error)


def main() -> None:
    plan = json.load(sys.stdin)
    make_bridge()
    start_nodes(plan, plan["directory"])
    listener = Directory(Path(plan["directory"])).listen(NAME)
    threading.Thread(target=serve, args=(listener, handle), daemon=True).start()
    print(READY, flush=True)
    while True:  # the agents are children for as long as they live; reap what ends
        os.waitpid(-1, 0)


if __name__ == "__main__":
    main()
