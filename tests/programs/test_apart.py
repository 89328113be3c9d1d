"""Solvers in a process of their own."""


def test_a_task_larger_than_a_pipe_reaches_a_process_that_starts_slowly(monkeypatch):
    """The first wait ends before the other process has read anything; the rest of the task still arrives."""
    import numpy as np
    from scipy import sparse

    from convexdesign.programs import apart

    monkeypatch.setattr(apart, "SECONDS_BETWEEN", 1e-3)
    n = 40_000
    task = {
        "backend": "clarabel",
        "P": sparse.csc_matrix((n, n)),
        "q": np.ones(n),
        "A": sparse.csc_matrix(-sparse.eye(n)),
        "b": np.zeros(n),
        "cones": [("NonnegativeConeT", (n,))],
        "settings": {"verbose": False},
    }
    found = apart.run_apart(task, None)
    assert np.abs(found.x).max() < 1e-6
