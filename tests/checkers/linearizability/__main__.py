"""`python -m tests.checkers.linearizability --cases N`: the checker against brute force."""

import argparse
from collections import Counter

from tests.checkers.linearizability.agreement import NAMES, compare

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000, help="random histories a model")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--model", choices=NAMES, action="append")
    args = parser.parse_args()
    for name in args.model or NAMES:
        seeds = range(args.first_seed, args.first_seed + args.cases)
        seen = Counter(compare(name, seed) for seed in seeds)
        print(f"{name}: {seen[True]} linearizable, {seen[False]} not, 0 differences", flush=True)
