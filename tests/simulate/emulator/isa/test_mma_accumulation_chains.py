"""Deferred MMAs in generated code: their accumulators, readers, and intervening writes."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import aligned, kernel, run
from tileiras_build.simulate.emulator.codegen.function_cache import function_cache_of
from tileiras_build.simulate.emulator.ptx.program import load

DECLARE = """.reg .b32 t<4>; .reg .b32 a<17>; .reg .b32 b<9>; .reg .f32 c<20>; .reg .f32 d<20>; .reg .f32 z; .reg .b64 u<8>;
 .reg .pred p<2>;"""
LANES = np.arange(32)
ROWS = [LANES // 4 + 8 * (i // 2) for i in range(4)]  # of D's registers
COLUMNS = [2 * (LANES % 4) + i % 2 for i in range(4)]
# Operands: A of 16 x 16 at registers 4 i to 4 i + 3, B of 16 x 8 at 2 i and 2 i + 1, C of 16 x 8 at 4 i to 4 i + 3.
LOADS = "mov.u32 t0, %tid.x; mov.f32 z, 0f00000000; setp.lt.u32 p0, t0, 7;\n" + "\n".join(
    [
        "mad.wide.u32 u4, t0, 64, u0; mad.wide.u32 u5, t0, 32, u1; mad.wide.u32 u6, t0, 64, u2; mad.wide.u32 u7, t0, 64, u3;",
        *(f"ld.global.b32 a{i}, [u4+{4 * i}];" for i in range(16)),
        *(f"ld.global.b32 b{i}, [u5+{4 * i}];" for i in range(8)),
        *(f"ld.global.f32 c{i}, [u6+{4 * i}];" for i in range(16)),
        *(f"mov.f32 d{i}, z;" for i in range(16)),
    ]
)
STORES = " ".join(f"st.global.f32 [u7+{4 * i}], d{i};" for i in range(16))


def mma(d: str, a: int, b: int, c: str | None = None) -> str:
    """D = A[a] B[b] + C; ``d`` and ``c`` name the first of four registers."""
    four = [f"{name[0]}{int(name[1:]) + i}" for name in (d, c or d) for i in range(4)]
    left, right = (", ".join(f"{n}{size * i + k}" for k in range(size)) for n, i, size in (("a", a, 4), ("b", b, 2)))
    return (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        f"{{{', '.join(four[:4])}}}, {{{left}}}, {{{right}}}, {{{', '.join(four[4:])}}};"
    )


def operands():
    """Integers, whose sums are exact in every order: A (4, 16, 16), B (4, 16, 8), C (4, 16, 8)."""
    rng = np.random.default_rng(3)
    return [rng.integers(-9, 10, (4, *shape)).astype(np.float32) for shape in ((16, 16), (16, 8), (16, 8))]


def launch(body: str) -> np.ndarray:
    """The four matrices (16 x 8) in registers d0 to d15 at the end."""
    a, b, c = operands()
    column = 2 * (LANES % 4)[:, None] + np.arange(2)
    left = [a[:, (LANES // 4 + 8 * (r % 2))[:, None], column + 8 * (r // 2)] for r in range(4)]
    right = [b[:, column + 8 * r, (LANES // 4)[:, None]] for r in range(2)]
    memory = [
        np.stack(left, axis=2).transpose(1, 0, 2, 3).astype(np.float16),
        np.stack(right, axis=2).transpose(1, 0, 2, 3).astype(np.float16),
        np.stack([c[:, ROWS[i], COLUMNS[i]] for i in range(4)], axis=2).transpose(1, 0, 2),
    ]
    out = aligned(np.zeros((32, 4, 4), np.float32))
    run(text(body), *(aligned(np.ascontiguousarray(array)) for array in memory), out, matmul_rounding="exact")
    result = np.zeros((4, 16, 8), np.float32)
    for i in range(4):
        result[:, ROWS[i], COLUMNS[i]] = out[:, :, i].T
    return result


def text(body: str) -> str:
    return kernel(f"{LOADS}\n{body}\n{STORES}", 4, declare=DECLARE)


def calls(body: str) -> int:
    """The number of matmuls that generated code executes."""
    functions = function_cache_of(load(text(body), "k", None))
    bodies = [functions.generate(pc, diverged) for pc, diverged, _ in functions.cache]
    return sum(line.count("accumulate_warp_tile(g") for body in bodies for line in body.lines)


A, B, C = operands()
TWO_BY_TWO = "\n".join(
    mma(f"d{8 * i + 4 * j}", 2 * step + i, 2 * step + j) for step in (0, 1) for i in (0, 1) for j in (0, 1)
)
# Name -> the body, the resulting matrices, and the number of matmuls.
CASES = {
    "a tile of two steps": (TWO_BY_TWO, [A[i] @ B[j] + A[2 + i] @ B[2 + j] for i in (0, 1) for j in (0, 1)], 1),
    "an incomplete tile": (
        mma("d0", 0, 0) + mma("d4", 0, 1) + mma("d8", 1, 0),
        [A[0] @ B[0], A[0] @ B[1], A[1] @ B[0], 0 * C[0]],
        2,
    ),
    "the same MMA twice": (mma("d0", 0, 0) + mma("d4", 0, 0), [A[0] @ B[0], A[0] @ B[0], 0 * C[0], 0 * C[0]], 2),
    "C in other registers": (
        mma("d0", 0, 0, "c0") + mma("d4", 1, 1, "d0") + mma("d0", 2, 2, "c4"),
        [A[2] @ B[2] + C[1], A[0] @ B[0] + C[0] + A[1] @ B[1], 0 * C[0], 0 * C[0]],
        2,
    ),
    "accumulators with another reader": (
        mma("d0", 0, 0, "c0") + mma("d4", 1, 1, "d0"),
        [A[0] @ B[0] + C[0], A[0] @ B[0] + C[0] + A[1] @ B[1], 0 * C[0], 0 * C[0]],
        2,
    ),
    "C that is overwritten": (
        mma("d0", 0, 0, "c0") + "mov.f32 c0, z; mov.f32 c1, z; mov.f32 c2, z; mov.f32 c3, z;" + mma("d4", 0, 1, "c0"),
        [A[0] @ B[0] + C[0], A[0] @ B[1], 0 * C[0], 0 * C[0]],
        1,
    ),
    "a chain whose C is overwritten": (
        mma("d0", 0, 0) + mma("d4", 1, 1, "d0") + " ".join(f"mov.f32 d{i}, c{i};" for i in range(4)),
        [C[0], A[0] @ B[0] + A[1] @ B[1], 0 * C[0], 0 * C[0]],
        1,
    ),
    "a predicated reader": (
        mma("d0", 0, 0) + "@p0 st.global.f32 [u7], d0;",
        [A[0] @ B[0], 0 * C[0], 0 * C[0], 0 * C[0]],
        1,
    ),
    "a predicated writer": (
        mma("d0", 0, 0) + "setp.ge.u32 p1, t0, 32;" + "@p1 mov.f32 d1, c1;",
        [A[0] @ B[0], 0 * C[0], 0 * C[0], 0 * C[0]],
        1,
    ),
    "overwritten operands": (
        mma("d0", 0, 0) + "mov.b32 a0, 0; mov.b32 b0, 0;" + mma("d4", 1, 1),
        [A[0] @ B[0], A[1] @ B[1], 0 * C[0], 0 * C[0]],
        2,
    ),
}


@pytest.mark.parametrize(("body", "expected", "count"), CASES.values(), ids=CASES)
def test_deferred_mmas(body, expected, count):
    np.testing.assert_array_equal(launch(body), np.array(expected, np.float32))
    assert calls(body) == count


def test_predicated_mma_is_not_deferred():
    body = "setp.ge.u32 p1, t0, 32;" + mma("d0", 0, 0) + "@p1 " + mma("d0", 1, 1)
    np.testing.assert_array_equal(launch(body)[0], A[0] @ B[0])
