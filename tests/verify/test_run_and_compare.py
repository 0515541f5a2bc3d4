"""Kernels against their authors' references: right ones, wrong algorithms, wrong compilations, launches that break rules."""

from types import SimpleNamespace

import pytest

from tests.compiled_once import compiled, once
from tileiras_build.core.errors import InternalError, InvalidInput
from tileiras_build.frontend.export_cutile import export_kernels
from tileiras_build.verify import check_kernels, verify_file

HEAD = """import cuda.tile as ct
import numpy as np

from tileiras_build.frontend.cases_api import Array, Case, Scalar, Tolerance, ceil_div, first_tiles, place, poisoned, tolerate, wide

"""
SOFTMAX = """
ROWS, COLUMNS = 7, 50

@ct.kernel
def softmax(x, out, M: ct.Constant[int], N: ct.Constant[int]):
    tile = ct.load(x, (ct.bid(0), 0), (M, N), padding_mode=ct.PaddingMode.NEG_INF)
    powers = ct.exp(tile - ct.max(tile, axis=1, keepdims=True))
    ct.store(out, (ct.bid(0), 0), powers / ct.sum(powers, axis=1, keepdims=True))

def inputs(rng):
    return {"x": place(rng.uniform(-6, 6, (ROWS, COLUMNS)), "float32"), "out": poisoned((ROWS, COLUMNS), "float32")}

def reference(values):
    powers = np.exp(wide(values["x"]) - wide(values["x"]).max(axis=1, keepdims=True))
    return {"out": (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)}

MATRIX = Array("float32", 2)
CASES = [
    Case("softmax", softmax, (MATRIX, MATRIX, 4, 64), inputs=inputs, reference=reference, grid=first_tiles("x", 4),
         tolerance=tolerate("float32", depth=32)),
]
"""
WRONG_AXIS = SOFTMAX.replace("ct.sum(powers, axis=1", "ct.sum(powers, axis=0")
ADD = """
@ct.kernel
def add(x, out, a, TILE: ct.Constant[int]):
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (TILE,)) + a)

def inputs(rng):
    return {"a": 2, "x": np.arange(100, dtype="int32"), "out": np.zeros(100, "int32")}

def reference(values):
    return {"out": values["x"] + np.int32(values["a"])}

VECTOR = Array("int32", 1)
CASES = [Case("add", add, (VECTOR, VECTOR, Scalar("int32"), 32), inputs=inputs, reference=reference, grid=4)]
"""


@pytest.fixture
def checked(tmp_path):
    """Checks the one kernel of a file of this text, whose PTX ``change`` may spoil."""
    pytest.importorskip("cuda.tile", reason="kernels are written in cuTile Python: pip install cuda-tile")

    def check(text, target="sm_80", change=lambda ptx: ptx):
        path = tmp_path / "k.py"
        path.write_text(HEAD + text)
        [data] = once(("exported", text), lambda: export_kernels(path)).values()
        made = compiled(data, target)
        return check_kernels(data, SimpleNamespace(ptx=change(made.ptx), manifest=made.manifest), target, str(path))

    return check


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_a_right_kernel_agrees(checked, target):
    [outcome] = checked(SOFTMAX, target)
    assert (outcome.entry, outcome.grid, outcome.arrays, outcome.elements) == ("softmax", (2, 1, 1), 2, 350)
    assert 0 <= outcome.share <= 1 and outcome.interpreter is not None
    assert outcome.settings["x"] == outcome.settings["out"] == "7x50"


def test_a_wrong_algorithm_is_the_kernels_fault(checked):
    with pytest.raises(InvalidInput) as caught:
        checked(WRONG_AXIS)
    first, *lines = str(caught.value).splitlines()
    assert "k.py:9:1: error[reference-mismatch]: softmax (sm_80, grid (2, 1, 1)): " in first
    assert "elements of out differ from the reference; not a miscompile" in first
    assert lines[0].startswith("    out[0, 0]: got ") and ", expected " in lines[0]
    assert lines[0].endswith(", written by tile block (0, 0, 0)")
    assert any(line.startswith("    worst: out[") for line in lines)


def test_a_miscompile_is_an_internal_error(checked):
    with pytest.raises(InternalError) as caught:
        checked(ADD, change=lambda ptx: ptx.replace("add.s32", "sub.s32"))
    assert caught.value.id == "verify-mismatch"
    assert "the Tile IR interpreter matches the reference, the compiled code does not" in caught.value.message
    assert ", written by tile block (" in str(caught.value)


def test_unwritten_elements_are_reported(checked):
    with pytest.raises(InvalidInput) as caught:
        checked(ADD.replace("grid=4", "grid=3"))
    error = str(caught.value)
    assert "4 of 100 elements of out differ from the reference" in error
    assert "out[96]: got 0, expected 98 (abs error 98, rel error 1, tolerance 0), written by no tile block" in error


def test_an_input_that_is_written_is_wrong(checked):
    store = "ct.store(out, (ct.bid(0),)"
    spoiling = f"ct.store(x, (ct.bid(0),), ct.zeros((TILE,), dtype=ct.int32)); {store}"
    text = ADD.replace("ct.load(x, (ct.bid(0),), (TILE,)) + a", "loaded + a")
    with pytest.raises(InvalidInput, match=r"99 of 100 elements of x differ from the reference; "):
        checked(text.replace(store, f"loaded = ct.load(x, (ct.bid(0),), (TILE,)); {spoiling}"))


def test_arguments_that_violate_an_assumption_are_refused(checked):
    with pytest.raises(InvalidInput) as caught:
        checked(ADD.replace('arange(100, dtype="int32")', 'arange(200, dtype="int32")[::2]'))
    assert caught.value.id == "reference-inputs"
    assert caught.value.message == "inputs of 'add': x: the stride of axis 0 is 2, not 1"


def test_a_launch_that_breaks_a_rule_of_tile_ir_is_the_kernels_fault(checked):
    body = "    ct.assert_(a == 3)\n    ct.store(out"
    with pytest.raises(InvalidInput, match=r"error\[reference-launch\]: cannot launch add with this reference: "):
        checked(ADD.replace("    ct.store(out", body))


def test_a_reference_imports_what_lies_beside_it_when_it_runs(checked, tmp_path):
    (tmp_path / "beside.py").write_text("STEP = 2\n")
    text = ADD.replace('    return {"out": values', '    from beside import STEP\n    return {"out": STEP - 2 + values')
    assert checked(text)[0].share == 0


def test_rows_without_references_are_passed_over(checked):
    text = ADD.partition("CASES")[0] + 'CASES = [Case("add", add, (VECTOR, VECTOR, Scalar("int32"), 32))]\n'
    assert checked(text) == []


def test_a_file_is_verified_in_one_call(tmp_path):
    pytest.importorskip("cuda.tile", reason="kernels are written in cuTile Python: pip install cuda-tile")
    (tmp_path / "k.py").write_text(HEAD + ADD)
    outcomes = verify_file(tmp_path / "k.py", "90")
    found = sorted((outcome.entry, outcome.elements, outcome.share) for outcome in outcomes)
    assert found == [("add", 100, 0), ("add__aligned", 100, 0)]
