"""Kafka's error codes."""

from kio.schema.errors import ErrorCode


def name_of(code: int) -> str:
    """The code's name in Kafka's spelling; a number that Kafka does not have, as it is."""
    try:
        return ErrorCode(code).name.upper()
    except ValueError:
        return f"UNKNOWN_CODE_{code}"
