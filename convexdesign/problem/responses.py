"""Moved to `convexdesign.arms.groups`."""

from convexdesign.arms.groups import *  # noqa: F403
