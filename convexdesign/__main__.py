"""`python -m convexdesign` is the command line."""

import sys

from convexdesign.cli import main

if __name__ == "__main__":
    sys.exit(main())
