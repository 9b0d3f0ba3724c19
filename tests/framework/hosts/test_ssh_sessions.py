"""When a machine is logged into again: only where the connection is lost."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import paramiko
import pytest

from framework.hosts.ssh.host import SshHost


@dataclass
class Connection:
    """A client whose sessions are what `opens` gives or raises; closed: it has no transport."""

    opens: Callable[[], str]
    active: bool = True
    closed: bool = False

    def get_transport(self) -> Any:
        return None if self.closed else self

    def is_active(self) -> bool:
        return self.active

    def open_session(self, timeout: float) -> str:
        return self.opens()

    def close(self) -> None:
        self.closed = True


@dataclass
class Machine:
    """`connections` are had one after the other."""

    connections: list[Connection]
    reached: list[Connection] = field(default_factory=list)

    def reach(self) -> Any:
        self.reached.append(self.connections[len(self.reached)])
        return self.reached[-1]

    def host(self) -> SshHost:
        place = {"address": "a", "workdir": "/w", "python": "python3", "software": "/s"}
        return SshHost("n1", self.reach, **place)


def refuses(error: Exception) -> Callable[[], str]:
    def opens() -> str:
        raise error

    return opens


SLOW = paramiko.SSHException("Timeout opening channel.")
BROKEN = pytest.mark.parametrize("error", [SLOW, EOFError(), ConnectionResetError()])


@BROKEN
def test_a_lost_connection_is_made_again(error: Exception) -> None:
    machine = Machine([Connection(refuses(error), active=False), Connection(lambda: "second")])
    assert machine.host()._session(1.0) == "second"
    assert machine.reached[0].closed


@BROKEN
def test_one_that_lives_is_left_to_the_other_commands_on_it(error: Exception) -> None:
    machine = Machine([Connection(refuses(error)), Connection(lambda: "second")])
    with pytest.raises(type(error)):
        machine.host()._session(1.0)
    assert len(machine.reached) == 1 and not machine.reached[0].closed


def test_a_refusal_is_passed_on() -> None:
    machine = Machine([Connection(refuses(paramiko.ChannelException(1, "too many")))])
    with pytest.raises(paramiko.ChannelException):
        machine.host()._session(1.0)


def test_a_closed_one_has_no_transport() -> None:
    machine = Machine([Connection(lambda: "first"), Connection(lambda: "second")])
    host = machine.host()
    host.close()
    assert host._session(1.0) == "second"
