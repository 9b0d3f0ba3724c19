"""Every block of docs/plugins.md does what the page says."""

import doctest
import re
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from framework.plugins import registry
from framework.plugins.host import Completed

GUIDE = Path(__file__).parents[3] / "docs" / "plugins.md"
KINDS = {
    "workloads", "observers", "nemeses", "checkers", "models", "hosts", "systems",
}  # fmt: skip
"""Of plug-ins: the page has an example of each."""
BLOCKS = re.compile(r"^```(python|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Remembers:
    """A host that knows nothing but its qdisc."""

    def __init__(self) -> None:
        self.qdisc = "noqueue"

    def run(self, argv: Sequence[str], check: bool = True) -> Completed:
        match list(argv):
            case ["tc", "qdisc", "replace", "dev", "eth0", "root", *what]:
                self.qdisc = " ".join(what)
            case ["tc", "qdisc", "del", "dev", "eth0", "root"]:
                self.qdisc = "noqueue"
            case ["tc", "qdisc", "show", "dev", "eth0"]:
                return Completed(0, f"qdisc {self.qdisc}\n", "")
            case _:
                raise AssertionError(argv)
        return Completed(0, "", "")


def a_cluster(*names: str) -> Any:
    hosts = {name: Remembers() for name in names}
    return SimpleNamespace(nodes=dict.fromkeys(names), host=hosts.__getitem__)


@retry(
    retry=retry_if_result(lambda held: not held), stop=stop_after_delay(120), wait=wait_fixed(0.02)
)
def holds(condition: Callable[[], bool]) -> bool:
    return condition()


def await_(condition: Callable[[], bool]) -> None:
    holds(condition)


Points = Mapping[str, Mapping[str, str]]


def install(points: Points, module: ModuleType, where: Path, patch: pytest.MonkeyPatch) -> None:
    """As if the page were a package: its entry points are found, and lead to its classes."""
    about = where / "mypackage-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mypackage\nVersion: 1\n")
    lines = [
        line
        for group, entries in points.items()
        for line in (f"[{group}]", *(f"{name} = {target}" for name, target in entries.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join(lines))
    for entries in points.values():
        for target in entries.values():
            patch.setitem(sys.modules, target.partition(":")[0], module)
    patch.syspath_prepend(where)


def test_blocks_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("plugins_guide")  # dataclasses look their module up
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names: dict[str, Any] = vars(module)
    names |= {"a_cluster": a_cluster, "a_folder": lambda: tmp_path, "await_": await_}
    points: Points = {}
    examples = 0
    for language, block in BLOCKS.findall(GUIDE.read_text()):
        if language == "toml":
            points = tomllib.loads(block)["project"]["entry-points"]
            install(points, module, tmp_path / "installed", monkeypatch)
        elif block.startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(block, {}, GUIDE.name, str(GUIDE), 0)
            test.globs = names
            assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0
            examples += len(test.examples)
        else:
            exec(compile(block, GUIDE.name, "exec"), names)
    assert examples > 15
    kinds = {group.rpartition(".")[2]: entries for group, entries in points.items()}
    assert kinds.keys() == KINDS
    for kind, entries in kinds.items():
        for name in entries:
            plugin = registry.find(kind, name)
            assert name in (plugin.names if kind == "models" else [plugin.name])


def test_a_page_that_is_wrong_is_seen() -> None:
    test = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert doctest.DocTestRunner().run(test, out=lambda _: None).failed == 1
