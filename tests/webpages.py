"""What is wrong with a folder of web pages: broken links, pictures without words, things fetched from elsewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["Page", "faults", "read_pages"]

# Tags whose target the browser fetches by itself, and the attribute that names it.
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}
ELSEWHERE = re.compile(r"(?:https?:)?//")
IN_STYLES = re.compile(r"""(?:@import|url\()\s*["']?((?:https?:)?//[^"')\s]+)""")


@dataclass
class Page(HTMLParser):
    """One page: the anchors it has, what it links to, what it loads, its pictures without words."""

    path: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    speechless: list[str] = field(default_factory=list)
    tracebacks: int = 0

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        fetched = given.get(FETCHED.get(tag, ""), "")
        if fetched and given.get("rel") not in ("canonical", "next", "prev", "index", "search", "author"):
            self.loads.append(fetched)
        if tag == "img" and not given.get("alt", "").strip():
            self.speechless.append(given.get("src", "?"))
        if "traceback" in given.get("class", "").split():
            self.tracebacks += 1


def read_pages(folder: Path) -> dict[Path, Page]:
    """Every page below the folder, by resolved path."""
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        if "_static" in path.relative_to(folder).parts:
            continue  # templates of the theme, which nobody reads
        page = Page(path.resolve())
        page.feed(path.read_text(encoding="utf-8"))
        pages[path.resolve()] = page
    return pages


def faults(folder: Path) -> list[str]:
    """One line per fault: page, what is wrong, and with what."""
    pages = read_pages(folder)
    out = []
    for page in pages.values():
        name = page.path.relative_to(folder.resolve())
        out += [f"{name}: picture without words: {picture}" for picture in page.speechless]
        out += [f"{name}: broken link: {link}" for link in page.links if is_broken(page, link, pages)]
        out += [f"{name}: fetched from elsewhere: {load}" for load in page.loads if ELSEWHERE.match(load)]
        out += [f"{name}: missing file: {load}" for load in page.loads if is_broken(page, load, pages)]
        if page.tracebacks:
            out.append(f"{name}: {page.tracebacks} cells show an error")
    for style in sorted(folder.rglob("*.css")):
        for address in IN_STYLES.findall(style.read_text(encoding="utf-8", errors="replace")):
            out.append(f"{style.relative_to(folder)}: fetched from elsewhere: {address}")
    return out


def is_broken(page: Page, link: str, pages: dict[Path, Page]) -> bool:
    """Whether a link to this site leads nowhere; links to others are not followed."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return False
    target = page.path if not parts.path else (page.path.parent / unquote(parts.path)).resolve()
    if target.is_dir():
        target = target / "index.html"
    if not target.exists():
        return True
    fragment = unquote(parts.fragment)
    return bool(fragment) and target in pages and fragment not in pages[target].anchors
