"""The documentation site is built, every link of it leads somewhere, and every page can be reached."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.compiled_once import once, shared_folder
from tests.reports.test_html_report import chromium

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ("material", "mkdocstrings"))), reason="no mkdocs-material: pip install -e '.[docs]'"
)


def build(settings: Path) -> subprocess.CompletedProcess:
    """``mkdocs build --strict`` into the folder ``site`` beside ``settings``."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", settings, "-d", settings.parent / "site"]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def settings_for(docs: Path, folder: Path) -> Path:
    """The site's settings, for documents in ``docs``."""
    lines = [f"INHERIT: {ROOT / 'mkdocs.yml'}", f"docs_dir: {docs}", f"hooks: ['{ROOT / 'tools/docs_site_pages.py'}']"]
    (folder / "mkdocs.yml").write_text("\n".join(lines))
    return folder / "mkdocs.yml"


def built() -> Path:
    folder = shared_folder()
    done = build(settings_for(ROOT / "docs", folder))
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def site() -> Path:
    return once(("site",), built)


class Links(HTMLParser):
    """Where a page leads, and the places in it that others may lead to."""

    def __init__(self, text: str):
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}
        self.targets += [given[name] for name in ("href", "src") if given.get(name)]


def test_every_link_leads_somewhere(site):
    pages = {path: Links(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(pages) > 20
    missing = []
    for path, page in pages.items():
        for target in page.targets:
            if re.match(r"[a-z]+:|//", target):
                continue
            file, _, place = target.partition("#")
            leads_to = (path.parent / file).resolve() if file else path
            if not leads_to.exists() or leads_to in pages and place not in pages[leads_to].places:
                missing.append(f"{path.name}: {target}")
    assert missing == []


def test_nothing_is_fetched_when_a_page_is_opened(site):
    """Styles, fonts, scripts and pictures lie in the site."""
    fetched = re.compile(
        r'<(?:link rel="(?:stylesheet|preconnect|icon)"[^>]*href|script[^>]*src|img[^>]*src)="?(https?:[^" >]+)'
    )
    assert [found for path in site.rglob("*.html") for found in fetched.findall(path.read_text())] == []


def test_every_document_is_in_the_menu():
    from mkdocs.config import load_config

    pages = re.findall(r"[\w-]+\.md", str(load_config(str(ROOT / "mkdocs.yml"))["nav"]))
    written = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert written - set(pages) == set()


@pytest.fixture(scope="module")
def page():
    """A window of 1,600 by 900 pixels."""
    with chromium() as browser:
        yield browser.new_page(viewport={"width": 1600, "height": 900})


def test_pages_are_not_too_long(site, page):
    heights = {}
    for path in site.glob("*.html"):
        page.goto(path.as_uri())
        heights[path.name] = page.evaluate("document.documentElement.scrollHeight")
    assert {name: height for name, height in heights.items() if height > 36_000} == {}


def test_pages_of_a_folder_can_be_searched(site, page):
    page.goto((site / "index.html").as_uri())
    page.locator("input.md-search__input").click()
    page.keyboard.type("warp specialization")
    found = page.locator(".md-search-result__link").first
    found.wait_for(timeout=20_000)
    assert "architecture.html" in found.get_attribute("href")


def test_evidence_stands_on_pages_of_its_own():
    """Guides have no dates: a date is when something was measured."""
    from mkdocs.config import load_config

    (guides,) = [part["Guides"] for part in load_config(str(ROOT / "mkdocs.yml"))["nav"] if "Guides" in part]
    pages = [page for row in guides for page in row.values()]
    dated = {page: re.findall(r"\b20\d\d-\d\d-\d\d\b", (ROOT / "docs" / page).read_text()) for page in pages}
    assert {page: dates for page, dates in dated.items() if dates} == {}


def test_the_reference_has_what_docstrings_say(site):
    text = (site / "build-reference.html").read_text()
    assert "A package of kernels: a mapping from names to" in text and "Compile Tile IR bytecode for one GPU" in text


def test_a_link_that_leads_nowhere_fails(tmp_path):
    (tmp_path / "docs").mkdir()
    for path in (ROOT / "docs").glob("*.md"):
        (tmp_path / "docs" / path.name).write_text("# Empty\n")
    (tmp_path / "docs/sources.md").write_text("[there](where.md)\n")
    done = build(settings_for(tmp_path / "docs", tmp_path))
    assert done.returncode == 1 and "'sources.md' contains a link 'where.md'" in done.stderr
