"""MathJax beside the pages: the parts that TeX to HTML needs, copied from a package, so that no page asks the network."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# The program, and what it loads when a formula calls for it.
PARTS = ("tex-chtml.js", "input/tex/extensions", "output/chtml/fonts/woff-v2")


def copy_mathjax(app: Any, exception: Exception | None) -> None:
    """Put MathJax into _static/mathjax, where `mathjax_path` in the settings points."""
    if exception is not None or app.builder.format != "html":
        return
    spec = find_spec("sphinx-mathjax-offline")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("the package sphinx-mathjax-offline is missing; install the extra: pip install '.[docs]'")
    source = Path(spec.submodule_search_locations[0]) / "static" / "mathjax"
    target = Path(app.outdir) / "_static" / "mathjax"
    for part in PARTS:
        if (target / part).exists():
            continue
        (target / part).parent.mkdir(parents=True, exist_ok=True)
        if (source / part).is_dir():
            shutil.copytree(source / part, target / part)
        else:
            shutil.copyfile(source / part, target / part)


def setup(app: Any) -> dict[str, Any]:
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
