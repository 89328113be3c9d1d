"""Arms: what can be measured, read at the border and handed out as sources, wherever the vectors lie."""

from convexdesign.arms.blocks import BlockArms
from convexdesign.arms.source import Arms, ArrayArms, LiftedArms, ScaledArms

__all__ = ["Arms", "ArrayArms", "BlockArms", "LiftedArms", "ScaledArms"]
