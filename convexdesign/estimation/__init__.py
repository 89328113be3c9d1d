"""From rewards to estimates: sufficient statistics, least squares, and models of the noise variance.

Observations hold counts, means and sums of squares per arm; `least_squares` estimates theta from them; `Head`,
`ReplicateEstimator` and the baselines `UniformEstimator` and `SeparateArmEstimator` ask for pulls and end in a
`VarianceModel`.
"""

from convexdesign.estimation.asktell import AskTell, Batch, Resumable
from convexdesign.estimation.baselines import SeparateArmEstimator, UniformEstimator, spanning_arms
from convexdesign.estimation.error_bound import (
    paper_error_bound,
    separate_arm_error_bound,
    sharp_error_bound,
    variance_range,
)
from convexdesign.estimation.head import Head, HeadPlan, Proportions, plan_head
from convexdesign.estimation.linear_fit import LinearFit, least_squares
from convexdesign.estimation.observations import Observations
from convexdesign.estimation.replicates import ReplicateEstimator, replicate_variances
from convexdesign.estimation.tables import observations_from_aggregates, observations_from_csv, observations_from_frame
from convexdesign.estimation.variance_model import VarianceModel, chi_square_intervals, model_variances

__all__ = [
    "AskTell",
    "Batch",
    "Head",
    "HeadPlan",
    "LinearFit",
    "Observations",
    "Proportions",
    "ReplicateEstimator",
    "Resumable",
    "SeparateArmEstimator",
    "UniformEstimator",
    "VarianceModel",
    "chi_square_intervals",
    "least_squares",
    "model_variances",
    "observations_from_aggregates",
    "observations_from_csv",
    "observations_from_frame",
    "paper_error_bound",
    "plan_head",
    "replicate_variances",
    "separate_arm_error_bound",
    "sharp_error_bound",
    "spanning_arms",
    "variance_range",
]
