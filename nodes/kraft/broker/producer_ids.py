"""What clients are told that ask for a producer id: InitProducerId v0-4. Pure."""

from typing import Final

from kio.schema.errors import ErrorCode
from kio.static.protocol import RequestPayload, ResponsePayload

from nodes.kraft.controller.answers import NO_THROTTLE, make, schema_of

NO_ID: Final = -1


def init_producer_id_response(
    request: RequestPayload, error: ErrorCode, producer_id: int = NO_ID
) -> ResponsePayload:
    """A fresh id, which begins with epoch 0; or why there is none."""
    return make(
        schema_of(request),
        throttle_time=NO_THROTTLE,
        error_code=error,
        producer_id=producer_id,
        producer_epoch=0 if producer_id != NO_ID else -1,
    )
