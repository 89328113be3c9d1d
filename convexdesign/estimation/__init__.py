"""From rewards to estimates: sufficient statistics, least squares, and models of the noise variance."""

from convexdesign.estimation.least_squares import LinearFit, least_squares
from convexdesign.estimation.observations import Observations
from convexdesign.estimation.tables import observations_from_csv, observations_from_frame

__all__ = [
    "LinearFit",
    "Observations",
    "least_squares",
    "observations_from_csv",
    "observations_from_frame",
]
