"""verify: how good is somebody else's design, what limits it, and what would improve it most?"""

from convexdesign.verification.efficiency import verify
from convexdesign.verification.improvement import Improvement
from convexdesign.verification.verification import Verification

__all__ = ["Improvement", "Verification", "verify"]
