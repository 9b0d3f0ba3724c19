"""A client of somebody's library as a process of its own, which can vanish: the harness's end of
`group_member` and `transactor`."""

import json
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from framework.history.event import Completion, Invocation, Json, Recorded
from framework.plugins.outcomes import OutcomeTable, completion
from workloads.kafka.relay import Relay

MODULE: Final = "workloads.kafka.group_member"
ANSWER_S: Final = 9.0
"""Longer than a member may need; one that needs more is stuck."""


LOST: Final = frozenset({"MEMBER_GONE", "MEMBER_SILENT"})
"""The process is no more."""


class MemberFailed(Exception):
    """There is no result. `code`: why; `sent`: it may have taken effect."""

    def __init__(self, code: str, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.code = code
        self.sent = sent


def unanswered(outcomes: OutcomeTable, invocation: Invocation, error: MemberFailed) -> Completion:
    """The end of an operation that the process did not do."""
    failure = outcomes.unanswered(invocation.f, error.code, str(error), sent=error.sent)
    return completion(invocation, failure, None)


class MemberProcess:
    """Runs until it leaves or is killed. For one thread at a time."""

    def __init__(self, name: str, module: str, configuration: Json) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, json.dumps(configuration)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is the harness's, which ends its input
        )

    def ask(self, do: str, **arguments: Json) -> Json:
        """The result. Raises `MemberFailed`; one that does not answer in time is killed."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise MemberFailed(
                "MEMBER_GONE", f"the process has ended: {error}", sent=False
            ) from error
        answer: Recorded = json.loads(self._line())
        if "error" in answer:
            code, message = answer["error"]
            raise MemberFailed(code, message, sent=answer["sent"])
        result: Json = answer["ok"]
        return result

    def _line(self) -> bytes:
        """Its answer, a line."""
        out = self._process.stdout
        assert out is not None
        poll = select.poll()  # `select` takes no number above 1023
        poll.register(out, select.POLLIN)
        if not poll.poll(ANSWER_S * 1000):
            self.kill()
            raise MemberFailed("MEMBER_SILENT", f"no answer within {ANSWER_S:g} s", sent=True)
        line = out.readline()
        if not line:
            raise MemberFailed("MEMBER_GONE", "the process ended without an answer", sent=True)
        return line

    def kill(self) -> None:
        """SIGKILL: it vanishes, and tells nobody. Never raises."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._process.wait()


def group_member(
    relay: Relay, *, group: str, name: str, topics: Sequence[str], session_ms: int
) -> MemberProcess:
    """A member of a group."""
    settings: Json = {
        "bootstrap_servers": relay.brokers,
        "proxy_url": relay.url,
        "group_id": group,
        "client_id": name,
        "session_timeout_ms": session_ms,
    }
    configuration: Json = {
        "settings": settings,
        "topics": list(topics),
        "asked_s": time.monotonic(),
    }
    return MemberProcess(name, MODULE, configuration)
