"""Only the PTX instruction table spells instructions: no other module has names of intrinsics, templates or constraints."""

import ast
import re
from functools import cache

import pytest

from tileiras_build.pipeline.stages import PACKAGE

TABLE = "ir/dialects/nvvm"
FOLDERS = ("pipeline", "ir/dialects")
SPELLINGS = {
    "an intrinsic": re.compile(r"@llvm\.\w|\bllvm\.nvvm\.\w"),
    "a template": re.compile(r"\$\d"),
    "constraints": re.compile(r"~\{memory\}|^(=&?[bhrlfdq](,|$))+|^[bhrlfdqn](,[bhrlfdqn])+$"),
}
# The name of an operation of MLIR, and the beginning of all names.
OTHERS = {
    ("ir/dialects/debuginfo/ops.py", "llvm.nvvm.move"),
    ("ir/dialects/debuginfo/ops.py", "llvm.nvvm.move gives a value of its operand's type"),
    ("pipeline/ll_to_ptx/llvm_ir_checks.py", "@llvm.nvvm."),
}


def files() -> list[str]:
    """The modules of the pipeline and of the dialects but for the table, by their paths in the package."""
    paths = [path.relative_to(PACKAGE).as_posix() for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py")]
    return sorted(path for path in paths if not path.startswith(TABLE))


@cache
def strings(path: str) -> list[str]:
    """The string constants of a module, and the plain parts of its formatted ones, without docstrings."""
    tree = ast.parse((PACKAGE / path).read_bytes())
    prose = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node not in prose]
    return [node.value for node in constants if isinstance(node.value, str)]


@pytest.mark.parametrize("kind", SPELLINGS)
def test_only_the_table_spells_instructions(kind):
    found = {(path, text) for path in files() for text in strings(path) if SPELLINGS[kind].search(text)}
    assert found - OTHERS == set()


@pytest.mark.parametrize(
    "text, kind",
    [("llvm.nvvm.shfl.sync", "an intrinsic"), ("mov.b16 $0, $1;", "a template"), ("=r,r", "constraints"),
     ("=&f", "constraints"), ("r,l", "constraints"), ("~{memory}", "constraints")],
)  # fmt: skip
def test_a_spelling_is_seen(text, kind):
    assert SPELLINGS[kind].search(text)
