"""`python -m benchmarks.mutation [NAME ...]`: changes the code of checkers, and sees who notices.

    python -m benchmarks.mutation one-vote 'folds/*'     runs those; all of them, without a name
    python -m benchmarks.mutation --list                 the names
    python -m benchmarks.mutation --table                the table of docs/checking.md

Each mutant has one thing changed (`operators.py`), and the tests of its checker (`targets.py`) have
to fail. Those that change nothing are listed, each with a reason, in `known.toml`, and so are those
that survive. What was found is kept in `measured.json`, from which the table is made. The code is 1
where less than 90 % of the others are killed, or where an entry of `known.toml` is no longer true.

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
from benchmarks.mutation.known import Known
from benchmarks.mutation.run import CleanRunFailed, Outcome, Target, mutants_of, run
from benchmarks.mutation.targets import targets


def main(argv: Sequence[str] | None = None) -> int:
    text = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("benchmarks.mutation", None, __doc__, formatter_class=text)
    parser.add_argument("names", nargs="*", default=["*"], metavar="NAME")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at a time")
    parser.add_argument("--sample", type=int, help="of each name so many mutants, the same always")
    parser.add_argument("--list", action="store_true", help="the names")
    parser.add_argument("--table", action="store_true", help="what was measured")
    given = parser.parse_args(argv)
    every = targets()
    if given.table:
        print(*table.table(every, table.read()), sep="\n")
        return 0
    chosen = [each for each in every if any(fnmatchcase(each.name, name) for name in given.names)]
    if not chosen:
        parser.error(f"no such name: {' '.join(given.names)}")
    if given.list:
        print(*(each.name for each in chosen), sep="\n")
        return 0
    python_form.draw_the_same()
    return max(_measure(group, given.jobs, given.sample) for group in _of_the_same_tests(chosen))


def _of_the_same_tests(chosen: Sequence[Target]) -> list[list[Target]]:
    """Those whose tests are collected, and run without a mutant, once for all of them."""

    def tests(target: Target) -> tuple[object, ...]:
        return target.tests, target.checkers, target.without, sorted(target.functions)

    return [list(group) for _, group in groupby(sorted(chosen, key=tests), key=tests)]


def _measure(group: Sequence[Target], jobs: int, sample: int | None) -> int:
    began = monotonic()
    asked = [mutant for target in group for mutant in mutants_of(target, sample)]
    modules = tuple(module for target in group for module in target.modules)
    try:
        outcome = run(replace(group[0], modules=modules), jobs, asked)
    except CleanRunFailed as failed:
        print(f"tests fail without a mutant: {failed}", file=sys.stderr)
        return 1
    took_s = monotonic() - began
    return max(_reported(target, outcome.of(target.modules), took_s) for target in group)


def _reported(target: Target, outcome: Outcome, took_s: float) -> int:
    known, every = Known.read(), mutants_of(target)
    found = table.measured(target, outcome, known, len(every))
    table.write({**table.read(), target.name: found})
    left = [each for each in outcome.survived if each.key not in known.equivalent]
    print(
        f"{target.name}: {found['mutants']} mutants, {found['equivalent']} equivalent, "
        f"{found['killed']} killed ({table.share(found):.1%}), {len(left)} survive "
        f"({took_s:.0f} s, with all of the same tests)"
    )
    for mutant in left:
        reason = known.survivors.get(mutant.key, "")
        place = f"{mutant.module.path.relative_to(target.root)}:{mutant.number}"
        print(f"  {place} {mutant.function}: {mutant.change}" + (reason and f"  ({reason})"))
    complaints = list(known.complaints(every, outcome.mutants, outcome.survived))
    print(*complaints, sep="\n", end="\n" if complaints else "", flush=True)
    return 1 if complaints or table.share(found) < table.FLOOR else 0


if __name__ == "__main__":
    sys.exit(main())
