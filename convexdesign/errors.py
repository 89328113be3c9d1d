"""What can go wrong, as types: bad input, targets that no measurement informs, solvers that give up."""

__all__ = [
    "ConvergenceWarning",
    "ConvexDesignError",
    "InputError",
    "SolverError",
    "UnidentifiableError",
]


class ConvexDesignError(Exception):
    """Base of every error this package raises on purpose."""


class InputError(ConvexDesignError, ValueError):
    """The input is wrong: the message names the place, the value found there and the remedy."""


class UnidentifiableError(ConvexDesignError):
    """A quantity asked for lies outside the range of the arms, so no design can estimate it."""


class SolverError(ConvexDesignError):
    """Every solver that was tried failed to return anything usable."""


class ConvergenceWarning(UserWarning):
    """The gap asked for was not reached; what is returned is the best certified design found."""
