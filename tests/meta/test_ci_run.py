"""What .ci/run says where a check fails, with programs in the places of uv, pip, ruff, mypy and pytest that only fail or do not."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.sampled import TESTS

STUB = '#!/bin/sh\necho "{name} $*"\nexit {code}\n'


def run(folder: Path, **codes: int) -> subprocess.CompletedProcess[str]:
    """.ci/run in an environment whose programs end with ``codes``; ``python`` is what checks types."""
    (folder / "bin").mkdir()
    for name in ("uv", "pip", "ruff", "python", "pytest"):
        program = folder / "bin" / name
        program.write_text(STUB.format(name=name, code=codes.get(name, 0)))
        program.chmod(0o755)
    kept = {"PATH": os.environ["PATH"], "VIRTUAL_ENV": str(folder), "TMPDIR": str(folder)}
    command = [str(TESTS.parent / ".ci/run"), "-k", "name"]
    return subprocess.run(command, env=kept, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    ("codes", "code"),
    [({}, 0), ({"pytest": 5, "python": 1}, 5), ({"pytest": 5}, 5), ({"python": 1}, 1)],
    ids=["nothing fails", "both fail", "tests fail", "types fail"],
)
def test_tests_and_types_are_checked_and_decide(tmp_path, codes, code):
    done = run(tmp_path, **codes)
    assert done.returncode == code, done.stderr
    assert "pytest -n auto --exhaustive -k name\n" in done.stdout
    assert done.stdout.endswith("python tools/check_types.py\n")
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]


def test_style_is_checked_first(tmp_path):
    done = run(tmp_path, ruff=3)
    assert done.returncode == 3 and "pytest" not in done.stdout


UV, PIP = "uv pip install --quiet -e .[dev]", "pip install --quiet --disable-pip-version-check"


@pytest.mark.parametrize(
    ("codes", "installed"),
    [({}, [UV]), ({"uv": 2}, [f"{PIP} uv", UV, f"{PIP} --no-compile -e .[dev]"])],
    ids=["uv", "without uv"],
)
def test_pip_installs_where_uv_does_not(tmp_path, codes, installed):
    done = run(tmp_path, **codes)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[: len(installed) + 1] == [*installed, "ruff check"]


def test_nothing_is_checked_that_is_not_installed(tmp_path):
    done = run(tmp_path, uv=2, pip=3)
    assert done.returncode == 3 and "ruff" not in done.stdout
