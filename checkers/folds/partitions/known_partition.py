"""What clients know of one partition, once for all that is asked of it (`partition-data`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from checkers.folds.history.log_values import produce_of
from checkers.folds.partitions.claims import (
    Claim,
    Fetch,
    acknowledged_by,
    fetch_of,
    last_read,
    unplaced_by,
    unread_of,
)
from checkers.folds.partitions.deleted_records import Deletes
from checkers.folds.partitions.log_ends import LimitAnswer, answered_limits
from checkers.folds.partitions.replica_reads import given_by_replicas
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPartition:
    """`read` is what anybody was given, by a leader (`fetches`) or any replica (`given`); `last`,
    the final read that reached the end, if one did. Of what was acknowledged, `unplaced` is without
    an offset, and `nowhere` what of that was given to nobody; no fetch covers the `unread`."""

    events: RunEvents
    produces: Sequence[Operation]
    fetches: Sequence[Fetch]
    given: Sequence[Fetch]
    acknowledged: Sequence[Claim]
    unplaced: Sequence[Operation]
    nowhere: Sequence[Operation]
    read: Sequence[Claim]
    unread: Sequence[Claim]
    last: Fetch | None
    limits: Sequence[LimitAnswer]
    deletes: Deletes
    deleted: bool
    """Whether the topic may have been, and all that it held with it."""

    @classmethod
    def of(cls, events: RunEvents) -> Self:
        operations = events.operations
        produces = [each for each in operations if each.f == "produce"]
        fetches = [fetch_of(each) for each in operations if each.f == "fetch" and each.ok]
        given = given_by_replicas(operations)
        acknowledged, unplaced = list(acknowledged_by(produces)), list(unplaced_by(produces))
        read = [
            Claim(offset, value, fetch.operation)
            for fetch in (*fetches, *given)
            for offset, value in fetch.records
        ]
        found = {claim.value for claim in read}
        deleted = any(each.f == "delete" and not each.failed for each in operations)
        return cls(
            events=events,
            produces=produces,
            fetches=fetches,
            given=given,
            acknowledged=acknowledged,
            unplaced=unplaced,
            nowhere=[each for each in unplaced if produce_of(each)["value"] not in found],
            read=read,
            unread=[] if deleted else unread_of(acknowledged, fetches),
            last=last_read(fetches),
            limits=list(answered_limits(operations)),
            deletes=Deletes.of(events, operations),
            deleted=deleted,
        )

    @property
    def operations(self) -> Sequence[Operation]:
        return self.events.operations

    @property
    def given_to_anybody(self) -> Sequence[Fetch]:
        return [*self.fetches, *self.given]
