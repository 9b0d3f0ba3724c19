"""`heartbeat`: what brokers that clients play send to controllers (KIP-631).

A heartbeat without an epoch is a BrokerRegistration, one with an epoch a BrokerHeartbeat. A process
that registers again keeps its epoch; another process of the same id is refused
(DUPLICATE_BROKER_REGISTRATION) until the session of the one before it has run out.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from kio.schema.broker_heartbeat.v1 import request as beat
from kio.schema.broker_heartbeat.v1 import response as beaten
from kio.schema.broker_registration.v4 import request as register
from kio.schema.broker_registration.v4 import response as registered
from kio.schema.types import BrokerId
from kio.static.primitive import i16, i64, u16

from framework.history.event import Invocation
from framework.plugins.dialect import Exchange
from framework.plugins.outcomes import Answer, Ok, Refused
from nodes.adapting.codes import name_of

NO_EPOCH: Final = -1
LISTENERS: Final = (
    register.Listener(name="CLIENT", host="127.0.0.1", port=u16(9), security_protocol=i16(0)),
)
"""Nobody listens there: these brokers hold no data. A listener of the name that clients use they
must have, or brokers would tell of no leader."""
FEATURES: Final[Mapping[str, tuple[int, int]]] = {
    "metadata.version": (7, 999),
    "kraft.version": (0, 99),
    "group.version": (0, 99),
    "transaction.version": (0, 99),
    "eligible.leader.replicas.version": (0, 99),
    "share.version": (0, 99),
    "streams.version": (0, 99),
}
"""The range of each has to contain the level that the cluster is at: of any release."""

Request: TypeAlias = register.BrokerRegistrationRequest | beat.BrokerHeartbeatRequest
Response: TypeAlias = registered.BrokerRegistrationResponse | beaten.BrokerHeartbeatResponse


@dataclass(frozen=True, slots=True)
class Registering:
    """In one cluster. `session_ms`: after its last heartbeat a broker may be fenced."""

    cluster_id: str
    session_ms: int

    def exchange(self) -> Exchange[Request, Response]:
        """Of the operation."""
        return Exchange(at="controller", request=self.request, answer=self.answer)

    def request(self, invocation: Invocation) -> Request:
        """Of one broker."""
        value = invocation.value
        broker_id, epoch = BrokerId(value["broker_id"]), value["broker_epoch"]
        if epoch != NO_EPOCH:
            return beat.BrokerHeartbeatRequest(
                broker_id=broker_id,
                broker_epoch=i64(epoch),
                current_metadata_offset=i64(value["offset"]),
                want_fence=False,
                want_shut_down=value["target"] == "leaving",
            )
        return register.BrokerRegistrationRequest(
            broker_id=broker_id,
            cluster_id=self.cluster_id,
            incarnation_id=uuid.UUID(value["incarnation"]),
            listeners=LISTENERS,
            features=tuple(
                register.Feature(
                    name=name, min_supported_version=i16(least), max_supported_version=i16(most)
                )
                for name, (least, most) in FEATURES.items()
            ),
            rack=None,
            log_dirs=(self._directory(broker_id),),
            previous_broker_epoch=i64(value["previous_epoch"]),
        )

    def answer(self, invocation: Invocation, response: Response) -> Answer:
        """Ok: {"broker_epoch", "next_state", "lease_end_ms"}. Nobody promises a broker a lease: the
        end is that of its session at the earliest, on its own clock."""
        value = invocation.value
        if response.error_code != 0:
            return Refused(name_of(response.error_code))
        began_ms = value["lease_start_ms"]
        if isinstance(response, registered.BrokerRegistrationResponse):
            return _granted(int(response.broker_epoch), "starting", began_ms)
        state = "fenced" if response.is_fenced else "active"
        if response.should_shut_down:
            state = "leaving"
        return _granted(value["broker_epoch"], state, began_ms + self.session_ms)

    def _directory(self, broker_id: int) -> uuid.UUID:
        """All processes of an id have one; no two ids have the same."""
        return uuid.uuid5(uuid.NAMESPACE_OID, f"{self.cluster_id} {broker_id}")


def _granted(epoch: int, state: str, lease_end_ms: int) -> Ok:
    return Ok({"broker_epoch": epoch, "next_state": state, "lease_end_ms": lease_end_ms})
