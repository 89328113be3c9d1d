"""What can go wrong, as types: bad input, targets that no measurement informs, solvers and stores that give up."""

__all__ = [
    "ConflictError",
    "ConvergenceWarning",
    "ConvexDesignError",
    "DamagedStoreError",
    "ExperimentalWarning",
    "FormulaWarning",
    "InputError",
    "MissingExtraError",
    "SolverError",
    "StoreError",
    "UnidentifiableError",
]


class ConvexDesignError(Exception):
    """Base of every error this package raises on purpose."""


class InputError(ConvexDesignError, ValueError):
    """The input is wrong: the message names the place, the value found there and the remedy."""


class MissingExtraError(ImportError, InputError):
    """What was asked for needs a library that is not installed: the message names the extra that brings it."""


class UnidentifiableError(ConvexDesignError):
    """A quantity asked for lies outside the range of the arms, so no design can estimate it."""


class SolverError(ConvexDesignError):
    """Every solver that was tried failed to return anything usable."""


class StoreError(ConvexDesignError):
    """The file of an experiment could not be read or written; what was asked for did not happen."""


class DamagedStoreError(StoreError):
    """The file of an experiment is not what was written to it: nothing it says is used."""


class ConflictError(ConvexDesignError):
    """A result was told again under its key, with other content; nothing was changed."""


class ConvergenceWarning(UserWarning):
    """The gap asked for was not reached; what is returned is the best certified design found."""


class FormulaWarning(UserWarning):
    """A formula means something else in its notation than it says in arithmetic; the notation's meaning was taken."""


class ExperimentalWarning(FutureWarning):
    """What was used is experimental: its form may change in any release."""
