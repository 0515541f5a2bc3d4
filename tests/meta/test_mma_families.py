"""Nothing in the pipeline asks which family of matrix instructions it has: the families' folders answer."""

import ast
import re
from collections import Counter

from tileiras_build.pipeline.stages import PACKAGE
from tileiras_build.target.mma_atoms import FALLBACK_FAMILY, MMA_ROWS

PIPELINE = PACKAGE / "pipeline"
# Names of families, of their rows, of the rows' classes and tables, and of their operations, as identifiers or inside strings.
ROWS = "|".join({name for row in MMA_ROWS for name in (row.family, type(row).__name__)})
FAMILY_NAME = re.compile(
    rf"(?i:{ROWS}|mma_?\.?sync|umma|AsyncDot|async\.dot|MmaAtom|m\d+n\d+k\d+)|MMA_ATOMS|\bwarpgroup\b"
)
# Conversions of dialects in which instructions are operations: they convert what these dialects' documents name.
DIALECT_CONVERSIONS = (
    "tileas_to_ll/convert_cute_to_llvm/",
    "tileas_to_ll/convert_nvgpu_and_gpu_to_nvvm/",
    "verifiers/cluster_peer_lifetime.py",  # reads NVVM's operations, after these conversions
    "ll_to_ptx/hoist_mma_waits.py",  # reads PTX, after these conversions
)
OF_FAMILY = re.compile(rf"mma/({'|'.join({row.family for row in MMA_ROWS})}|{FALLBACK_FAMILY})/")


def words_of(tree: ast.AST) -> list[str]:
    """The identifiers and strings of a module, without docstrings and comments."""
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            found.append(node.value)
        elif isinstance(node, ast.Name):
            found.append(node.id)
        elif isinstance(node, ast.Attribute):
            found.append(node.attr)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.alias):
            found.append(node.name)
        elif isinstance(node, ast.arg | ast.keyword):
            found.append(node.arg or "")
        elif isinstance(node, ast.ImportFrom):
            found += (node.module or "").split(".")
    return found


def names_by_file() -> Counter[str]:
    found: Counter[str] = Counter()
    for path in sorted(PIPELINE.rglob("*.py")):
        name = path.relative_to(PIPELINE).as_posix()
        if not OF_FAMILY.match(name):
            found[name] = sum(bool(FAMILY_NAME.search(word)) for word in words_of(ast.parse(path.read_text())))
    return +found


def test_no_file_outside_names_a_family():
    named = names_by_file()
    assert {name: count for name, count in named.items() if not name.startswith(DIALECT_CONVERSIONS)} == {}
    assert all(any(name.startswith(one) for name in named) for one in DIALECT_CONVERSIONS)  # none is left over


def test_names_are_found_in_identifiers_strings_and_imports():
    """And not in docstrings and comments."""
    text = '"""Of wgmma."""\nfrom .mma.wgmma import family\nif op.warpgroup: x = "nv_tileas.async.umma"  # tcgen05\n'
    found = {word for word in words_of(ast.parse(text)) if FAMILY_NAME.search(word)}
    assert found == {"wgmma", "warpgroup", "nv_tileas.async.umma"}
