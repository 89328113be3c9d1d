from dataclasses import dataclass

import pytest

from convexdesign.cli import main


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys):
    """Run one command line in this process: cli("solve", path) -> exit code, standard output and error."""

    def run(*arguments: object) -> Result:
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


@pytest.fixture
def arms(tmp_path):
    """Three named arms in the plane, the intro of the paper."""
    path = tmp_path / "arms.csv"
    path.write_text("name,a,b\nleft,1,0\nup,0,1\ntilt,0.8775825618903728,0.479425538604203\n")
    return path


@pytest.fixture
def problem_file(tmp_path):
    """The same arms as an XY-allocation in a problem file; its value is 4 (certified independently)."""
    path = tmp_path / "soare.toml"
    path.write_text(
        'title = "three arms"\nkind = "xy-allocation"\narm_names = ["left", "up", "tilt"]\n'
        "arms = [[1.0, 0.0], [0.0, 1.0], [0.8775825618903728, 0.479425538604203]]\n"
    )
    return path
