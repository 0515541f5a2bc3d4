"""No file of the compiler is longer than one can keep in mind."""

from tileiras_build.pipeline.stages import PACKAGE

MOST_LINES = 450
FOLDERS = ("pipeline", "dialects", "layouts", "emulator")


def test_no_file_is_too_long():
    files = (path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py"))
    lines = {path.relative_to(PACKAGE).as_posix(): len(path.read_text().splitlines()) for path in files}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}
