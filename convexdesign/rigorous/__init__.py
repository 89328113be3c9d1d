"""Proofs for the numbers exactly as given: ball arithmetic by python-flint (extra `rigorous`), and portable certificates."""

from convexdesign.balls import precision
from convexdesign.rigorous import check
from convexdesign.rigorous.certifying import certify
from convexdesign.rigorous.proving import Proof, Prover, prove, strengthened, upper_efficiency

__all__ = ["Proof", "Prover", "certify", "check", "precision", "prove", "strengthened", "upper_efficiency"]
