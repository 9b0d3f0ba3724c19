"""etcd's JSON gateway: gRPC requests as HTTP posts, bytes in base64."""

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from typing import Any, Final

from framework.plugins.outcomes import Refused
from framework.plugins.system import Cluster

PORT: Final = 2379
BROKEN: Final = (OSError, HTTPException, ValueError)
"""The question went out, and no answer to it came back."""


class NotSentError(Exception):
    """No connection: what was asked for has not happened, and never will."""


class AnsweredError(Exception):
    """etcd answered with an error: `refused`. Its code is etcd's message in capitals, as in
    REQUEST_TIMED_OUT, or the number of gRPC, as in GRPC_14, where the message is not etcd's."""

    def __init__(self, message: str, number: object) -> None:
        super().__init__(message)
        known = re.fullmatch("(?:etcdserver|mvcc): ([a-z ,]+)", message)
        code = re.sub("[ ,]+", "_", known[1]).upper() if known else f"GRPC_{number}"
        self.refused = Refused(code, message)


def ask(
    cluster: Cluster, node: str, method: str, question: Mapping[str, Any], *, timeout_s: float
) -> Mapping[str, Any]:
    """A member's answer to a POST of `/v3/<method>`, over a connection of its own. Raises
    `NotSentError`, `AnsweredError`, and one of `BROKEN`."""
    address = cluster.host(node).address
    with closing(HTTPConnection(address, PORT)) as connection:
        try:
            connection.sock = cluster.fleet.connect(address, PORT, timeout_s)
        except OSError as error:
            raise NotSentError(str(error)) from error
        connection.sock.settimeout(timeout_s)
        connection.request("POST", f"/v3/{method}", json.dumps(question))
        answer: Mapping[str, Any] = json.loads(connection.getresponse().read())
    if "error" in answer:
        raise AnsweredError(str(answer["error"]), answer.get("code"))
    return answer


def encoded(value: object) -> str:
    return b64encode(str(value).encode()).decode()
