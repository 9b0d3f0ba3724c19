"""Mutants of a toy are run for real: who is killed, who survives, and what is known of them."""

import gc
from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path

import numba
import pytest
from numba.cpython.unsafe.numbers import trailing_zeros

import benchmarks.mutation.digests
from benchmarks.mutation import python_form
from benchmarks.mutation.asked import Asked
from benchmarks.mutation.digests import digests
from benchmarks.mutation.in_place import functions_of
from benchmarks.mutation.mutants import At, Key, Module, keys, mutants
from benchmarks.mutation.operators import OPERATORS
from benchmarks.mutation.python_form import functions
from benchmarks.mutation.run import CleanRunFailed, Outcome, Target, run
from benchmarks.mutation.survivors import Known
from benchmarks.mutation.table import Measured, counts, read, table, write
from benchmarks.mutation.targets import targets
from checkers import faults_bit

TOY = """
LIMIT = 3
TABLE = ("a", "b")


def too_many(count: int) -> bool:
    return count > LIMIT


def longer(one: str, other: str) -> str:
    return one if len(one) > len(other) else other


def until_end(count: int) -> int:
    while count < 5:
        count += 1
    return count


NAMES = {each: longer(each, "") for each in TABLE}
"""
TESTS = """
from pytest import mark

import toy


def test_too_many():
    assert toy.too_many(4)
    assert not toy.too_many(3)


def test_longer():
    assert toy.longer("aa", "b") == "aa"
    assert toy.longer("b", "aa") == "aa"


def test_until_end():
    assert toy.until_end(0) == 5


def test_names():
    assert toy.NAMES["a"] == "a"


def test_that_needs_spark(spark):
    raise AssertionError
"""
NOTHING = Known({}, {})
EQUAL_LENGTHS = "len(one) > len(other) -> len(one) >= len(other)"


def toy(folder: Path, module: str = TOY, tests: str = TESTS) -> Target:
    (folder / "code").mkdir()
    (folder / "tests").mkdir()
    (folder / "code/toy.py").write_text(module)
    (folder / "tests/test_toy.py").write_text(tests)
    (folder / "tests/conftest.py").write_text(f"import sys\nsys.path.insert(0, '{folder}/code')\n")
    return Target("toy", (Module("toy", folder / "code/toy.py"),), ("tests",), folder, least_s=1)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Target, Outcome]:
    target = toy(tmp_path_factory.mktemp("toy"))
    return target, run(target, jobs=2)


def measured(ran: tuple[Target, Outcome]) -> Measured:
    target, outcome = ran
    return Asked.of(target).measured(outcome)


def changes(outcome: Outcome, function: str) -> set[str]:
    return {each.change for each in outcome.survived if each.function == function}


def test_what_tests_see_is_killed(ran: tuple[Target, Outcome]) -> None:
    _, outcome = ran
    made = {each.change for each in outcome.mutants if each.function == "too_many"}
    assert made == {
        "count > LIMIT -> count >= LIMIT",
        "count > LIMIT -> count <= LIMIT",
        "return count > LIMIT -> return not count > LIMIT",
    }
    assert not changes(outcome, "too_many")


def test_what_no_test_sees_survives(ran: tuple[Target, Outcome]) -> None:
    _, outcome = ran
    assert changes(outcome, "longer") == {EQUAL_LENGTHS}


def test_what_never_ends_is_killed_as_it_takes_too_long(ran: tuple[Target, Outcome]) -> None:
    _, outcome = ran
    assert len(outcome.ran_out) == 3  # count -= 1, pass, 1 -> 0
    assert changes(outcome, "until_end") == set()


def test_what_is_outside_of_functions_is_changed_too(ran: tuple[Target, Outcome]) -> None:
    _, outcome = ran
    made = {each.change for each in outcome.mutants if each.function == ""}
    assert {"3 -> 4", "3 -> 2", "without 'a'", "without 'b'"} <= made
    assert changes(outcome, "") == {"without 'b'"}


def test_what_is_called_on_import_is_seen_as_well(tmp_path: Path) -> None:
    module = "def one() -> int:\n    return 1\n\n\nONE = one()\n"
    tests = "import toy\n\n\ndef test_one():\n    assert toy.one and toy.ONE == 1\n"
    outcome = run(toy(tmp_path, module, tests), jobs=1)
    assert len(outcome.mutants) == 2 and not outcome.survived


@pytest.mark.parametrize(("base", "changes"), [("TypedDict", []), ("Counted", ["False -> True"])])
def test_what_is_said_to_the_type_checker_is_left_alone(
    base: str, changes: list[str], tmp_path: Path
) -> None:
    source = tmp_path / "toy.py"
    source.write_text(f"class Asked({base}, total=False):\n    name: str\n")
    assert [change for _, _, _, change in keys(Module("toy", source))] == changes


def test_a_change_leaves_all_other_code_as_it_was(tmp_path: Path) -> None:
    """Down to where it stands: else what is outside of functions would be taken for theirs."""
    module = """
def either(one: str, other: str) -> str:
    return one[:1] or other


TABLE = ("a", "b")
"""
    tests = """
import toy


def test_table():
    assert toy.TABLE == ("a", "b")
    assert toy.either("ab", "c") == "a" and toy.either("", "cd") == "cd"
"""
    outcome = run(toy(tmp_path, module, tests), jobs=1)
    assert {each.function for each in outcome.mutants} == {"", "either"} and not outcome.survived


def test_without_a_mutant_tests_have_to_pass(tmp_path: Path) -> None:
    with pytest.raises(CleanRunFailed, match="test_wrong"):
        run(toy(tmp_path, TOY, "def test_wrong():\n    assert False\n"), jobs=1)


def test_functions_are_found_though_they_are_frozen() -> None:
    """As those are that tests import while they are collected (`tests/conftest.py`)."""
    gc.freeze()
    try:
        assert changes in functions_of(Path(__file__))
    finally:
        gc.freeze()


def test_the_checkout_is_not_touched(ran: tuple[Target, Outcome]) -> None:
    target, outcome = ran
    assert target.modules[0].path.read_text() == TOY
    assert len({each.key for each in outcome.mutants}) == len(outcome.mutants)


def test_a_sample_is_the_same_in_every_run(ran: tuple[Target, Outcome]) -> None:
    target, outcome = ran
    some = Asked.of(target, 5).mutants
    assert [each.key for each in some] == [each.key for each in Asked.of(target, 5).mutants]
    assert len(some) == 5 and {each.key for each in some} < {each.key for each in outcome.mutants}
    assert len(Asked.of(target, 500).mutants) == len(outcome.mutants)
    assert [each.key for each in run(target, 1, some[:2]).mutants] == [
        each.key for each in some[:2]
    ]


def test_what_only_a_slow_test_sees_survives(tmp_path: Path) -> None:
    module = "def one() -> bool:\n    return True\n\n\ndef two() -> bool:\n    return True\n"
    slow = "import toy\n\n\ndef test_one():\n    assert toy.one()\n    while True:\n        pass\n"
    target = toy(tmp_path, module, f"{slow}\n\ndef test_two():\n    assert toy.two()\n")
    outcome = run(replace(target, enough_s=0.5), jobs=1)
    assert [each.function for each in outcome.survived] == ["one"]


# --- kernels ------------------------------------------------------------------------------


def test_kernels_that_would_not_see_a_change_are_functions() -> None:
    kernel = "\n@compiled\ndef f(): ..."
    sources = {
        "a.numbers": "LEAST = 1",
        "a.heap": "from a.numbers import LEAST" + kernel,
        "a.sweep": "from a import (\n    heap as heap_,\n)" + kernel,
        "a.bits": kernel,
        "a.search": "from a.bits import ones\nfrom a.table import rows" + kernel,
        "a.table": "from a.sweep import f",
    }
    assert functions(["a.sweep"], sources) == {"a.sweep", "a.heap", "a.bits", "a.search"}
    assert functions(["a.numbers"], sources) == {"a.sweep", "a.heap", "a.bits", "a.search"}
    assert functions(["a.bits"], {**sources, "a.table": ""}) == {"a.bits", "a.search"}
    assert functions(["a.other"], sources) == set()


def test_a_kernel_is_machine_code_for_callers_that_are() -> None:
    def lowest(word: int) -> int:
        return trailing_zeros(word) + (word << 63)  # which is 0 in 64 bits, of an even word

    python_form.use({__name__})
    try:
        kernel = numba.njit(lowest)
    finally:
        python_form.use(())
    called = numba.njit(lambda word: kernel(word))
    assert called(8) == 3
    assert kernel(8) == 3 + 2**66
    assert trailing_zeros(0) == 64


# --- asked again --------------------------------------------------------------------------


def again(target: Target, before: Measured, known: Known = NOTHING) -> dict[str, set[str]]:
    """Changes that are asked, by function."""
    found = defaultdict[str, set[str]](set)
    for each in Asked.again(target, before, known).mutants:
        found[each.function].add(each.change)
    return found


def test_only_who_was_alive_is_asked_of_what_is_as_it_was(ran: tuple[Target, Outcome]) -> None:
    target, _ = ran
    found = measured(ran)
    assert again(target, found) == {"longer": {EQUAL_LENGTHS}, "": {"without 'b'"}}
    said = Known({each: "" for each in found.alive if each[1] == "longer"}, {})
    assert again(target, found, said) == {"": {"without 'b'"}}


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        ("count > LIMIT", "count > LIMIT + 1", "too_many"),
        ('TABLE = ("a", "b")', 'TABLE = ("a", "c")', ""),
        ("    return count\n", "    return count\n\n\ndef one():\n    return 1\n", "one"),
        ("    while count < 5:\n        count += 1\n", "    count = 5\n", "until_end"),
        ("        count += 1\n    return", "        count += 1\n        return", "until_end"),
    ],
)
def test_what_has_changed_is_asked_and_what_has_not_is_not(
    ran: tuple[Target, Outcome], old: str, new: str, asked: str, tmp_path: Path
) -> None:
    assert TOY.count(old) == 1
    target = toy(tmp_path, TOY.replace(old, new))
    found = again(target, measured(ran))
    made = {each.change for each in mutants(target.modules[0]) if each.function == asked}
    assert found.pop(asked) == made != set()
    assert found.pop("longer") == {EQUAL_LENGTHS}
    assert found.pop("", {"without 'b'"}) == {"without 'b'"} and not found


def test_remarks_imports_and_places_are_no_change(
    ran: tuple[Target, Outcome], tmp_path: Path
) -> None:
    def_, said = "def too_many(count: int) -> bool:\n", '    """Said,\n    at length."""\n\n'
    module = TOY.replace(def_, f"{def_}{said}    # a remark\n").replace(
        "def longer", "\n\ndef longer"
    )
    target = toy(tmp_path, f'"""A toy."""\n\nimport os\n{module}')
    assert digests(target) == digests(ran[0])


def test_a_function_is_known_in_another_file_of_the_target(
    ran: tuple[Target, Outcome], tmp_path: Path
) -> None:
    begin, end = TOY.index("def longer"), TOY.index("def until_end")
    target = toy(tmp_path, "from longer import longer\n" + TOY[:begin] + TOY[end:])
    (other := tmp_path / "code/longer.py").write_text(TOY[begin:end])
    found = again(
        replace(target, modules=(*target.modules, Module("longer", other))), measured(ran)
    )
    assert found == {"longer": {EQUAL_LENGTHS}, "": {"without 'b'"}}


def test_methods_are_told_from_their_class(tmp_path: Path) -> None:
    module = """
class One:
    least = 1

    @property
    def two(self) -> int:
        return 2
"""
    before = digests(toy(tmp_path, module))["toy"]
    (tmp_path / "code/toy.py").write_text(module.replace("@property", "@cached"))
    after = digests(Target("toy", (Module("toy", tmp_path / "code/toy.py"),), (), tmp_path))["toy"]
    assert before.keys() == {"", "One", "One.two"}
    assert {each for each in before if before[each] != after[each]} == {"One.two"}


def test_a_new_kind_of_mutant_is_a_change(
    ran: tuple[Target, Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    target, outcome = ran
    before = measured(ran)
    monkeypatch.setattr(benchmarks.mutation.digests, "OPERATORS", OPERATORS * 2)
    assert {name for name, some in again(target, before).items() if some} == {
        each.function for each in outcome.mutants
    }


def test_who_is_not_asked_is_as_it_was_found(ran: tuple[Target, Outcome], tmp_path: Path) -> None:
    """Also where there is nothing to ask: no test is run then, not even without a mutant."""
    target, _ = ran
    before = measured(ran)
    asked = Asked.again(target, before, Known(dict.fromkeys(before.alive, ""), {}))
    outcome = run(replace(target, tests=("none",)), 1, asked.mutants)
    assert not asked.mutants and asked.measured(outcome) == before


def test_the_dead_are_taken_for_dead_and_the_changed_are_counted_anew(
    ran: tuple[Target, Outcome], tmp_path: Path
) -> None:
    target = toy(tmp_path, TOY.replace("count > LIMIT", "LIMIT < count"))
    asked = Asked.again(target, measured(ran), NOTHING)
    found = asked.measured(run(target, 1, asked.mutants))
    assert found == Asked.of(target).measured(run(target, 1))


def test_a_sample_of_what_has_changed_is_asked_anew(
    ran: tuple[Target, Outcome], tmp_path: Path
) -> None:
    target, outcome = ran
    sample = Asked.of(target, 9)
    alive = [each for each in outcome.survived if each.key in {it.key for it in sample.mutants}]
    found = sample.measured(Outcome(sample.mutants, (), alive))
    assert len(Asked.again(target, found, NOTHING).mutants) == len(alive) < 9
    changed = toy(tmp_path, TOY.replace("count > LIMIT", "count > 3"))
    assert len(Asked.again(changed, found, NOTHING).mutants) == 9


# --- known --------------------------------------------------------------------------------


def known(folder: Path, *entries: tuple[str, Key]) -> Known:
    for module, *_ in (key for _, key in entries):
        (folder / f"{module}.toml").write_text(
            "".join(
                f"[[{kind}]]\nreason = 'for a reason'\n"
                + "".join(
                    f'{name} = """{text}"""\n'
                    for name, text in zip(("function", "line", "change"), key[1:], strict=True)
                )
                for kind, key in entries
                if key[0] == module
            )
        )
    return Known.read(folder)


def test_equivalent_mutants_count_nowhere(ran: tuple[Target, Outcome], tmp_path: Path) -> None:
    _, outcome = ran
    (alive,) = [each for each in outcome.survived if each.change == EQUAL_LENGTHS]
    said = known(tmp_path, ("equivalent", alive.key))
    assert not list(said.complaints(outcome.mutants, outcome.mutants, outcome.survived))
    found = measured(ran)
    by = counts(found, said)
    assert by.changing == found.asked - 1
    assert (by.explained, by.unexplained) == (0, 1)  # without 'b'
    assert by.share == by.killed / by.changing < 1


def test_survivors_are_counted_by_whether_somebody_has_looked_at_them(
    ran: tuple[Target, Outcome], tmp_path: Path
) -> None:
    found = measured(ran)
    said = known(tmp_path, *(("survivor", key) for key in found.alive))
    assert (counts(found, said).explained, counts(found, said).unexplained) == (2, 0)
    assert counts(found, NOTHING).unexplained == 2


def test_an_entry_that_matches_nothing_is_an_error(
    ran: tuple[Target, Outcome], tmp_path: Path
) -> None:
    _, outcome = ran
    key = outcome.survived[0].key
    said = known(tmp_path, ("equivalent", (*key[:2], "another line", key[3])))
    (complaint,) = said.complaints(outcome.mutants, outcome.mutants, outcome.survived)
    assert "no such mutant" in complaint and "another line" in complaint


@pytest.mark.parametrize("kind", ["equivalent", "survivor"])
def test_an_entry_of_what_is_killed_is_an_error(
    ran: tuple[Target, Outcome], tmp_path: Path, kind: str
) -> None:
    _, outcome = ran
    killed = next(each for each in outcome.mutants if each not in outcome.survived)
    (complaint,) = known(tmp_path, (kind, killed.key)).complaints(
        outcome.mutants, outcome.mutants, outcome.survived
    )
    assert "a test kills this" in complaint


def test_entries_of_other_modules_are_left_alone(
    ran: tuple[Target, Outcome], tmp_path: Path
) -> None:
    _, outcome = ran
    said = known(tmp_path, ("equivalent", ("another", "f", "line", "1 -> 2")))
    assert not list(said.complaints(outcome.mutants, outcome.mutants, outcome.survived))


# --- of this repository -------------------------------------------------------------------


def test_keys_are_those_of_mutants() -> None:
    module = Module("checkers.faults_bit", Path(str(faults_bit.__file__)))
    every = [each.key for each in mutants(module)]
    assert list(keys(module)) == every != []
    at = {(function, line) for _, function, line, _ in every[::7]}
    assert list(keys(module, at)) == [each for each in every if (each[1], each[2]) in at]


@cache
def every_target() -> list[Target]:
    """Which takes seconds to find."""
    return list(targets())


@pytest.mark.nightly
def test_every_entry_is_of_a_mutant_that_there_is() -> None:
    said = Known.read()
    entries = {*said.equivalent, *said.survivors}
    at = defaultdict[str, set[At]](set)
    for module, function, line, _ in entries:
        at[module].add((function, line))
    every = {each.name: each for target in every_target() for each in target.modules}
    there = {key for name, lines in at.items() for key in keys(every[name], lines)}
    assert entries <= there
    assert not {*said.equivalent} & {*said.survivors}


def test_targets_are_all_checkers_and_their_tests_are_there() -> None:
    every = every_target()
    assert len({each.name for each in every}) == len(every) > 40
    for target in every:
        assert target.modules and all(each.path.is_file() for each in target.modules)
        assert target.tests and all((target.root / each).exists() for each in target.tests)


def test_the_table_says_what_was_measured_and_what_was_not(
    ran: tuple[Target, Outcome],
) -> None:
    target, outcome = ran
    found = measured(ran)
    few = replace(found, alive=tuple(each.key for each in outcome.mutants[1:]))

    def row(of: Measured | None) -> str:
        return list(table([target], {"toy": of} if of else {}, NOTHING))[-1]

    assert "a sample of 1,000" in row(replace(found, of=1_000))
    assert "not measured" in row(None)
    assert row(found).endswith("| 0 | 2 |  |")
    assert "too few" in row(few)
    of_toy = {**found.digests["toy"], "longer": "another"}
    assert "changed since" in row(replace(found, digests={"toy": of_toy}))


def test_what_was_measured_is_read_as_it_was_written(
    ran: tuple[Target, Outcome], tmp_path: Path
) -> None:
    found = measured(ran)
    write("toys/toy", found, tmp_path)
    assert read(tmp_path) == {"toys/toy": found}
