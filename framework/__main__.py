"""`python -m framework`, and `kraft-proof`."""

import sys

# Libraries of plugins register their types with hypothesis wherever that is installed, which
# takes seconds. No command of ours generates examples.
sys.modules.setdefault("hypothesis", None)  # type: ignore[arg-type]

from framework.cli.app import main  # noqa: E402


def command() -> None:
    """The entry point of `kraft-proof`."""
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    command()
