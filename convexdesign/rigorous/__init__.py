"""Proofs for the numbers exactly as given: ball arithmetic by python-flint (extra `rigorous`), and portable certificates."""

from convexdesign.rigorous import check
from convexdesign.rigorous.certify import certify
from convexdesign.rigorous.prove import Proof, prove, upper_efficiency

__all__ = ["Proof", "certify", "check", "prove", "upper_efficiency"]
