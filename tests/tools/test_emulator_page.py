"""docs/emulator.md: the page is current, its samples are PTX, and what it calls implemented is tested with values."""

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tileiras_build.pipeline.ptx_to_cubin import find_ptxas
from tileiras_build.simulate.emulator.isa import HANDLERS
from tools import emulator_page

TESTS = Path(__file__).parents[1] / "simulate/emulator"
SAMPLES = {
    name: sample for rows in emulator_page.INSTRUCTIONS.values() for name, sample in rows.items() if sample is not None
}
# Hints without an effect on values, and waiting where nothing is to be seen.
NO_VALUES = {"applypriority", "brkpt", "createpolicy", "discard", "nanosleep", "pmevent", "prefetch", "prefetchu"}
NO_VALUES |= {"cp.async.bulk.prefetch", "cp.async.bulk.prefetch.tensor", "griddepcontrol"}


def test_page_is_current():
    assert emulator_page.PAGE.read_text() == emulator_page.page(), "run: python tools/emulator_page.py"


def test_every_handler_is_on_the_page():
    listed = {name.partition(".")[0] for rows in emulator_page.INSTRUCTIONS.values() for name in rows}
    # cp.reduce and the like: the page has them under their whole names.
    assert {op for op in HANDLERS if not op.startswith("_")} <= listed


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_samples_are_ptx(target, tmp_path):
    bodies = [text for text, where in SAMPLES.values() if (target in where.split() if where else target == "sm_80")]
    source = tmp_path / "samples.ptx"
    source.write_text(emulator_page.sample_text("\n".join(bodies), target))
    command = [find_ptxas(), f"-arch={target}", "-O0", "-o", tmp_path / "samples.cubin", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@cache
def words_of_tests() -> list[set[str]]:
    """For each test file of the emulator the words in its strings, which hold the kernels."""
    found = []
    for path in TESTS.rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text()))
        texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        found.append({word for text in texts for word in re.findall(r"[A-Za-z_]\w*", text)})
    return found


def is_tested(name: str) -> bool:
    """Whether one file's kernels have all words of the name."""
    wanted = re.findall(r"[A-Za-z_]\w*", name)
    return any(words.issuperset(wanted) for words in words_of_tests())


def test_implemented_instructions_are_tested():
    assert [name for name in emulator_page.implemented() if name not in NO_VALUES and not is_tested(name)] == []


def test_an_unknown_instruction_is_not_called_tested():
    assert not is_tested("vabsdiff4") and not is_tested("tcgen05.nonsense")
