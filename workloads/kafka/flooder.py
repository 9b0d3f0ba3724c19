"""A flood, as a process of its own, so that it takes no time of the harness's: on each connection
one request is under way at any time, the same one again as soon as it is answered.

It is given (`started`) open connections, and JSON on its input: `{"seconds": s, "targets":
[{"fds": [...], "request": hex}, ...]}`, a line. It writes a line when all requests are under way
and, at the end, one of JSON with a `Tally` for each target. Where its input ends before that, as
with whoever started it, it ends at once.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Final

_LENGTH: Final = struct.Struct(">i")
CHUNK_BYTES: Final = 64 * 1024
BEGUN: Final = "begun"
MODULE: Final = "workloads.kafka.flooder"


@dataclass(frozen=True, slots=True)
class Target:
    """Open connections, and the frame that is sent on each."""

    connections: Sequence[socket.socket]
    request: bytes

    @property
    def fds(self) -> list[int]:
        return [each.fileno() for each in self.connections]


def started(targets: Sequence[Target], seconds: float) -> subprocess.Popen[bytes]:
    """The process, which has been told what to do, or has ended already. Whoever starts it may
    close the connections, and ends it by closing its input."""
    process = subprocess.Popen(
        [sys.executable, "-m", MODULE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=[descriptor for each in targets for descriptor in each.fds],
        start_new_session=True,  # Ctrl-C is for whoever started it
    )
    told = [{"fds": each.fds, "request": each.request.hex()} for each in targets]
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps({"seconds": seconds, "targets": told}).encode() + b"\n")
        process.stdin.flush()
    return process


@dataclass(slots=True)
class Tally:
    """Of one target. `times_ms`: median and 99th percentile of those from a request to its answer,
    once it is over. `last`: the last answer on each connection, in hex, without its length."""

    answered: int = 0
    held: int = 0
    times_ms: tuple[float, float] | None = None
    last: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Flooding:
    """One connection."""

    connection: socket.socket
    request: bytes
    target: int
    sent_s: float = 0.0
    answer: bytearray = field(default_factory=bytearray)
    last: bytes = b""

    def send(self) -> None:
        """Raises `OSError`; a request that is not taken whole is one."""
        self.sent_s = time.monotonic()
        if self.connection.send(self.request) < len(self.request):
            raise ConnectionError("the peer does not read")

    def received(self) -> float | None:
        """The time in s that the request took, if its answer is complete. Raises `OSError`."""
        data = self.connection.recv(CHUNK_BYTES)
        if not data:
            raise ConnectionError("closed")
        self.answer += data
        if len(self.answer) < 4 + _size(self.answer):
            return None
        self.last = bytes(self.answer[4:])
        self.answer.clear()
        return time.monotonic() - self.sent_s


def _size(answer: bytearray) -> int:
    """Of a frame, as far as it has come."""
    return int(_LENGTH.unpack_from(answer)[0]) if len(answer) >= 4 else 0


def flood(floods: Sequence[Flooding], targets: int, seconds: float, watched: int) -> list[Tally]:
    """For so many seconds, or till there is something to read at the file descriptor `watched`."""
    open_ones = {each.connection.fileno(): each for each in floods}
    poll = select.epoll()
    poll.register(watched, select.EPOLLIN)
    times: list[list[float]] = [[] for _ in range(targets)]
    for descriptor, each in list(open_ones.items()):
        each.connection.setblocking(False)
        poll.register(descriptor, select.EPOLLIN)
        if not _goes_on(each, None):
            poll.unregister(descriptor)
            del open_ones[descriptor]
    print(BEGUN, flush=True)
    deadline = time.monotonic() + seconds
    while open_ones and (left := deadline - time.monotonic()) > 0:
        for descriptor, _ in poll.poll(left):
            if descriptor == watched:
                return _tallies(open_ones, times)
            if not _goes_on(open_ones[descriptor], times):
                poll.unregister(descriptor)  # closing is not enough: another process has it, too
                del open_ones[descriptor]
    return _tallies(open_ones, times)


def _goes_on(each: Flooding, times: Sequence[list[float]] | None) -> bool:
    """Take what there is of an answer, and send the request again after it; without `times`, the
    first one. Whether the connection is still of use."""
    try:
        if times is not None:
            took_s = each.received()
            if took_s is None:
                return True
            times[each.target].append(took_s)
        each.send()
    except OSError:
        return False
    return True


def _tallies(open_ones: Mapping[int, Flooding], times: Sequence[Sequence[float]]) -> list[Tally]:
    tallies = [Tally(answered=len(each), times_ms=_middle_and_most(each)) for each in times]
    for each in open_ones.values():
        tallies[each.target].held += 1
        if each.last:
            tallies[each.target].last.append(each.last.hex())
    return tallies


def _middle_and_most(times_s: Sequence[float]) -> tuple[float, float] | None:
    ordered = sorted(times_s)
    if not ordered:
        return None
    middle, most = (ordered[int(share * len(ordered))] for share in (0.5, 0.99))
    return round(middle * 1000, 3), round(most * 1000, 3)


def main() -> None:
    # Unbuffered: what is left is watched for by its descriptor.
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as reported:
        asked = json.loads(reported.readline())
    floods = [
        Flooding(socket.socket(fileno=descriptor), bytes.fromhex(target["request"]), number)
        for number, target in enumerate(asked["targets"])
        for descriptor in target["fds"]
    ]
    tallies = flood(floods, len(asked["targets"]), asked["seconds"], sys.stdin.fileno())
    print(json.dumps([asdict(each) for each in tallies]), flush=True)


if __name__ == "__main__":
    main()
