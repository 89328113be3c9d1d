"""Pages written at build time: on disk only what changed, so that unchanged pages are not built again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["write_page", "write_pages"]


def write_page(path: Path, content: str | bytes) -> None:
    """Make the file exactly this."""
    data = content.encode() if isinstance(content, str) else content
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def write_pages(folder: Path, pages: Mapping[str, str | bytes]) -> None:
    """Make the files of the folder exactly these (name -> content)."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.is_file() and old.name not in pages:
            old.unlink()
    for name, content in pages.items():
        write_page(folder / name, content)
