"""Matrix multiplication in native code: the bits of BLAS and NumPy, for all layouts of operands and accumulators."""

import numpy as np
import pytest

from tests.simulate.emulator.isa.test_isa_wgmma import B_AT, descriptor, execute, opcode, tail
from tests.simulate.emulator.isa.test_mma_accumulation_chains import TWO_BY_TWO, A, B
from tests.simulate.emulator.isa.test_mma_accumulation_chains import launch as launch_warps
from tests.simulate.emulator.native.gates import use_kernels, use_numpy
from tileiras_build.simulate.emulator.matmul import gemm, matmul
from tileiras_build.simulate.emulator.matmul.operand_value_ranges import MatmulOperand


@pytest.fixture
def calls(monkeypatch):
    """The layouts of the calls of native code, in a process with enough multiplications."""
    made, add = [], gemm.accumulate

    def counted(out, old, layout, steps, errors):
        made.append(layout)
        add(out, old, layout, steps, errors)

    monkeypatch.setattr(gemm, "accumulate", counted)
    use_kernels(monkeypatch)
    return made


def both(monkeypatch, run) -> tuple[list[int], list[int]]:
    """The bits of the results of ``run`` with and without native code."""
    by_code = np.ascontiguousarray(run()).view(np.uint32).tolist()
    with monkeypatch.context() as patch:
        use_numpy(patch)
        return by_code, np.ascontiguousarray(run()).view(np.uint32).tolist()


def random_matrix(rng, shape, dtype, transposed: bool) -> np.ndarray:
    """Normal values of 11 bits, as an array (stack, rows, k) or a transposed view of one."""
    shape = (shape[0], shape[2], shape[1]) if transposed else shape
    values = rng.standard_normal(shape).astype(np.float16).astype(dtype)
    return values.swapaxes(1, 2) if transposed else values


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize(
    ("dtype", "k", "right", "transposed"),
    [(np.float16, 16, 3, False), (np.float16, 16, 1, True), (np.float32, 8, 3, True)],
)
def test_accumulation_onto_matrices(dtype, k, right, transposed, fresh, calls, monkeypatch):
    rng = np.random.default_rng(k + right)
    steps = [
        (
            MatmulOperand(random_matrix(rng, (3, 24, k), dtype, False), "f16"),
            MatmulOperand(random_matrix(rng, (right, 32, k), dtype, transposed), "f16"),
        )
        for _ in range(3)
    ]
    start = rng.standard_normal((3, 24, 48)).astype(np.float32)
    start[0, :2] = -0.0
    monkeypatch.setattr(gemm, "L2_BYTES", 1)  # a matrix at a time

    def run():
        total = start.copy()
        matmul.accumulate(total[:, :, 8:40], steps, fresh=fresh)
        return total

    one, other = both(monkeypatch, run)
    assert one == other and len(calls) == 1


@pytest.mark.parametrize(("m", "n"), [(40, 48), (36, 40)])  # groups of rows and columns, even and odd
@pytest.mark.parametrize(("kind", "spread"), [("f16", 0), ("bf16", 30)])
def test_groups_of_rows_and_columns(m, n, kind, spread, calls, monkeypatch):
    """Some sums of bf16 with many exponents are recomputed exactly."""
    rng = np.random.default_rng(7)

    def some(rows):
        values = rng.standard_normal((2, rows, 16)) * 2.0 ** rng.integers(-spread, spread + 1, (2, rows, 16))
        whole = values.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
        return MatmulOperand(values.astype(np.float16) if kind == "f16" else whole.view(np.float32), kind)

    steps = [(some(m), some(n)) for _ in range(3)]
    start = rng.standard_normal((2, m, n)).astype(np.float32)

    def run():
        total = start.copy()
        matmul.accumulate(total, steps)
        return total

    one, other = both(monkeypatch, run)
    assert one == other and len(calls) == 1


def test_registers_of_warps(calls):
    expected = [A[i] @ B[j] + A[2 + i] @ B[2 + j] for i in (0, 1) for j in (0, 1)]
    np.testing.assert_array_equal(launch_warps(TWO_BY_TWO), np.array(expected, np.float32))
    assert len(calls) == 1


@pytest.mark.parametrize("scale", ["scale", "!scale"])
def test_registers_of_two_warpgroups_that_share_b(scale, calls, monkeypatch):
    rng = np.random.default_rng(5)
    image = rng.standard_normal(32768).astype(np.float16).view(np.uint8)
    start = rng.standard_normal((64, 24)).astype(np.float32)
    places = descriptor(0, 128, 16, 1024), descriptor(B_AT, 128, 16, 1024)
    text = f"{opcode(24, 16, 'f32', 'f16', 'f16')} {{D}}, da, db, {tail('f16', scale='scale')}"
    if scale != "scale":
        text = "setp.ne.u32 scale, 1, 1; " + text
    run = lambda: execute(text, image, 24, "f32", *places, start, threads=256)
    one, other = both(monkeypatch, run)
    assert one == other and len(calls) == 1


def finite(value: float) -> np.ndarray:
    values = np.ones((1, 8, 16), np.float32)
    values[0, 3, 4] = value
    return values


@pytest.mark.parametrize(
    ("kind", "left", "right"),
    [("f16", np.inf, 1), ("e4m3", np.nan, 1), ("e4m3", 2, 2), ("bf16", 2.0**100, 2.0**-100), ("s8", 3, 4)],
)
def test_unsupported_operands(kind, left, right, calls):
    """Sums that are not finite, and sums that are exact in float32, for which BLAS is faster."""
    steps = [(MatmulOperand(finite(left), kind), MatmulOperand(finite(right), kind))]
    total = np.zeros((1, 8, 8), np.float32)
    matmul.accumulate(total, steps)
    assert bool(calls) == (np.isfinite(left) and kind != "s8")
