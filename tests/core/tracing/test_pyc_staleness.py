"""An edit that Python's own check of compiled modules does not see is seen."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SHOW = "from tileiras_build.core.tracing.pyc_staleness import install_pyc_check as use; {use}; import m; print(m.VALUE)"


def run(folder: Path, use: str = "use()", **environment: str) -> str:
    path = os.pathsep.join([str(folder), str(ROOT)])
    # The certain way is tried on modules that it has compiled itself.
    environment = os.environ | environment | {"PYTHONPATH": path}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", SHOW.format(use=use)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def edit(path: Path, text: str) -> None:
    """In place: the same length, and the time set back."""
    found = path.stat()
    path.write_text(text)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def test_an_edit_of_the_same_length_and_time(tmp_path):
    source = tmp_path / "m.py"
    source.write_text("VALUE = 1\n")
    os.utime(source, (1, 1))
    assert run(tmp_path) == run(tmp_path, use="pass") == "1"
    edit(source, "VALUE = 2\n")
    assert run(tmp_path, use="pass") == "1", "Python itself does not see it"
    assert run(tmp_path) == "2"
    assert run(tmp_path, use="pass") == "2", "it was compiled anew"


def test_a_folder_that_takes_no_compiled_modules(tmp_path):
    (tmp_path / "m.py").write_text("VALUE = 1\n")
    assert run(tmp_path) == "1"
    compiled = next((tmp_path / "__pycache__").iterdir())
    kept = compiled.read_bytes()
    edit(tmp_path / "m.py", "VALUE = 2\n")
    (tmp_path / "__pycache__/x").mkdir()
    assert run(tmp_path, use="import sys; sys.dont_write_bytecode = True; use()") == "2"
    assert compiled.read_bytes() == kept
