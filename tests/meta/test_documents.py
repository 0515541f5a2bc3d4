"""What the documents say of the tree is true: paths exist, tables are the ones that the code makes."""

import re
from pathlib import Path

import pytest

from tileiras_build.knobs import markdown
from tileiras_build.pipeline.stages import STAGES

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
PATH = re.compile(r"`((?:tileiras_build|tests|docs|examples|benchmarks|site_scons)/[\w./-]*)`")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_named_paths_exist(document):
    text = document.read_text()
    paths = [ROOT / name for name in PATH.findall(text)] + [document.parent / name for name in LINK.findall(text)]
    assert [str(path) for path in paths if not path.exists()] == []


def test_readme_has_the_commands_at_the_top():
    top = "\n".join((ROOT / "README.md").read_text().splitlines()[:20])
    assert "pip install -e '.[dev]' && scons -j2 sm=90,100" in top
    assert "pip install -e '.[dev]' && pytest -n auto" in top


def test_readme_shows_the_knobs():
    assert markdown() in (ROOT / "README.md").read_text()


def test_readme_shows_the_stages():
    text = (ROOT / "README.md").read_text()
    assert all(f"| `{stage.suffix}` | {stage.description} |" in text for stage in STAGES)
