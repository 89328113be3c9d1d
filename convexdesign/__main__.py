"""`python -m convexdesign` is the command line."""

import sys

from convexdesign.cli import main

sys.exit(main())
