"""Moved to `convexdesign.arms.read`."""

from convexdesign.arms.read import *  # noqa: F403
