"""THE table: which answers mean ok, fail and info. All clients of all workloads use it.

`fail` says that the request certainly had no effect and never will have one; `info` that nobody
knows. Two failures are observations, too: a create that was refused because the topic exists
saw it present, a delete that was refused because there is none saw it absent. That holds even
though brokers forward both with retries, since every attempt carries the id of the one client
request and is told what the first attempt did.

NOT_CONTROLLER is a failure because the node uses it strictly for "not appended"; where a record
was appended and its fate is unknown, it answers REQUEST_TIMED_OUT. Codes that are not in the
table are info, whatever they may be.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from kio.schema.errors import ErrorCode

from framework.history.event import EventType

CONNECTION_FAILED: Final = "CONNECTION_FAILED"
"""No connection, or it broke before the first byte of the request was handed over."""
CONNECTION_LOST: Final = "CONNECTION_LOST"
"""The connection broke after the request, or some of it, was sent."""
CLIENT_TIMED_OUT: Final = "CLIENT_TIMED_OUT"
"""Sent, and not answered before the client's deadline."""
MALFORMED_RESPONSE: Final = "MALFORMED_RESPONSE"
"""Answered with bytes that are no response to the request."""
NO_ACKNOWLEDGEMENT: Final = "NO_ACKNOWLEDGEMENT"
"""A produce with acks=0, which nobody answers."""

TYPE_OF_CODE: Final = MappingProxyType[ErrorCode, EventType](
    {
        ErrorCode.none: "ok",
        ErrorCode.unknown_topic_or_partition: "fail",
        ErrorCode.message_too_large: "fail",
        ErrorCode.invalid_topic_exception: "fail",
        ErrorCode.not_enough_replicas: "fail",
        ErrorCode.topic_authorization_failed: "fail",
        ErrorCode.group_authorization_failed: "fail",
        ErrorCode.cluster_authorization_failed: "fail",
        ErrorCode.unsupported_version: "fail",
        ErrorCode.topic_already_exists: "fail",
        ErrorCode.invalid_partitions: "fail",
        ErrorCode.invalid_replication_factor: "fail",
        ErrorCode.invalid_replica_assignment: "fail",
        ErrorCode.invalid_config: "fail",
        ErrorCode.not_controller: "fail",
        ErrorCode.invalid_request: "fail",
        ErrorCode.fenced_leader_epoch: "fail",
        ErrorCode.stale_broker_epoch: "fail",
        ErrorCode.invalid_update_version: "fail",
        ErrorCode.unknown_topic_id: "fail",
        ErrorCode.duplicate_broker_registration: "fail",
        ErrorCode.broker_id_not_registered: "fail",
        ErrorCode.inconsistent_cluster_id: "fail",
        ErrorCode.ineligible_replica: "fail",
        ErrorCode.invalid_registration: "fail",
        ErrorCode.request_timed_out: "info",
    }
)

TYPE_OF_BREAKDOWN: Final = MappingProxyType[str, EventType](
    {
        CONNECTION_FAILED: "fail",
        CONNECTION_LOST: "info",
        CLIENT_TIMED_OUT: "info",
        MALFORMED_RESPONSE: "info",
        NO_ACKNOWLEDGEMENT: "info",
    }
)

ASSERTS: Final = MappingProxyType[tuple[str, ErrorCode], str](
    {
        ("create", ErrorCode.topic_already_exists): "present",
        ("delete", ErrorCode.unknown_topic_or_partition): "absent",
    }
)
"""Failures that say what the topic was at the moment of the refusal."""

READS: Final = frozenset({"describe", "metadata", "fetch", "list-offsets"})
"""Operations without effect: where one has no result, it had certainly no effect."""


@dataclass(frozen=True, slots=True)
class Failure:
    """How an operation without a result completes. `asserts`: what it saw all the same."""

    type: EventType
    error: tuple[str, str]
    asserts: str | None = None


def name_of(code: int) -> str:
    """The code's name in Kafka's spelling; a number that Kafka does not have, as it is."""
    try:
        return ErrorCode(code).name.upper()
    except ValueError:
        return f"UNKNOWN_CODE_{code}"


def type_of_code(code: int) -> EventType:
    """ok, fail or info for an error code of Kafka's, or for one that is unknown."""
    try:
        return TYPE_OF_CODE.get(ErrorCode(code), "info")
    except ValueError:
        return "info"


def refused(f: str, code: int, message: str | None = None) -> Failure:
    """The completion of operation `f` that was answered with an error code other than 0."""
    type_ = type_of_code(code)
    if type_ == "ok":
        raise ValueError(f"code {code} is no refusal")
    known = type_ == "fail"
    return Failure(
        "fail" if f in READS else type_,
        (name_of(code), message or ""),
        ASSERTS.get((f, ErrorCode(code))) if known else None,
    )


def broke_down(f: str, breakdown: str, message: str) -> Failure:
    """The completion of operation `f` that got no answer; `breakdown` is a name from above."""
    type_ = "fail" if f in READS else TYPE_OF_BREAKDOWN[breakdown]
    return Failure(type_, (breakdown, message))
