"""Moved to `convexdesign.arms.labels`."""

from convexdesign.arms.labels import *  # noqa: F403
