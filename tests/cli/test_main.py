"""The program ``tileiras-build``: its output is flushed and its exit handlers run, however it ends."""

import os
import subprocess
import sys

import pytest

from tileiras_build.pipeline.stages import PACKAGE

_AFTER = "taken apart"
_CODE = f"""
import atexit, sys, threading
atexit.register(print, "at exit")
sys.argv = ["tileiras-build", *sys.argv[1:]]
from tileiras_build.cli.main import main
go_on = threading.Event()
{{before}}
status = main()
go_on.set()
print("{_AFTER}")
sys.exit(status)
"""


def run(*words: str, before: str = "None", output: int = subprocess.PIPE) -> subprocess.CompletedProcess:
    """Run the program and then print _AFTER, where it returns."""
    environment = os.environ | {"TILEIRAS_SERVER": "0"}
    command = [sys.executable, "-c", _CODE.format(before=before), *words]
    return subprocess.run(
        command, cwd=PACKAGE.parent, env=environment, stdout=output, stderr=subprocess.PIPE, text=True, check=False
    )


@pytest.mark.parametrize(("words", "status"), [(["as", "--version"], 0), (["as", "none.tilebc"], 1)])
def test_what_is_printed_and_registered_is_done(words, status):
    done = run(*words)
    assert done.returncode == status
    assert (done.stdout if status == 0 else done.stderr).strip()
    assert done.stdout.endswith("at exit\n") and _AFTER not in done.stdout


@pytest.mark.parametrize(
    ("words", "before"),
    [
        (["targets", "--json"], "None"),
        (["as", "--version"], "sys.setprofile(lambda *_: None)"),
        (["as", "--version"], "threading.Thread(target=go_on.wait).start()"),
    ],
    ids=["people's own code may run", "a profiler", "a thread"],
)
def test_python_ends_what_others_wait_for(words, before):
    done = run(*words, before=before)
    assert done.returncode == 0 and _AFTER in done.stdout and "at exit" in done.stdout


def test_output_that_cannot_be_written_is_no_success():
    with open("/dev/full", "w") as full:
        done = run("as", "--version", output=full)
    assert done.returncode != 0 and "No space left" in done.stderr


_INTERRUPTING = """
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "argparse":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
"""


@pytest.mark.parametrize("words", [["lower", "k.tilebc"], ["targets"]])
def test_who_interrupts_it_while_it_is_loaded_sees_no_trace(words):
    done = run(*words, before=_INTERRUPTING)
    assert (done.returncode, done.stderr) == (130, "")
