"""The program ``tileiras-build``: how it ends when output or imports fail."""

import os
import subprocess
import sys

import pytest

from tileiras_build.pipeline.stages import PACKAGE

_CODE = """
import sys
sys.argv = ["tileiras-build", *sys.argv[1:]]
from tileiras_build.cli.main import main
{before}
sys.exit(main())
"""


def run(*words: str, before: str = "None", output: int = subprocess.PIPE) -> subprocess.CompletedProcess:
    """Run the program."""
    environment = os.environ | {"TILEIRAS_SERVER": "0"}
    command = [sys.executable, "-c", _CODE.format(before=before), *words]
    return subprocess.run(
        command, cwd=PACKAGE.parent, env=environment, stdout=output, stderr=subprocess.PIPE, text=True, check=False
    )


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
