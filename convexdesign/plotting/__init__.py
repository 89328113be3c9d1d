"""Pictures of designs: for each, a function that computes what is drawn, and one that draws it.

The data functions need NumPy alone. The drawing functions need the extra `plot`, take `ax=` (a new
figure where it is None), return the axes they drew on, and never show or save anything.
"""

from convexdesign.plotting.allocation import (
    AllocationData,
    ComparisonData,
    allocation_data,
    comparison_data,
    plot_allocation,
    plot_comparison,
)
from convexdesign.plotting.canvas import new_axes, require_matplotlib
from convexdesign.plotting.convergence import ConvergenceData, convergence_data, plot_convergence
from convexdesign.plotting.equivalence import (
    EquivalenceData,
    equivalence_data,
    plot_equivalence,
    plot_unmeasured,
    sensitivity,
)
from convexdesign.plotting.identification import (
    RoundsData,
    VariancesData,
    plot_rounds,
    plot_variances,
    rounds_data,
    variances_data,
)
from convexdesign.plotting.maps import MapData, map_data, plot_map
from convexdesign.plotting.palette import OKABE_ITO
from convexdesign.plotting.plane import ElfvingData, EllipseData, elfving_data, ellipse_data, plot_elfving, plot_ellipse
from convexdesign.plotting.precision import plot_correlation, plot_fraction_of_design_space
from convexdesign.plotting.region import RegionData, plot_region_design, region_data
from convexdesign.plotting.sequences import plot_sequences

__all__ = [
    "OKABE_ITO",
    "AllocationData",
    "ComparisonData",
    "ConvergenceData",
    "ElfvingData",
    "EllipseData",
    "EquivalenceData",
    "MapData",
    "RegionData",
    "RoundsData",
    "VariancesData",
    "allocation_data",
    "comparison_data",
    "convergence_data",
    "elfving_data",
    "ellipse_data",
    "equivalence_data",
    "map_data",
    "new_axes",
    "plot_allocation",
    "plot_comparison",
    "plot_convergence",
    "plot_correlation",
    "plot_elfving",
    "plot_ellipse",
    "plot_equivalence",
    "plot_fraction_of_design_space",
    "plot_map",
    "plot_region_design",
    "plot_rounds",
    "plot_sequences",
    "plot_unmeasured",
    "plot_variances",
    "region_data",
    "require_matplotlib",
    "rounds_data",
    "sensitivity",
    "variances_data",
]
