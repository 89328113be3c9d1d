"""Moved to `convexdesign.arms.dask`."""

from convexdesign.arms.dask import *  # noqa: F403
