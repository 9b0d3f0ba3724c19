"""Who asked, inside an Envelope (key 58): the principal, its address, the request's own id.

Shipped Kafka puts DefaultPrincipalData there. Ours adds the id that makes a retried create or
delete harmless (B.9.4): the same id on every attempt of one client request. A principal without
type and name is the forwarding broker itself, which may do everything that CLUSTER_ACTION lets
it tell of others anyway.
"""

import ipaddress
import uuid
from dataclasses import dataclass, field
from typing import ClassVar

from kio.static.constants import EntityType
from kio.static.primitive import i16


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
