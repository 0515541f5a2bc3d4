"""REFERENCES in the Python file next to a source in another format: bytecode here, CUDA Tile C++ in the examples."""

import pytest

from tests.compiled_once import compiled
from tests.simulate.interpreter.kernels import kernel, load, store
from tileiras_build.core.errors import InvalidInput
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.verify import check_kernels

BODY = load("x", "px", (64,), "f32") + "\n  %r = addf %x, %x : tile<64xf32>" + store("r", "pr", (64,), "f32")
ROWS = """import numpy as np
from tileiras_build.frontend.cases_api import Reference, poisoned

def inputs(rng):
    return {"x": rng.standard_normal(64).astype("float32"), "twice": poisoned((64,), "float32")}

def reference(values):
    return {"twice": 2 * values["x"]}

REFERENCES = [Reference("k", inputs=inputs, reference=reference, grid=1)]
"""
BYTECODE = write_module(parse_text(kernel({"px": "f32", "pr": "f32"}, BODY)))


@pytest.fixture
def checked(tmp_path):
    def check(text):
        if text is not None:
            (tmp_path / "twice.py").write_text(text)
        return check_kernels(BYTECODE, compiled(BYTECODE, "sm_80"), "sm_80", str(tmp_path / "twice.tilebc"))

    return check


def test_a_kernel_matches_its_reference(checked):
    [outcome] = checked(ROWS)
    assert (outcome.entry, outcome.arrays, outcome.elements, outcome.share) == ("k", 2, 64, 0)


def test_a_wrong_one_is_named_by_its_file(checked):
    with pytest.raises(
        InvalidInput, match=r"twice.tilebc: error\[reference-mismatch\]: k .sm_80, .* 64 of 64 elements"
    ):
        checked(ROWS.replace("2 *", "3 *"))


@pytest.mark.parametrize("text", [None, "from helper import VALUE\n", "CASES = []\n"])
def test_without_a_table_there_is_nothing_to_compare(checked, text):
    assert checked(text) == []


TABLES = {
    "no list": ("REFERENCES = {}", "REFERENCES must be a list of Reference, got dict"),
    "no rows": ("REFERENCES = [1]", "REFERENCES must contain Reference objects, got int"),
    "another kernel": (
        "from tileiras_build.frontend.cases_api import Reference\nREFERENCES = [Reference('other')]",
        "REFERENCES: no kernel 'other' (kernels: k)",
    ),
    "one twice": (
        "from tileiras_build.frontend.cases_api import Reference\nREFERENCES = [Reference('k')] * 2",
        "REFERENCES: duplicate entry for 'k'",
    ),
}


@pytest.mark.parametrize("how", TABLES)
def test_wrong_tables_are_one_sentence(checked, how):
    text, words = TABLES[how]
    with pytest.raises(InvalidInput) as caught:
        checked(text + "\n")
    assert (caught.value.id, caught.value.message) == ("reference-table", words)
    assert caught.value.location.line == text.count("\n") + 1


ARGUMENTS = {
    "one too few": ('"twice": poisoned((64,), "float32")', "", "kernel takes 2 arguments, got 1: x"),
    "another type": ('"float32")}', '"float16")}', "twice: expected elements of type f32, got float16"),
    "a number": ('poisoned((64,), "float32")', "3", "twice: expected a pointer to f32, got int"),
}


@pytest.mark.parametrize("how", ARGUMENTS)
def test_wrong_arguments_are_one_sentence(checked, how):
    old, new, words = ARGUMENTS[how]
    text = ROWS.replace(old, new).replace('{"twice": 2 * values["x"]}', '{"x": values["x"]}')
    with pytest.raises(InvalidInput) as caught:
        checked(text)
    assert (caught.value.id, caught.value.message) == ("reference-inputs", f"inputs of 'k': {words}")
