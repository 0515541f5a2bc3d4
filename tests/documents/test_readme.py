"""Every command of the README, run in a checkout whose library has one kernel file, and its Python."""

import re
import shutil
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PROGRAMS = ("tileiras-build", "scons", "pip", "pytest", "python")
# Commands that are not typed here, and why.
NOT_TYPED = {
    "pip install -e '.[dev]' && scons sm=90,100": "the environment is made already, and the rest is typed below",
    "pip install -e '.[dev]' && pytest -n auto": "runs this test",
    "pytest -p tileiras_build.cutile.pytest --tile-device cpu --tile-sm 90": "the environment has no pytest; "
    "tests/cutile/test_cutile_pytest.py runs a suite so",
    "scons -j64 sm=all executor=tcp://host:8786": "there is no cluster; tests/workers/executor/ starts one",
}
# What the README calls "your script".
SCRIPT = """
import numpy as np
import cuda.tile as ct

@ct.kernel
def double(x):
    tile = ct.load(x, (ct.bid(0),), (16,))
    ct.store(x, (ct.bid(0),), tile + tile)

def main():
    x = np.arange(32, dtype=np.float32)
    ct.launch(0, (2,), double, (x,))
    assert x[17] == 34

main()
"""


def blocks() -> list[str]:
    """The indented blocks, without their indentation."""
    found = re.findall(r"(?:^ {4}[^\n]*\n|^\n(?= {4}))+", README, re.MULTILINE)
    return [textwrap.dedent(block).strip("\n") for block in found]


def lines() -> list[str]:
    """What is typed into a shell, without the remarks behind it."""
    found = [line for block in blocks() for line in block.splitlines() if line.split(" ", 1)[0] in PROGRAMS]
    return [re.sub(r"\s+# .*", "", line) for line in found]


TYPED = [line for line in lines() if line not in NOT_TYPED]


@pytest.fixture
def checkout(tmp_path) -> Path:
    """The files that the commands name, in ``tmp_path``; of the example kernels one file and what it imports."""
    shutil.copy(ROOT / "SConstruct", tmp_path)
    shutil.copytree(ROOT / "site_scons", tmp_path / "site_scons")
    (tmp_path / "examples/kernels").mkdir(parents=True)
    for file in [*(ROOT / "examples/kernels").glob("_*.py"), ROOT / "examples/kernels/vector_add.py"]:
        shutil.copy(file, tmp_path / "examples/kernels")
    (tmp_path / "script.py").write_text(SCRIPT)
    return tmp_path


def test_what_is_not_typed_is_there():
    assert set(NOT_TYPED) <= set(lines())


def test_commands(shell, checkout):
    assert len(TYPED) >= 12
    for line in TYPED:
        # The folder is everybody's.
        done = shell(line.replace("/tmp/k", f"{checkout}/k"))
        assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
    assert {file.name for file in checkout.glob("k/vector_add_f32.*")} == {
        f"vector_add_f32.{kind}" for kind in ("tilebc", "cubin", "json")
    }
    for made in ("sm_90/vector_add_f32.cubin", "report/index.html", "compile_commands.json"):
        assert (checkout / "build" / made).is_file(), made
    (program,) = [block for block in blocks() if block.startswith("import tileiras_build")]
    (checkout / "program.py").write_text(program + "\nprint(len(artifacts.cubin) > 1000, '.entry' in artifacts.ptx)\n")
    said = shell("cp k/vector_add_f32.tilebc . && python program.py")
    assert said.stdout == "True True\n", said.stderr


def test_the_project_of_a_few_lines(shell, tmp_path):
    (script,) = [block for block in blocks() if block.startswith("from tileiras_build import scons_tool")]
    (tmp_path / "SConstruct").write_text(script)
    shutil.copytree(ROOT / "examples/project/kernels", tmp_path / "kernels")
    (tmp_path / "kernels/matmul.py").write_text((tmp_path / "kernels/add.py").read_text().replace("add", "matmul"))
    done = shell("scons -Q -j2 sm=90")
    assert done.returncode == 0 and (tmp_path / "build/sm_90/matmul_f32.cubin").is_file(), done.stderr
