"""``pytest -m quick``: what its table says is there, is little, covers every package and starts nothing slow."""

import re
import subprocess
import sys
from collections import Counter
from fnmatch import fnmatchcase

from tests.quick import TESTS, has_quick_tests, is_quick, rows
from tileiras_build.pipeline.stages import PACKAGE

LIMIT = 150  # processor seconds of all rows: two minutes on two cores leave as much again for start and collection
PACKAGES = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
FILES = sorted(path for path in TESTS.rglob("*") if path.suffix in (".py", ".mlir"))
QUICK = [path for path in FILES if has_quick_tests(path) and path.name.startswith("test_")]
# Builds by SCons, clusters, browsers, the driver made of C, walks through every kernel of the corpus.
SLOW = re.compile(
    r'"SCons"|tests\.build\.test_build_session|dask_cluster|playwright|chromium|strict_driver|tests\.corpus|mutate_inputs'
)


def seen(path) -> str:
    return path.relative_to(TESTS).as_posix()


def test_every_pattern_has_files():
    files = [seen(path) for path in FILES]
    assert [pattern for pattern in rows()[0] if not any(fnmatchcase(file, pattern) for file in files)] == []


def test_every_sampled_file_is_there():
    assert [name for name in rows()[1] if not (TESTS / name).is_file()] == []


def test_no_two_files_of_tests_are_imported_by_one_name():
    """pytest refuses the second one, which is seen only where both are collected."""
    tests = [path for path in FILES if path.name.startswith("test_") and path.suffix == ".py"]
    names = Counter(path.name for path in tests if not (path.parent / "__init__.py").exists())
    assert [name for name, count in names.items() if count > 1] == []


def test_every_package_has_quick_tests():
    assert set(PACKAGES) - {seen(path).split("/")[0] for path in QUICK} == set()


def test_all_rows_together_are_quick():
    assert sum(rows()[0].values()) <= LIMIT


def test_quick_files_start_nothing_slow():
    others = [path for path in QUICK if path.name != "test_quick.py"]
    assert [(seen(path), found) for path in others for found in SLOW.findall(path.read_text())] == []


def test_samples_are_quick_and_what_is_beside_them_is_not():
    for name, ends in rows()[1].items():
        assert all(is_quick(TESTS / name, f"test_one{end}") for end in ends)
        assert not is_quick(TESTS / name, "test_one[another]")


def test_the_marker_selects_what_the_table_says():
    quick, slow = "tests/ir/layouts/test_f2_linear_algebra.py", "tests/ir/layouts/test_conversion_plan.py"
    command = [sys.executable, "-m", "pytest", "--collect-only", "-m", "quick", "-p", "no:cacheprovider", quick, slow]
    done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=False)
    assert quick in done.stdout and slow not in done.stdout, done.stdout + done.stderr
