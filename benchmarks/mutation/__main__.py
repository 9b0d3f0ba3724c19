"""`python -m benchmarks.mutation [NAME ...]`: changes the code of checkers, and sees who notices.

    python -m benchmarks.mutation one-vote 'folds/*'     runs those; all of them, without a name
    python -m benchmarks.mutation --list                 the names
    python -m benchmarks.mutation --alive one-vote       those alone that were alive, once more
    python -m benchmarks.mutation --table                the table of docs/checking.md

Each mutant has one thing changed (`operators.py`), and the tests of its checker (`targets.py`) have
to fail. Those that change nothing are listed, each with a reason, in `known`, and so are those that
survive. What was found is kept in `measured`, from which the table is made. The code is 1 where
less than 90 % of the others are killed, one survives for no reason that is listed, or an entry of
`known` is no longer true. `--alive` is for tests that came since: of code that has changed, and of
what was never measured, all are asked.

Why there is no tool for it here: mutmut (3.8) leaves decorated functions as they are, which all
kernels are, and what is not in a function, such as the kinds of evidence that a checker looks at,
and has one set of tests for all that it changes, in a copy of the tree. cosmic-ray (8.7) changes
the file in the checkout, and starts the tests anew for each mutant, which takes ten seconds here
before the first one runs. Neither leaves a statement or a clause out.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import groupby
from time import monotonic

from benchmarks.mutation import python_form, table
from benchmarks.mutation.mutants import Mutant
from benchmarks.mutation.run import CleanRunFailed, Outcome, Target, mutants_of, run
from benchmarks.mutation.survivors import Known
from benchmarks.mutation.table import Measured
from benchmarks.mutation.targets import targets


def main(argv: Sequence[str] | None = None) -> int:
    text = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("benchmarks.mutation", None, __doc__, formatter_class=text)
    parser.add_argument("names", nargs="*", default=["*"], metavar="NAME")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at a time")
    parser.add_argument("--sample", type=int, help="of each name so many mutants, the same always")
    parser.add_argument("--alive", action="store_true", help="only those that were not killed")
    parser.add_argument("--list", action="store_true", help="the names")
    parser.add_argument("--table", action="store_true", help="what was measured")
    given = parser.parse_args(argv)
    every = targets()
    if given.table:
        print(*table.table(every, table.read(), Known.read()), sep="\n")
        return 0
    chosen = [each for each in every if any(fnmatchcase(each.name, name) for name in given.names)]
    if not chosen:
        parser.error(f"no such name: {' '.join(given.names)}")
    if given.list:
        print(*(each.name for each in chosen), sep="\n")
        return 0
    python_form.draw_the_same()
    before = {each.name: table.measured_before(each) for each in chosen} if given.alive else {}
    groups = _of_the_same_tests(chosen)
    return max(_measure(group, given.jobs, given.sample, before) for group in groups)


def _of_the_same_tests(chosen: Sequence[Target]) -> list[list[Target]]:
    """Those whose tests are collected, and run without a mutant, once for all of them."""

    def tests(target: Target) -> tuple[object, ...]:
        return target.tests, target.checkers, target.without, sorted(target.functions)

    return [list(group) for _, group in groupby(sorted(chosen, key=tests), key=tests)]


def _asked(target: Target, sample: int | None, before: Measured | None) -> list[Mutant]:
    """Of what was measured before those that were alive."""
    if before is None:
        return mutants_of(target, sample)
    return [each for each in mutants_of(target) if each.key in before.alive]


def _measure(
    group: Sequence[Target],
    jobs: int,
    sample: int | None,
    before: Mapping[str, Measured | None],
) -> int:
    """`before`: of targets of which only those alive are asked."""
    began = monotonic()
    asked = [each for target in group for each in _asked(target, sample, before.get(target.name))]
    modules = tuple(module for target in group for module in target.modules)
    try:
        outcome = run(replace(group[0], modules=modules), jobs, asked)
    except CleanRunFailed as failed:
        print(f"tests fail without a mutant: {failed}", file=sys.stderr)
        return 1
    took_s = monotonic() - began
    return max(
        _reported(target, outcome.of(target.modules), before.get(target.name), took_s)
        for target in group
    )


def _reported(target: Target, outcome: Outcome, before: Measured | None, took_s: float) -> int:
    known, every = Known.read(), mutants_of(target)
    found = table.measured(target, outcome, len(every))
    if before is not None:
        found = replace(before, alive=found.alive, ran_out=before.ran_out + found.ran_out)
    table.write(target.name, found)
    by = table.counts(found, known)
    print(
        f"{target.name}: {found.asked} mutants, {found.asked - by.changing} equivalent, "
        f"{by.killed} killed ({by.share:.1%}), {by.explained} survive with a reason, "
        f"{by.unexplained} without ({took_s:.0f} s, with all of the same tests)"
    )
    for mutant in outcome.survived:
        if mutant.key not in known.equivalent:
            reason = known.survivors.get(mutant.key, "")
            place = f"{mutant.module.path.relative_to(target.root)}:{mutant.number}"
            print(f"  {place} {mutant.function}: {mutant.change}" + (reason and f"  ({reason})"))
    complaints = list(known.complaints(every, outcome.mutants, outcome.survived))
    print(*complaints, sep="\n", end="\n" if complaints else "", flush=True)
    return 1 if complaints or by.unexplained or by.share < table.FLOOR else 0


if __name__ == "__main__":
    sys.exit(main())
