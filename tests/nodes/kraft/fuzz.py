"""Strangers' bytes against a living node.

    python -m tests.nodes.kraft.fuzz --seconds 60 [--seed 1]

A combined node with every kind of listener gets, over and over: random bytes, requests of every
kind and version that are well formed and make no sense, such requests with bytes changed, cut
short or with lengths that lie, and half ones. It has to stay alive, answer a decent client in
between, log no exception that nothing handled, and grow no further than it did at first.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import random
import socket
import struct
import sys
import tempfile
import time
import typing
from collections import Counter
from pathlib import Path
from types import NoneType
from typing import Any

from nodes.kraft.wire.apis import CLIENT_APIS, CONTROL_APIS
from nodes.kraft.wire.codec import frame, request_schema
from nodes.kraft.wire.debug import DescribeNodeRequest
from nodes.kraft.wire.structure import write_unsigned_varint
from tests.nodes.kraft.certificates import Authority, common_name
from tests.nodes.kraft.loopback import Loopback, call, free_ports

PROTOCOLS = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")
UNLISTED = {50: (0, 0), 51: (0, 0), 10000: (0, 0), 10001: (0, 0)}
WIDTHS = {
    **dict.fromkeys(("bool", "int8", "uint8"), 1),
    **dict.fromkeys(("int16", "uint16", "error_code"), 2),
    **dict.fromkeys(("int32", "uint32", "timedelta_i32"), 4),
    **dict.fromkeys(("int64", "uint64", "float64", "timedelta_i64", "datetime_i64"), 8),
    "uuid": 16,
}
GROWTH_MIB = 64
"""How much a node may grow after the first third of the run."""


# --- what is sent -----------------------------------------------------------------------------


class Nonsense:
    """Well-formed requests that mean nothing, and worse ones made of them."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def payload(self, apis: dict[int, tuple[int, int]]) -> bytes:
        """What goes on one connection."""
        rng = self._rng
        parts = []
        for _ in range(rng.randint(1, 4)):
            data = self.request(apis)
            match rng.randrange(6):
                case 0:
                    parts.append(rng.randbytes(rng.randint(0, 200)))
                case 1:
                    parts.append(frame(self.mutated(data)))
                case 2:
                    parts.append(frame(data)[: rng.randint(0, len(data))])
                case 3:
                    parts.append(struct.pack(">i", rng.choice([-1, 0, 2**31 - 1, 10**8])) + data)
                case _:
                    parts.append(frame(data))
        return b"".join(parts)

    def mutated(self, data: bytes) -> bytes:
        rng, changed = self._rng, bytearray(data)
        for _ in range(rng.randint(1, 5)):
            at = rng.randrange(len(changed))
            match rng.randrange(4):
                case 0:
                    changed[at] = rng.randrange(256)
                case 1:
                    changed[at:at] = rng.randbytes(rng.randint(1, 8))
                case 2:
                    changed[at : at + 4] = b"\xff\xff\xff\xff"
                case _:
                    del changed[at : at + rng.randint(1, 8)]
                    changed = changed or bytearray(b"\x00")
        return bytes(changed)

    def request(self, apis: dict[int, tuple[int, int]]) -> bytes:
        key = self._rng.choice(list(apis))
        version = self._rng.randint(*apis[key])
        schema = request_schema(key, version)
        header = struct.pack(">hhi", key, version, self._rng.getrandbits(31))
        client = struct.pack(">h", -1)
        tags = b"\x00" if schema.__header_schema__.__flexible__ else b""
        return header + client + tags + self.entity(schema)

    def entity(self, schema: Any, depth: int = 0) -> bytes:
        hints = typing.get_type_hints(schema)
        plain = [item for item in dataclasses.fields(schema) if "tag" not in item.metadata]
        data = b"".join(self.field(schema, item, hints[item.name], depth) for item in plain)
        return data + (b"\x00" if schema.__flexible__ else b"")

    def field(self, schema: Any, item: Any, hint: Any, depth: int) -> bytes:
        inner, nullable = without_none(hint)
        flexible = schema.__flexible__
        null = nullable and self._rng.random() < 0.2
        if typing.get_origin(inner) is tuple:
            if null:
                return self.length(-1, flexible)
            count = self._rng.choice([0, 1, 1, 2, 5]) if depth < 4 else 0
            element, _ = without_none(typing.get_args(inner)[0])
            parts = [
                self.entity(element, depth + 1)
                if dataclasses.is_dataclass(element)
                else self.primitive(item.metadata["kafka_type"], flexible, False)
                for _ in range(count)
            ]
            return self.length(count, flexible) + b"".join(parts)
        if dataclasses.is_dataclass(inner):
            if nullable:
                return b"\xff" if null else b"\x01" + self.entity(inner, depth + 1)
            return self.entity(inner, depth + 1)
        return self.primitive(item.metadata["kafka_type"], flexible, null)

    def primitive(self, kafka_type: str, flexible: bool, null: bool) -> bytes:
        rng = self._rng
        if kafka_type in WIDTHS:
            width = WIDTHS[kafka_type]
            if kafka_type == "bool":
                return rng.choice([b"\x00", b"\x01"])
            if kafka_type == "uuid" or rng.random() < 0.2:
                return rng.randbytes(width)
            value = rng.choice([-1, 0, 0, 1, 1, 2, 3, 4, 100, 2 ** (8 * width - 1) - 1])
            return (value % 2 ** (8 * width)).to_bytes(width, "big")
        narrow = kafka_type == "string"
        if null:
            return self.length(-1, flexible, narrow)
        words = [b"", b"t", b"test", b"__consumer_offsets", b"\xc3\xa4", b"a/b", b"x" * 300]
        value = rng.choice(words) if narrow else rng.randbytes(rng.choice([0, 10, 61, 300]))
        return self.length(len(value), flexible, narrow) + value

    def length(self, count: int, flexible: bool, narrow: bool = False) -> bytes:
        if flexible:
            return write_unsigned_varint(count + 1)
        return struct.pack(">h" if narrow else ">i", count)


def without_none(hint: Any) -> tuple[Any, bool]:
    parts = typing.get_args(hint)
    if NoneType not in parts:
        return hint, False
    return next(each for each in parts if each is not NoneType), True


# --- the run ----------------------------------------------------------------------------------


class Fuzz:
    """One node and its tormentor."""

    def __init__(self, directory: Path, seed: int) -> None:
        self._rng = random.Random(seed)
        self._nonsense = Nonsense(self._rng)
        self.sent: Counter[str] = Counter()
        keystore = Authority(directory).keystore(common_name("node"))
        self.cluster = Loopback(
            directory,
            combined=1,
            ssl_keystore_location=str(keystore),
            sasl_users="alice=secret",
            sasl_enabled_mechanisms="PLAIN,SCRAM-SHA-256",
            request_read_timeout_ms="1000",
            socket_connection_setup_timeout_ms="1000",
        )
        settings = self.cluster.settings["n1"]
        self.ports = dict(zip((*PROTOCOLS, "METRICS"), free_ports(4), strict=True))
        for protocol in PROTOCOLS:
            settings["listeners"] += f",{protocol}://127.0.0.1:{self.ports[protocol]}"
        settings["metrics.listener"] = f"127.0.0.1:{self.ports['METRICS']}"
        self.ports |= {"CLIENT": self.cluster.client["n1"], "CONTROLLER": self.cluster.control[1]}

    def run(self, seconds: float) -> list[str]:
        """What went wrong."""
        with self.cluster:
            self.cluster.ready()
            start = time.monotonic()
            settled_mib = None
            open_ones: list[socket.socket] = []
            while (spent := time.monotonic() - start) < seconds:
                if settled_mib is None and spent > seconds / 3:
                    settled_mib = self.resident_mib()
                self.torment(open_ones)
                if self.cluster.processes["n1"].poll() is not None:
                    return [f"the node ended: {self.last_lines()}"]
            for each in open_ones:
                each.close()
            return self.verdict(settled_mib or self.resident_mib())

    def torment(self, open_ones: list[socket.socket]) -> None:
        listener = self._rng.choice([*self.ports, *["CLIENT", "CONTROLLER"] * 4])
        apis = {**(CONTROL_APIS if listener == "CONTROLLER" else CLIENT_APIS), **UNLISTED}
        payload = self._nonsense.payload(apis)
        with contextlib.suppress(OSError):
            connection = socket.create_connection(("127.0.0.1", self.ports[listener]), timeout=1)
            self.sent[listener] += 1
            connection.sendall(payload)
            if self._rng.random() < 0.05:  # and leaves it open
                open_ones.append(connection)
                if len(open_ones) > 50:
                    open_ones.pop(self._rng.randrange(50)).close()
            else:
                connection.settimeout(0.01)
                connection.recv(100)
                connection.close()

    def verdict(self, settled_mib: float) -> list[str]:
        wrong = []
        for name in ("CLIENT", "CONTROLLER"):
            try:
                call(self.ports[name], DescribeNodeRequest())
            except OSError as error:
                wrong.append(f"{name} does not answer a decent request: {error}")
        grown = self.resident_mib() - settled_mib
        if grown > GROWTH_MIB:
            wrong.append(f"grew by {grown:.0f} MiB after the first third")
        wrong += sorted(
            {f"{each['where']}: {each['message']}" for each in self.cluster.events("n1", "error")}
        )
        return wrong

    def resident_mib(self) -> float:
        pages = int(Path(f"/proc/{self.cluster.processes['n1'].pid}/statm").read_text().split()[1])
        return pages * 4096 / 2**20

    def last_lines(self) -> str:
        return "\n".join((self.cluster.directory / "n1.log").read_text().splitlines()[-15:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else time.time_ns() % 2**32
    with tempfile.TemporaryDirectory() as directory:
        fuzz = Fuzz(Path(directory), seed)
        wrong = fuzz.run(arguments.seconds)
    print(f"seed {seed}: {sum(fuzz.sent.values())} connections: {dict(fuzz.sent)}")
    for each in wrong:
        print(each)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
