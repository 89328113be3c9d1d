"""The problem library: TOML files shipped inside the wheel, or in problems/ of a source checkout."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from convexdesign.arguments import shown, text_of
from convexdesign.errors import ConvexDesignError, InputError

__all__ = ["find", "folder", "library"]


def folder() -> Path:
    """Where the library lies: convexdesign/library when installed, problems/ in the repository."""
    package = Path(__file__).resolve().parents[1]
    for candidate in (package / "library", package.parent / "problems"):
        if next(candidate.glob("*.toml"), None) is not None:
            return candidate
    raise ConvexDesignError(f"the problem library is missing from {package}; reinstall the package")


def library() -> tuple[Path, ...]:
    """The paths of all problem files of the library, by name.

    Returns
    -------
    tuple of pathlib.Path
        In the order of their names.

    Examples
    --------
    >>> "soare-xy" in [path.stem for path in library()]
    True
    """
    return tuple(sorted(folder().glob("*.toml"), key=lambda path: path.stem))


def find(name: str) -> Path:
    """The path of one problem of the library.

    Parameters
    ----------
    name : str
        The file's name, without .toml.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    InputError
        With the closest names, if there is none.

    Examples
    --------
    >>> find("soare-xy").name
    'soare-xy.toml'
    """
    wanted = text_of(name, "name").removesuffix(".toml")
    paths = {path.stem: path for path in library()}
    if wanted not in paths:
        close = get_close_matches(wanted, paths, n=3, cutoff=0.4)
        hint = f"did you mean {', '.join(close)}?" if close else f"the problems are {', '.join(paths)}"
        raise InputError(f"the library has no problem {shown(name)}; {hint}")
    return paths[wanted]
