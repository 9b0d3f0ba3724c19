"""docs/tutorial.md, block by block: it makes the example, and its commands do what it says.

Real members of etcd in namespaces: linearizable reads under partitions, and under all faults at
once; then serializable reads, which are stale.
"""

import json
from pathlib import Path

import pytest

from tests.examples.pages import ROOT, blocks, shell

PAGE = ROOT / "docs" / "tutorial.md"
EXAMPLE = ROOT / "examples" / "etcd"
pytestmark = pytest.mark.timeout(900)


def test_its_blocks_are_the_example() -> None:
    made: dict[str, str] = {}
    for block in blocks(PAGE):
        if block.file is not None:
            made[block.file] = made.get(block.file, "") + block.text
    assert set(made) == {
        "pyproject.toml",
        *(f"kraft_proof_etcd/{name}.py" for name in ("client", "gateway", "system", "workload")),
    }
    for file, text in made.items():
        assert _lines(text) == _lines((EXAMPLE / file).read_text()), file


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def test_every_block_of_it_runs(scratch: Path, env: dict[str, str]) -> None:
    folder = scratch / "etcd"
    folder.mkdir()
    verdicts = []
    for block in blocks(PAGE):
        if block.file is not None:
            with (folder / block.file).open("a") as file:
                file.write(f"{block.text}\n\n")
            continue
        printed = shell(block, folder, env)
        if "framework run --system" in block.text:
            verdicts.append(json.loads((folder / "results/latest/verdict.json").read_text()))
        if "printenv" in block.text:
            assert printed.count("http://10.") == 6, "said, and printed"
    assert [verdict["verdict"] for verdict in verdicts] == ["VALID", "VALID", "INVALID"]
    for verdict in verdicts:
        judged = {each["name"]: each for each in verdict["checkers"]}
        whatever = {"availability", "convergence", "faults-bit"}
        assert set(judged) == {*whatever, "register-linearizability"}
        assert judged["faults-bit"]["verdict"] == judged["convergence"]["verdict"] == "VALID"
        assert "one-leader-per-epoch" in verdict["not_applicable"]
    findings = judged["register-linearizability"]["findings"]
    assert any(finding["message"].startswith("a stale read: ") for finding in findings)
    report = (folder / "results/latest/report.html").read_text()
    assert "a stale read: " in report and "no order of the operations explains" in report
