"""What a listener says to requests that it does not serve."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from kio.static.protocol import RequestPayload

from nodes.kraft.broker import view
from nodes.kraft.net.listener import RequestContext
from nodes.kraft.wire.codec import API_VERSIONS, UnsupportedVersion, encode_response

log: Final = logging.getLogger(__name__)


def listed(table: Mapping[int, tuple[int, int]], request: RequestPayload) -> bool:
    """Whether a listener's table of api keys has this request in its version."""
    lowest, highest = table.get(request.__api_key__, (0, -1))
    version: int = request.__version__
    return lowest <= version <= highest


def refuse(context: RequestContext[RequestPayload]) -> None:
    """Close the connection of a request that its listener does not serve."""
    log.warning(
        "%s: %s version %d from %s is not served here",
        context.listener,
        type(context.request).__name__,
        context.request.__version__,
        context.peer,
    )
    context.answer(None)


def unsupported(table: Mapping[int, tuple[int, int]], error: UnsupportedVersion) -> bytes | None:
    """ApiVersions of a version from the future gets the v0 body with error 35 (B.9.1); anything
    else that no schema is known for closes the connection."""
    if error.api_key != API_VERSIONS:
        return None
    response = view.api_versions_refusal(table)
    return encode_response(response, correlation_id=error.correlation_id)
