"""Who asked, inside an Envelope (key 58): the principal, and the request's own id.

Shipped Kafka puts DefaultPrincipalData there. Ours adds the id that makes a retried create or
delete harmless (B.9.4): the same id on every attempt of one client request.
"""

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
