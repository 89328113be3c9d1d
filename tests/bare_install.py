"""What the package does where no extra is installed; prints what it says of each, as JSON. Modules given are made unfindable.

`make bare` runs it in an environment of its own, after `pip install .`; the tests run it here with the extras' modules.
"""

import json
import sys

for name in sys.argv[1:]:
    sys.modules[name] = None  # type: ignore[assignment]

import pandas as pd  # noqa: E402  (after what is made unfindable)

import convexdesign as cd  # noqa: E402
from convexdesign.cli import main  # noqa: E402
from convexdesign.extras import EXTRAS, installed  # noqa: E402

problem = cd.DesignProblem.g_optimal([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
design = cd.solve(problem)
assert design.status.name == "CERTIFIED"
assert cd.verify(problem, design.weights).efficiency > 1 - 1e-6
assert design.round(10).total == 10
tries = {
    "plot": lambda: design.plot(),
    "figure": lambda: cd.plotting.new_axes(),
    "exact": lambda: design.round(7, "optimal"),
    "rigorous": lambda: cd.verify(problem, design.weights, rigorous=True),
    "formula": lambda: cd.features.model_matrix(pd.DataFrame({"a": [1.0, 2.0]}), "1 + a"),
    "nonlinear": lambda: cd.Model.nonlinear("p * exp(-q * x)", {"p": 1.0, "q": 1.0}).over(cd.Region.box(x=(0, 1))),
    "explore": lambda: cd.explore.Explorer(),
}
said = {}
# Some come with what the package requires: CVXPY brings highspy nowadays.
there = {extra.name for extra in EXTRAS if not sys.argv[1:] and installed(extra)}
for name, run in tries.items():
    try:
        run()
    except cd.MissingExtraError as error:
        said[name] = str(error)
assert main(["extras"]) == 0
assert main(["solve", "soare-xy", "--plot", "x.png"]) == 2
assert set(said) | there >= set(tries), sorted(set(tries) - set(said))
print(json.dumps(said))
