"""Rows that Spark reads of sealed runs are those that tasks read."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.cloudpickle import register_pickle_by_value

from framework.checking import stored
from framework.checking.runs import read_run
from framework.checking.sealed_rows import PROCESS_TEXT
from framework.checking.stored import Held, hold, tables
from framework.history.events import process_text
from tests.framework.checking.test_sealing import make_run

# Workers cannot import a test module, so what is defined here travels by value.
register_pickle_by_value(sys.modules[__name__])

PROCESSES = (
    0,
    17,
    "nemesis",
    "observer:c1",
    "",
    'a "quoted" one',
    "back\\slash",
    "\u00e9\n\U0001f600",
    "3",
)


@pytest.mark.parametrize("process", PROCESSES)
def test_a_process_is_a_plain_text(spark: Any, process: int | str) -> None:
    for ascii in (False, True):
        text = json.dumps(process, ensure_ascii=ascii)
        frame = spark.createDataFrame([(text,)], "process string").selectExpr(PROCESS_TEXT)
        assert frame.collect()[0][0] == process_text(text)


def test_what_was_sent_to_workers_is_what_they_see_themselves(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two runs."""
    folders = [make_run(tmp_path / "n" / name) for name in ("a", "b")]
    held = hold(spark, [read_run(each).info for each in folders])
    runs = [each for each in held if isinstance(each, Held)]
    seen = tables(spark, runs)
    monkeypatch.setattr(stored, "within_reach", lambda _, places: [Sent(each) for each in places])
    sent = tables(spark, runs)
    for name in ("operations", "nemesis", "faults"):
        own, other = (sorted(map(str, getattr(each, name).collect())) for each in (seen, sent))
        assert own == other and own
        assert getattr(seen, name).schema == getattr(sent, name).schema


class Sent:
    """As a worker finds it that does not see the folder."""

    def __init__(self, place: Any) -> None:
        self.place = place

    def open(self) -> Any:
        return self.place.open()
