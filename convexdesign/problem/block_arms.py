"""Moved to `convexdesign.arms.blocks`."""

from convexdesign.arms.blocks import *  # noqa: F403
