"""Problem files: every kind and option arrives in the problem; every mistake is named with its remedy."""

import tomllib

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.errors import InputError
from convexdesign.problemfile import KINDS, find, library, load_problem

ARMS = "arms = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]\n"

BY_KIND = {
    "minimax": "targets = [[1.0, -1.0]]",
    "g-optimal": "",
    "variance-g-optimal": "",
    "xy-allocation": "items = [[1.0, 0.0], [0.0, 2.0]]",
    "level-set-allocation": "",
    "best-arm-oracle": "theta = [1.0, 0.2]",
    "level-set-oracle": "theta = [1.0, 0.2]\nthreshold = 0.5",
    "c-optimal": "direction = [1.0, 2.0]",
    "d-optimal": "",
    "ds-optimal": "interest = [1]",
    "a-optimal": "",
    "i-optimal": "region = [[1.0, 1.0], [1.0, -1.0]]",
    "average-variance": "M = [[1.0, 0.0], [0.0, 2.0]]",
    "e-optimal": "",
    "phi2-optimal": "",
}


@pytest.fixture
def write(tmp_path):
    """Write a problem file of a kind: its usual fields, or other ones."""

    def run(kind="g-optimal", text=None, arms=ARMS, head='title = "A problem"\n'):
        path = tmp_path / "problem.toml"
        body = BY_KIND.get(kind, "") if text is None else text
        path.write_text(f'{head}kind = "{kind}"\n{arms}{body}\n', encoding="utf-8")
        return path

    return run


def test_every_kind_has_a_case_here():
    assert set(BY_KIND) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_builds_its_problem(write, kind):
    problem = load_problem(write(kind)).problem()
    assert isinstance(problem, cd.DesignProblem)
    assert problem.kind == kind
    assert problem.n_arms == 3


def test_fields_reach_the_constructor(write):
    """The file and the call state the same problem: same targets, same scaled arms."""
    path = write("best-arm-oracle", "theta = [1.0, 0.2]\nitems = [[1, 0], [0, 3]]\nnoise_variance = [1.0, 4.0, 0.25]")
    ours = load_problem(path).problem()
    theirs = cd.DesignProblem.best_arm_oracle(
        [[1, 0], [0, 1], [0.6, 0.8]], [[1, 0], [0, 3]], theta=[1.0, 0.2], noise_variance=[1.0, 4.0, 0.25]
    )
    np.testing.assert_array_equal(ours.arms.take(np.arange(3)), theirs.arms.take(np.arange(3)))
    every = np.arange(ours.targets.m)
    np.testing.assert_array_equal(ours.targets.take(every), theirs.targets.take(every))


def test_sigma_means_the_quadratic_variance(write):
    stated = load_problem(write(text="Sigma = [[2.0, 0.5], [0.5, 1.0]]"))
    np.testing.assert_allclose(stated.problem().noise_variance, [2.0, 1.0, 0.36 * 2 + 0.64 + 2 * 0.48 * 0.5])


def test_options_reach_the_constructor(write):
    text = (
        "costs = [1.0, 2.0, 3.0]\nexisting_counts = [4, 0, 2]\nn_new = 10\nmin_weight = 0.1\n"
        "max_weight = [0.5, 0.6, 0.7]\ninequalities = { G = [[1.0, -1.0, 0.0]], h = [0.2] }"
    )
    problem = load_problem(write(text=text)).problem()
    np.testing.assert_array_equal(problem.costs, [1, 2, 3])
    np.testing.assert_array_equal(problem.weight_set.lower, [0.1] * 3)
    np.testing.assert_array_equal(problem.weight_set.upper, [0.5, 0.6, 0.7])
    np.testing.assert_array_equal(problem.weight_set.G, [[1, -1, 0]])
    held = 4 * np.outer([1, 0], [1, 0]) + 2 * np.outer([0.6, 0.8], [0.6, 0.8])
    np.testing.assert_allclose(problem.prior, held / 10)


GROUPS = "arms = [[[1.0, 0.0], [0.0, 1.0]], [[2.0, 1.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 2.0]]]\n"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_takes_several_responses_or_says_why_not(write, kind):
    text = BY_KIND[kind] + ("\nitems = [[1.0, 0.0], [0.0, 2.0]]" if kind.endswith(("oracle", "set-allocation")) else "")
    stated = load_problem(write(kind, text=text + "\nnoise_variance = [[[1.0, 0.5], [0.5, 2.0]]]", arms=GROUPS))
    if kind == "variance-g-optimal":
        with pytest.raises(InputError, match=r"problem.toml: the arms have 2 responses each; phi"):
            stated.problem()
        return
    problem = stated.problem()
    assert (problem.n_arms, problem.arms.d, problem.responses) == (3, 2, 2)
    rows = problem.arms.take(np.arange(3)).reshape(3, 2, 2)
    np.testing.assert_allclose(
        rows[1].T @ rows[1], [[2, 1], [0, 1]] @ np.linalg.inv([[1, 0.5], [0.5, 2]]) @ [[2, 0], [1, 1]]
    )


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        ("2.0", np.full((3, 2), 2.0)),
        ("[1.0, 2.0, 3.0]", np.repeat([[1.0], [2.0], [3.0]], 2, axis=1)),
        ("[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]", [[1, 2], [3, 4], [5, 6]]),
        ("[[[1.0, 0.0], [0.0, 2.0]], [[3.0, 0.0], [0.0, 4.0]], [[5.0, 0.0], [0.0, 6.0]]]", [[1, 2], [3, 4], [5, 6]]),
        ('"noise.npy"', [[1, 2], [3, 4], [5, 6]]),
        ('"noise.csv"', np.repeat([[1.0], [2.0], [3.0]], 2, axis=1)),
    ],
)
def test_noise_of_several_responses(write, tmp_path, noise, expected):
    np.save(tmp_path / "noise.npy", np.arange(1.0, 7).reshape(3, 2))
    (tmp_path / "noise.csv").write_text("1\n2\n3\n")
    problem = load_problem(write("d-optimal", text=f"noise_variance = {noise}", arms=GROUPS)).problem()
    given = np.array(tomllib.loads(GROUPS)["arms"]).transpose(0, 2, 1)
    np.testing.assert_allclose(problem.arms.take(np.arange(3)).reshape(3, 2, 2), given / np.sqrt(expected)[:, :, None])


def test_arms_of_different_numbers_of_responses_and_from_npy(write, tmp_path):
    arms = "arms = [[[1.0, 0.0], [0.0, 1.0]], [[2.0], [1.0]]]\n"
    text = 'arm_names = ["both", "one"]\nnoise_variance = [[1.0, 2.0], [3.0]]'
    problem = load_problem(write("g-optimal", text=text, arms=arms)).problem()
    assert problem.targets.m == 3
    assert problem.targets.label(2) == "one, response 0"
    np.save(tmp_path / "arms.npy", np.arange(12.0).reshape(2, 3, 2))
    stored = load_problem(write("d-optimal", text="noise_variance = 2.0", arms='arms = "arms.npy"\n')).problem()
    np.testing.assert_allclose(stored.arms.take(np.array([1])) * np.sqrt(2), [[6, 8, 10], [7, 9, 11]])


def test_the_example_of_several_responses_loads(tmp_path):
    from library_index import page

    path = tmp_path / "example.toml"
    path.write_text(page().read_text(encoding="utf-8").split("```toml\n")[2].split("```")[0])
    assert load_problem(path).problem().responses == 2


def test_prior_information_and_unit_option(write):
    text = "prior_information = [[4.0, 1.0], [1.0, 2.0]]\nn_new = 2"
    np.testing.assert_allclose(load_problem(write(text=text)).problem().prior, [[2.0, 0.5], [0.5, 1.0]])


def test_matrices_and_vectors_from_files_beside(write, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "arms.csv").write_text("arm;a;b\nred;1,0;0,0\nblue;0,5;1,0\n")
    (tmp_path / "s2.csv").write_text("arm,variance\nblue,4.0\nred,1.0\n")
    np.save(tmp_path / "items.npy", np.array([[1.0, 1.0], [2.0, 0.0]]))
    path = write(
        "xy-allocation",
        arms='arms = { file = "data/arms.csv", decimal = "," }\n',
        text='items = "items.npy"\nnoise_variance = "s2.csv"',
    )
    problem = load_problem(path).problem()
    assert problem.arms.names == ("red", "blue")
    np.testing.assert_array_equal(problem.noise_variance, [1, 4])
    np.testing.assert_allclose(problem.arms.take(np.arange(2)), [[1, 0], [0.25, 0.5]])
    np.testing.assert_allclose(np.abs(problem.targets.take(np.array([1]))), [[1, 1]])


def test_bounds_in_a_file_bind_the_arms_listed(write, tmp_path):
    (tmp_path / "bounds.csv").write_text("1,0.25\n")
    problem = load_problem(write(text='max_weight = "bounds.csv"\nmin_weight = "bounds.csv"')).problem()
    np.testing.assert_array_equal(problem.weight_set.upper, [1, 0.25, 1])
    np.testing.assert_array_equal(problem.weight_set.lower, [0, 0.25, 0])


def test_sigma_is_kept_beside_the_variances(write):
    np.testing.assert_array_equal(
        load_problem(write(text="Sigma = [[2.0, 0.5], [0.5, 1.0]]")).Sigma, [[2, 0.5], [0.5, 1]]
    )
    assert load_problem(write()).Sigma is None


def test_names_of_arms_and_a_byte_order_mark(write, tmp_path):
    path = write(text='arm_names = ["a", "b", "c"]')
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_problem(path).problem().arm_name(2) == "c"


def test_interest_as_matrix(write):
    a = load_problem(write("ds-optimal", "interest = [1]")).problem()
    b = load_problem(write("ds-optimal", "interest = [[0.0], [1.0]]")).problem()
    np.testing.assert_array_equal(a.targets.take(np.arange(1)), b.targets.take(np.arange(1)))


def test_reference_is_kept(write):
    text = '[reference]\nvalue = 2\nprovenance = "closed-form"\nsource = "by hand"'
    reference = load_problem(write(text=text)).reference
    assert (reference.value, reference.tolerance, reference.provenance) == (2.0, 1e-6, "closed-form")


WRONG = {
    "unknown kind": ({"kind": "g-optmal"}, r"kind 'g-optmal' is unknown; did you mean 'g-optimal'\?"),
    "unknown field": ({"text": "noise_varience = 1.0"}, r"noise_varience is no field; did you mean 'noise_variance'"),
    "unknown field of reference": (
        {"text": '[reference]\nvalue = 1.0\nprovenance = "certified"\nsource = "x"\ntolerence = 0.1'},
        r"reference\.tolerence is no field; did you mean 'tolerance'",
    ),
    "unknown provenance": (
        {"text": '[reference]\nvalue = 1.0\nprovenance = "guess"\nsource = "x"'},
        "reference.provenance is 'guess'; it must be 'closed-form'",
    ),
    "reference without source": (
        {"text": '[reference]\nvalue = 1.0\nprovenance = "certified"'},
        "reference.source is missing",
    ),
    "reference weights": (
        {"text": '[reference]\nvalue = 1.0\nprovenance = "certified"\nsource = "x"\nweights = [1.0]'},
        "reference.weights has 1 entries; there are 3 arms",
    ),
    "no title": ({"head": ""}, "title is missing"),
    "no arms": ({"arms": ""}, "arms is missing; add it, for example arms ="),
    "no theta": ({"kind": "best-arm-oracle", "text": ""}, "theta is missing; kind 'best-arm-oracle' needs it"),
    "no threshold": ({"kind": "level-set-oracle", "text": "theta = [1.0, 0.0]"}, "threshold is missing"),
    "no targets": ({"kind": "minimax", "text": ""}, "targets is missing.*for example targets"),
    "no direction": ({"kind": "c-optimal", "text": ""}, "direction is missing"),
    "theta for G": ({"text": "theta = [1.0, 0.0]"}, "theta does not belong to kind 'g-optimal'.*remove it"),
    "threshold for the best arm": (
        {"kind": "best-arm-oracle", "text": "theta = [1.0, 0.0]\nthreshold = 0.5"},
        "threshold does not belong to kind 'best-arm-oracle', which takes items, item_names, theta|takes item",
    ),
    "theta too long": (
        {"kind": "best-arm-oracle", "text": "theta = [1.0, 0.0, 2.0]"},
        "theta has 3 entries; it needs 2",
    ),
    "ragged arms": ({"arms": "arms = [[1.0, 0.0], [1.0]]\n"}, r"arms: row \[1\] has 1 numbers and row \[0\] has 2"),
    "empty arms": ({"arms": "arms = []\n"}, "arms: there are no numbers"),
    "flat arms": ({"arms": "arms = [1.0, 2.0]\n"}, r"arms\[0\] is 1.0; write one list of numbers per row"),
    "text in arms": ({"arms": 'arms = [[1.0, "2"]]\n'}, r"arms\[0\]\[1\] is '2'; it must be a finite number"),
    "nan in arms": ({"arms": "arms = [[1.0, nan]]\n"}, r"arms\[0\]\[1\] is nan; it must be a finite number"),
    "items too wide": (
        {"kind": "xy-allocation", "text": "items = [[1.0, 2.0, 3.0]]"},
        "items has rows of 3 .* where 2",
    ),
    "targets too wide": ({"kind": "minimax", "text": "targets = [[1.0]]"}, "targets has rows of 1 numbers where 2"),
    "both noise forms": (
        {"text": "noise_variance = 1.0\nSigma = [[1.0, 0.0], [0.0, 1.0]]"},
        "noise_variance and Sigma are both given; keep one",
    ),
    "noise too short": ({"text": "noise_variance = [1.0, 2.0]"}, "noise_variance has 2 entries; it needs 3"),
    "noise negative": ({"text": "noise_variance = [1.0, -2.0, 1.0]"}, r"noise_variance\[1\] is -2"),
    "noise as text": ({"text": 'noise_variance = ["1", 2, 3]'}, r"noise_variance\[0\] is '1'; it must be a finite"),
    "Sigma shape": ({"text": "Sigma = [[1.0, 0.0]]"}, r"Sigma must be a square matrix \(2, 2\), got shape \(1, 2\)"),
    "Sigma width": ({"text": "Sigma = [[1.0]]"}, "Sigma has rows of 1 numbers where 2"),
    "Sigma skew": ({"text": "Sigma = [[1.0, 0.5], [0.4, 1.0]]"}, r"not symmetric: entry \[0\]\[1\] is 0.5"),
    "Sigma indefinite": ({"text": "Sigma = [[1.0, 2.0], [2.0, 1.0]]"}, "not positive semidefinite .*-1"),
    "Sigma without noise": ({"text": "Sigma = [[1.0, 0.0], [0.0, 0.0]]"}, r"arms\[1\] the variance 0; it must be"),
    "names too few": ({"text": 'arm_names = ["a"]'}, "arm_names has 1 entries; there are 3 rows"),
    "names twice": ({"text": 'arm_names = ["a", "b", "a"]'}, "arm_names holds 'a' twice"),
    "item names without items": (
        {"kind": "xy-allocation", "text": 'item_names = ["a", "b"]'},
        "item_names is given without items",
    ),
    "missing file": ({"arms": 'arms = "nowhere.csv"\n'}, "arms: .*nowhere.csv does not exist"),
    "unknown option of a file": (
        {"arms": 'arms = { file = "arms.csv", decimals = "," }\n'},
        "arms.decimals is no field; did you mean 'decimal'",
    ),
    "malformed": ({"text": "threshold = .5"}, r"not valid TOML: .*line 4.*digit before the point"),
    "tie": ({"kind": "best-arm-oracle", "text": "theta = [0.0, 0.0]"}, "no unique best item"),
    "interest": ({"kind": "ds-optimal", "text": "interest = [0.5]"}, r"interest\[0\] is 0.5; indices are whole"),
    "interest out of range": ({"kind": "ds-optimal", "text": "interest = [7]"}, "different indices between 0 and 1"),
    "interest empty": ({"kind": "ds-optimal", "text": "interest = []"}, "interest"),
    "counts without n_new": ({"text": "existing_counts = [1, 0, 0]"}, "n_new is missing"),
    "bound on weights": ({"text": "min_weight = 0.6"}, "min_weight"),
    "inequalities": ({"text": "inequalities = { G = [[1.0, 0.0]], h = [1.0] }"}, "inequalities.G has rows of 2"),
    "h": ({"text": "inequalities = { G = [[1.0, 0.0, 0.0]], h = [1.0, 2.0] }"}, "inequalities.h has 2 entries"),
    "ragged response": (
        {"arms": "arms = [[[1.0, 0.0], [0.0]], [[1.0, 0.0], [0.0, 1.0]]]\n"},
        r"arms\[0\]: row \[1\] has 1 numbers and row \[0\] has 2",
    ),
    "arms of unequal height": (
        {"arms": "arms = [[[1.0], [0.0]], [[1.0]]]\n"},
        r"arms: arms\[1\] has 1 rows and arms\[0\]",
    ),
    "text among responses": ({"arms": 'arms = [[[1.0, "2"]]]\n'}, r"arms\[0\]\[0\]\[1\] is '2'; it must be a finite"),
    "covariance of one response": (
        {"text": "noise_variance = [[1.0, 0.5], [0.5, 1.0]]"},
        "is a list of lists; arms with one",
    ),
    "covariances of several sizes": (
        {"arms": "arms = [[[1.0, 0.0]], [[0.0, 1.0]]]\n", "text": "noise_variance = [[1.0, 2.0], [1.0]]"},
        "noise_variance holds lists of different lengths",
    ),
    "covariance indefinite": (
        {"arms": "arms = [[[1.0, 0.0]]]\n", "text": "noise_variance = [[[1.0, 2.0], [2.0, 1.0]]]"},
        r"noise_variance\[0\] is not positive definite",
    ),
    "Sigma of several responses": (
        {"arms": "arms = [[[1.0, 0.0], [0.0, 1.0]]]\n", "text": "Sigma = [[1.0, 0.0], [0.0, 1.0]]"},
        "Sigma gives an arm x the variance .* give noise_variance",
    ),
    "several responses as items": (
        {"kind": "xy-allocation", "arms": "arms = [[[1.0, 0.0], [0.0, 1.0]]]\n", "text": ""},
        "have 2 responses each and are no items",
    ),
    "kind missing": ({"kind": '"\nkind2 = "'}, "kind"),
}


@pytest.mark.parametrize(("given", "words"), WRONG.values(), ids=WRONG.keys())
def test_mistakes_are_named_with_file_field_and_remedy(write, given, words):
    path = write(**given)
    with pytest.raises(InputError, match=words) as caught:
        load_problem(path).problem()
    assert str(path) in str(caught.value)


def test_no_file_folder_and_bytes(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        load_problem(tmp_path / "nothing.toml")
    with pytest.raises(InputError, match=r"folder|cannot be read"):
        load_problem(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe9"\n')
    with pytest.raises(InputError, match="not UTF-8"):
        load_problem(tmp_path / "latin.toml")


def test_several_mistakes_are_all_named(write):
    with pytest.raises(InputError) as caught:
        load_problem(write(head="", text="noise_varience = 1.0"))
    assert "title is missing" in str(caught.value)
    assert "noise_varience" in str(caught.value)


def test_library_finds_by_name_and_suggests():
    assert find("soare-xy") in library()
    assert find("soare-xy.toml") == find("soare-xy")
    with pytest.raises(InputError, match="did you mean soare-xy"):
        find("soare_xy")
    with pytest.raises(InputError, match="the problems are"):
        find("q")
