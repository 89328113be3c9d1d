import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def no_windows(monkeypatch):
    """Drawing must never show anything; figures made by a test are closed after it."""
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    def shown(*args, **kwargs):
        raise AssertionError("a plotting function called show()")

    monkeypatch.setattr(pyplot, "show", shown)
    monkeypatch.setattr(Figure, "show", shown)
    yield
    pyplot.close("all")
