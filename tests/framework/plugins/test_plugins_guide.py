"""Every block of docs/plugins.md does what the page says."""

import doctest
import re
import sys
import tomllib
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from framework.plugins.host import Completed

GUIDE = Path(__file__).parents[3] / "docs" / "plugins.md"
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


def test_blocks_in_order(tmp_path: Path) -> None:
    module = types.ModuleType("plugins_guide")  # dataclasses look their module up
    sys.modules[module.__name__] = module
    names: dict[str, Any] = vars(module)
    names |= {"a_cluster": a_cluster, "a_folder": lambda: tmp_path, "await_": await_}
    examples = 0
    for language, block in BLOCKS.findall(GUIDE.read_text()):
        if language == "toml":
            groups = tomllib.loads(block)["project"]["entry-points"]
        elif block.startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(block, {}, GUIDE.name, str(GUIDE), 0)
            test.globs = names
            assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0
            examples += len(test.examples)
        else:
            exec(compile(block, GUIDE.name, "exec"), names)
    assert examples > 15
    for points in groups.values():
        for name, target in points.items():
            assert names[target.rpartition(":")[2]].name == name


def test_a_page_that_is_wrong_is_seen() -> None:
    test = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert doctest.DocTestRunner().run(test, out=lambda _: None).failed == 1
