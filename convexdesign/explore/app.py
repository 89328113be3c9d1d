"""The page that `convexdesign explore` serves: a heading, and the explorer on whatever the address asks for."""

# /// script
# [tool.marimo.display]
# theme = "system"
# ///

from typing import Any

import marimo

app = marimo.App(width="full", app_title="convexdesign explorer")


@app.cell
def _() -> Any:
    import marimo as mo

    from convexdesign.explore.widget import Explorer

    return Explorer, mo


@app.cell
def _(Explorer: Any, mo: Any) -> Any:
    from urllib.parse import urlencode

    asked = mo.query_params().to_dict()
    explorer = mo.ui.anywidget(Explorer(urlencode(asked, doseq=True), linked=True))
    mo.vstack([mo.md("# Designs in the plane"), explorer])
    return


if __name__ == "__main__":
    app.run()
