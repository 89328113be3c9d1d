"""Optimal allocation of measurements, proven: designs, certificates, estimation and identification."""

__version__ = "0.1.0"
