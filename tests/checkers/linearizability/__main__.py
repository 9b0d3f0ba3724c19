"""`python -m tests.checkers.linearizability --histories N`: all methods against brute force."""

import argparse
from collections import Counter

from tests.checkers.linearizability.agreement import NAMES, compare

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=20_000, help="random ones of each model")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--model", choices=NAMES, action="append")
    args = parser.parse_args()
    for name in args.model or NAMES:
        verdicts: Counter[bool] = Counter()
        methods: Counter[str] = Counter()
        for seed in range(args.first_seed, args.first_seed + args.histories):
            verdict, decided = compare(name, seed)
            verdicts[verdict] += 1
            methods.update(decided)
        reported = ", ".join(f"{method} {count}" for method, count in methods.most_common())
        print(
            f"{name}: {verdicts[True]} linearizable, {verdicts[False]} not, 0 differences; "
            f"decided by {reported}",
            flush=True,
        )
