"""A network of a process's own, in which brokers' addresses are doors to a relay.

librdkafka knows no proxies: it connects to the addresses that brokers advertise, which only the
fleet can reach. So its process leaves the machine's network for an empty one (a Linux network
namespace, made without root where user namespaces are allowed), where every broker's address is the
process's own. What connects there is carried to the `Relay` by threads that stayed outside.

On the way requests of transactions may be held for a while, as a network may do: one whose sender
has given it up, and sent it again, still arrives.
"""

import ctypes
import fcntl
import os
import random
import socket
import struct
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

Address: TypeAlias = tuple[str, int]

CHUNK_BYTES: Final = 64 * 1024
PRODUCE, ADD_PARTITIONS, ADD_OFFSETS, END, OFFSETS = 0, 24, 25, 26, 28
"""Keys of the requests of a transaction."""
HELD: Final = frozenset({PRODUCE, ADD_PARTITIONS, ADD_OFFSETS, END, OFFSETS})
_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_SET_ADDRESS, _SET_FLAGS, _UP = 0x8916, 0x8914, 0x1
_SOCKS, _PLAIN, _CONNECT, _IPV4, _DONE = 5, 0, 1, 1, 0


@dataclass(frozen=True, slots=True)
class Delay:
    """Of all `HELD` requests this `share` arrives `seconds` late."""

    share: float = 0.0
    seconds: float = 0.0
    seed: int = 0


def enter(relay: Address, brokers: Sequence[Address], delay: Delay) -> None:
    """Leave the machine's network. Called before the process has any other thread, for only then
    may it; sockets that it has stay where they are. Raises `OSError`."""
    _unshare(_NEW_USER)
    doors = [Future[socket.socket]() for _ in brokers]
    for door, broker in zip(doors, brokers, strict=True):
        _begin(_serve, door, relay, broker, delay)
    _unshare(_NEW_NET)
    _configure(_SET_FLAGS, "lo", struct.pack("=H", _UP))
    for number, (door, broker) in enumerate(zip(doors, brokers, strict=True)):
        _own(number, broker[0])
        door.set_result(socket.create_server(broker))


def _unshare(what: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(what) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"unshare: {os.strerror(number)}")


def _configure(number: int, interface: str, what: bytes) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, number, struct.pack("16s24s", interface.encode(), what))


def _own(number: int, address: str) -> None:
    """Give loopback one more address."""
    family = struct.pack("=HH4s", socket.AF_INET, 0, socket.inet_aton(address))
    _configure(_SET_ADDRESS, f"lo:{number}", family)


# --- threads that stayed outside ----------------------------------------------------------


def _begin(target: object, *args: object) -> None:
    threading.Thread(target=target, args=args, daemon=True).start()  # type: ignore[arg-type]


def _serve(door: Future[socket.socket], relay: Address, broker: Address, delay: Delay) -> None:
    rng = random.Random(f"{delay.seed} {broker}")
    listening = door.result()
    while True:
        client, _ = listening.accept()
        _begin(_carry, client, relay, broker, Requests(delay, rng))


class Requests:
    """Decides what is held of what a client sends."""

    def __init__(self, delay: Delay, rng: random.Random) -> None:
        self._delay, self._rng = delay, rng

    def pass_on(self, data: bytes) -> None:
        """Wait as long as this is held: it begins with a request, as clients send them whole."""
        (kind,) = struct.unpack_from("!h", data, 4) if len(data) >= 6 else (-1,)
        if kind in HELD and self._rng.random() < self._delay.share:
            time.sleep(self._delay.seconds)


def _carry(client: socket.socket, relay: Address, broker: Address, requests: Requests) -> None:
    with suppress(OSError), client, socket.create_connection(relay) as outside:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        outside.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _ask(outside, broker)
        _begin(_pump, outside, client)
        _pump(client, outside, requests)


def _ask(relay: socket.socket, broker: Address) -> None:
    """Be connected to a broker. Raises `OSError`."""
    host, port = broker
    relay.sendall(struct.pack("!BBB", _SOCKS, 1, _PLAIN))
    _exactly(relay, 2)
    asked = struct.pack("!BBBB4sH", _SOCKS, _CONNECT, 0, _IPV4, socket.inet_aton(host), port)
    relay.sendall(asked)
    if _exactly(relay, 10)[1] != _DONE:
        raise ConnectionRefusedError(f"{host}:{port}")


def _exactly(source: socket.socket, size: int) -> bytes:
    data = source.recv(size, socket.MSG_WAITALL)
    if len(data) < size:
        raise ConnectionResetError("closed")
    return data


def _pump(source: socket.socket, sink: socket.socket, requests: Requests | None = None) -> None:
    """Until either is closed, then end both."""
    with suppress(OSError):
        while data := source.recv(CHUNK_BYTES):
            if requests is not None:
                requests.pass_on(data)
            sink.sendall(data)
    for each in (source, sink):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
