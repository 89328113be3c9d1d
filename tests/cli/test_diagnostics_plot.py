"""Diagnostics drawn from the command line."""


def test_correlations_and_predictions_are_drawn(cli, arms, tmp_path):
    counts, picture = tmp_path / "n.csv", tmp_path / "d.png"
    counts.write_text("2\n2\n1\n1\n"[: 2 * (len(arms.read_text().splitlines()) - 1)])
    result = cli("verify", arms, "--problem", "d-optimal", "--counts", counts, "--diagnostics-plot", picture)
    assert result.code in (0, 3), result.err
    assert "variance inflation" in result.out
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
