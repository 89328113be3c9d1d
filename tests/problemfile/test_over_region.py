"""Problem files over regions: what they state is what Python states, and what is wrong is said with file and field."""

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.problemfile import load_problem

D = cd.DesignProblem
HEAD = 'title = "t"\nkind = "{kind}"\n'
BOX = "[region]\nbox = { x = [-1, 1] }\n"
LOGIT = '[model]\nformula = "1 + x"\nlink = "logit"\n'
LINE = '[model]\nformula = "1 + x"\n'


def write(tmp_path, kind, text):
    path = tmp_path / "problem.toml"
    path.write_text(HEAD.format(kind=kind) + text)
    return path


REGIONS = {
    "box": ("box = { x = [0, 2], y = [-1, 1] }", cd.Region.box(x=(0, 2), y=(-1, 1))),
    "ball": ('ball = { centre = ["x", "y"], radius = 2.0 }', cd.Region.ball(["x", "y"], 2)),
    "where": (
        'box = { x = [0, 2], y = [-1, 1] }\nwhere = ["x + y <= 1"]',
        cd.Region.box(x=(0, 2), y=(-1, 1)) & cd.Region.where("x + y <= 1"),
    ),
    "levels": (
        "box = { x = [0, 1] }\nlevels = { y = [-1, 0, 1] }",
        cd.Region.levels(y=[-1, 0, 1]) * cd.Region.box(x=(0, 1)),
    ),
    "simplex": (
        'simplex = { names = ["x", "y", "z"], upper = { y = 0.5 } }',
        cd.Region.simplex(["x", "y", "z"], upper={"y": 0.5}),
    ),
    "polytope": (
        'polytope = { A = [[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]], b = [0.0, 0.0, 1.0], names = ["x", "y"] }',
        cd.Region.polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1], names=["x", "y"]),
    ),
}


@pytest.mark.parametrize("name", list(REGIONS))
def test_regions(name, tmp_path):
    text, region = REGIONS[name]
    path = write(tmp_path, "d-optimal", f'[model]\nformula = "1 + x + y"\n[region]\n{text}\n')
    assert load_problem(path).problem().region == region


def test_every_field_reaches_the_constructor(tmp_path):
    curve = cd.Model.formula("1 + x + x**2").over(cd.Region.box(x=(-1, 1)))
    model = '[model]\nformula = "1 + x + x**2"\n' + BOX
    stated = {
        "a-optimal": (
            'noise_variance = "1 + x**2"\ncosts = "2 + x"\n',
            D.a_optimal(curve, noise_variance="1 + x**2", costs="2 + x"),
        ),
        "c-optimal": ('direction = "x**2"\n', D.c_optimal(curve, {"x**2": 1})),
        "ds-optimal": ('interest = ["x"]\n', D.ds_optimal(curve, ["x"])),
        "minimax": ("targets = { x = [0.0, 2.0] }\n", D(curve, {"x": [0.0, 2.0]})),
        "i-optimal": ("[average_over]\nbox = { x = [0, 1] }\n", D.i_optimal(curve, cd.Region.box(x=(0, 1)))),
        "average-variance": (
            "M = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]]\n",
            D.average_variance(curve, np.diag([1.0, 1.0, 2.0])),
        ),
        "d-optimal": (
            "existing_runs = { x = [-1.0, 0.0] }\nn_new = 4\n",
            D.d_optimal(curve, existing_runs={"x": [-1.0, 0.0]}, n_new=4),
        ),
    }
    for kind, (text, problem) in stated.items():
        head, _, table = text.partition("[average_over]")
        read = load_problem(write(tmp_path, kind, head + model + ("[average_over]" + table if table else ""))).problem()
        assert read.kind == problem.kind
        assert {name: np.asarray(v).tolist() for name, v in read.fields.items()} == {
            name: np.asarray(v).tolist() for name, v in problem.fields.items()
        }
        assert (read.noise, read.cost, read.n_new) == (problem.noise, problem.cost, problem.n_new)
        assert np.array_equal(read.prior, problem.prior) or read.prior is problem.prior


def test_models_that_are_not_linear(tmp_path):
    glm = write(tmp_path, "d-optimal", '[model]\nformula = "1 + x"\nlink = "logit"\ntheta = [0.0, 1.0]\n' + BOX)
    assert load_problem(glm).problem().curve.model == cd.Model.glm("1 + x", [0, 1], "logit")
    mean = write(tmp_path, "d-optimal", '[model]\nnonlinear = "a*x/(k + x)"\ntheta = { a = 1.0, k = 2.0 }\n' + BOX)
    assert load_problem(mean).arms.model == cd.Model.nonlinear("a*x/(k + x)", {"a": 1, "k": 2})


def test_several_values_of_the_parameters(tmp_path):
    head, tail = '[model]\nformula = "1 + x"\nlink = "logit"\n', "weights = [1, 3]\n" + BOX
    (tmp_path / "prior.csv").write_text("weight,x,Intercept\n1,1,0\n3,2,-1\n")
    (tmp_path / "table.csv").write_text("x,Intercept\n1,0\n2,-1\n")
    expected = cd.Model.glm("1 + x", [0, 1], "logit").at([[0, 1], [-1, 2]], [0.25, 0.75])
    forms = ("[[0, 1], [-1, 2]]\n" + tail, '"table.csv"\n' + tail, "{ x = [1, 2], 1 = [0, -1] }\n" + tail)
    for thetas in (*forms, '"prior.csv"\n' + BOX):
        file = load_problem(write(tmp_path, "d-optimal", 'over = "lowest"\n' + head + "thetas = " + thetas))
        assert file.arms.model == expected
        assert repr(file.problem()).startswith("RegionCompoundProblem(lowest of 2")
    mean = '[model]\nnonlinear = "a*x/(k + x)"\nthetas = { k = [1, 2], a = [1, 1] }\n' + BOX.replace("-1", "0")
    model = load_problem(write(tmp_path, "d-optimal", mean)).arms.model
    assert [dict(zip(m.names, m.theta)) for m in model.models] == [{"k": 1, "a": 1}, {"k": 2, "a": 1}]


def test_settings_may_stand_in_a_file_beside_it(tmp_path):
    (tmp_path / "wanted.csv").write_text("x\n0.5\n2\n")
    path = write(tmp_path, "minimax", 'targets = "wanted.csv"\n' + LINE + BOX)
    np.testing.assert_array_equal(load_problem(path).problem().fields["targets"], [[1, 0.5], [1, 2]])


WRONG = [
    ("d-optimal", LINE, "region is missing"),
    ("d-optimal", LINE + "[region]\n", "no shape"),
    ("d-optimal", LINE + "[region]\nbox = { x = [1, 0] }\n", "region: the limits of x"),
    ("d-optimal", LINE + "[region]\nbox = { x = [0, 1] }\nwhere = 'x >= 2'\n", "region: "),
    ("d-optimal", LINE + "[region]\nboxes = { x = [0, 1] }\n", "did you mean 'box'"),
    ("d-optimal", '[model]\nformula = "1 + z"\n' + BOX, "model: .*z"),
    ("d-optimal", "[model]\n" + BOX, "exactly one of formula and nonlinear"),
    ("d-optimal", '[model]\nformula = "1 + x"\ntheta = [1.0, 2.0]\n' + BOX, "belong to a link"),
    ("d-optimal", '[model]\nformula = "1 + x"\nlink = "logit"\n' + BOX, "needs theta"),
    ("d-optimal", '[model]\nnonlinear = "a*x"\n' + BOX, "nonlinear needs theta"),
    ("c-optimal", LINE + BOX, "direction is missing"),
    ("d-optimal", 'direction = "x"\n' + LINE + BOX, "does not belong to kind"),
    ("d-optimal", "max_weight = 0.5\n" + LINE + BOX, "max_weight is no field"),
    ("best-arm-oracle", LINE + BOX, "theta|no meaning"),
    ("d-optimal", 'noise_variance = "x"\n' + LINE + BOX, "must be positive everywhere"),
    ("nonsense", LINE + BOX, "is unknown"),
    ("d-optimal", 'over = "worst"\n' + LINE + BOX, "give model.thetas too"),
    ("d-optimal", LINE + "thetas = [[1, 2]]\n" + BOX, 'give link = "logit"'),
    ("d-optimal", LINE + "weights = [1]\n" + BOX, "weights belong to thetas"),
    ("d-optimal", LOGIT + "theta = [1, 2]\nthetas = [[1, 2]]\n" + BOX, "not both"),
    ("d-optimal", LOGIT + "thetas = { x = [1, 2] }\n" + BOX, "one for each term: Intercept, x"),
    ("d-optimal", LOGIT + "thetas = { x = [1, 2], 1 = [0] }\n" + BOX, "different lengths"),
    ("d-optimal", LOGIT + "thetas = []\n" + BOX, "no rows"),
    ("d-optimal", 'over = "mean"\n' + LOGIT + "thetas = [[0, 1]]\n" + BOX, "choose one of average"),
]


@pytest.mark.parametrize(("kind", "text", "message"), WRONG)
def test_what_is_wrong_is_said(kind, text, message, tmp_path):
    path = write(tmp_path, kind, text)
    with pytest.raises(cd.InputError, match=message) as raised:
        load_problem(path).problem()
    assert str(path) in str(raised.value)
