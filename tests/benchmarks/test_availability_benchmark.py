"""The run that `benchmarks.availability` makes is healthy, and has faults."""

import json
from pathlib import Path

import pytest

from benchmarks import availability


def test_the_run_is_valid_and_the_faults_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(availability, "RATE", 50)
    monkeypatch.setattr(availability, "PIECE", 1_000)
    availability.make(tmp_path, 50 * 70)
    row = availability.judge(tmp_path)
    said = json.loads(capsys.readouterr().out)
    assert (said["verdict"], said["seen"]) == ("VALID", 3_500)
    figures = json.loads(row["figures"])
    assert figures["ok_rate_in_faults"] == pytest.approx(0.7, abs=0.1)
    assert figures["ok_rate_outside_faults"] > 0.9
