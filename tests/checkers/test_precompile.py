"""What is compiled ahead is compiled by a run in order that needs each of it."""

from types import ModuleType

import pytest

from checkers.linearizability.methods import grow_only
from checkers.linearizability.methods.jit_antichain import counts, run
from checkers.linearizability.methods.jit_antichain.method import jit_antichain
from checkers.linearizability.methods.wgl import method as wgl
from checkers.linearizability.precompile import precompile, sets, topics
from checkers.topic_linearizability import check_names


def test_topics_are_in_order_and_each_decided_in_another_way() -> None:
    rows = check_names(topics(), budget_s=60).to_pylist()
    assert {row["verdict"] for row in rows} == {"VALID"}
    assert {"unique writes", "two value sweep", "jit bitset"} == {
        method for row in rows for method in ("unique writes", "two value sweep", "jit bitset")
        if f"method: {method}" in row["figures"]
    }  # fmt: skip


def test_searches_over_the_samples_call_what_only_long_ones_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Kernels that others do not call: each is compiled when Python first calls it."""
    called = set[str]()

    def watch(module: ModuleType, name: str) -> None:
        kernel = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given: called.add(name) or kernel(*given))

    for module, name in ((wgl, "moved"), (counts, "_find_again")):
        watch(module, name)
    precompile(wgl.wgl)
    assert called == {"moved", "_find_again"}
    called.clear()
    for module, name in ((run, "_compacted"), (run, "open_row")):
        watch(module, name)
    precompile(jit_antichain)
    assert called == {"_find_again", "_compacted", "open_row"}
    for name in ("_distinct", "_chain"):
        watch(grow_only, name)
    sets()
    assert called > {"_distinct", "_chain"}
