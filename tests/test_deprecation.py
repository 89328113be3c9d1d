"""Marks of deprecated and experimental names: what they warn of, where, and what stays as it was."""

from __future__ import annotations

import inspect
import warnings
from functools import partial

import pytest

import convexdesign as cd
from convexdesign.deprecation import deprecated, experimental, once_positional
from convexdesign.errors import ExperimentalWarning

old = deprecated(since="0.2", removed="0.4", instead="new(x)")
young = experimental(since="0.3")


@old
def double(x: int, *, times: int = 2) -> int:
    """x times two."""
    return x * times


class Holder:
    """Holds a number."""

    def __init__(self, number: int = 3):
        self.number = number

    @property
    @old
    def value(self) -> int:
        """The number."""
        return self.number

    @classmethod
    @young
    def make(cls, number: int) -> Holder:
        """A holder of the number."""
        return cls(number)


@young
class Young(Holder):
    """A young class."""


def warned(category, use):
    """The result, and the one warning, which must point at the caller's line in this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = use()
    (warning,) = caught
    assert warning.category is category
    assert warning.filename == __file__
    return result, str(warning.message)


def test_a_deprecated_function_works_and_names_version_and_replacement():
    result, message = warned(DeprecationWarning, lambda: double(4, times=3))
    assert result == 12
    assert message == "double is deprecated since version 0.2 and will be removed in 0.4: use new(x)"


def test_properties_and_class_methods_can_be_marked():
    holder = Holder(5)
    result, message = warned(DeprecationWarning, lambda: holder.value)
    assert result == 5
    assert message.startswith("Holder.value is deprecated")
    made, message = warned(ExperimentalWarning, lambda: Holder.make(7))
    assert made.number == 7
    assert message == "Holder.make is experimental since version 0.3: its form may change in any release"


def test_a_marked_class_stays_a_class():
    made, message = warned(ExperimentalWarning, lambda: Young(number=2))
    assert isinstance(made, Young)
    assert made.number == 2
    assert message.startswith("Young is experimental")
    Holder()  # the class below it is not marked


def test_signature_and_documentation_stay_and_the_mark_is_added():
    assert str(inspect.signature(double)) == "(x: 'int', *, times: 'int' = 2) -> 'int'"
    assert list(inspect.signature(Young).parameters) == ["number"]
    assert double.__name__ == "double"
    assert double.__doc__.splitlines()[0] == "x times two."
    assert double.__doc__.rstrip().endswith("Deprecated since version 0.2, to be removed in 0.4: use new(x).")
    assert Young.__doc__.startswith("A young class.")
    assert Young.__doc__.rstrip().endswith(
        "Experimental since version 0.3: its form may change in any release, without deprecation."
    )


def test_an_error_of_what_is_marked_is_its_own():
    with pytest.raises(TypeError, match="unexpected keyword"), pytest.warns(DeprecationWarning, match="double"):
        double(1, size=2)


@once_positional(since="0.2", removed="0.4")
def scaled(x: int, *, times: int = 1, plus: int = 0) -> int:
    return x * times + plus


def test_options_by_position_work_once_more_and_say_what_to_write():
    result, message = warned(DeprecationWarning, lambda: scaled(2, 3, plus=1))
    assert result == 7
    assert message == "options of scaled by position are deprecated since version 0.2 and end in 0.4: write times=..."
    assert warned(DeprecationWarning, lambda: scaled(2, 3, 4))[0] == 10
    assert scaled(2, times=3) == 6


def test_what_never_worked_by_position_is_a_type_error_still():
    with pytest.raises(TypeError, match="takes"):
        scaled(1, 2, 3, 4)
    with (
        pytest.raises(TypeError, match="multiple values for argument 'times'"),
        pytest.warns(DeprecationWarning, match="position"),
    ):
        scaled(1, 2, times=3)


def test_the_options_of_the_main_functions():
    problem = cd.DesignProblem.g_optimal([[1.0, 0.0], [0.0, 1.0]])
    design, message = warned(DeprecationWarning, lambda: cd.solve(problem, "conic", 1e-5))
    assert (design.stats.method, design.tol) == ("conic", 1e-5)
    assert message.endswith("write method=..., tol=...")
    verified, _ = warned(DeprecationWarning, lambda: cd.verify(problem, None, [1, 1]))
    assert verified.is_optimal()
    table, _ = warned(DeprecationWarning, lambda: cd.efficiencies([[1.0, 0.0], [0.0, 1.0]], None, [1, 1]))
    assert table.loc["D", "efficiency"] > 1 - 1e-6
    with pytest.warns(cd.ConvergenceWarning) as caught:
        cd.solve(cd.DesignProblem.g_optimal([[1, 0], [0, 1], [1, 2]]), method="multiplicative", max_iter=1, tol=1e-9)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("package", ["experiment", "identification", "rounding"])
def test_old_names_of_a_package_give_what_has_the_new_name(package):
    module = getattr(cd, package)
    for name, new in module.RENAMED.items():
        assert name not in module.__all__
        found, message = warned(DeprecationWarning, partial(getattr, module, name))
        assert found is new
        assert message.endswith(f"use {new.__name__}")
    with pytest.raises(AttributeError, match="no attribute 'never'"):
        _ = module.never


def test_a_certificate_has_its_dual_certificate_by_the_old_name():
    certificate = cd.solve(cd.DesignProblem.c_optimal([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0])).certificate
    found, message = warned(DeprecationWarning, lambda: certificate.witness)
    assert found is certificate.dual
    assert message.endswith("use dual")
