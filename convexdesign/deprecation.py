"""Marks for public names that are not here to stay as they are: `deprecated` and `experimental`.

The policy is in CONTRIBUTING.md: a deprecated name works, with a DeprecationWarning that names its replacement, until the
release that its mark names; an experimental one may change in any release, and says so with an ExperimentalWarning.

>>> @deprecated(since="0.2", removed="0.4", instead="bound")
... def lower_bound() -> float:
...     "The old name."
...     return 1.0
>>> print(lower_bound.__doc__.splitlines()[-1].strip())
Deprecated since version 0.2, to be removed in 0.4: use bound.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import cleandoc, signature
from typing import Any, TypeVar, cast

from convexdesign.errors import ExperimentalWarning

__all__ = ["deprecated", "experimental", "once_positional", "renamed"]

Marked = TypeVar("Marked", bound=Callable[..., Any])


def deprecated(since: str, removed: str, instead: str) -> Callable[[Marked], Marked]:
    """For a function, method or class (below @property, @classmethod): each use warns where it is called.

    since, removed: the versions that first warn and that no longer have the name; instead: what to write, in words.
    """
    note = f"Deprecated since version {since}, to be removed in {removed}: use {instead}."
    return _mark(
        note, f"is deprecated since version {since} and will be removed in {removed}: use {instead}", DeprecationWarning
    )


def once_positional(since: str, removed: str) -> Callable[[Marked], Marked]:
    """For a function whose keyword-only options could be given by position, in the order in which they are listed."""

    def mark(function: Marked) -> Marked:
        listed = signature(function).parameters.values()
        first = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in listed)
        options = [p.name for p in listed if p.kind is p.KEYWORD_ONLY]

        @wraps(function)
        def accepting(*args: Any, **kwargs: Any) -> Any:
            if len(args) <= first or len(args) > first + len(options):
                return function(*args, **kwargs)
            named = dict(zip(options, args[first:]))
            example = ", ".join(f"{name}=..." for name in named)
            message = f"options of {function.__qualname__} by position are deprecated since version {since}"
            warnings.warn(f"{message} and end in {removed}: write {example}", DeprecationWarning, stacklevel=2)
            for name in named.keys() & kwargs.keys():
                raise TypeError(f"{function.__qualname__}() got multiple values for argument {name!r}")
            return function(*args[:first], **named, **kwargs)

        return cast(Marked, accepting)

    return mark


def renamed(module: str, names: Mapping[str, Any], *, since: str, removed: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module: old names of what it exports give the same thing under its new name, and warn."""

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        new = names[name]
        message = f"{name} is deprecated since version {since} and will be removed in {removed}: use {new.__name__}"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return new

    return find


def experimental(since: str) -> Callable[[Marked], Marked]:
    """For a function, method or class (below @property, @classmethod) that is new in a version: its form may change."""
    note = f"Experimental since version {since}: its form may change in any release, without deprecation."
    return _mark(
        note, f"is experimental since version {since}: its form may change in any release", ExperimentalWarning
    )


def _mark(note: str, message: str, category: type[Warning]) -> Callable[[Marked], Marked]:
    def mark(marked: Marked) -> Marked:
        called: Any = marked.__init__ if isinstance(marked, type) else marked  # type: ignore[misc]

        @wraps(called)
        def warning(*args: Any, **kwargs: Any) -> Any:
            warnings.warn(f"{marked.__qualname__} {message}", category, stacklevel=2)
            return called(*args, **kwargs)

        target: Any = marked if isinstance(marked, type) else warning
        target.__doc__ = f"{cleandoc(marked.__doc__ or '')}\n\n{note}\n"
        if isinstance(marked, type):
            target.__init__ = warning
        return target  # type: ignore[no-any-return]

    return mark
