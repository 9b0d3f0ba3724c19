"""What is mutated, and which tests have to see it: a checker's file goes with its own tests and its
cases of the contract, a fold with those of all checkers that use it."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from benchmarks.mutation.mutants import Module
from benchmarks.mutation.python_form import functions
from benchmarks.mutation.run import Target

ROOT: Final = Path(__file__).parents[2]
TESTS: Final = "tests/checkers"
OF_ALL: Final = tuple(
    f"{TESTS}/test_{each}.py" for each in ("contract", "checker_options", "one_node")
)
_ALSO: Final = {
    "isr-linearizability": ("looks", "looks_forgotten"),
    "kafka-log": ("power_losses",),
    "metadata-answers": ("looks", "looks_forgotten"),
    "monotonic-counters": ("looks", "looks_forgotten"),
    "observed-cluster": ("looks", "looks_forgotten"),
    "partition-data": ("power_losses", "told_reports"),
    "folds/requests/config_changes": ("configured",),
    "folds/history/group_values": ("values",),
    "folds/history/kept_states": ("looks", "looks_forgotten"),
    "folds/history/log_values": ("values",),
    "folds/history/operations": ("asked",),
    "folds/partitions/partition_runs": ("power_losses",),
    "folds/partitions/replica_reads": ("told_reports",),
    "folds/partitions/told_logs": ("told_reports",),
    "folds/partitions/told_producers": ("told_reports",),
}
"""Targets that leave a part to other tests: what they make of what a fold found, or what two folds
have in common."""
_IMPORTS: Final = re.compile(r"^from (checkers\.[\w.]+) import", re.MULTILINE)
_OF_COMPILING: Final = ("precompile",)
_FOR_LONG: Final = (
    "many more",
    "_long_",
    "after_much",
    "big_histories",
    "test_linearizable",
    "not_linearizable",
    "planted_violations",
    "hundreds_open",
    "much_open",
    "open_than",
    "frontier",
    "thrifty",
    "slices",
    "what_was_put_grows",
    "whatever_the_width",
    "narrow_run",
    "many_words",
    "no_window",
    "is_pending",
    "is_not_rare",
    "is_never_valid",
    "where_one_is_needed",
    "budget_that_ran_out",
    "gives_up_where",
)
"""Parts of names of tests that kernels as Python functions take minutes for."""


def targets() -> list[Target]:
    sources = {_module(path).name: path.read_text() for path in (ROOT / "checkers").rglob("*.py")}
    every = [*_checkers(), *_folds(), *_logs(), *_linearizability()]
    return [
        replace(each, functions=functions([module.name for module in each.modules], sources))
        for each in every
    ]


def _names() -> dict[str, str]:
    """Module -> checker."""
    points = entry_points(group="framework.checkers")
    return {each.module: each.name for each in sorted(points, key=lambda each: each.name)}


def _module(path: Path) -> Module:
    return Module(".".join(path.relative_to(ROOT).with_suffix("").parts), path)


def _path(module: str) -> Path:
    return ROOT / Path(*module.split(".")).with_suffix(".py")


@cache
def _own_tests() -> dict[str, str]:
    """Name -> the file of tests of that name, in whichever folder of theirs."""
    return {
        path.stem.removeprefix("test_"): str(path.relative_to(ROOT))
        for path in sorted((ROOT / TESTS).rglob("test_*.py"))
    }


def _tests_of(*names: str) -> Iterator[str]:
    """Of modules, or by the names of the tests alone, where there are any."""
    for name in names:
        if (own := name.rpartition(".")[2]) in _own_tests():
            yield _own_tests()[own]


def _checkers() -> Iterator[Target]:
    for module, name in _names().items():
        path = _path(module)
        if path.parent.name == "checkers":
            tests = tuple(_tests_of(module, *_ALSO.get(name, ())))
            yield Target(name, (_module(path),), tests, ROOT, OF_ALL, (name,))


def _folds() -> Iterator[Target]:
    names = _names()
    for path in sorted((ROOT / "checkers/folds").rglob("[!_]*.py")):
        module, name = _module(path), f"folds/{path.parent.name}/{path.stem}"
        users = sorted(each for each in _users(module.name) if each in names)
        tests = tuple(_tests_of(module.name, *_ALSO.get(name, ()), *users))
        checkers = tuple(names[each] for each in users)
        yield Target(name, (module,), tests, ROOT, OF_ALL, checkers)


def _users(module: str) -> set[str]:
    """Modules of checkers/ that import it, or what imports it."""
    imports = {
        _module(path).name: set(_IMPORTS.findall(path.read_text()))
        for path in (ROOT / "checkers").rglob("*.py")
    }
    found = {module}
    while more := {each for each, names in imports.items() if names & found} - found:
        found |= more
    return found - {module}


def _logs() -> Iterator[Target]:
    """A target a file, with its own tests; of those that have none, with all of the checker's."""
    home, checkers = f"{TESTS}/logs", ("kafka-log",)
    for path in sorted((ROOT / "checkers/logs").glob("[!_]*.py")):
        if path.stem != "precompile":
            own = tuple(f"{home}/test_{each}.py" for each in _OF_LOGS.get(path.stem, ()))
            yield Target(
                f"logs/{path.stem}",
                (_module(path),),
                own or (home,),
                ROOT,
                () if own else OF_ALL,
                checkers,
                _OF_COMPILING,
            )


_OF_NUMBERS: Final = ("log_numbers", "log_judge", "kafka_planted", "kafka_job", "kafka_reports")
_OF_LOGS: Final = {
    "cycles_edges": ("cycles_edges",),
    "cycles_graph": ("cycles_graph",),
    "cycles_spread": ("cycles_suspects",),
    "cycles_time": ("cycles_time",),
    "cycles_windows": ("cycles_windows",),
    "job": ("kafka_job", "kafka_planted", "kafka_reports", "kafka_rows"),
    "judge": ("log_judge",),
    "log": _OF_NUMBERS,
    "model": ("log_model",),
    "order": _OF_NUMBERS,
    "passes": ("passes", "consumer_passes"),
    "records": ("log_records",),
    "row_columns": ("row_columns", "kafka_rows"),
    "rows": ("kafka_rows", "kafka_groups", "kafka_planted"),
    "sequences": ("kafka_planted", "kafka_random", "kafka_reports"),
    "values": ("kafka_planted", "kafka_bounds"),
}


def _linearizability() -> Iterator[Target]:
    """A target a method, with its own tests and those that all methods have; and one for each part
    of what they share, with the tests of that."""
    home = ROOT / "checkers/linearizability"
    for path in sorted((home / "methods").glob("[!_]*")):
        own = f"{TESTS}/linearizability/test_{path.stem}.py"
        if (ROOT / own).exists():
            of = _BY_PARTS.get(path.stem, (path.stem, *_OF_ALL_METHODS))
            tests = tuple(f"{TESTS}/linearizability/test_{each}.py" for each in of)
            yield Target(
                _short(path), _below(path), tests, ROOT, without=(*_OF_COMPILING, *_FOR_LONG)
            )
    for name, of in {**_FRONT, **_SHARED}.items():
        tests = tuple(f"{TESTS}/linearizability/test_{each}.py" for each in of)
        path = home / name
        yield Target(
            _short(path),
            _below(path if path.is_dir() else path.with_suffix(".py")),
            tests,
            ROOT,
            without=(*_OF_COMPILING, *_FOR_LONG),
        )


_OF_ALL_METHODS: Final = ("small_histories", "planted")
_BY_PARTS: Final = {
    "beam": ("beam_parts", "beam_sweep"),
    "grow_only": ("grow_only",),
    "grow_only_block": ("grow_only_block",),
    "jit_antichain": (
        "antichain_counts",
        "antichain_levels",
        "antichain_parts",
        "antichain_search",
    ),
    "jit_bitset": (
        "jit_bitset_greedy",
        "jit_bitset_method",
        "jit_bitset_pending",
        "jit_bitset_sets",
        "jit_bitset_slots",
        "jit_bitset_walk",
    ),
    "log_order": ("log_order_parts",),
    "unique_writes": ("unique_parts",),
    "wgl": ("wgl_method", "wgl_parts", "wgl_walk"),
}
"""Methods whose parts have tests of their own, which are enough, and much quicker; and that of
sets, which the tests of all methods say nothing of."""
_FRONT: Final = {
    "decide": ("decide", "front", "encoded_keys"),
    "decision": ("decide", "front"),
    "encoded": ("encoded_keys", "keys_of_a_table", "encode"),
    "kernel": ("kernel", "front", "pending_keys"),
}
"""What chooses among methods, and judges a table by them."""
_SHARED: Final = {
    "arrays": ("arrays", "layout"),
    "encoding": (
        "encode",
        "encoded_keys",
        "hidden_ids",
        "hollow_histories",
        "keys_of_a_table",
        "numbers",
        "pending_keys",
        "texts",
        "transitions",
    ),
    "evidence": (
        "clash",
        "explanations",
        "findings",
        "operations_in_words",
        "overlooked",
        "reasons",
        "relaxed",
        "shrinking",
        "small_search",
    ),
}


def _short(path: Path) -> str:
    return f"linearizability/{path.stem}"


def _below(path: Path) -> tuple[Module, ...]:
    paths = sorted(path.glob("[!_]*.py")) if path.is_dir() else [path]
    return tuple(map(_module, paths))
