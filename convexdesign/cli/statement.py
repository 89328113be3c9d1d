"""What a command line says about its problem, as one value; and how a command takes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, signature
from typing import Any, get_type_hints

from convexdesign.cli.arguments import (
    Costs,
    Decimal,
    Delimiter,
    Direction,
    Encoding,
    ExistingCounts,
    Formula,
    Header,
    Interest,
    Items,
    Kind,
    Matrix,
    MaxWeight,
    MinWeight,
    Names,
    NewMeasurements,
    NoiseVariance,
    PriorInformation,
    Region,
    Source,
    Targets,
    Theta,
    Threshold,
)

__all__ = ["Statement", "states_problem"]


@dataclass(frozen=True)
class Statement:
    """A problem file or a table of arms, and the options that say what to do with a table; None where not given."""

    source: Source
    problem: Kind = None
    formula: Formula = None
    items: Items = None
    targets: Targets = None
    theta: Theta = None
    threshold: Threshold = None
    direction: Direction = None
    interest: Interest = None
    region: Region = None
    matrix: Matrix = None
    noise_variance: NoiseVariance = None
    costs: Costs = None
    min_weight: MinWeight = None
    max_weight: MaxWeight = None
    existing_counts: ExistingCounts = None
    prior_information: PriorInformation = None
    n_new: NewMeasurements = None
    delimiter: Delimiter = None
    decimal: Decimal = None
    header: Header = None
    names: Names = None
    encoding: Encoding = None


def states_problem(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take the arguments of `Statement` as one value, its first parameter.

    On the command line, and in --help, they come before the command's own options.
    """
    own = list(signature(command).parameters.values())[1:]
    stated = [field.name for field in fields(Statement)]
    hints = get_type_hints(Statement, include_extras=True) | get_type_hints(command, include_extras=True)

    @wraps(command)
    def run(**given: Any) -> None:
        statement = Statement(**{name: given.pop(name) for name in stated})
        command(statement, **given)

    # typer reads both; keyword-only, so that arguments without a default may come in any order.
    whole = [*signature(Statement).parameters.values(), *own]
    parameters = [p.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[p.name]) for p in whole]
    run.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    del run.__wrapped__  # type: ignore[attr-defined]
    return run
