"""`python -m convexdesign.cli` is the command line too."""

import sys

from convexdesign.cli import main

sys.exit(main())
