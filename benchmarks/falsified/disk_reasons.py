"""Why lies about disks may stay unfound, as `reasons` has it of answers."""

from collections.abc import Sequence
from typing import Final

from benchmarks.falsified.disk_trials import ALL
from benchmarks.falsified.reasons import Reason

READ: Final = "the reader reckons it of the batches: no file says so"
TORN: Final = "the reader says of such a log that it has a gap, or cannot be read: `wrong`"
HALF: Final = "a kill may leave half a batch behind all others"
HELD: Final = "what such a batch holds is told by its records"
HARNESS: Final = "what the harness wrote down itself, of processes that it ended"
FORMER: Final = (
    "of a process that is gone: only what the last one left beside its logs is held: a gap"
)
CHECKSUM: Final = "evidence of a batch has its checksum, and clients know its value: a gap"
BORDER: Final = "at the border of two epochs, or at an end of the log, no rule holds it: a gap"
NOW_AND_THEN: Final = "it is written down now and then: a file may say less than there is"
NOT_THERE: Final = "then it is another partition's, and here there is none: see missing"
OWN_ROW: Final = "where the log begins by it is told of the log, too: see there"
LATER: Final = "it may have heard of a later one, and nobody else tells of that"
ASKED_TOO: Final = "a broker may be asked for its vote, too, by who does not know it (KIP-853)"
UNREADABLE: Final = "a file that is gone or cannot be read tells nothing: a gap"
SUPERSEDED: Final = "one may go for a later one; a log that begins behind 0 is asked for its own"
WITHIN: Final = "short enough is allowed, and nobody else knows how long a Java stood still"
NO_BATCH: Final = "an epoch that has no batch: `epochs-written-down` is blind to it"
UNTOLD: Final = "at the end of the log, of which nobody was told that it is committed"
TWICE: Final = "a set with a member twice is the same set"
DISK_REASONS: Final[Sequence[Reason]] = (
    Reason("log-on-disk", ALL, "*", READ),
    Reason("log-on-disk", "*_offset", "*", READ),
    Reason("partition-log-on-disk", "end_offset", "*", READ),
    Reason("*log-on-disk", "torn", "*", HALF),
    Reason("appended", "*_offset", "*", TORN),
    Reason("appended", "crcs", "*", TORN),
    Reason("partition-appended", "*_offset", "*", TORN),
    Reason("*", ALL, "missing", TORN, "*.log:*"),
    Reason("*", ALL, "on all: missing", TORN, "*.log:*"),
    Reason("appended", "control", "*", HELD),
    Reason("partition-log-on-disk", "*", "*", FORMER, "*/kept/*"),
    Reason("partition-log-on-disk", "epochs*", "*", NO_BATCH),
    Reason("partition-log-on-disk", "topic_id", "*", READ),
    Reason("partition-log-on-disk", "partition", "*", READ),
    Reason("partition-log-on-disk", ALL, "*", READ),
    Reason("partition-changed", "*", "on all: *", UNTOLD),
    Reason("*", ALL, "left out", UNTOLD),
    Reason("*", ALL, "on all: left out", UNTOLD),
    Reason("*", ALL, "cut off here", UNTOLD),
    Reason("*", ALL, "on all: cut off here", UNTOLD),
    Reason("partition-appended", "*", "*", FORMER, "*/kept/*"),
    Reason("partition-appended", "crc", "on all: *", CHECKSUM),
    Reason("partition-appended", "producer_id", "on all: *", CHECKSUM),
    Reason("partition-appended", "base_sequence", "on all: *", CHECKSUM),
    Reason("partition-appended", "epoch", "*", BORDER),
    Reason("partition-offset-saved log-start", "*", "*", OWN_ROW),
    Reason("partition-offset-saved *", "topic_id", "*", NOT_THERE),
    Reason("partition-offset-saved *", "partition", "*", NOT_THERE),
    Reason("partition-offset-saved *", ALL, "*missing", NOW_AND_THEN),
    Reason("partition-offset-saved *", ALL, "*earlier", NOW_AND_THEN),
    Reason("partition-offset-saved *", "offset", "*-1", NOW_AND_THEN),
    Reason("partition-offset-saved *", "offset", "*0", NOW_AND_THEN),
    Reason("partition-offset-saved high-watermark", "*", "*", FORMER, "*/kept/*"),
    Reason("epoch-saved", ALL, "*missing", UNREADABLE),
    Reason("epoch-saved", "epoch", "*+1", LATER),
    Reason("epoch-saved", "vote", "*", ASKED_TOO, "nodes/b*"),
    Reason("snapshot-file", ALL, "*", SUPERSEDED),
    Reason("process-ended", "*", "*", HARNESS),
    Reason("stalled", "*", "*", WITHIN),
    Reason("*", "*", "*one twice", TWICE),
)
