"""Identifiers, comments, docstrings and messages of the package use the field's words, not words of this project alone."""

import ast
import io
import re
import tokenize
from collections import Counter
from functools import cache

import pytest

from tileiras_build.pipeline.stages import PACKAGE

# A word of this project, and what CUDA, PTX, MLIR, CUTLASS, Triton, Ninja or Bazel call it.
WORDS = {
    r"products?": "matmul, MMA, dot",
    r"sums?": "accumulator, reduction, partial sum",
    r"agents?": "warp partition; producer, consumer, epilogue warps",
    r"park(ed|s|ing)?": "spill to shared memory",
    r"meetings?": "barrier, synchronization point",
    r"turns": "iterations over sub-tiles",
    r"house|rooms?": "architecture, package, capacity",
    r"books?": "instruction table",
    r"savings?": "fallback",
    r"under way": "in flight",
    r"multiprocessors?": "SM",
    r"numbers": "values, elements, results",
    r"(is|are|was|were) (told|said)": "is reported, is documented",
    r"carried out": "executed",
    r"dear": "slow, expensive",
}
# Where the field has the same word.
ALLOWED = {
    "Python's functions, also under names of their own": r"\b(math )?f?sum\(|\bsum (of|over|up)\b|\bsums of\b|\breduce sum\b|\bproducts? of\b|(itertools|functools)\S* product|\bproduct\(",
    "operations of NVIDIA's dialects, and their attributes": r"\bagent switch\b|\bagent id\b|nv tileas agent",
    "arithmetic": r"\b(prefix|partial|running|weighted|check|inner|outer|cartesian|dot|cross|scalar|exact|logical) (sums?|products?)\b",
    "numbers of something": r"\b(call|line|version|block|phase|page|port|process|subnormal|random|prime|floating point|floating|natural|whole|odd|even|hexadecimal|decimal|binary|register|row|section) numbers\b|\bnumbers (of|that|in|from|with)\b",
    "titles of publications": r"\bmultiprocessor level\b|\bcorrectly rounded sums\b",
    "former names of tuning parameters": r"\bfp8 sum k\b",
    "names of Python and CUDA": r"\b(math numbers ntpath|set sorted sum)\b|\bmulti ?processor count\b|\bper multi ?processor\b",
    "verbs": r"\b(it|that|which|this|and|what|pass|loop|compiler) turns\b",
}
# Modules about sums and products of numbers: rounding, error bounds, exact dot products, CuTe's product of extents.
ARITHMETIC = (
    "ir/layouts/cute_algebra.py",
    "pipeline/tileas_to_ll/convert_cute_to_llvm/",
    "simulate/emulator/matmul/",
    "simulate/emulator/numerics/",
    "simulate/emulator/jit/",
    "simulate/emulator/isa/mma_accumulation_chains.py",
    "simulate/interpreter/ieee_rounding.py",
    "simulate/interpreter/mma_ops.py",
    "simulate/interpreter/randomize_unspecified_values.py",
    "simulate/interpreter/reduce_and_scan.py",
    "simulate/interpreter/summation_error_bounds.py",
    "simulate/estimate/sass_integer_semantics.py",
    "simulate/estimate/sass_semantics.py",  # the modifier of REDUX.SUM
)
OF_ARITHMETIC = {"sum", "sums", "product", "products", "numbers"}
# How many words a folder has left; the numbers only go down. A folder without a row has none.
LEFT: dict[str, int] = {}

_WORD = re.compile(rf"\b({'|'.join(WORDS)})\b")
_ALLOWED = re.compile("|".join(ALLOWED.values()))
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")
FOLDERS = sorted(path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__")


def words_of(text: str) -> str:
    """A text or an identifier in lower case, with its parts as words: ``MmaSum_rows`` is "mma sum rows"."""
    return " ".join(_CAMEL.sub(" ", text).lower().split())


def found_in(text: str) -> Counter[str]:
    """The project's own words in a text, but for those that the field has too."""
    return Counter(match[0] for match in _WORD.finditer(_ALLOWED.sub(" ", words_of(text))))


def texts(source: str) -> list[str]:
    """The identifiers, comments and strings of a module, without repetitions of an identifier."""
    names: set[str] = set()
    prose: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME and token.string != "sum":
            names.add(token.string)
        elif token.type == tokenize.COMMENT:
            prose.append(token.string)
    prose += [
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return [*sorted(names - _imported(source) - _former(source)), *prose]


def _imported(source: str) -> set[str]:
    """What the module imports of other distributions: those name it."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom) and not node.level]
    return {name for node in nodes for name in (node.module, *(alias.name for alias in node.names)) if name}


def _former(source: str) -> set[str]:
    """The former parameters that functions of the module refuse."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    refused = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "renamed_parameters"]
    return {str(keyword.arg) for call in refused for keyword in call.keywords}


@cache
def left_in(folder: str) -> dict[str, Counter[str]]:
    """The project's own words that the modules of a folder still have, by module."""
    modules: dict[str, Counter[str]] = {}
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        found: Counter[str] = Counter()
        name = path.relative_to(PACKAGE).as_posix()
        for text in (path.stem, *texts(path.read_text())):
            found += found_in(text)
        if name.startswith(ARITHMETIC):
            found = Counter({word: count for word, count in found.items() if word not in OF_ARITHMETIC})
        if found:
            modules[name] = found
    return modules


@pytest.mark.parametrize("folder", FOLDERS)
def test_words_are_the_fields(folder):
    left = left_in(folder)
    assert sum(found.total() for found in left.values()) <= LEFT.get(folder, 0), left


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ProductReader", {"product": 1}),
        ("row_sums", {"sums": 1}),
        ("sum(counts) is the sum of all", {}),
        ("nv_tileas.agent_switch", {}),
        ("AgentSwitchOp", {}),
        ("the agents wait", {"agents": 1}),
        ("line numbers, and numbers", {"numbers": 1}),
    ],
)
def test_a_word_is_found(text, found):
    assert found_in(text) == found


def test_every_row_has_a_folder():
    assert LEFT.keys() <= set(FOLDERS)


if __name__ == "__main__":
    for name in FOLDERS:
        for module, words in left_in(name).items():
            print(module, dict(words))
        print(f'    "{name}": {sum(words.total() for words in left_in(name).values())},')
