"""Programs of the vector VM: NumPy's bits, or bad strips."""

import numpy as np
import pytest

from tests.simulate.emulator.jit.test_elementwise_f32 import OPERATIONS as BY_ELEMENTS
from tests.simulate.emulator.jit.test_elementwise_f32 import finite, ties
from tileiras_build.simulate.emulator.codegen import runtime_support
from tileiras_build.simulate.emulator.jit import elementwise_f32, vector_vm
from tileiras_build.simulate.emulator.jit.llvm_jit import address, has_cpu_feature
from tileiras_build.simulate.emulator.numerics import float_arithmetic
from tileiras_build.simulate.emulator.numerics.float_formats import narrow

SIZE = 2 * vector_vm.STRIP_ELEMENTS + 8  # the last strip is not whole
NEVER = 1 << 62
can = pytest.mark.skipif(not all(map(has_cpu_feature, vector_vm.FEATURES)), reason="this CPU has no fused multiply-add")
u32, f32 = np.uint32, np.float32
NUMPY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "fma": float_arithmetic.fma32,
    "max": lambda x, y: float_arithmetic.min_max("max", x, y), "min": lambda x, y: float_arithmetic.min_max("min", x, y),
    "ex2": lambda x: float_arithmetic.approximate("ex2", x), "ex2.ftz": lambda x: float_arithmetic.approximate_flushed("ex2", x),
    "f16": lambda x: narrow("f16", x), "bf16": lambda x: narrow("bf16", x), "flush": float_arithmetic.flush, "bits": float_arithmetic.bits32,
    "select": np.where, "extend": lambda x: x.astype(u32), "or": np.bitwise_or, "and": np.bitwise_and,
    "xor": np.bitwise_xor, "shift": np.left_shift, "shift.right": np.right_shift, "plus": np.add, "unequal": np.not_equal,
    "either": np.logical_or, "low": lambda x: x.astype(np.uint16), "lower": runtime_support.lower_half,
    "upper": runtime_support.upper_half, "join": runtime_support.joined_halves,
    **{name: lambda x, y, compare=compare: compare(x.view(np.int32), y.view(np.int32)) for name, compare in (
        ("slt", np.less), ("sle", np.less_equal), ("sgt", np.greater), ("sge", np.greater_equal))},
}  # fmt: skip
TYPES = {"float": np.float32, "i32": np.uint32, "i16": np.uint16, "i8": np.bool_, "i64": np.uint64}


def test_every_operation_has_a_numpy_reference():
    assert set(NUMPY) == set(vector_vm.VECTOR_OPS) and set(BY_ELEMENTS) <= set(NUMPY)


def run(name: str, values: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(results, bad strips) of one operation."""
    row = vector_vm.VECTOR_OPS[name]
    out = np.zeros(SIZE, TYPES[row.result])
    arrays = [*values, out]
    steps = [
        0 if len(array) == vector_vm.STRIP_ELEMENTS else array.itemsize * vector_vm.STRIP_ELEMENTS for array in arrays
    ]
    operands = [*range(len(values)), 0, 0, 0][:3]
    program = np.array([[vector_vm.OPCODES[name], len(values), *operands]])
    bad = vector_vm.run(program, np.array([address(array) for array in arrays]), np.array(steps), SIZE)
    return out, bad


def operands_of(name: str, rng) -> list[np.ndarray]:
    kinds = vector_vm.VECTOR_OPS[name].operands
    values = {
        "float": lambda: finite(rng)[:SIZE], "i32": lambda: rng.integers(0, 1 << 32, SIZE, np.uint32),
        "i16": lambda: rng.integers(0, 1 << 16, SIZE, np.uint16), "i8": lambda: rng.integers(0, 2, SIZE).astype(bool),
        "i64": lambda: rng.integers(0, 1 << 64, SIZE, np.uint64),
    }  # fmt: skip
    given = [values[kind]() for kind in kinds]
    if name.startswith("shift"):
        given[1] %= 32
    if name in ("unequal", "sle", "sge"):
        given[1][::3] = given[0][::3]
    if name == "bf16":
        given[0][:64] = ties(given[0][:64])
    if name.startswith("ex2"):
        given[0] = (200 * np.sin(np.arange(SIZE))).astype(np.float32)
        given[0][: vector_vm.STRIP_ELEMENTS] /= 2  # results of normal numbers
    if name in ("max", "min"):
        given[1][:64] = -given[0][:64]
    return given


@can
@pytest.mark.parametrize("name", vector_vm.VECTOR_OPS)
@np.errstate(all="ignore")
def test_strip_equals_numpy_or_is_bad(name, monkeypatch):
    monkeypatch.setattr(elementwise_f32, "MIN_ELEMENTS", NEVER)
    given = operands_of(name, np.random.default_rng(0))
    out, bad = run(name, given)
    expected = np.asarray(NUMPY[name](*given))
    good = ~np.repeat(bad, vector_vm.STRIP_ELEMENTS)[:SIZE]
    assert good.any() and out[good].tobytes() == expected[good].view(out.dtype).tobytes()


@can
@pytest.mark.parametrize(
    "name", [name for name, row in vector_vm.VECTOR_OPS.items() if "float" in row.operands and row.result != "i8"]
)
def test_strip_with_a_nan_is_bad(name):
    given = [np.ones(SIZE, TYPES[kind]) for kind in vector_vm.VECTOR_OPS[name].operands]
    given[0][vector_vm.STRIP_ELEMENTS + 3] = np.nan
    _, bad = run(name, given)
    assert bad.tolist() == [False, True, False]


@can
def test_value_shared_by_all_strips():
    x, y = np.arange(SIZE, dtype=np.float32), np.full(vector_vm.STRIP_ELEMENTS, np.float32(3))
    out, bad = run("mul", [x, y])
    assert not bad.any() and (out == 3 * x).all()
