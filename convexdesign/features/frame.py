"""A model matrix as a DataFrame that remembers how it was coded and from which settings. Imports pandas: import it late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas

if TYPE_CHECKING:
    from convexdesign.features.model import ModelSpec

__all__ = ["ModelMatrix"]


class ModelMatrix(pandas.DataFrame):
    """Arms (n, d) with the terms of a formula as columns; spec: how they were coded; settings: the table they were made of.

    Both stay with the rows when these are selected, and get lost where tables are joined.
    """

    _metadata = ["spec", "settings"]  # noqa: RUF012  (pandas reads it so)

    spec: ModelSpec | None = None
    settings: pandas.DataFrame | None = None

    @property
    def _constructor(self) -> Any:
        return ModelMatrix
