"""Colours and line styles that stay apart for colour-blind readers and in grey print."""

__all__ = ["GREY", "INK", "LINE_STYLES", "MARKERS", "OKABE_ITO", "series_colour"]

# Okabe and Ito, "Color Universal Design" (2008); yellow is left out, it vanishes on white paper.
OKABE_ITO = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "vermillion": "#D55E00",
    "sky": "#56B4E9",
    "purple": "#CC79A7",
    "black": "#000000",
}
INK = "#222222"
GREY = "#8A8A8A"

# A second channel beside colour, so that lines can be told apart without it.
LINE_STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def series_colour(k: int) -> str:
    """The colour of the k-th series; colours repeat after the seventh."""
    colours = tuple(OKABE_ITO.values())
    return colours[k % len(colours)]
