"""What is uploaded: a source distribution that has everything, wheels that are made of it, and what an index says of them."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests import fresh_environment
from tests.compiled_once import once, shared_folder
from tileiras_build.core.version import __version__

ROOT = Path(__file__).resolve().parents[2]
BUILD = "from setuptools import build_meta; import sys; print(build_meta.build_sdist(sys.argv[1]))"
# The root has these for the repository's own sake.
NOT_SHIPPED = set[str]()


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    """The files of the repository."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("this is no checkout of git")
    done = subprocess.run(
        [git, "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def sdist(tracked) -> Path:
    return once(("sdist",), lambda: _sdist(tracked))


def _sdist(tracked: list[str]) -> Path:
    folder = shared_folder()
    for name in tracked:
        (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / "source" / name)
    fresh_environment.run([sys.executable, "-c", BUILD, folder], folder / "source")
    (made,) = folder.glob("*.tar.gz")
    return made


def test_the_source_distribution_has_every_file(sdist, tracked):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert sorted(set(tracked) - names - NOT_SHIPPED) == []


def test_the_wheel_made_of_it_is_that_of_the_checkout(sdist, tmp_path):
    pip = [*fresh_environment.PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path]
    fresh_environment.run([*pip, sdist], tmp_path)
    (made,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(made) as again, zipfile.ZipFile(fresh_environment.wheel()) as first:
        assert sorted(again.namelist()) == sorted(first.namelist())


def test_the_wheel_has_every_file_of_the_package(tracked):
    with zipfile.ZipFile(fresh_environment.wheel()) as wheel:
        names = wheel.namelist()
    assert sorted({name for name in tracked if name.startswith("tileiras_build/")} - set(names)) == []
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_an_index_takes_them(sdist):
    pytest.importorskip("twine", reason="no twine: pip install -e '.[dev]'")
    files = [sdist, fresh_environment.wheel(), fresh_environment.wheel("runtime_wheel")]
    said = fresh_environment.run([sys.executable, "-m", "twine", "check", "--strict", *files], sdist.parent)
    assert said.count("PASSED") == 3


@pytest.mark.parametrize("name", ["PYPI.md", "runtime_wheel/README.md"])
def test_the_page_on_an_index_has_no_link_into_the_repository(name):
    """An index shows the text alone."""
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / name).read_text())
    assert links and all(link.startswith("https://") for link in links)


def test_a_folder_of_wheels_stands_in_for_an_index(tmp_path):
    """What CONTRIBUTING.md says of a release; what the wheels need comes from elsewhere."""
    (folder := tmp_path / "dist").mkdir()
    for project in (".", "runtime_wheel"):
        shutil.copy(fresh_environment.wheel(project), folder)
    install = [
        *fresh_environment.PIP,
        "install",
        "--no-compile",
        "--no-index",
        "--no-deps",
        "--find-links",
        folder,
        "-t",
        tmp_path / "site",
    ]
    fresh_environment.run([*install, "tileiras-build", "tileiras-build-runtime"], tmp_path)
    assert {"tileiras_build", "tileiras_build_runtime"} <= {path.name for path in (tmp_path / "site").iterdir()}


def test_the_version_stands_once():
    projects = [tomllib.loads((ROOT / name).read_text()) for name in ("pyproject.toml", "runtime_wheel/pyproject.toml")]
    assert all(project["project"]["dynamic"] == ["version"] for project in projects)
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.search(
        rf"^## \[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert f"git tag -a v{__version__} " in (ROOT / "CONTRIBUTING.md").read_text()
