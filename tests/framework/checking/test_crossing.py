"""What goes between the driver and the workers when runs are checked: paths in, outcomes out."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import SparkSession

from benchmarks.long_run import EVENTS, make, plan
from framework.checking.engine import check_runs
from framework.plugins import registry
from framework.verdict import Verdict

NONE = frozenset(plan()["not_applicable"])
"""Checkers of what such a run does not have: an observer, produces, groups, faults."""
OPENED: list[str] = []
"""By Python code of this process, while a test looks."""
LOOKING = [False]


def hook(event: str, arguments: Any) -> None:
    if LOOKING[0] and event == "open" and isinstance(arguments[0], str | Path):
        OPENED.append(str(arguments[0]))


sys.addaudithook(hook)


class Crossing:
    """Bytes that went to the workers with the job, and that came back from them."""

    def __init__(self, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shipped = 0
        self._context = spark.sparkContext
        self._first = len(self._stages())
        real = CloudPickleSerializer.dumps

        def dumps(serializer: Any, thing: Any) -> bytes:
            data: bytes = real(serializer, thing)
            self.shipped += len(data)
            return data

        def forbidden(*_: Any, **__: Any) -> None:
            raise AssertionError("rows of the driver's own go to the workers")

        monkeypatch.setattr(CloudPickleSerializer, "dumps", dumps)
        monkeypatch.setattr(SparkSession, "createDataFrame", forbidden)

    @property
    def received(self) -> int:
        return sum(int(stage.resultSize()) for stage in self._stages()[: -self._first or None])

    def _stages(self) -> list[Any]:
        """The newest first."""
        gateway, spark = self._context._gateway, self._context._jsc.sc()
        spark.listenerBus().waitUntilEmpty()
        none = gateway.new_array(gateway.jvm.double, 0)
        any_ = gateway.jvm.java.util.ArrayList()
        found = spark.statusStore().stageList(None, False, False, none, any_)
        return [found.apply(number) for number in range(found.size())]


@pytest.fixture
def looking() -> Iterator[None]:
    OPENED.clear()
    LOOKING[0] = True
    yield
    LOOKING[0] = False


@pytest.mark.usefixtures("looking")
def test_what_crosses_does_not_grow_with_a_run(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By all checkers that apply to a run of three controllers and three brokers."""
    crossed, seen = {}, {}
    for name, groups in (("small", 50), ("large", 250)):
        run = tmp_path / name
        run.mkdir()
        make(run, groups * EVENTS)
        OPENED.clear()
        with monkeypatch.context() as patch:
            crossing = Crossing(spark, patch)
            for _ in range(2):  # one that has to be sealed, one that is
                [result] = check_runs(spark, [run])
            crossed[name] = crossing.shipped, crossing.received
        assert {each.verdict for each in result.checkers} == {Verdict.VALID}
        seen[name] = {each.name: each.seen for each in result.checkers}
        read = {Path(each).name for each in OPENED if each.startswith(str(run))}
        assert "plan.json" in read and not read & {"history.jsonl", "events.jsonl"}
    assert seen["large"].keys() == seen["small"].keys() == set(registry.names("checkers")) - NONE
    assert sum(seen["large"].values()) > 3 * sum(seen["small"].values())
    (shipped, received), (more_shipped, more_received) = crossed.values()
    assert shipped == more_shipped > 1_000
    assert received > 1_000 and abs(more_received - received) < received / 10
