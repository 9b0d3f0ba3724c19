"""What is inside an Envelope (key 58) of ours: who asked, and what was recorded for it.

Shipped Kafka puts DefaultPrincipalData there. Ours adds the id that makes a retried create or
delete harmless (B.9.4): the same id on every attempt of one client request. A principal without
type and name is the forwarding broker itself, which may do everything that CLUSTER_ACTION lets
it tell of others anyway.

Behind the response that is in the answer's `response_data` stand eight bytes of ours, which
readers of Kafka's form pass over: the log's end with all that was recorded for the request.
"""

import ipaddress
import struct
import uuid
from dataclasses import dataclass, field
from typing import ClassVar, Final

from kio.static.constants import EntityType
from kio.static.primitive import i16

from nodes.kraft.ids import Offset

_END: Final = struct.Struct(">q")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardedPrincipal:
    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    type: str = field(metadata={"kafka_type": "string"})
    name: str = field(metadata={"kafka_type": "string"})
    request_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})


def packed_host(host: str) -> bytes:
    """An IP address as it stands in an Envelope; no bytes for what is none."""
    try:
        return ipaddress.ip_address(host).packed
    except ValueError:
        return b""


def host_of(packed: bytes) -> str:
    """The inverse. Raises `ValueError` for bytes that are no address."""
    return str(ipaddress.ip_address(packed)) if packed else ""


def with_end(response_data: bytes, end_offset: Offset) -> bytes:
    """An answer's `response_data`: an encoded response, and below which offset is all that was
    recorded for it; 0: nothing was."""
    return response_data + _END.pack(end_offset)


def end_in(response_data: bytes) -> Offset:
    """The offset in it. Raises `ValueError` where there is none."""
    if len(response_data) < _END.size:
        raise ValueError(f"{len(response_data)} bytes hold no end of a log")
    return Offset(*_END.unpack_from(response_data, len(response_data) - _END.size))
