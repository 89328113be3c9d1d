"""Moved to `convexdesign.arms.source`."""

from convexdesign.arms.source import *  # noqa: F403
