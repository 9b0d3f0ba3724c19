"""A client of registers: what is asked of etcd, and what its answers mean."""

from base64 import b64decode
from functools import partial
from typing import Final

from framework.history.event import Completion, Invocation, Json
from framework.plugins import outcomes
from framework.plugins.outcomes import Failure, Ok, OutcomeTable, Refused
from framework.plugins.system import Cluster
from kraft_proof_etcd.gateway import BROKEN, AnsweredError, NotSentError, ask, encoded

TIMEOUT_S: Final = 2.0
VALUE_DIFFERS: Final = "VALUE_DIFFERS"

OUTCOMES: Final = OutcomeTable(
    # Said before anything is proposed. All else (a timeout, no leader, another leader) may be
    # said of what was proposed already, and may yet be committed.
    fails=frozenset({VALUE_DIFFERS, "TOO_MANY_REQUESTS", "REQUEST_IS_TOO_LARGE"}),
    asserts={("cas", VALUE_DIFFERS): "differs"},
    reads=frozenset({"read"}),
)


class RegisterClient:
    """Stays with one member, for good or ill."""

    def __init__(self, cluster: Cluster, node: str, *, serializable: bool) -> None:
        self._node, self._serializable = node, serializable
        self._ask = partial(ask, cluster, node, timeout_s=TIMEOUT_S)

    def invoke(self, op: Invocation) -> Completion:
        """Read, write, or cas `[from, to]`; null is the value of a key that is not there."""
        return outcomes.completion(op, self._result(op), self._node)

    def close(self) -> None:
        """Nothing: no connection outlives its answer."""

    def _result(self, op: Invocation) -> Ok | Failure:
        try:
            done = self._do(op)
        except AnsweredError as error:
            done = error.refused
        except NotSentError as error:
            code = outcomes.CONNECTION_FAILED
            return OUTCOMES.unanswered(op.f, code, str(error), sent=False)
        except BROKEN as error:
            late = isinstance(error, TimeoutError)
            code = outcomes.CLIENT_TIMED_OUT if late else outcomes.CONNECTION_LOST
            return OUTCOMES.unanswered(op.f, code, str(error), sent=True)
        # Neither this client nor a member sends a request again.
        return OUTCOMES.refused(op.f, done, retried=False) if isinstance(done, Refused) else done

    def _do(self, op: Invocation) -> Ok | Refused:
        key = encoded(op.key)
        if op.f == "read":
            answer = self._ask("kv/range", {"key": key, "serializable": self._serializable})
            return Ok(int(b64decode(answer["kvs"][0]["value"])) if "kvs" in answer else None)
        if op.f == "write":
            self._ask("kv/put", {"key": key, "value": encoded(op.value)})
            return Ok(op.value)
        before, after = op.value
        compare: dict[str, Json] = {"key": key, "target": "VALUE", "value": encoded(before)}
        if before is None:
            compare = {"key": key, "target": "CREATE", "create_revision": 0}
        put: Json = {"request_put": {"key": key, "value": encoded(after)}}
        answer = self._ask("kv/txn", {"compare": [compare], "success": [put]})
        return Ok(op.value) if answer.get("succeeded") else Refused(VALUE_DIFFERS)
