"""Pages of the documentation site from the repository's root, and links to files outside of the site.

mkdocs calls the functions (``hooks`` in mkdocs.yml). README.md and its neighbours become pages. A link to a file that is on no
page, such as a test or an example, becomes the file's name: the site knows no address of the repository, and needs none.
"""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
# Files of the root -> pages.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
# Code, which is left as it is, or a link to a file: what begins first is it.
_LINK = re.compile(
    r"^```.*?^```|`[^`\n]+`|\[(?P<words>[^\[\]]+)\]\((?!https?:|#)(?P<target>[^)\s#]+)(?P<place>#[^)\s]*)?\)",
    re.MULTILINE | re.DOTALL,
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root."""
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text()))
    return files


def on_post_build(config: MkDocsConfig) -> None:
    """Write the index of the search as a script, too, for pages that are opened from a folder (docs/file_search.js)."""
    folder = Path(config.site_dir, "search")
    (folder / "search_index.js").write_text(f"var __index = {(folder / 'search_index.json').read_text()}")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with links for the site."""
    origins = {page: name for name, page in PAGES.items()}
    name = page.file.src_uri
    origin = origins.get(name, f"docs/{name}")
    return _LINK.sub(lambda found: found[0] if found["target"] is None else _link(found, origin, name), markdown)


def _link(found: re.Match[str], origin: str, page: str) -> str:
    """A link in the repository's file ``origin``, for the site's page."""
    words, target, place = found["words"], found["target"], found["place"] or ""
    path = normpath(f"{Path(origin).parent.as_posix()}/{target}")
    inside = PAGES.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
    if inside is not None:
        return f"[{words}]({relpath(inside, Path(page).parent.as_posix())}{place})"
    if not (ROOT / path).exists():
        return found[0]  # mkdocs says that it leads nowhere
    return words if path in words else f"{words} (`{path}`)"
