"""Three sentences of checkers in DataFrame terms, beside the rules that say them: which is quicker.

    python -m benchmarks.dataframe_terms FOLDER [--times 3] [--cores 2]

Of a sealed run, such as `python -m benchmarks.node_events --keep` leaves:

- a window: no high watermark of a process falls (of monotonic-counters);
- an as-of join: each answer of a broker, under the last lease that it was granted before it
  (of fenced-serve-nothing);
- an anti join: topics whose creation was acknowledged, and of which no disk has a record (of
  acknowledged-never-lost).

Each is asked of Spark's SQL over the same Parquet files, in a session that has asked it before;
then of our verbs (`framework.evidence.relations`), in one process, which reads the files for it;
then the rule that says it, and much else, judges the run so. Processor time of all processes, the
best of some times. Both say how much was compared, and how much was wrong: the same.
"""

import argparse
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.check_scale import processor_s, say, tree
from benchmarks.node_events import judge, opened
from framework.checking import spark
from framework.checking.run_checks import RunCheck, looked_at
from framework.checking.sealing import EVENTS, OPERATIONS, RECORDS, SEALED
from framework.evidence.brokers import LeaseGranted
from framework.evidence.changes import TopicCreated
from framework.evidence.quorum import Committed
from framework.evidence.relations import NONE, PROCESS, relation, relation_of
from framework.evidence.requests import Served
from framework.evidence.run_events import WHOLE_RUN, RunEvents
from framework.plugins.checker import DataFrame, SparkSession

Read = Callable[[str], DataFrame]
"""Of a path below the sealed form, without its number and ending."""


def falling_watermarks(read: Read) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    life = Window.partitionBy("node", "incarnation").orderBy("seq")
    before = f.lag("offset").over(life)
    steps = read(f"{EVENTS}/committed").withColumn("before", before)
    return steps.agg(f.count("before"), f.count_if(f.col("offset") < f.col("before")))


def served_without_a_lease(read: Read) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    columns = ("node", "incarnation", "seq", "at_ns")
    leases = read(f"{EVENTS}/lease-granted").select(*columns, "end_ns")
    served = read(f"{EVENTS}/served").where("success").select(*columns)
    both = served.withColumn("end_ns", f.lit(None).cast("long")).unionAll(leases)
    until = Window.partitionBy("node", "incarnation").orderBy("seq")
    lease = f.last("end_ns", ignorenulls=True).over(until)
    judged = both.withColumn("lease", lease).where("end_ns is null and lease is not null")
    return judged.agg(f.count("lease"), f.count_if(f.col("at_ns") > f.col("lease")))


def acknowledged_but_absent(read: Read) -> DataFrame:
    from pyspark.sql import functions as f

    acknowledged = read(OPERATIONS).where("f = 'create' and type = 'ok'")
    made = acknowledged.select(f.get_json_object("result", "$.topic_id").alias("topic_id"))
    there = read(f"{RECORDS}/topic-created").select("topic_id").distinct()
    found = made.join(there.withColumn("there", f.lit(1)), "topic_id", "left")
    return found.agg(f.count("*"), f.count_if(f.col("there").isNull()))


def lagging(events: RunEvents) -> tuple[int, int]:
    watermarks = relation(events.of(Committed), *PROCESS, "seq", "offset")
    before = watermarks.lag(*PROCESS, on="seq")
    fell = watermarks["offset"] < watermarks["offset"][before]
    return int((before != NONE).sum()), int((fell & (before != NONE)).sum())


def under_a_lease(events: RunEvents) -> tuple[int, int]:
    served = relation(events.of(Served), *PROCESS, "seq", "at_ns", "success").where(success=True)
    leases = relation(events.of(LeaseGranted), *PROCESS, "seq", "end_ns")
    lease = served.as_of(leases, per=PROCESS, on="seq")
    leased = np.flatnonzero(lease != NONE)
    late = served["at_ns"][leased] > leases["end_ns"][lease[leased]]
    return len(leased), int(late.sum())


def absent(events: RunEvents) -> tuple[int, int]:
    done = [each for each in events.operations if each.ok and isinstance(each.result, dict)]
    made = relation_of(done, topic_id=(each.result.get("topic_id") for each in done))
    there = relation(events.of(TopicCreated), "topic_id")
    return len(made), int((~made.present_in(there, "topic_id")).sum())


@dataclass(frozen=True, slots=True)
class Sentence:
    """By Spark, by our verbs, and by which rule."""

    query: Callable[[Read], DataFrame]
    verbs: Callable[[RunEvents], tuple[int, int]]
    looks_at: Mapping[str, Any]
    rule: str


SENTENCES: Final[Mapping[str, Sentence]] = {
    "window: no watermark falls": Sentence(
        falling_watermarks, lagging, {"evidence": [Committed]}, "monotonic-counters"
    ),
    "as-of join: served under a lease": Sentence(
        served_without_a_lease,
        under_a_lease,
        {"evidence": [Served, LeaseGranted]},
        "fenced-serve-nothing",
    ),
    "anti join: acknowledged, and absent": Sentence(
        acknowledged_but_absent,
        absent,
        {"disk": [TopicCreated], "fs": ["create"]},
        "acknowledged-never-lost",
    ),
}


def by_verbs(folder: Path, sentence: Sentence) -> tuple[int, int]:
    """The files are read anew, as Spark does."""
    check = RunCheck(sentence.verbs, **sentence.looks_at)  # type: ignore[arg-type]
    return sentence.verbs(looked_at(opened(folder), [check]))


def reading(session: SparkSession, sealed: Path) -> Read:
    return lambda name: session.read.parquet(*map(str, sorted(sealed.glob(f"{name}.*parquet"))))


def answer(sentence: Callable[[Read], DataFrame], read: Read) -> tuple[int, int]:
    """How much was compared, and how much of it was wrong."""
    ((compared, wrong),) = sentence(read).collect()
    return compared, wrong


def best(times: int, ask: Callable[[], Any]) -> tuple[float, float, Any]:
    """Of so many times, the least processor time and the time by the clock then; what was said.
    The first time is for whoever compiles, and does not count."""
    ask()
    taken = []
    for _ in range(times):
        began, clock, said = _spent(), time.monotonic(), ask()
        taken.append((round(_spent() - began, 2), round(time.monotonic() - clock, 2), said))
    return min(taken, key=itemgetter(0))


def _spent() -> float:
    return sum(processor_s(each) for each in tree(os.getpid()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    given = parser.parse_args()
    with spark.running(f"local[{given.cores}]") as session:
        read = reading(session, given.folder / SEALED)
        for name, sentence in SENTENCES.items():
            query = partial(answer, sentence.query, read)
            cpu_s, wall_s, (compared, wrong) = best(given.times, query)
            say(name, processor_s=cpu_s, wall_s=wall_s, compared=compared, wrong=wrong)
            verbs = partial(by_verbs, given.folder, sentence)
            cpu_s, wall_s, (compared, wrong) = best(given.times, verbs)
            say("  by verbs", processor_s=cpu_s, wall_s=wall_s, compared=compared, wrong=wrong)
            asked = partial(judge, given.folder, (sentence.rule, WHOLE_RUN))
            cpu_s, wall_s, _ = best(given.times, asked)
            say(f"  all of {sentence.rule}", processor_s=cpu_s, wall_s=wall_s)


if __name__ == "__main__":
    main()
