"""benchmarks/operand_forms.py: matmuls whose operands arrive in many forms compute what NumPy does, and keep their family."""

import re
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.emulated_kernels import cases, compiled, run

KERNELS = Path(__file__).parents[2] / "benchmarks" / "operand_forms.py"
SMS = ("sm_80", "sm_90", "sm_100", "sm_120")
NAMES = [
    "direct", "bitcast", "bitcast_fp8_transposed", "left_int8", "left_f32", "right_int8", "right_f32", "right_fp8", "both_int8",
    "both_f32", "left_to_fp8_transposed", "right_computed", "right_int8_scaled", "batch_of_one", "batches_of_two",
    "right_before_loop", "right_used_twice", "columns_8", "columns_16", "columns_8_transposed", "columns_8_computed",
    "half_accumulator", "unaligned", "left_gathered", "right_packed_scaled_transposed",
]  # fmt: skip
FAMILY = {"sm_90": "wgmma.mma_async", "sm_100": "tcgen05.mma"}
OPERATION = {"sm_90": "async.dot", "sm_100": "async.umma"}
STEPS, TILE_K = 3, 64
# What an array holds where its elements are the bits of another type.
BITS_OF = {"bitcast": ml_dtypes.bfloat16, "bitcast_fp8_transposed": ml_dtypes.float8_e4m3fn}


@pytest.fixture(autouse=True)
def beside_the_kernels(monkeypatch):
    """The kernels as their folder's scripts see them."""
    monkeypatch.syspath_prepend(str(KERNELS.parent))
    yield
    sys.modules.pop("key_kernels", None)


def operands(name):
    """Small integers, whose results are exact, as a (m, k) and b (k, n)."""
    left, right = cases(KERNELS)[name].arguments[:2]
    columns = 16 if name.startswith("columns_") else 128
    rng = np.random.default_rng(len(name))
    k = STEPS * TILE_K
    shapes = ((128, k), (columns, k) if "transposed" in name else (k, columns))
    shapes = [(2, *shape) for shape in shapes] if name == "batches_of_two" else shapes
    types = [BITS_OF.get(name, array.dtype) for array in (left, right)]
    return [rng.integers(-3, 4, shape).astype(np.dtype(type)) for shape, type in zip(shapes, types)]


def scales_of(name):
    """The scales of each step and column, where a form has some."""
    return [(2.0 ** (np.arange(STEPS)[:, None] - np.arange(128) % 3)).astype(ml_dtypes.bfloat16)] * ("scaled" in name)


def expected(name, a, b):
    a, b = a.astype(np.float32), b.astype(np.float32)
    b = b.T if "transposed" in name else b
    for scales in scales_of(name):
        b = b * np.repeat(scales.astype(np.float32), TILE_K, axis=0)
    if name == "left_gathered":
        a = a[np.arange(len(a)) ^ 1]
    if name == "left_to_fp8_transposed":
        a = a / 2
    if name.endswith("_computed"):
        b = b + b
    if name == "right_before_loop":
        return sum(a[:, at : at + TILE_K] @ b[:TILE_K] for at in range(0, a.shape[1], TILE_K))
    return a @ b


def passed(name, values):
    """The arrays as the kernel takes them."""
    if "packed" in name:
        a, b = values
        words = sum((b[:, at::8] + 8).astype(np.uint32) << 4 * at for at in range(8))
        return [a, words.view(np.int32)]
    return [one.view(f"u{one.itemsize}") for one in values] if name in BITS_OF else values


# Each form where warps multiply and where an asynchronous instruction does, and what alone has an instruction; sm_80 has no fp8.
RESULTS = [
    (name, sm)
    for row, name in enumerate(NAMES)
    for sm in (SMS[1 + row % 2], "sm_120" if row % 4 > 1 or "fp8" in name else "sm_80")
]
RESULTS += [("bitcast_fp8_transposed", "sm_100"), ("left_gathered", "sm_100"), ("columns_8_transposed", "sm_80")]


@pytest.mark.parametrize(("name", "sm"), RESULTS)
def test_results(name, sm):
    a, b = operands(name)
    out = np.full((*a.shape[:-1], b.shape[0 if "transposed" in name else -1]), -1, np.float32)
    grid = (1, 2 if name.startswith("columns_8") else 1, 1)
    scales = [np.ascontiguousarray(one.T) if "packed" in name else one for one in scales_of(name)]
    found = run(KERNELS, name, sm, [*passed(name, (a, b)), out, *scales], grid)[2]
    np.testing.assert_array_equal(found, expected(name, a, b))
    assert FAMILY.get(sm, "") in compiled(KERNELS, name, sm).ptx


@pytest.mark.parametrize("sm", FAMILY)
@pytest.mark.parametrize("name", NAMES)
def test_asynchronous_instructions_multiply(name, sm):
    """In .tileas here; in PTX where ``test_results`` has it."""
    assert re.search(rf"nv_tileas\.{OPERATION[sm]}\b", compiled(KERNELS, name, sm).tileas)


def test_threads_load_scales_where_they_multiply_by_them():
    """A conversion through shared memory would let all threads wait in each iteration."""
    assert "nv_tileas.convert_layout" not in compiled(KERNELS, "right_packed_scaled_transposed", "sm_90").tileas


def test_all_forms_are_here():
    assert [*cases(KERNELS)] == NAMES
