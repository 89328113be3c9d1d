"""Sums of counts are exact, beyond what 64 bits hold too."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from convexdesign.rounding.count_limits import MAX_TOTAL, added_up


@given(st.lists(st.integers(0, MAX_TOTAL), max_size=50))
def test_a_sum_of_counts_is_that_of_the_integers(counts: list[int]) -> None:
    assert added_up(np.array(counts, dtype=np.int64)) == sum(counts)


def test_a_sum_beyond_64_bits() -> None:
    assert added_up(np.full(100_000, MAX_TOTAL, dtype=np.int64)) == 100_000 * MAX_TOTAL
