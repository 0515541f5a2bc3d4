"""A warp that loads and warps that compute: correct results and no race for every loop length, type and order."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import assembled, cases, compiled, run, scheduled_case
from tests.pairwise import alternate, pairwise
from tileiras_build.driver import lower
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.verifiers.shared_memory_allocation import verify_shared_memory_allocation
from tileiras_build.simulate.emulator import Counters
from tileiras_build.target.targets import TARGETS

KERNELS = Path(__file__).with_name("dots_of_loaded_tiles.py")
SMS = ("sm_90", "sm_100", "sm_120")
WGMMA, TCGEN05, MMA = "wgmma.mma_async", "tcgen05.mma", "mma.sync"
MADE_BY = {"async.dot": WGMMA, "async.umma": TCGEN05, "dot": MMA}
# The instruction of each dot on sm_90 and on sm_100; sm_120 has mma.sync alone. wgmma takes one operand of bytes
# that lies the other way, in 64 columns or more, and threads transpose others; tensor memory accumulators in 32 bits only.
DOTS = {
    "f16_rows": (WGMMA, TCGEN05),
    "f16_columns": (WGMMA, TCGEN05),
    "bf16_wide": (WGMMA, TCGEN05),
    "f16_tall": (WGMMA, TCGEN05),
    "f16_square": (WGMMA, TCGEN05),  # its accumulators would fill all registers, and are computed in slices;
    "f16_of_two": (WGMMA, TCGEN05),
    "f16_wide_of_two": (WGMMA, TCGEN05),  # half of them would, too, and one block has all instead
    "f16_deep": (WGMMA, TCGEN05),
    "f16_half_acc": (WGMMA, TCGEN05),
    "f16_half_short": (WGMMA, TCGEN05),
    "f16_half_tall": (WGMMA, TCGEN05),
    "f8_half_acc": (WGMMA, TCGEN05),
    "f8_columns": (WGMMA, TCGEN05),
    "f8_rows": (WGMMA, TCGEN05),
    "f8_turned": (WGMMA, TCGEN05),
    "i8_rows": (WGMMA, TCGEN05),
    "i8_columns": (WGMMA, TCGEN05),
    "tf32_columns": (WGMMA, TCGEN05),
    "tf32_rows": (WGMMA, TCGEN05),
    "tf32_tall": (WGMMA, TCGEN05),
    "tf32_turned": (WGMMA, TCGEN05),
    "f16_short": (WGMMA, TCGEN05),
    "f16_short_wide": (WGMMA, TCGEN05),
    "f8_short": (WGMMA, TCGEN05),
    "i8_short": (WGMMA, TCGEN05),
    "tf32_both_turned": (WGMMA, TCGEN05),
}
# ldmatrix does not transpose them either: TMA loads them only where tensor memory's dots read them.
TURNED_BYTES = ("f8_rows", "f8_turned", "i8_rows")


def operands(name, m, n, k):
    """Small integers, so that every result is exact in any order; the result holds what a kernel must overwrite or add to."""
    rng = np.random.default_rng(m * n + k)
    left, right, out = cases(KERNELS)[name].arguments[:3]
    a, b = (rng.integers(-3, 4, shape) for shape in ((m, k), (k, n)))
    a, b = (
        np.asarray(value, array.dtype, order="C" if array.unit_stride == -1 else "F")
        for value, array in ((a, left), (b, right))
    )
    return a, b, rng.integers(-3, 4, (m, n)).astype(out.dtype)


def check(name, sm, sizes, grid=(1, 1, 1), start=False):
    a, b, out = operands(name, *sizes)
    want = a.astype(np.float64) @ b.astype(np.float64) + (out if start else 0)
    np.testing.assert_array_equal(run(KERNELS, name, sm, [a, b, out], grid)[2].astype(np.float64), want)


# Tiles that take several instructions or a part of one, and operands in the order that bytes seldom have.
EACH = (
    "f16_tall", "f16_square", "f16_of_two", "f16_wide_of_two", "f16_deep", "tf32_tall", "f16_short", "f16_short_wide", "f8_short",
    "f8_rows", "i8_rows", "i8_columns", "tf32_rows",
)  # fmt: skip
# Those whose parts the two instructions divide otherwise: accumulators in slices or of two CTAs, deep and short tiles.
BOTH = [
    ("f16_square", "sm_90"),
    ("f16_deep", "sm_100"),
    ("f16_of_two", "sm_100"),
    ("f16_short", "sm_100"),
    ("f8_rows", "sm_90"),
]
# What alone has an instruction.
ALONE = [("f8_half_acc", "sm_120"), ("i8_short", "sm_100"), ("tf32_both_turned", "sm_90")]
OTHERS = alternate([name for name in DOTS if name not in EACH], SMS)
RESULTS = dict.fromkeys([*OTHERS, *alternate(EACH, ("sm_90", "sm_100")), *BOTH, ("f16_of_two", "sm_120"), *ALONE])


@pytest.mark.parametrize(("name", "sm"), RESULTS)
def test_tiles_that_stick_out_of_the_arrays(name, sm):
    m, n, k = (argument for argument in cases(KERNELS)[name].arguments if isinstance(argument, int))
    more = 22 if cases(KERNELS)[name].arguments[0].unit_stride == -1 else 16
    check(name, sm, (m + more, n + 16, 2 * k + 16), (2, 2, 1))


@pytest.mark.parametrize("name", DOTS)
def test_the_dot_is_made_by_the_targets_own_instruction(name):
    """In PTX where it runs, in .tileas elsewhere."""
    for sm, instruction in zip(SMS, (*DOTS[name], MMA)):
        artifacts = compiled(KERNELS, name, sm)
        fetched = name not in TURNED_BYTES or instruction != MMA
        if (name, sm) in RESULTS:
            found = [other for other in (WGMMA, TCGEN05, MMA) if other in artifacts.ptx]
            assert (sm, found, "cp.async.bulk.tensor" in artifacts.ptx) == (sm, [instruction], fetched)
            continue
        found = [
            MADE_BY[op]
            for op in sorted(set(re.findall(r"nv_tileas\.(async\.dot|async\.umma|dot)\b", artifacts.tileas)))
        ]
        assert (sm, found, "async.tiled_tma_load" in artifacts.tileas) == (sm, [instruction], fetched)


def to_tf32(values):
    """Rounded to 11 significant bits, ties to even, by float64 arithmetic."""
    _, exponent = np.frexp(values.astype(np.float64))
    return np.ldexp(np.rint(np.ldexp(values.astype(np.float64), 11 - exponent)), exponent - 11)


@pytest.mark.parametrize(("sm", "name", "wide"), pairwise(SMS, ["tf32_columns", "tf32_rows"], [0, 1]))
def test_f32_is_rounded_to_tf32_on_the_way(sm, name, wide):
    """14 bits on one side, 2 on the other: a dot of rounded operands is exact."""
    a, b, out = operands(name, 128, 128, 64)
    given = (a, b)[wide]
    given[...] = np.random.default_rng(wide).integers(-(2**13), 2**13, given.shape)
    assert (to_tf32(given) != given).any()
    found = run(KERNELS, name, sm, [a, b, out], (1, 128 // (64 if name == "tf32_columns" else 128), 1))[2]
    np.testing.assert_array_equal(found.astype(np.float64), to_tf32(a) @ to_tf32(b))


def test_operands_that_no_instruction_transposes_are_read_without_bank_conflicts():
    a, b, out = operands("tf32_rows", 128, 128, 64)
    counters = Counters()
    run(KERNELS, "tf32_rows", "sm_90", [a, b, out], counters=counters)
    assert counters.accesses and not any(counters.bank_conflicts.values())


COMPUTED = ("computed_left", "computed_left_tf32", "computed_left_short", "computed_left_tf32_short")


@pytest.mark.parametrize(("sm", "name", "steps"), pairwise(SMS, COMPUTED, [1, 4]))
def test_a_left_operand_that_each_iteration_computes(sm, name, steps):
    m, n, k = (argument for argument in cases(KERNELS)[name].arguments if isinstance(argument, int))
    a, b, out = operands(name, m, n, steps * k)
    found = run(KERNELS, name, sm, [a, b, out])[2]
    np.testing.assert_array_equal(found.astype(np.float64), 2 * a.astype(np.float64) @ b.astype(np.float64))
    instruction = {"sm_90": WGMMA, "sm_100": TCGEN05}.get(sm, MMA)
    assert instruction in compiled(KERNELS, name, sm).ptx


@pytest.mark.parametrize(("name", "sm"), alternate(["f16_square", "f16_of_two", "f16_wide_of_two"], SMS))
def test_what_takes_many_registers_is_assembled(name, sm):
    """No instruction has more registers than a thread."""
    assert assembled(KERNELS, name, sm).cubin


@pytest.mark.parametrize(("steps", "sm"), alternate([1, 2, 3, 7, 13], SMS))
def test_loops_shorter_and_longer_than_the_ring(steps, sm):
    check("f16_columns", sm, (128, 64, 32 * steps))


@pytest.mark.parametrize(("steps", "sm"), alternate([9, 1, 4], SMS))
def test_a_ring_that_is_used_by_many_loops(steps, sm):
    check("nested", sm, (3 * 128, 64, 32 * steps))


@pytest.mark.parametrize(("steps", "sm"), alternate([1, 3], SMS))
def test_a_accumulator_that_starts_from_a_tile(steps, sm):
    check("added", sm, (128, 64, 32 * steps), start=True)


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize(("name", "rows"), [("nested_half", 3 * 128), ("added_half", 128)])
def test_half_precision_accumulators_have_a_column_each(name, rows, steps):
    check(name, "sm_100", (rows, 64, 32 * steps), start=name == "added_half")
    assert TCGEN05 in compiled(KERNELS, name, "sm_100").ptx


@pytest.mark.parametrize(("name", "sm"), alternate(["f16_columns", "nested", "added"], SMS))
def test_a_loop_that_never_runs(name, sm):
    """k = 0: an accumulator of nothing is what it starts from."""
    a, b, out = operands(name, 128, 64, 32)
    found = run(KERNELS, name, sm, [a[:, :0], b[:0], out])[2]
    np.testing.assert_array_equal(found, out if name == "added" else np.zeros_like(out))


@pytest.mark.parametrize(
    ("name", "sm"), alternate(["looked_up", "looked_up_by_two_ctas", "looked_up_late", "looked_up_twice"], SMS)
)
def test_places_that_are_read_from_memory(name, sm):
    """All threads look them up before the partitions part, unless the kernel has written them."""
    rng = np.random.default_rng(5)
    m, n, k = (argument for argument in cases(KERNELS)[name].arguments if isinstance(argument, int))
    a, b = rng.integers(-3, 4, (2 * m, 3 * k)).astype(np.float16), rng.integers(-3, 4, (3, 3 * k, n)).astype(np.float16)
    order, groups, out = rng.permutation(2 * m).astype(np.int32), np.array([2, 1], np.int32), np.zeros((2 * m, n))
    lines, found = np.arange(2 * m), groups
    if name == "looked_up_twice":
        order[:3] = 1, 0, 2
        found = order[groups]
    elif name == "looked_up_late":
        groups, found = np.array([7, 7], np.int32), np.array([2, 2])
    else:
        lines = order
    want = np.concatenate([a[part].astype(np.float64) @ b[group] for part, group in zip(lines.reshape(2, m), found)])
    result = run(KERNELS, name, sm, [a, order, groups, b, out.astype(np.float32)], (2, 1, 1))[4]
    np.testing.assert_array_equal(result.astype(np.float64), want)
    # Without a producer threads copy both operands.
    assert ("cp.async.bulk.tensor" in compiled(KERNELS, name, sm).ptx) == ((name, sm) != ("looked_up_late", "sm_120"))


@pytest.mark.parametrize(
    ("name", "others"), [("after_a_flag", []), ("in_place", ["64, 64"]), ("looked_up_late", ["64, 128"])]
)
def test_loads_that_must_come_after_something_are_not_loaded_ahead(name, others):
    """What they come after: an acquire, a write of the loop around, and one of what says where they are. The producer loads
    only the other operand, which nothing writes: b in place, a where that of b is looked up late.
    """
    text = compiled(KERNELS, name, "sm_90").tileas
    assert text.count("async.tiled_tma_load") == len(others)
    assert all(f"box = array<i64: {box}>" in text for box in others)


def test_loads_whose_hint_forbids_tma_are_copied_by_threads():
    text = compiled(KERNELS, "forbidden", "sm_90").tileas
    assert text.count("async.tiled_tma_load") == 1 and "async_tiled_load" in text


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_dots_whose_stages_do_not_fit_together(sm):
    """Each alone would fit, but shared memory has space for 7 of them."""
    a, b, out = np.ones((64, 256), np.float16), np.full((256, 64), 2, np.float16), np.zeros((64, 64), np.float32)
    assert "mma.sync" in compiled(KERNELS, "many_loops", sm).ptx
    np.testing.assert_array_equal(run(KERNELS, "many_loops", sm, [a, b, out])[2], np.full((64, 64), 8 * 256 * 2))


@pytest.mark.parametrize("sm", SMS)
def test_a_dot_in_place(sm):
    rng = np.random.default_rng(3)
    a, b = rng.integers(-2, 3, (128, 64)).astype(np.float16), rng.integers(-1, 2, (64, 64)).astype(np.float16)
    want = ((a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16).astype(np.float64) @ b).astype(np.float16)
    np.testing.assert_array_equal(run(KERNELS, "in_place", sm, [a, b])[0], want)


@pytest.mark.parametrize(("sm", "steps", "name"), pairwise(SMS, [1, 2, 5], ["chained", "chained_short"]))
def test_a_left_operand_from_registers(sm, steps, name):
    rng = np.random.default_rng(steps)
    q, k, v = (
        rng.integers(-2, 3, shape).astype(np.float16) for shape in ((150, 64), (64 * steps, 64), (64 * steps, 64))
    )
    q, k = q * np.float16(0.25), k * np.float16(0.25)
    out = np.full((150, 64), np.nan, np.float32)
    acc = np.zeros((150, 64))
    for step in range(steps):
        part = slice(64 * step, 64 * (step + 1))
        scores = q.astype(np.float64) @ k[part].T.astype(np.float64)
        acc = acc * 0.5 + (scores * scores).astype(np.float16).astype(np.float64) @ v[part].astype(np.float64)
    found = run(KERNELS, name, sm, [q, k, v, out], (3 if name == "chained_short" else 2, 1, 1))[3]
    np.testing.assert_allclose(found, acc, rtol=2e-3, atol=1e-2)


@pytest.mark.parametrize(
    ("name", "sm"),
    alternate(["f16_rows", "bf16_wide", "nested", "chained"], [name for name in TARGETS if TARGETS[name].has("tma")]),
)
def test_shared_memory_is_not_used_twice_at_once(name, sm):
    assert verify_shared_memory_allocation(scheduled_case(KERNELS, name, sm)) >= 0


def test_a_view_that_is_made_in_the_loop():
    """Its tensor map is made before: other front ends leave the view where it is used."""
    text = compiled(KERNELS, "f16_columns", "sm_90").tileaa
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if "nv_tileaa.tiled_load" in line)
    loads = " ".join(lines[first : first + 2])
    moved = [line for line in lines if "nv_tileaa.block_tile" in line and line.split(" = ")[0].strip() in loads]
    assert len(moved) == 2
    kept = [line for line in lines[:first] if line not in moved] + moved + lines[first:]
    ptx = lower("\n".join(kept).encode(), "tileaa", "ptx", Job(TARGETS["sm_90"]))[".ptx"].decode()
    assert WGMMA in ptx and "cp.async.bulk.tensor" in ptx
