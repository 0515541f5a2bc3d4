"""The end of a build's process: finalizers with effects run, and others are skipped."""

import subprocess
import sys

import pytest

_CODE = """
import atexit, sys
from tileiras_build.build.fast_exit import skip_final_gc
atexit.register(skip_final_gc)

class Cycle:
    def __init__(self, **held):
        self.held, self.itself = held, self

def step():
    pass

class Loud:
    def __del__(self):
        open("gone", "w").write("whole")

def generate():
    try:
        yield
    finally:
        open("gone", "w").write("whole")

{made}
"""


def run(made: str, folder) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _CODE.format(made=made)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    "made",
    [
        "step.itself, step.log = step, open('gone', 'w'); step.log.write('whole')",
        "cycle = Cycle(loud=Loud())",
        "one = generate(); next(one); cycle = Cycle(one=one); del one",
    ],
    ids=["an open file", "an object of one's own", "a generator"],
)
def test_what_is_done_when_an_object_goes_is_done(made, tmp_path):
    run(f"{made}; cycle = None", tmp_path)
    assert (tmp_path / "gone").read_text() == "whole"


def test_nothing_is_looked_at_where_nothing_would_be_done(tmp_path):
    last = "atexit.register(lambda: print(__import__('gc').get_freeze_count() > 0))"
    # Registered before, so called after.
    made = f"atexit.unregister(skip_final_gc); {last}; atexit.register(skip_final_gc)"
    assert run(made, tmp_path) == "True\n"
    assert run(f"{made}; stream = open('open', 'w')", tmp_path) == "False\n"


def test_records_that_are_not_written_are_written(tmp_path):
    made = "from SCons import dblite; base = dblite.open('base', 'c'); base['a'] = b'1'; cycle = Cycle(base=base); del base"
    run(f"{made}; cycle = None", tmp_path)
    assert run("from SCons import dblite; print(dblite.open('base')['a'])", tmp_path) == "b'1'\n"
