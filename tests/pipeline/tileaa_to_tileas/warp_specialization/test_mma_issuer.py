"""Partitions of one thread: correct results and no race where one issues the dots of loops over tiles, and who has one."""

import re
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.emulated_kernels import aligned, assembled, cases, compiled, disassembled, run, scheduled_case
from tests.pairwise import alternate
from tests.pipeline.tileaa_to_tileas.partition_orders import hold_computing_warps, shuffle_partitions
from tileiras_build.driver import lower
from tileiras_build.frontend.export_cutile import pack_arguments
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.tile_ir_text_format import parse, render
from tileiras_build.pipeline.verifiers.cp_async_buffers import verify_cp_async_buffers
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines
from tileiras_build.pipeline.verifiers.shared_memory_allocation import verify_shared_memory_allocation
from tileiras_build.pipeline.verifiers.tma_stores import verify_tma_stores
from tileiras_build.simulate import emulator
from tileiras_build.target import sass_listing
from tileiras_build.target.targets import TARGETS

KERNELS = Path(__file__).parents[1] / "persistent_dots.py"
PERSISTENT = ("f16", "bf16", "f8", "i8", "tf32", "short", "tall", "square", "of_two", "wide_of_two")
CLUSTERED = ("f16_2ctas", "f16_4ctas", "tf32_2ctas")
OTHERS = ("triangular", "grouped", "gated", "beside", "added_to")
APART = tuple(name for name in (*PERSISTENT, *CLUSTERED, *OTHERS) if name != "wide_of_two")
TENSOR_MEMORY = [name for name in TARGETS if TARGETS[name].has("tcgen05")]


def tile_of(name):
    return [argument for argument in cases(KERNELS)[name].arguments if isinstance(argument, int)]


def operands(name, m, n, k, seed=0):
    """Small integers, so that every result is exact in any order; of none, k = 0, the arrays have places all the same."""
    rng, whole = np.random.default_rng(m * n + k + seed), max(k, 32)
    left, right, *_, out = (array for array in cases(KERNELS)[name].arguments if not isinstance(array, int))
    a, b = rng.integers(-3, 4, (m, whole)).astype(left.dtype), rng.integers(-3, 4, (whole, n)).astype(right.dtype)
    b = b if right.unit_stride == -1 else np.asfortranarray(b)
    return a[:, :k], b[:k], np.full((m, n), 9, out.dtype)


def has_row(name, sm):
    """Whether the target multiplies the types of a kernel in tensor memory."""
    return name != "i8" or TARGETS[sm].has("tcgen05_i8")


def matmul(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


def check(name, sizes, grid, sm="sm_100"):
    a, b, out = operands(name, *sizes)
    found = run(KERNELS, name, sm, [a, b, out], grid)[2]
    np.testing.assert_array_equal(found.astype(np.float64), matmul(a, b))


def regions(name, sm):
    module = scheduled_case(KERNELS, name, sm)
    [switch] = [op for op in module.walk() if op.name == "nv_tileas.agent_switch"]
    return switch.regions


# ---- results -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [*PERSISTENT, *CLUSTERED])
def test_tiles_that_stick_out_of_the_arrays(name):
    m, n, k = tile_of(name)
    more = 22 if cases(KERNELS)[name].arguments[1].unit_stride == -1 else 16
    check(name, (m + more, n + 16, 2 * k + 16), (3, 1, 1))


FEW_AND_MANY = [
    (name, steps, blocks)
    for (name, steps), blocks in zip(alternate(["f16", "tf32", "f8", "f16_2ctas"], [0, 1, 2, 13]), cycle([1, 2, 7]))
]


@pytest.mark.parametrize(("name", "steps", "blocks"), FEW_AND_MANY)
def test_few_and_many_steps_and_tiles(name, steps, blocks):
    """Six tiles: one block has all of them, the last of seven none."""
    m, n, k = tile_of(name)
    check(name, (3 * m, 2 * n, steps * k), (blocks, 1, 1))


@pytest.mark.parametrize("name", ["square", "of_two", "f16_4ctas"])
def test_more_tiles_than_buffers(name):
    m, n, k = tile_of(name)
    check(name, (5 * m, n, 3 * k), (1, 1, 1))


@pytest.mark.parametrize("sm", TENSOR_MEMORY)
def test_every_target_with_tensor_memory(sm):
    check("f16", (3 * 128, 64, 5 * 32), (1, 1, 1), sm)


@pytest.mark.parametrize("tiles", [1, 4, 9])
def test_some_accumulators_of_nothing(tiles):
    a, b, out = operands("triangular", 128 * tiles, 64, 32 * 4)
    found = run(KERNELS, "triangular", "sm_100", [a, b, out])[2]
    for tile in range(tiles):
        part, steps = slice(128 * tile, 128 * (tile + 1)), 32 * (tile % 4)
        np.testing.assert_array_equal(found[part], matmul(a[part, :steps], b[:steps]))


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_loops_around_loops_over_tiles(steps):
    rng = np.random.default_rng(steps)
    a = rng.integers(-3, 4, (3, 2 * 128, 32 * max(steps, 1))).astype(np.float16)[:, :, : 32 * steps]
    b = rng.integers(-3, 4, (3, 32 * max(steps, 1), 64)).astype(np.float16)[:, : 32 * steps]
    found = run(KERNELS, "grouped", "sm_100", [a, b, np.full((3, 2 * 128, 64), 9, np.float32)])[2]
    np.testing.assert_array_equal(found, matmul(a, b))


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_two_accumulators_of_a_tile(steps):
    a, b, out = operands("gated", 3 * 128, 64, 32 * steps)
    c = operands("gated", 3 * 128, 64, 32 * steps, seed=1)[1]
    found = run(KERNELS, "gated", "sm_100", [a, b, c, out])[3]
    np.testing.assert_array_equal(found, matmul(a, b) * matmul(a, c))


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_a_loop_that_does_more_than_the_dot(steps):
    a, b, out = operands("beside", 3 * 128, 64, 32 * steps)
    weights = np.arange(1, 9, dtype=np.float32)
    found = run(KERNELS, "beside", "sm_100", [a, b, weights, out])[3]
    np.testing.assert_array_equal(found, matmul(a, b) + weights[:steps].sum())


@pytest.mark.parametrize("name", ["added_to", "from_a_tile"])
def test_an_epilogue_that_reads_what_it_overwrites(name):
    a, b, out = operands(name, 3 * 128, 64, 32 * 3)
    want = matmul(a, b) + 9
    found = run(KERNELS, name, "sm_100", [a, b, out])[2]
    np.testing.assert_array_equal(found, np.maximum(want, 0) if name == "added_to" else want)


# ---- who issues ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", APART)
def test_one_partition_issues_and_others_read(name):
    fetching, issuing, reading = (
        {op.name.removeprefix("nv_tileas.") for op in region.walk()} for region in regions(name, "sm_100")
    )
    assert "async.tiled_tma_load" in fetching and not {"async.umma", "tmem_load"} & fetching
    assert "async.umma" in issuing and not {"tmem_load", "tmem_store", "barrier", "async.tiled_tma_load"} & issuing
    assert {"tmem_load", "async.pipeline.consumer_release"} <= reading and "async.umma" not in reading


@pytest.mark.parametrize(
    ("name", "sm"), [("f16", "sm_90"), ("f16", "sm_120"), ("from_a_tile", "sm_100"), ("wide_of_two", "sm_100")]
)
def test_who_has_no_such_partition(name, sm):
    """Other instructions, accumulators that do not start from zero, and those for which a further warp leaves too few registers."""
    assert len(regions(name, sm)) == 2


# The schedule is that of the first target but for what an SM holds: some kernels for each of the others, too.
PROVED = [(name, TENSOR_MEMORY[0]) for name in APART]
PROVED += [(name, sm) for name, sm in zip(APART[1::2], cycle(TENSOR_MEMORY[1:])) if has_row(name, sm)]


@pytest.mark.parametrize(("name", "sm"), PROVED)
def test_the_partitions_are_accepted(name, sm):
    module = scheduled_case(KERNELS, name, sm)
    assert verify_pipelines(module) >= 2
    assert (
        verify_cp_async_buffers(module)
        and verify_shared_memory_allocation(module) >= 0
        and verify_tma_stores(module) >= 0
    )


@pytest.mark.parametrize(
    ("name", "buffers", "columns"),
    [("f16", 2, 128), ("bf16", 2, 256), ("tall", 2, 512), ("square", 1, 512), ("of_two", 2, 256), ("gated", 2, 256)],
)  # fmt: skip
def test_as_many_buffers_as_the_blocks_of_an_sm_hold(name, buffers, columns):
    """512 columns of 128 lanes; 256 of each of two blocks."""
    text = compiled(KERNELS, name, "sm_100").tileas
    counts = [int(count) for count in re.findall(r"umma_commit .*pipeline<#builtin.int<(\d+)>", text)]
    assert set(counts) == {buffers}
    assert int(re.search(r"create_tmem .*tmem<#builtin.int<(\d+)>", text)[1]) == columns


@pytest.mark.parametrize(("name", "sm"), alternate(["f16", "tall", "f16_2ctas", "gated"], ["sm_103", "sm_110"]))
def test_it_is_assembled(name, sm):
    assert assembled(KERNELS, name, sm).cubin


# ---- what does not wait for what -----------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "tiles_ahead"), [("f16", 2), ("tall", 2), ("f16_2ctas", 2), ("square", 1)])
def test_dots_of_the_next_tile_are_done_while_the_epilogue_is_held(name, tiles_ahead, monkeypatch):
    """From the first dot on no computing warp runs until nobody else can go on."""
    m, n, k = tile_of(name)
    warps = int(re.search(r"num_warps = (\d+)", compiled(KERNELS, name, "sm_100").tileas)[1])
    done = hold_computing_warps(monkeypatch, warps)
    check(name, (4 * m, n, 3 * k), (1, 1, 1))
    assert done.count("mma") % 4 == 0
    of_a_tile = done.count("mma") // 4
    assert done[: done.index("load")].count("mma") == tiles_ahead * of_a_tile


@pytest.mark.parametrize(("name", "seed"), alternate(["f16", "square", "f16_2ctas", "f16_4ctas"], range(4)))
def test_any_order_of_partitions(name, seed, monkeypatch):
    m, n, k = tile_of(name)
    shuffle_partitions(monkeypatch, seed)
    check(name, (3 * m, n, 2 * k), (1, 1, 1))


def release_early(find):
    [load], [release] = find("tmem_load"), find("consumer_release")
    release.detach()
    load.parent.insert_op_before(release, load)


def never_wait_for_a_buffer(find):
    [acquire] = find("umma_acquire")
    acquire.detach()


@pytest.mark.parametrize(
    ("change", "message"), [(release_early, "race on tensor memory"), (never_wait_for_a_buffer, "deadlock")]
)
def test_the_emulator_sees_a_buffer_that_is_overwritten_too_early(change, message):
    """Where nobody waits for buffers, their mbarriers run ahead of who waits for them."""
    artifacts = compiled(KERNELS, "f16", "sm_100")
    module = parse(artifacts.tileas.encode())
    change(lambda suffix: [op for op in module.walk() if op.name.endswith(suffix)])
    ptx = lower(render(module), "tileas", "ptx", Job(TARGETS["sm_100"]))[".ptx"].decode()
    values = [aligned(value) for value in operands("f16", 4 * 128, 64, 2 * 32)]
    memory = emulator.Memory()
    for value in values:
        memory.map(value.ctypes.data, value.nbytes)
    parameters = pack_arguments(cases(KERNELS)["f16"], values)
    with pytest.raises(emulator.EmulatorFault, match=message):
        changed = SimpleNamespace(ptx=ptx, manifest=artifacts.manifest)
        emulator.launch(changed, "f16", (1, 1, 1), parameters, memory=memory, check_races=True)


def listing_of(name):
    [listing] = sass_listing.read_listings(disassembled(KERNELS, name, "sm_100"))
    return listing


@pytest.mark.parametrize("name", ["f16", "bf16", "tall", "f16_2ctas", "grouped"])
def test_no_thread_issues_dots_after_it_has_read_an_accumulator(name):
    listing = listing_of(name)
    assert not {"UTCHMMA", "UTMALDG"} & listing.reached_from("LDTM")
    assert not {"LDTM", "UTMASTG", "STG"} & listing.reached_from("UTCHMMA")
    assert "UTCHMMA" in listing.reached_from("UTCHMMA") and "LDTM" in listing.reached_from("LDTM")


def test_a_thread_that_computes_and_issues_does():
    assert "UTCHMMA" in listing_of("from_a_tile").reached_from("LDTM")


# What lives in most registers: large tiles, two accumulators, what an epilogue reads.
@pytest.mark.parametrize("name", ["tall", "square", "of_two", "tf32_2ctas", "f16_4ctas", "gated", "added_to"])
def test_no_register_is_spilled(name):
    assert listing_of(name).count(*sass_listing.SPILL) == 0
