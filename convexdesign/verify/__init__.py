"""verify: how good is somebody else's design, what limits it, and what would improve it most?"""

from convexdesign.verify.efficiency import verify
from convexdesign.verify.improvement import Improvement
from convexdesign.verify.verification import Verification

__all__ = ["Improvement", "Verification", "verify"]
