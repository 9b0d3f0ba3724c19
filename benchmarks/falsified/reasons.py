"""Why lies in answers may stay unfound: what no system promises, or what nothing that was seen
contradicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from benchmarks.falsified.answers import WHOLE
from benchmarks.falsified.trials import ERROR


@dataclass(frozen=True, slots=True)
class Reason:
    """f, field, change: patterns (`fnmatch`, brackets as they are) of lies; why they may stay.
    where: of the place of the first thing that was told."""

    f: str
    field: str
    change: str
    why: str
    where: str = "*"

    def covers(self, row: Mapping[str, Any]) -> bool:
        """Whether it is about such a lie."""
        pairs = [(row[name], getattr(self, name)) for name in ("f", "field", "change")]
        pairs += [(str(each), self.where) for each in row.get("where", ())[:1]]
        return all(fnmatchcase(text, pattern.replace("[", "[[]")) for text, pattern in pairs)


NOTED: Final = (
    "the client notes what it had asked by, from Metadata: lies there have rows of their own"
)
RECKONED: Final = "reckoned by the client: no answer has it"
OF_ITSELF: Final = "what a broker's process says of itself, to the harness; no other node answered"
LATE: Final = "who is asked may be late, and that was true before"
SOON: Final = "it may be true a moment later: the log goes on, and nobody else tells of that moment"
LESS: Final = "a follower, or who has just begun to lead, may know less to be committed"
LISTED: Final = "who is listed comes and goes, and a cache is late; what lasts in peace is owed"
PLAYED: Final = "brokers that clients play: they register anew, with addresses of their own making"
ONCE: Final = "nobody else tells of it at that moment; what lasts is found"
LEADS_NO_MORE: Final = "what a broker leads no more it leaves out, and who leads may change"
BOUNDS: Final = "clients know only bounds of it"
SOFTWARE: Final = "what a release supports: nobody changes it, and nothing else tells it"
NOT_MADE: Final = "the client makes both lists of the same records: no answer differs so"
GIVES_NONE: Final = "where an answer has no new record, none stands elsewhere"
IN_THE_END: Final = "configurations are owed in the final reads alone: a cache may be late before"
OF_QUORUM: Final = "of kraft.version the log has a record of its own kind, which is not held: a gap"
DONE_ALONE: Final = "its answer says that it was done: the client notes the rest"
DEALT: Final = "members deal it out among themselves; what no member is given is not delivered"
TOLD_LATE: Final = "a member tells of it at any time later: it was true before"
OF_OTHERS: Final = "an id of another group: members of one group are told apart by it"
IN_ROUNDS: Final = (
    "groups are owed in the end, to all brokers' lists together, in one of two rounds"
)
ITS_OWN: Final = "at a consumer's first or last poll there: no other one tells where it stood"
BETWEEN: Final = "so it is between two records that are written together; what lasts is found"
REASONS: Final[Sequence[Reason]] = (
    Reason("*", "*", "*one twice", "a set with a member twice is the same set"),
    Reason("*", WHOLE, "*refused", "nobody promises that one request succeeds (availability)"),
    Reason("*", ERROR, "*another error", "a refusal's name promises nothing if it asserts nothing"),
    Reason("*", ERROR, "*granted", "the same answer was true for another such request"),
    Reason("commit", WHOLE, "another's", DONE_ALONE),
    Reason("leave", WHOLE, "*earlier", DONE_ALONE),
    Reason("*", WHOLE, "*earlier", LATE),
    Reason("*", WHOLE, "*absent", LATE),
    Reason("list-offsets", WHOLE, "another's", LATE),
    Reason("produce", "topic_id", "*", NOTED),
    Reason("fetch", "topic_id", "*", NOTED),
    Reason("fetch", "leader_epoch", "*", NOTED),
    Reason("list-offsets", "topic_id", "*", NOTED),
    Reason("list-offsets", "leader_epoch", "*", NOTED),
    Reason("delete-records", "topic_id", "*", NOTED),
    Reason("replica-fetch", "topic_id", "*", NOTED),
    Reason("log-ends", "ends[].topic_id", "*", NOTED),
    Reason("log-ends", "ends[].leader_epoch", "*", NOTED),
    Reason("log-ends", "ends[].key", "*", NOTED),
    Reason("fetch", "watermark_first", "*", RECKONED),
    Reason("*fetch", "position", "*", RECKONED),
    Reason("heartbeat", "lease_end_ms", "*", RECKONED),
    Reason("heartbeat", "next_state", "another's", "a controller may fence a broker at any time"),
    Reason("*fetch", "high_watermark", "*", LESS),
    Reason("replica-fetch", "log_start", "*", "a follower deletes in its own time (KIP-107)"),
    Reason("start", "*", "*", OF_ITSELF),
    Reason("restart", "*", "*", OF_ITSELF),
    Reason("bounce", "*", "*", OF_ITSELF),
    Reason("replace", "*", "*", OF_ITSELF),
    Reason("drain", "*", "*", OF_ITSELF),
    Reason("kill", "*", "*", OF_ITSELF),
    Reason("describe-node", "high_watermark", "*-1", LATE),
    Reason("describe-node", "high_watermark", "another's", LATE),
    Reason("describe-node", "high_watermark", "+1", SOON),
    Reason("describe-quorum", "high_watermark", "*-1", LATE),
    Reason("describe-quorum", "high_watermark", "0", LATE),
    Reason("describe-quorum", "high_watermark", "another's", LATE),
    Reason("metadata-log", "high_watermark", "+1", SOON),
    Reason("metadata-log", "high_watermark", "-1", LATE),
    Reason("metadata-log", "leader_epoch", "*", ONCE),
    Reason("metadata-log", "begin", "*1", GIVES_NONE),
    Reason("metadata-log", "crcs", "*", NOT_MADE),
    Reason("metadata-log", "epochs", "*", NOT_MADE),
    Reason("describe-quorum", "voters", "*empty", "who tells of no voter tells nothing wrong"),
    Reason("describe-quorum", "voters[].1", "*", "a leader knows late how far others are"),
    Reason("log-ends", "ends", "*", LEADS_NO_MORE),
    Reason("log-ends", "ends[].offset", "*1", SOON),
    Reason("list-brokers", "brokers", "*", LISTED),
    Reason("list-brokers", "brokers[].id", "*", LISTED),
    Reason("list-brokers", "brokers[].*", "*", PLAYED),
    Reason("describe-*", "brokers", "*", LISTED),
    Reason("describe-*", "brokers[].id", "*", LISTED),
    Reason("describe-*", "brokers[].*", "*", PLAYED),
    Reason("metadata", "partitions", "empty", BETWEEN),
    Reason("describe-topics", "topics[].partitions", "empty", BETWEEN),
    Reason("describe-topics", "others", "*", "how many topics are left out nobody else counts"),
    Reason("describe-controllers", "active", "*", ONCE),
    Reason("describe-controllers", "controllers", "*", LISTED),
    Reason("producers", "*", "*", "what was never acknowledged, or is deleted, is owed to nobody"),
    Reason("log-dirs", "[].size", "*", BOUNDS),
    Reason("features", "epoch", "*", "the levels are the same at both offsets"),
    Reason("features", "features[].highest", "*", SOFTWARE),
    Reason("features", "features[].lowest", "*", SOFTWARE),
    Reason("features", "features[].name", "*", SOFTWARE),
    Reason("features", "features[].level", "-1", OF_QUORUM),
    Reason("features", "features[].level", "another's", OF_QUORUM),
    Reason("assignment", "assigned*", "*", DEALT),
    Reason("assignment", "generation", "+1", ONCE),
    Reason("assignment", "generation", "*", TOLD_LATE),
    Reason("assignment", "positions*", "*", RECKONED),
    Reason("join", "assigned*", "*", DEALT),
    Reason("join", "positions", "*empty", "who tells of no position tells nothing wrong"),
    Reason("join", "id", "another's", OF_OTHERS),
    Reason("assignment", "id", "another's", OF_OTHERS),
    Reason("groups", "groups[].1", "*", ONCE),
    Reason("groups", "groups*", "*", IN_ROUNDS),
    Reason("describe-voters", "leader_epoch", "+1", ONCE),
    Reason("poll", "[].1{}", "empty", ITS_OWN),
    Reason("txn", "[].1{}", "empty", ITS_OWN),
    Reason("controller-configs", "configs", "*", LATE),
    Reason("describe-configs", "*", "*", IN_THE_END),
)
