"""Signatures as they are written in the code: `ArrayLike`, not the page of types that it stands for."""

from __future__ import annotations

import inspect
import re
from typing import Any

UNPACKED = re.compile(r"Unpack\[(\w+)\]")


def as_written(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str, str] | None:
    """The signature and the return annotation as text; None keeps what Sphinx found."""
    if what not in ("class", "function", "method") or signature is None:
        return None
    function = getattr(obj, "__init__", None) if inspect.isclass(obj) else inspect.unwrap(obj)
    if inspect.isclass(obj) and not inspect.isfunction(function):
        return None
    try:
        written = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    parameters = list(written.parameters.values())
    if parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    shown = [p.replace(annotation=p.empty) if p.annotation is p.empty else p for p in parameters]
    text = str(written.replace(parameters=shown, return_annotation=inspect.Signature.empty))
    back = "" if inspect.isclass(obj) or written.return_annotation is inspect.Signature.empty else annotation(written)
    return unquoted(text, shown), UNPACKED.sub(r"\1", back)


def annotation(written: inspect.Signature) -> str:
    given = written.return_annotation
    return given if isinstance(given, str) else inspect.formatannotation(given)


def unquoted(text: str, parameters: list[inspect.Parameter]) -> str:
    """Annotations are strings (`from __future__ import annotations`), which inspect shows in quotes."""
    for p in parameters:
        if isinstance(p.annotation, str):
            text = text.replace(f"{p.name}: {p.annotation!r}", f"{p.name}: {p.annotation}")
    return UNPACKED.sub(r"\1", text)


def setup(app: Any) -> dict[str, Any]:
    app.connect("autodoc-process-signature", as_written)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
