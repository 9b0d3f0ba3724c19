"""What was found in Apache Kafka, in one JVM: as docs/kafka.md says of the newest release."""

from pathlib import Path

import pytest

from benchmarks.kafka_findings.__main__ import FINDINGS, Finding, differs, main, shown, table
from framework.errors import EngineError
from nodes.kafka.releases import newest

DOCS = Path(__file__).parents[2] / "docs" / "kafka.md"


def test_the_newest_release_shows_them_as_the_page_says() -> None:
    row = table([newest()]).splitlines()[-1]
    assert row.count("yes: ") == len(FINDINGS)
    assert row in DOCS.read_text().splitlines()


def test_both_ways_alike_is_no_finding() -> None:
    assert not differs({"one by one": "{}", "at once": "{}"})
    assert differs({"one by one": "{}", "at once": "{a=1}"})


def test_a_program_that_fails_is_no_result() -> None:
    with pytest.raises(EngineError, match=r"Nothing\.java"):
        shown(Finding(program="Nothing", title="", since="3.3.2"), newest())


def test_a_release_that_nobody_knows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["9.9"]) == 254
    assert "Apache Kafka 9.9: known are" in capsys.readouterr().err


def test_of_releases_whose_classes_are_others_nothing_is_said() -> None:
    """Nor is one of them needed here."""
    assert table(["3.3.2"]).splitlines()[-1].count("its classes are others") == len(FINDINGS)
