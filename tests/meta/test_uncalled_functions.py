"""Nothing is in the compiler that nobody needs: kernels, front ends and ``opt`` reach its modules and functions."""

import json
import subprocess
import sys

from tools import seed_row_coverage, uncalled_functions

# In percent of the lines of pipeline/, ir/dialects/ and target/isa/. The percentages only go down.
MOST_IDLE = 3.65  # of functions that neither production nor a front end calls
# Of functions that no kernel calls, but a front end may: what ``opt`` needs for IR that is written by hand is among them,
# its lowering of MLIR's standard dialects alone 2 %.
MOST_IDLE_IN_PRODUCTION = 11.0
UNREACHED = {
    "pipeline/export_calls.py": "for the workers that run kernel files",
    "pipeline/common/insert_memcheck_asserts.py": "for --sanitize=memcheck of the tileiras command only",
}

FILE = """\
def called():
    def inner():
        return 1

@decorated
def idle():
    def inside():
        return 2

class Kind:
    @overload
    def overloaded(self): ...
    def method(self):
        return 3
"""


def test_what_nobody_calls_counts_with_its_decorators_and_once():
    idle = list(uncalled_functions.idle_functions("f.py", FILE, {1}))
    assert [(function.name, function.line, function.lines) for function in idle] == [
        ("called.inner", 2, 2),
        ("idle", 5, 4),
        ("Kind.method", 13, 2),
    ]


def test_all_lines_of_a_file_that_nobody_imports_count():
    assert uncalled_functions.FileReach("f.py", 14, False, ()).idle_lines == 14
    assert uncalled_functions.FileReach("f.py", 14, True, ()).idle_lines == 0


def test_nothing_is_there_for_nobody():
    """In an interpreter of its own: what others have imported or computed is not entered again."""
    command = [sys.executable, "tools/uncalled_functions.py", "--json"]
    done = subprocess.run(command, cwd=uncalled_functions.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert sorted(found["not imported"]) == sorted(UNREACHED)
    assert found["rows"] == seed_row_coverage.read(), "python tools/uncalled_functions.py --rows writes it"
    assert found["all"] <= MOST_IDLE, "python tools/uncalled_functions.py --functions 40 lists them"
    assert found["production"] <= MOST_IDLE_IN_PRODUCTION, (
        "python tools/uncalled_functions.py lists those that no front end calls"
    )
