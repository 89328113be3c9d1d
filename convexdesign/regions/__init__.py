"""Designs over continuous regions of settings, with a proof over the whole region and not only over a grid.

>>> import convexdesign as cd
>>> region = cd.Region.box(temp=(150, 190), time=(1, 4)) & cd.Region.where("temp + 10*time <= 210")
>>> curve = cd.Model.formula("1 + temp*time + temp**2 + time**2").over(region)
>>> design = cd.solve(cd.DesignProblem.d_optimal(curve))
>>> design.status.name, design.certificate.kind
('CERTIFIED', 'sum of squares')
"""

from convexdesign.regions.design import RegionCertificate, RegionDesign
from convexdesign.regions.exact import RegionExactDesign
from convexdesign.regions.model import Curve, Model
from convexdesign.regions.problem import RegionProblem
from convexdesign.regions.region import Condition, Region
from convexdesign.regions.theta import ThetaBoxCurve, ThetaBoxDesign, ThetaBoxModel, ThetaBoxProblem
from convexdesign.regions.together import RegionCompoundDesign, RegionCompoundProblem
from convexdesign.regions.uncertain import UncertainCurve, UncertainModel
from convexdesign.regions.verification import RegionVerification

__all__ = [
    "Condition",
    "Curve",
    "Model",
    "Region",
    "RegionCertificate",
    "RegionCompoundDesign",
    "RegionCompoundProblem",
    "RegionDesign",
    "RegionExactDesign",
    "RegionProblem",
    "RegionVerification",
    "ThetaBoxCurve",
    "ThetaBoxDesign",
    "ThetaBoxModel",
    "ThetaBoxProblem",
    "UncertainCurve",
    "UncertainModel",
]
