"""Arms that are no list: what a source of infinitely many arms must offer to go wherever arms go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

from convexdesign.errors import InputError

__all__ = ["Continuum", "ContinuumProblem", "over_continuum", "takes_continuum"]

F = TypeVar("F", bound=Callable[..., Any])


class Continuum:
    """A source of arms over a region; it builds its own problem of every kind."""

    def design_problem(self, kind: str, options: Mapping[str, Any]) -> Any:
        """The problem of this kind, named as its constructor, with the constructor's keywords."""
        raise NotImplementedError


class ContinuumProblem:
    """A problem over a region; it solves and verifies itself."""

    def solved(self, **options: Any) -> Any:
        """What `solve` returns."""
        raise NotImplementedError

    def together(self, problems: Sequence[Any], weights: Any) -> Any:
        """The compound problem of this and others over the same region; weights: None for the least efficiency."""
        raise InputError("compound problems themselves cannot be compounded; give all problems in one list")

    def verified(self, *, runs: Any = None, weights: Any = None, counts: Any = None, rigorous: bool = False) -> Any:
        """What `verify` returns."""
        raise NotImplementedError


def takes_continuum(constructor: F) -> F:
    """A constructor of DesignProblem that hands arms over a region to the region's own problem."""
    code = constructor.__code__
    names = code.co_varnames[2 : code.co_argcount]  # behind cls and arms

    @wraps(constructor)
    def build(cls: Any, arms: Any, *args: Any, **keywords: Any) -> Any:
        if isinstance(arms, Continuum):
            return over_continuum(constructor.__name__, arms, names, args, keywords)
        return constructor(cls, arms, *args, **keywords)

    return build  # type: ignore[return-value]


def over_continuum(
    kind: str, arms: Continuum, names: tuple[str, ...], args: tuple[Any, ...], keywords: Mapping[str, Any]
) -> Any:
    """The continuum's own problem, from the arguments of a constructor."""
    if len(args) > len(names):
        raise TypeError(f"{kind} takes {len(names)} positional arguments behind the arms, got {len(args)}")
    return arms.design_problem(kind, {**dict(zip(names, args)), **keywords})
