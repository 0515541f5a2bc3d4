"""No module is longer than one can keep in mind."""

from tileiras_build.pipeline.stages import PACKAGE

MAX_LINES = 450
# Modules that are still longer, with their lines at most; a row goes when its module is split.
LONGER: dict[str, int] = {}


def test_no_module_is_too_long():
    lines = {path.relative_to(PACKAGE).as_posix(): len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py")}
    assert {name: count for name, count in lines.items() if count > LONGER.get(name, MAX_LINES)} == {}


def test_rows_are_needed():
    assert [name for name in LONGER if len((PACKAGE / name).read_text().splitlines()) <= MAX_LINES] == []
