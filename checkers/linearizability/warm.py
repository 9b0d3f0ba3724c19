"""`python -m checkers.linearizability.warm`: compiles every kernel ahead of all checks."""

from checkers.linearizability.decide import METHODS
from checkers.linearizability.rehearsal import ready


def main() -> None:
    took = sum(ready(method) for method in METHODS)
    print(f"linearizability kernels are compiled ({took:.1f} s)")


if __name__ == "__main__":
    main()
