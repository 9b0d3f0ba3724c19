"""What every kind of host does, on real ones."""

import re
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paramiko
import pytest
import tenacity

from framework.evidence.clocks import ON_ONE_MACHINE
from framework.hosts.processes import waited_ns
from framework.hosts.ssh.host import SshHost
from framework.plugins.host import CommandFailed, Fleet, Host, HostProvider, OnThisMachine
from nodes.kraft.adapter.image import image, python

patiently = tenacity.retry(
    stop=tenacity.stop_after_delay(60), wait=tenacity.wait_fixed(0.05), reraise=True
)

GREETER = """
import socket, sys
server = socket.create_server(("", int(sys.argv[1])))
while True:
    peer, _ = server.accept()
    peer.sendall(socket.gethostname().encode())
    peer.close()
"""


def greet(fleet: Fleet, host: Host, port: int) -> str:
    with fleet.connect(host.address, port, 2.0) as peer:
        return peer.recv(100).decode()


def start_greeter(host: Host, port: int) -> int:
    return host.start([host.python, "-c", GREETER, str(port)], log=f"{host.workdir}/greeter.log")


def test_everything_that_abilities_promise_works(provider: HostProvider) -> None:
    asked = [*provider.abilities(), *provider.carries(image(), 2)]
    assert all(ability.works for ability in asked), asked
    assert not provider.lacking(["nft", "ip"])
    missing = provider.lacking(["nft", "no-such-command"])
    assert missing and all(each == ["no-such-command"] for each in missing.values())


def test_run(fleet: Fleet) -> None:
    host = fleet.hosts["a"]
    done = host.run(["sh", "-c", "cat; echo oops >&2; exit 3"], check=False, stdin="héllo 'q' \n")
    assert (done.code, done.out, done.err) == (3, "héllo 'q' \n", "oops\n")
    assert host.run(["printf", "%s|", "a b", "$HOME", "'", ""]).out == "a b|$HOME|'||"
    assert host.run(["no-such-command"], check=False).code == 127
    with pytest.raises(CommandFailed, match="exit code 4"):
        host.run(["sh", "-c", "exit 4"])


def test_run_is_over_in_time(fleet: Fleet) -> None:
    with pytest.raises(CommandFailed, match=r"no end after 0\.3 s"):
        fleet.hosts["a"].run(["sleep", "1000000"], timeout_s=0.3)


def test_input_that_takes_long_to_take_is_no_standstill(fleet: Fleet) -> None:
    """A command's time begins when it has all of its input, of which a window is under way."""
    steps, timeout_s = 12, 3.0
    bit = "sleep 0.3; head -c 1000000 >/dev/null"
    slow = f"for n in $(seq {steps}); do {bit}; done; cat >/dev/null"
    host = fleet.hosts["a"]
    if isinstance(host, SshHost):
        began = time.monotonic()
        given = "x" * (steps * 1_000_000)
        assert host.run(["sh", "-c", slow], stdin=given, timeout_s=timeout_s).code == 0
        assert time.monotonic() - began > timeout_s


def test_a_lost_connection_costs_no_more_than_what_was_under_way(fleet: Fleet) -> None:
    host = fleet.hosts["a"]
    if isinstance(host, SshHost):
        with pytest.raises((CommandFailed, paramiko.SSHException)):
            host.run(["pkill", "-9", "-f", "^sshd[^ ]*: root@"])
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(lambda _: host.run(["hostname"]).out.strip(), range(4))] == ["a"] * 4


def test_much_output_on_both_streams(fleet: Fleet) -> None:
    script = "import sys; sys.stderr.write('e' * 5_000_000); sys.stdout.write('o' * 5_000_000)"
    host = fleet.hosts["a"]
    done = host.run([host.python, "-c", script])
    assert (len(done.out), len(done.err)) == (5_000_000, 5_000_000)


def test_a_host_is_a_machine_of_its_own(fleet: Fleet) -> None:
    names = {name: host.run(["hostname"]).out.strip() for name, host in fleet.hosts.items()}
    assert names == {"a": "a", "b": "b"}
    host = fleet.hosts["a"]
    pids = host.run(["ls", "/proc"]).out.split()
    assert sum(pid.isdigit() for pid in pids) < 15, "processes of other machines are seen"
    interfaces = host.run(["ip", "-o", "link"]).out
    assert set(re.findall(r"\d+: (\w+)", interfaces)) == {"lo", "eth0"}
    assert host.run(["ip", "-o", "route", "show", "default"]).out == "", "there is a way out"


def test_a_started_process_lives_on_and_takes_signals(fleet: Fleet) -> None:
    host = fleet.hosts["a"]
    pid = start_greeter(host, 7001)
    assert patiently(greet)(fleet, host, 7001) == "a"
    assert host.alive(pid)
    session = host.read(f"/proc/{pid}/stat").decode().rpartition(")")[2].split()[3]
    assert int(session) == pid, "it is in somebody else's session"
    host.signal(pid, signal.SIGSTOP)
    assert host.alive(pid), "stopped is not dead"
    host.signal(pid, signal.SIGKILL)
    patiently(lambda: _assert_dead(host, pid))()
    host.signal(pid, signal.SIGKILL)


def _assert_dead(host: Host, pid: int) -> None:
    assert not host.alive(pid)


def test_output_is_appended_to_the_log(fleet: Fleet) -> None:
    host = fleet.hosts["a"]
    log = f"{host.workdir}/deep/down/log"
    for word in ("one", "two"):
        pid = host.start(["sh", "-c", f"echo {word}; echo {word} >&2"], log=log)
        patiently(lambda pid=pid: _assert_dead(host, pid))()
    assert host.read(log).decode().split() == ["one", "one", "two", "two"]
    with pytest.raises(CommandFailed):
        host.start(["no-such-command"], log=log)


def test_orphans_are_reaped(fleet: Fleet) -> None:
    host = fleet.hosts["b"]
    pid = int(host.run(["sh", "-c", "sh -c 'sleep 0.2' >/dev/null 2>&1 & echo $!"]).out)

    @patiently
    def gone() -> None:
        assert str(pid) not in host.run(["ls", "/proc"]).out.split()

    gone()


def test_files(fleet: Fleet, tmp_path: Path) -> None:
    host = fleet.hosts["a"]
    data = bytes(range(256)) * 10_000
    host.write(f"{host.workdir}/kept/x/data 1", data)
    host.write(f"{host.workdir}/kept/short", b"long, at first")
    host.write(f"{host.workdir}/kept/short", b"no")
    assert host.read(f"{host.workdir}/kept/x/data 1") == data
    with pytest.raises(FileNotFoundError):
        host.read(f"{host.workdir}/nothing")
    host.fetch(f"{host.workdir}/kept", tmp_path / "here")
    assert (tmp_path / "here/x/data 1").read_bytes() == data
    assert (tmp_path / "here/short").read_bytes() == b"no"


def test_one_file_of_two_names_is_one_here(fleet: Fleet, tmp_path: Path) -> None:
    host = fleet.hosts["a"]
    host.write(f"{host.workdir}/linked/one", b"same")
    host.run(["ln", f"{host.workdir}/linked/one", f"{host.workdir}/linked/two"])
    host.fetch(f"{host.workdir}/linked", tmp_path / "here")
    one, two = (tmp_path / "here" / name for name in ("one", "two"))
    assert two.read_bytes() == b"same" and one.stat().st_ino == two.stat().st_ino


def test_exit_codes(fleet: Fleet) -> None:
    host = fleet.hosts["a"]
    pid = host.start(["sh", "-c", "exit 3"], log=f"{host.workdir}/log")
    patiently(_assert_ended_with)(host, pid, 3)
    pid = host.start(["sleep", "1000"], log=f"{host.workdir}/log")
    assert host.exit_code(pid) is None
    host.signal(pid, signal.SIGKILL)
    patiently(_assert_ended_with)(host, pid, -9)


def _assert_ended_with(host: Host, pid: int, code: int | None) -> None:
    assert not host.alive(pid) and host.exit_code(pid) == code


def test_nodes_reach_each_other(fleet: Fleet) -> None:
    a, b = fleet.hosts["a"], fleet.hosts["b"]
    start_greeter(b, 7002)
    patiently(greet)(fleet, b, 7002)
    script = (
        "import socket, sys; "
        "print(socket.create_connection((sys.argv[1], 7002), 2).recv(9).decode())"
    )
    assert a.run([a.python, "-c", script, b.address]).out.strip() == "b"


def test_connections_that_cannot_be(fleet: Fleet) -> None:
    host = fleet.hosts["a"]
    with pytest.raises(ConnectionRefusedError):
        fleet.connect(host.address, 7999, 2.0)
    nobody = host.address.rpartition(".")[0] + ".250"
    with pytest.raises(OSError):
        fleet.connect(nobody, 7999, 0.3)


def test_a_connection_keeps_its_timeout(fleet: Fleet) -> None:
    host = fleet.hosts["a"]
    silent = "import socket,time; s=socket.create_server(('',7003)); p=s.accept(); time.sleep(60)"
    pid = host.start([host.python, "-c", silent], log=f"{host.workdir}/silent.log")

    @patiently
    def connect() -> socket.socket:
        return fleet.connect(host.address, 7003, 0.2)

    with connect() as peer, pytest.raises(TimeoutError):
        peer.recv(1)
    host.signal(pid, signal.SIGKILL)


def test_run_inside(fleet: Fleet, tmp_path: Path) -> None:
    host = fleet.hosts["b"]
    start_greeter(host, 7004)
    patiently(greet)(fleet, host, 7004)
    found = tmp_path / "found"
    script = (
        "import os, pathlib, socket; peer = socket.create_connection((os.environ['AT'], 7004)); "
        f"pathlib.Path({str(found)!r}).write_bytes(peer.recv(9)); raise SystemExit(7)"
    )
    assert fleet.run_inside(["python3", "-c", script], {"AT": host.address}) == 7
    assert found.read_text() == "b"


def test_the_node_can_be_imported(fleet: Fleet) -> None:
    host = fleet.hosts["a"]
    done = host.run([*python(host), "-m", "nodes.kraft", "--help"])
    assert "--config" in done.out


def test_clocks(fleet: Fleet) -> None:
    """All machines of these tests are on one kernel, whose clock is that of the harness."""
    for sample in fleet.clocks().values():
        assert sample is None or abs(sample.offset_ns) <= sample.within_ns < 1_000_000_000
    assert set(fleet.clocks()) == set(fleet.hosts)


def test_processes_of_hosts_are_found_on_this_machine(fleet: Fleet) -> None:
    """Also those that whoever started them has left; of the user's machines none are known."""
    started = {name: start_greeter(host, 7005) for name, host in fleet.hosts.items()}
    for host in fleet.hosts.values():
        patiently(greet)(fleet, host, 7005)
    try:
        roots = fleet.roots() if isinstance(fleet, OnThisMachine) else {}
        assert set(roots) == (set(fleet.hosts) if fleet.kind in ON_ONE_MACHINE else set())
        for name, root in roots.items():
            assert [_inside(each) for each in waited_ns(root)].count(started[name]) == 1
    finally:
        for name, pid in started.items():
            fleet.hosts[name].signal(pid, signal.SIGKILL)


def _inside(pid: int) -> int | None:
    """The pid of a greeter where it runs; None: it is none, or has ended since it was listed."""
    folder = Path(f"/proc/{pid}")
    try:
        command, status = (folder / "cmdline").read_bytes(), (folder / "status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    if b"gethostname" not in command:
        return None
    (line,) = re.findall(r"^NSpid:(.*)$", status, re.MULTILINE)
    return int(line.split()[-1])


def test_fleets_side_by_side(provider: HostProvider, tmp_path: Path) -> None:
    if provider.name == "ssh":
        pytest.skip("machines of the user's are on the user's network")
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    name = tmp_path.name
    with (
        provider.fleet(f"one-{name}", ["a", "b"], tmp_path / "1", image()) as one,
        provider.fleet(f"two-{name}", ["c", "d"], tmp_path / "2", image()) as two,
    ):
        for fleet in (one, two):
            for host in fleet.hosts.values():
                start_greeter(host, 7005)
        for fleet in (one, two):
            for host in fleet.hosts.values():
                assert patiently(greet)(fleet, host, 7005) == host.name
        script = (
            "import socket, sys; "
            "print(socket.create_connection((sys.argv[1], 7005), 1).recv(9).decode())"
        )
        host, other = one.hosts["a"], two.hosts["d"]
        stray = host.run([host.python, "-c", script, other.address], check=False)
        assert stray.out.strip() != "d", "two runs share a network"
        assert not [line for line in provider.leftovers() if name in line]
    assert not [line for line in provider.leftovers() if name in line]
