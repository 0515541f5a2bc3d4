"""No file of the compiler is longer than one can keep in mind."""

from tileiras_build.pipeline.stages import PACKAGE

MOST_LINES = 450
FOLDERS = ("pipeline", "dialects", "layouts", "emulator")
# Those that are still longer, and how long at most. A file that has been split leaves the list; none joins it.
EXCEPTIONS = {
    "emulator/numerics.py": 632,
}


def long_files() -> dict[str, int]:
    """Lines of the files with more than MOST_LINES."""
    files = (path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py"))
    lines = {path.relative_to(PACKAGE).as_posix(): len(path.read_text().splitlines()) for path in files}
    return {name: count for name, count in lines.items() if count > MOST_LINES}


def test_no_file_is_too_long():
    assert {name: count for name, count in long_files().items() if count > EXCEPTIONS.get(name, MOST_LINES)} == {}


def test_exceptions_are_still_long():
    assert sorted(EXCEPTIONS.keys() - long_files().keys()) == []
