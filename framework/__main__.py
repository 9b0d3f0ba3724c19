"""`python -m framework`"""

import sys

from framework.cli.app import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
