"""The import contracts of pyproject.toml hold, and each can fail. Words of a system are its own."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest
from kio.schema.errors import ErrorCode

from framework.verdict import Verdict
from nodes.kraft.adapter.states import STATES

ROOT: Final = Path(__file__).parents[1]
CONFIG: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]

PLANTED: Final = {
    "engine": ("framework/errors.py", "import workloads.base"),
    "plugins": ("nemesis/kill.py", "import nodes.kraft.config"),
    "node": ("nodes/kraft/raft/core.py", "import framework.errors"),
    "adapter": ("nodes/kraft/server.py", "import nodes.kraft.adapter.system"),
    "files": ("nodes/kafka_files/batches.py", "import nodes.kraft.wire.batches"),
    "readers": ("nodes/kraft/storage/log.py", "import nodes.kafka_files.batches"),
    "adapting": ("nodes/disk_evidence/disk.py", "import nodes.adapting.records"),
    "testing": ("checkers/keyed.py", "import framework.testing.story"),
    "systems": ("nodes/kafka/records.py", "import nodes.kraft.ids"),
    "disks": ("nodes/disk_evidence/disk.py", "import nodes.kafka.records"),
    "decisions": ("nodes/kraft/controller/core.py", "import time"),
    "folds": ("checkers/folds/history/roles.py", "import checkers.folds.cluster.observed"),
    "layers": ("framework/history/event.py", "import framework.run.options"),
}
"""Contract -> a file, and an import that the contract forbids there."""


def lint(folder: Path) -> tuple[int, str]:
    """Exit code and output of `lint-imports` on the packages in a folder."""
    command = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); sys.argv = ['lint-imports', "
        "'--no-cache']; from importlinter.cli import lint_imports_command as run; run()"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", command], cwd=folder, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


def copied(into: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", into)
    only = shutil.ignore_patterns("__pycache__", "templates", "vendor")
    for package in CONFIG["root_packages"]:
        shutil.copytree(ROOT / package, into / package, ignore=only)
    return into


def test_arrows_are_as_they_are_drawn() -> None:
    code, said = lint(ROOT)
    assert code == 0, said
    assert f"{len(CONFIG['contracts'])} kept, 0 broken" in said


def test_there_is_a_planted_import_for_each_contract() -> None:
    assert [each["id"] for each in CONFIG["contracts"]] == list(PLANTED)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Contract -> why it is broken, of the packages with all that is planted."""
    folder = copied(tmp_path_factory.mktemp("planted"))
    for path, planted in PLANTED.values():
        with (folder / path).open("a") as file:
            file.write(f"\n{planted}\n")
    code, said = lint(folder)
    assert code == 1, said
    why = " ".join(said.partition("Broken contracts")[2].split())
    ids = {each["name"]: each["id"] for each in CONFIG["contracts"]}
    _, *told = re.split(f"({'|'.join(map(re.escape, ids))})", why)
    return {ids[name]: text for name, text in zip(told[::2], told[1::2], strict=True)}


@pytest.mark.parametrize("contract", list(PLANTED))
def test_a_contract_breaks(contract: str, broken: dict[str, str]) -> None:
    """By its own import, whatever others do to it."""
    path, planted = PLANTED[contract]
    importer = path.removesuffix(".py").replace("/", ".")
    assert f"{importer} -> {planted.split()[1]} (l." in broken[contract]


def strangers(folder: Path) -> list[str]:
    """What packages below a folder import of ours beside the engine."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            tops = {name.split(".")[0] for name in names} - {"framework"}
            found += [f"{path.name}: {top}" for top in tops & set(CONFIG["root_packages"])]
    return found


def test_packages_of_others_import_the_engine_alone() -> None:
    assert strangers(ROOT / "examples") == []


def test_one_that_imports_more_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from framework.errors import UsageError\nimport nodes.kraft\n")
    (tmp_path / "b.py").write_text("from checkers.keyed import keyed\nfrom . import a\n")
    assert strangers(tmp_path) == ["a.py: nodes", "b.py: checkers"]


# --- words of systems ---------------------------------------------------------------------

SPEAKS_KAFKA: Final = ROOT / "workloads" / "kafka"
"""The client of Kafka's protocol, which has the codes of that."""
WORDS: Final = {each.name.upper() for each in ErrorCode} | (
    STATES.keys() - {each.value for each in Verdict}
)


def words_of_systems(folder: Path) -> list[str]:
    """Texts below a folder that are the name of an error or of a broker's state."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        if path.is_relative_to(SPEAKS_KAFKA):
            continue
        found += [
            f"{path.name}:{each.lineno} {each.value}"
            for each in ast.walk(ast.parse(path.read_text()))
            if isinstance(each, ast.Constant) and each.value in WORDS
        ]
    return found


@pytest.mark.parametrize("folder", ["framework", "nemesis", "workloads", "checkers"])
def test_no_plugin_spells_a_word_of_a_system(folder: str) -> None:
    assert words_of_systems(ROOT / folder) == []


@pytest.mark.parametrize("word", ["TOPIC_ALREADY_EXISTS", "STALE_BROKER_EPOCH", "SHUTDOWN"])
def test_one_that_does_is_seen(word: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f'def right(code):\n    return code == "{word}" or "UNKNOWN"\n')
    assert words_of_systems(tmp_path) == [f"a.py:2 {word}"]


# --- roles of Kafka's protocol ------------------------------------------------------------

ROLES: Final = {"broker", "controller"}
KNOW_ROLES: Final = {ROOT / "workloads/kafka/roles.py", ROOT / "checkers/folds/history/roles.py"}
"""How a layout names them, and how a plan does."""


def roles_in(folder: Path) -> list[str]:
    """Texts below a folder that name a role. In a tuple or as a key beside words that are none, it
    is the name of a kind of thing: `("broker", id)`, `{"broker": ..., "topic": ...}`."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        if path in KNOW_ROLES:
            continue
        tree = ast.parse(path.read_text())
        kinds = {id(each) for node in ast.walk(tree) for each in _kinds_of_things(node)}
        found += [
            f"{path.name}:{each.lineno} {each.value}"
            for each in ast.walk(tree)
            if isinstance(each, ast.Constant) and each.value in ROLES and id(each) not in kinds
        ]
    return found


def _kinds_of_things(node: ast.AST) -> list[ast.expr]:
    together: list[ast.expr | None] = []
    if isinstance(node, ast.Tuple):
        together += node.elts
    if isinstance(node, ast.Dict):
        together += node.keys
    names = [each for each in together if isinstance(each, ast.Constant) and each.value in ROLES]
    return [] if len(names) == len(together) else list(names)


@pytest.mark.parametrize("folder", ["framework", "nemesis", "workloads", "checkers"])
def test_roles_are_named_in_one_place_a_side(folder: str) -> None:
    assert roles_in(ROOT / folder) == []


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ('"broker" in node["roles"]', 1),
        ('node["ids"].get("controller")', 1),
        ('{"controller": 1, "broker": 1}', 2),
        ('("broker",)', 1),
        ('("broker", 11)', 0),
        ('{"broker": 1, "topic": 2}', 0),
    ],
)
def test_a_role_that_is_named_elsewhere_is_seen(line: str, seen: int, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"node = {{}}\nfound = {line}\n")
    assert len(roles_in(tmp_path)) == seen
