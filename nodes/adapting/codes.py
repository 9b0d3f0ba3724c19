"""Kafka's error codes."""

from typing import Final

from kio.schema.errors import ErrorCode

from framework.plugins.outcomes import PRESENT, STALE


def name_of(code: int) -> str:
    """The code's name in Kafka's spelling; a number that Kafka does not have, as it is."""
    try:
        return ErrorCode(code).name.upper()
    except ValueError:
        return f"UNKNOWN_CODE_{code}"


STALE_MEMBERS: Final = {
    (f, name_of(code)): STALE
    for f in ("commit", "beat")
    for code in (
        ErrorCode.illegal_generation,
        ErrorCode.unknown_member_id,
        ErrorCode.fenced_instance_id,
    )
}
"""(f, code) -> what is seen where a group refuses a member of the past."""

HAS_MEMBERS: Final = {
    ("forget", name_of(code)): PRESENT
    for code in (ErrorCode.non_empty_group, ErrorCode.group_subscribed_to_topic)
}
"""Likewise where a group keeps what it committed for the sake of its members."""
