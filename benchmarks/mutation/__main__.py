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
from fnmatch import fnmatchcase
from time import monotonic

from benchmarks.mutation import python_form, table
from benchmarks.mutation.known import Known
from benchmarks.mutation.run import CleanRunFailed, Target, run
from benchmarks.mutation.targets import targets


def main(argv: Sequence[str] | None = None) -> int:
    text = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("benchmarks.mutation", None, __doc__, formatter_class=text)
    parser.add_argument("names", nargs="*", default=["*"], metavar="NAME")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at a time")
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
    python_form.use()
    python_form.draw_the_same()
    return max(_measure(target, given.jobs) for target in chosen)


def _measure(target: Target, jobs: int) -> int:
    known, began = Known.read(), monotonic()
    try:
        outcome = run(target, jobs)
    except CleanRunFailed as failed:
        print(f"tests fail without a mutant: {failed}", file=sys.stderr)
        return 1
    found = table.measured(target, outcome, known)
    table.write({**table.read(), target.name: found})
    left = [each for each in outcome.survived if each.key not in known.equivalent]
    print(
        f"{target.name}: {found['mutants']} mutants, {found['equivalent']} equivalent, "
        f"{found['killed']} killed ({table.share(found):.1%}), {len(left)} survive "
        f"({monotonic() - began:.0f} s)"
    )
    for mutant in left:
        reason = known.survivors.get(mutant.key, "")
        place = f"{mutant.module.path.relative_to(target.root)}:{mutant.number}"
        print(f"  {place} {mutant.function}: {mutant.change}" + (reason and f"  ({reason})"))
    complaints = list(known.complaints(outcome.mutants, outcome.survived))
    print(*complaints, sep="\n", end="\n" if complaints else "", flush=True)
    return 1 if complaints or table.share(found) < table.FLOOR else 0


if __name__ == "__main__":
    sys.exit(main())
