"""Designs of other programs, listed by points or names: found again among the arms of a problem."""

from convexdesign.matching.listing import Listing, read_listing
from convexdesign.matching.match import OffListError, match_design, match_listing

__all__ = ["Listing", "OffListError", "match_design", "match_listing", "read_listing"]
