"""What Apache Kafka's answers mean: THE table of this system, made of the rows of `meanings`.

Nothing tells a request that a broker sent to the controller a second time from the first one, so a
topic that "exists" may be the request's own doing (`tags_retries`), and a broker that is not
registered, its own undoing. What is refused for what the request says itself (`static`) was refused
in each attempt. Codes that are in no row are info, whatever they may be.

A change of who votes is refused for who votes already (DUPLICATE_VOTER, VOTER_NOT_FOUND) before
anything is appended. REQUEST_TIMED_OUT says that another change was under way, or that this one was
not committed in time; NOT_LEADER_OR_FOLLOWER, of who resigned, may follow an append as well: both
are info.
"""

from typing import Final

from kio.schema.errors import ErrorCode

from framework.plugins.outcomes import (
    ABSENT,
    NEEDLESS,
    OUT_OF_RANGE,
    PRESENT,
    STALE,
    OutcomeTable,
)
from nodes.adapting.codes import HAS_MEMBERS, STALE_MEMBERS, name_of
from nodes.kafka.meanings import MEANINGS

OUTCOMES: Final = OutcomeTable(
    fails=frozenset(name_of(code) for each in MEANINGS if each.fails for code in each.codes),
    static=frozenset(name_of(code) for each in MEANINGS if each.static for code in each.codes),
    asserts={
        ("create", name_of(ErrorCode.topic_already_exists)): PRESENT,
        ("delete", name_of(ErrorCode.unknown_topic_or_partition)): ABSENT,
        ("unregister", name_of(ErrorCode.broker_id_not_registered)): ABSENT,
        ("heartbeat", name_of(ErrorCode.stale_broker_epoch)): STALE,
        ("alter-isr", name_of(ErrorCode.stale_broker_epoch)): STALE,
        ("fetch", name_of(ErrorCode.offset_out_of_range)): OUT_OF_RANGE,
        ("elect", name_of(ErrorCode.election_not_needed)): NEEDLESS,
        ("update-feature", name_of(ErrorCode.invalid_update_version)): OUT_OF_RANGE,
        **STALE_MEMBERS,
        **HAS_MEMBERS,
    },
    reads=frozenset(
        {
            "follow",
            "describe-configs",
            "describe-broker-configs",
            "dry-create",
            "controller-dry-create",
            "controller-configs",
            "metadata",
            "fetch",
            "replica-fetch",
            "list-offsets",
            "log-dirs",
            "producers",
            "reassignments",
            "assignment",
            "committed",
            "groups",
            "features",
            "describe-voters",
            "list-brokers",
        }
    ),
    tags_retries=False,
    doubtful=frozenset(
        (f, name_of(code)) for each in MEANINGS for code in each.codes for f in each.doubtful
    ),
)
