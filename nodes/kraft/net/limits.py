"""How much one listener takes from strangers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from nodes.kraft.settings import ConfigError, Settings, integer

RESERVED_FILES: Final = 400
"""For logs (256 of them are partitions'), and for connections to others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Sizes in bytes, times in ms, numbers for each listener.

    `capacity`: requests that wait for the handler. `request_bytes`: one frame.
    `queued_bytes`: large frames that are being read or carried out, together.
    `unproven_bytes`: one frame of somebody who has yet to log in. `idle_ms`: a connection that
    says nothing. `setup_ms`: TLS handshake and login. `frame_ms`: from a frame's first byte to
    its last; also for how long answers may wait for their reader.
    """

    capacity: int = 500
    request_bytes: int = 16 * 2**20
    queued_bytes: int = 128 * 2**20
    unproven_bytes: int = 2**19
    connections: int = 1000
    connections_per_host: int = 1000
    idle_ms: int = 600_000
    setup_ms: int = 10_000
    frame_ms: int = 30_000


def affordable(limits: Limits, listeners: int, files: int) -> Limits:
    """The same, with no more connections on `listeners` listeners than a process can hold that
    may open `files` files: where strangers took the last one, no peer could connect."""
    share = max(1, (files - RESERVED_FILES) // max(1, listeners))
    return replace(limits, connections=min(limits.connections, share))


def limits(settings: Settings) -> Limits:
    """The limits as set, under Kafka's names where it has some. Raises `ConfigError`."""
    base = Limits()
    most = 2**31 - 1
    keys = {
        "capacity": ("queued.max.requests", 10**6),
        "request_bytes": ("socket.request.max.bytes", most),
        "queued_bytes": ("queued.max.request.bytes", 2**40),
        "unproven_bytes": ("sasl.server.max.receive.size", most),
        "connections": ("max.connections", 10**6),
        "connections_per_host": ("max.connections.per.ip", most),
        "idle_ms": ("connections.max.idle.ms", most),
        "setup_ms": ("socket.connection.setup.timeout.ms", most),
        "frame_ms": ("request.read.timeout.ms", most),
    }
    found = Limits(
        **{
            name: integer(settings, key, 1, highest, getattr(base, name))
            for name, (key, highest) in keys.items()
        }
    )
    if found.queued_bytes < found.request_bytes:
        raise ConfigError(
            f"queued.max.request.bytes={found.queued_bytes}: it must hold one request of "
            f"socket.request.max.bytes={found.request_bytes}"
        )
    return found
