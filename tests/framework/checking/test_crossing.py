"""What goes between the driver and the workers when runs are checked: paths in, outcomes out."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import SparkSession

from framework.checking.engine import check_runs
from framework.verdict import Verdict

CHECKERS = ["monotonic-counters", "one-vote", "topic-linearizability"]
PLAN = {"system": "kraft", "seed": 1, "workloads": [], "nodes": {}, "time_zero_ns": 0}
OPENED: list[str] = []
"""By Python code of this process, while a test looks."""
LOOKING = [False]


def hook(event: str, arguments: Any) -> None:
    if LOOKING[0] and event == "open" and isinstance(arguments[0], str | Path):
        OPENED.append(str(arguments[0]))


sys.addaudithook(hook)


def make_run(folder: Path, count: int) -> Path:
    """Clients that describe one topic, and a node that keeps saving epochs."""
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps(PLAN))
    call = {"process": 0, "f": "describe", "key": "t"}
    answers = [{**call, "type": "invoke"}, {**call, "type": "ok", "value": False}]
    made = [
        {"process": 0, "f": f, "key": "t", "type": type, "value": value}
        for f, value in (("create", {"partitions": 1}), ("delete", None))
        for type in ("invoke", "ok")
    ]
    (folder / "history.jsonl").write_text(lines([*made, *answers * count]))
    head = {"node": "c1", "incarnation": "i", "type": "epoch"}
    saved = [
        {**head, "seq": at, "time_ns": at, "epoch": at, "leader_id": 1, "voted_id": 1}
        for at in range(1, count)
    ]
    (folder / "nodes/c1").mkdir(parents=True)
    (folder / "nodes/c1/events.jsonl").write_text(lines(saved))
    return folder


def lines(objects: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(each) + "\n" for each in objects)


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
    small, large = (
        make_run(tmp_path / name, count) for name, count in (("small", 200), ("large", 4_000))
    )
    OPENED.clear()
    crossed = {}
    for run in (small, large):
        with monkeypatch.context() as patch:
            crossing = Crossing(spark, patch)
            for _ in range(2):  # one that has to be sealed, one that is
                [result] = check_runs(spark, [run], CHECKERS)
            crossed[run] = crossing.shipped, crossing.received
        assert result.checkers[-1].verdict is Verdict.VALID and result.checkers[-1].seen > 150
    (shipped, received), (more_shipped, more_received) = crossed.values()
    assert shipped == more_shipped > 1_000
    assert received > 1_000 and abs(more_received - received) < received / 10
    read = {Path(name).name for name in OPENED if name.startswith(str(tmp_path))}
    assert "plan.json" in read and not read & {"history.jsonl", "events.jsonl"}
