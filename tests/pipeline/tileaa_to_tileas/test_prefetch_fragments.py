"""Fragments in flight across the wait for their stage: correct results and no race for every loop length, and in which order."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import cases, disassembled, run, scheduled_case
from tileiras_build.pipeline.verifiers.cp_async_buffers import verify_cp_async_buffers

KERNELS = Path(__file__).with_name("k_step_dots.py")
FAST_PATH = Path(__file__).parents[3] / "benchmarks" / "key_kernels.py"
READING, DOT = "nv_tileas.local_load", "nv_tileas.dot"
WAIT = "nv_tileas.barrier"
# Steps of the instruction's k in a tile.
STEPS = {
    ("f16_half_acc", "sm_80"): 2,
    ("f8", "sm_120"): 2,
    ("i8", "sm_80"): 2,
    ("f64", "sm_80"): 4,
    ("batched", "sm_80"): 2,
    ("f16", "sm_80"): 4,
}
# sm_80 widens fp8 first, and rounds to tf32.
CONVERTED = (("f8", "sm_80"), ("tf32_transposed", "sm_80"))
LENGTHS = (0, 16, 64, 144, 448)  # along k: no tile, one, more than a ring has stages


def operands(name, length):
    """Small integers, so that every result is exact in any order."""
    rng = np.random.default_rng(length)
    left, right, out = cases(KERNELS)[name].arguments[:3]
    batches = (2,) if name == "batched" else ()
    m, n = 64 if batches else 144, 32 if name == "tf32_transposed" else 64
    a, b = (rng.integers(-2, 3, (*batches, *shape)) for shape in ((m, length), (length, n)))
    return a.astype(left.dtype), b.astype(right.dtype), np.full((*batches, m, n), 7, np.dtype(out.dtype))


def given(values):
    """An operand as the kernel takes it: with strides of multiples of 16 even where it is empty."""
    *batches, lines, length = values.shape
    whole = np.zeros((*batches, max(lines, 1), max(length, 16)), values.dtype)
    whole[..., :lines, :length] = values
    return whole[..., :lines, :length]


# Every length of one kernel, and two of each other one: without a full tile, and past a ring's last stage (the tiles of f64 are 16 deep).
RESULTS = [
    (name, sm, length)
    for name, sm in (*STEPS, *CONVERTED)
    for length in (LENGTHS if name == "f16" else (LENGTHS[1], LENGTHS[-2 if name == "f64" else -1]))
]


@pytest.mark.parametrize(("name", "sm", "length"), RESULTS)
def test_results(name, sm, length):
    a, b, out = operands(name, length)
    right = b.T if name == "tf32_transposed" else b
    found = run(KERNELS, name, sm, [given(a), given(right), out], (2 if name == "batched" else 3, 1, 1))[2]
    np.testing.assert_array_equal(found.astype(np.float64), np.matmul(a.astype(np.float64), b.astype(np.float64)))


def bodies(module):
    """The operations of the loops that multiply."""
    blocks = dict.fromkeys(op.parent for op in module.walk() if op.name == DOT)
    return [list(block.ops) for block in blocks if block.parent_op().name == "nv_tileas.for"]


@pytest.mark.parametrize(("name", "sm"), STEPS)
def test_the_last_step_is_multiplied_behind_the_readings_of_the_next_tile(name, sm):
    module = scheduled_case(KERNELS, name, sm)
    [ops] = bodies(module)
    names = [op.name for op in ops]
    wait = names.index(WAIT)
    assert names.count(DOT) == STEPS[name, sm]
    assert names[:wait].count(DOT) == STEPS[name, sm] - 1
    behind = [name for name in names[wait:] if name in (READING, DOT)]
    assert behind == [READING, READING, DOT]
    assert verify_cp_async_buffers(module) == 2


@pytest.mark.parametrize(("name", "sm"), CONVERTED)
def test_operands_that_are_converted_are_read_at_once(name, sm):
    [ops] = bodies(scheduled_case(KERNELS, name, sm))
    assert [op.name for op in ops].count(DOT) == 1
    assert all(op.starts is None for op in ops if op.name == READING)


@pytest.mark.parametrize(
    ("name", "sm"), [("matmul_f16_128x128x64", "sm_120"), ("attention_f16_128x128", "sm_80")]
)  # fmt: skip
def test_other_loops_stay(name, sm):
    """TMA loads the tiles; two dots are another matter."""
    module = scheduled_case(FAST_PATH, name, sm)
    assert all(op.starts is None for op in module.walk() if op.name == READING)


def test_dots_stand_between_the_barrier_and_the_fragments_it_lets_in():
    """In machine code: the loop waits at its barrier with a step's dots in hand."""
    lines = disassembled(KERNELS, "f16", "sm_80").splitlines()
    names = [word for line in lines for word in ("HMMA", "LDSM", "BAR.SYNC", "LDGSTS") if f" {word}" in line]
    barriers = [place for place, name in enumerate(names) if name == "BAR.SYNC"]
    inside = next(place for place in barriers if "HMMA" in names[:place] and "HMMA" in names[place:])
    after = names[inside:]
    assert after[: after.index("LDGSTS")].count("HMMA") > 0
    assert "HMMA" in names[inside - 2 : inside]
