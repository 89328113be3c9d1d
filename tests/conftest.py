"""What all tests have in common."""

import os

# Running tests in parallel hands the window's width on to them, and what is printed would depend on the window.
os.environ.pop("COLUMNS", None)
