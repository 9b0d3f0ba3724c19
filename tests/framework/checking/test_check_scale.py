"""The same verdicts and findings, however a history is cut, stored, ordered and shared out."""

import gzip
import random
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks.histories import cell
from benchmarks.history_files import events_of, write_lines, write_parquet
from framework.checking import blocks, foreign
from framework.checking.blocks import exchange
from framework.checking.foreign import check_histories, find_histories, job_of
from framework.checking.keys import BORDERS, SHARES, as_it_is, produce
from framework.checking.results import RunResult, verdict_document
from framework.errors import UsageError
from framework.verdict import Verdict


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two histories in JSON Lines, the first also in Parquet; one key of the second is stale."""
    folder = tmp_path_factory.mktemp("histories")
    keys = [cell(150, 5, seed=seed, info=0.02) for seed in range(12)]
    write_lines(events_of(keys), folder / "valid.jsonl")
    write_parquet(events_of(keys), folder / "valid.parquet")
    keys[7] = cell(400, 5, seed=7, plant="stale")
    write_lines(events_of(keys, seed=1), folder / "stale.jsonl")
    return folder


def reported(results: Sequence[RunResult]) -> list[Any]:
    """All that is said, but for the time that it took."""
    return [
        {
            **verdict_document(result),
            "timings": {},
            "cited": [repr(result.cited[op]) for op in sorted(result.cited)],
        }
        for result in sorted(results, key=lambda result: str(result.path))
    ]


def test_here_and_on_spark_in_any_shares(spark: Any, folder: Path) -> None:
    given = find_histories([folder / "valid.jsonl", folder / "stale.jsonl"])
    expected = check_histories(None, given, "register")
    assert [result.verdict for result in expected] == [Verdict.VALID, Verdict.INVALID]
    assert expected[1].checkers[0].findings and expected[1].cited
    assert expected[0].checkers[0].keys == 12
    for size, partitions, order in [(10**6, 1, 1), (60_000, 2, -1), (20_000, 8, 1)]:
        found = check_histories(spark, given[::order], "register", size=size, partitions=partitions)
        assert reported(found) == reported(expected), (size, partitions)


def test_here_in_any_ranges(folder: Path) -> None:
    """Operations that are open at borders are closed, cited ones too, wherever files are cut."""
    given = find_histories([folder / "stale.jsonl"])
    expected = reported(check_histories(None, given, "register"))
    draw = random.Random(1)
    for size in [3_000, *(draw.randrange(5_000, 100_000) for _ in range(4))]:
        assert reported(check_histories(None, given, "register", size=size)) == expected, size


def test_here_and_on_spark_of_mixed_histories(
    spark: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines, a compressed file and Parquet, right, wrong and half-written, on any number of
    cores: to the letter what Spark says of them."""
    lines = (folder / "stale.jsonl").read_bytes()
    (tmp_path / "short.jsonl").write_bytes(lines[: len(lines) // 2])
    (tmp_path / "small.jsonl.gz").write_bytes(gzip.compress(lines))
    (tmp_path / "broken.jsonl").write_bytes(lines.replace(b"invoke", b"invoked", 1))
    given = find_histories([folder, tmp_path])
    expected = reported(check_histories(spark, given, "register", size=30_000))
    verdicts = {Path(each["run"]).name: each["verdict"] for each in expected}
    assert verdicts == {
        "broken.jsonl": "UNKNOWN",
        "short.jsonl": "VALID",
        "small.jsonl.gz": "INVALID",
        "stale.jsonl": "INVALID",
        "valid.jsonl": "VALID",
        "valid.parquet": "VALID",
    }
    for count in (1, 2, 5):
        monkeypatch.setattr(foreign, "cores", lambda count=count: count)
        monkeypatch.setattr(blocks, "cores", lambda count=count: count)
        assert reported(check_histories(None, given, "register", size=30_000)) == expected, count


def test_completions_that_repeat_their_key_or_not(folder: Path, tmp_path: Path) -> None:
    """Across a border they find their invocations, in whichever bucket those are."""
    draw = random.Random(2)
    lines = (folder / "stale.jsonl").read_text().splitlines(keepends=True)
    path = tmp_path / "h.jsonl"
    path.write_text(
        "".join(
            line
            if '"invoke"' in line or draw.random() < 0.5
            else re.sub(r'"key":"[^"]*",?', "", line)
            for line in lines
        ).replace(",}", "}")
    )
    assert path.stat().st_size < sum(map(len, lines)) - 1_000
    [given], job = find_histories([path]), job_of("register")
    found = []
    for size, buckets in [(10**7, 1), (20_000, 1), (20_000, 5), (7_000, 64)]:
        shares = partial(produce, job=job, buckets=buckets)
        reduces = {BORDERS: as_it_is, SHARES: job.judge}
        found.append(exchange(None, given.sources(0, size), shares, reduces)[SHARES].to_pylist())
    assert {row["verdict"] for row in found[0]} == {"VALID", "INVALID"}
    assert all(each == found[0] for each in found)


def test_parquet_says_what_lines_say(folder: Path) -> None:
    lines, table = (
        check_histories(None, find_histories([folder / name]), "register")[0]
        for name in ("valid.jsonl", "valid.parquet")
    )
    assert (table.verdict, table.checkers) == (lines.verdict, lines.checkers)


def test_what_is_wrong_in_a_late_range(folder: Path, spark: Any, tmp_path: Path) -> None:
    lines = (folder / "valid.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "h.jsonl"
    path.write_bytes(b"".join([*lines[:3_000], lines[2_999], *lines[3_000:]]))
    messages = set()
    for session, size in [(None, 10**6), (None, 20_000), (spark, 20_000)]:
        with pytest.raises(UsageError) as refusal:
            check_histories(session, find_histories([path]), "register", size=size)
        messages.add(str(refusal.value))
    [message] = messages
    assert message.startswith(f"{path}:3001: index is 2999")


def test_parts_of_a_folder_are_one_history(folder: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    whole = pq.read_table(folder / "valid.parquet")
    below = tmp_path / "history"
    below.mkdir()
    for number, begin in enumerate(range(0, len(whole), 1_000)):
        pq.write_table(whole.slice(begin, 1_000), below / f"part-{number:05}.parquet")
    [given] = find_histories([tmp_path])
    [found] = check_histories(None, [given], "register")
    [expected] = check_histories(None, find_histories([folder / "valid.parquet"]), "register")
    assert (found.path, found.checkers) == (below, expected.checkers)
    (tmp_path / "history.jsonl").write_bytes((folder / "valid.jsonl").read_bytes())
    for made in (
        "sealed/operations.parquet",
        "sealed/events/voted.0.parquet",
        "outcomes/r.parquet",
    ):
        (tmp_path / made).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(whole, tmp_path / made)
    assert [each.path.name for each in find_histories([tmp_path])] == ["history.jsonl"]
