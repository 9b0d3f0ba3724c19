"""`python -m benchmarks.mutation [NAME ...]`: changes the code of checkers, and sees who notices.

    python -m benchmarks.mutation one-vote 'folds/*'     runs those; all of them, without a name
    python -m benchmarks.mutation --list                 the names
    python -m benchmarks.mutation --changed one-vote     what has changed since, and who was alive
    python -m benchmarks.mutation --table                the table of docs/checking.md

Each mutant has one thing changed (`operators.py`), and the tests of its checker (`targets.py`) have
to fail. Those that change nothing are listed, each with a reason, in `known`, and so are those that
survive. What was found is kept in `measured`, from which the table is made. The code is 1 where
less than 90 % of the others are killed, one survives for no reason that is listed, or an entry of
`known` is no longer true. `--changed` is for code and tests that came since: who was killed in a
function that is as it was, is taken to be killed still.

Why there is no tool for it here: mutmut (3.8) leaves decorated functions as they are, which all
kernels are, and what is not in a function, such as the kinds of evidence that a checker looks at,
and has one set of tests for all that it changes, in a copy of the tree. cosmic-ray (8.7) changes
the file in the checkout, and starts the tests anew for each mutant, which takes ten seconds here
before the first one runs. Neither leaves a statement or a clause out.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import groupby
from time import monotonic

from benchmarks.mutation import python_form, table
from benchmarks.mutation.asked import Asked
from benchmarks.mutation.run import ENOUGH_S, CleanRunFailed, Outcome, Target, run
from benchmarks.mutation.survivors import Known
from benchmarks.mutation.targets import targets


def main(argv: Sequence[str] | None = None) -> int:
    text = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("benchmarks.mutation", None, __doc__, formatter_class=text)
    parser.add_argument("names", nargs="*", default=["*"], metavar="NAME")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at a time")
    parser.add_argument("--sample", type=int, help="of each name so many mutants, the same always")
    parser.add_argument(
        "--enough",
        type=float,
        default=ENOUGH_S,
        metavar="S",
        help="processor time of tests that a mutant meets (%(default)s; more on a slow machine)",
    )
    parser.add_argument("--changed", action="store_true", help="not those that were killed before")
    parser.add_argument("--list", action="store_true", help="the names")
    parser.add_argument("--table", action="store_true", help="what was measured")
    given = parser.parse_args(argv)
    every = targets()
    if given.table:
        print(*table.table(every, table.read(), Known.read()), sep="\n")
        return 0
    named = [each for each in every if any(fnmatchcase(each.name, name) for name in given.names)]
    chosen = [replace(each, enough_s=given.enough) for each in named]
    if not chosen:
        parser.error(f"no such name: {' '.join(given.names)}")
    if given.list:
        print(*(each.name for each in chosen), sep="\n")
        return 0
    python_form.draw_the_same()
    groups = _of_the_same_tests(chosen)
    return max(_measure(group, given.jobs, given.sample, given.changed) for group in groups)


def _of_the_same_tests(chosen: Sequence[Target]) -> list[list[Target]]:
    """Those whose tests are collected, and run without a mutant, once for all of them."""

    def tests(target: Target) -> tuple[object, ...]:
        return target.tests, target.checkers, target.without, sorted(target.functions)

    return [list(group) for _, group in groupby(sorted(chosen, key=tests), key=tests)]


def _measure(group: Sequence[Target], jobs: int, sample: int | None, is_again: bool) -> int:
    began, known = monotonic(), Known.read()
    asked = dict[str, Asked]()
    for target in group:
        before = table.measured_before(target) if is_again else None
        asked[target.name] = (
            Asked.of(target, sample) if before is None else Asked.again(target, before, known)
        )
    mutants = [each for found in asked.values() for each in found.mutants]
    modules = tuple(module for target in group for module in target.modules)
    try:
        outcome = run(replace(group[0], modules=modules), jobs, mutants)
    except CleanRunFailed as failed:
        print(f"tests fail without a mutant: {failed}", file=sys.stderr)
        return 1
    took_s = monotonic() - began
    return max(
        _reported(target, asked[target.name], outcome.of(target.modules), known, took_s)
        for target in group
    )


def _reported(target: Target, asked: Asked, outcome: Outcome, known: Known, took_s: float) -> int:
    found = asked.measured(outcome)
    table.write(target.name, found)
    by = table.counts(found, known)
    print(
        f"{target.name}: {found.asked} mutants, {len(asked.mutants)} asked, "
        f"{found.asked - by.changing} equivalent, {by.killed} killed ({by.share:.1%}), "
        f"{by.explained} survive with a reason, {by.unexplained} without "
        f"({took_s:.0f} s, with all of the same tests)"
    )
    for mutant in outcome.survived:
        if mutant.key not in known.equivalent:
            reason = known.survivors.get(mutant.key, "")
            place = f"{mutant.module.path.relative_to(target.root)}:{mutant.number}"
            print(f"  {place} {mutant.function}: {mutant.change}" + (reason and f"  ({reason})"))
    complaints = list(known.complaints(asked.every, outcome.mutants, outcome.survived))
    print(*complaints, sep="\n", end="\n" if complaints else "", flush=True)
    return 1 if complaints or by.unexplained or by.share < table.FLOOR else 0


if __name__ == "__main__":
    sys.exit(main())
