"""Stores by TMA: correct results in every type and shape, nothing written outside, and only where they may be chosen."""

import re
from itertools import cycle, product
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import aligned, cases, compiled, run
from tests.pairwise import alternate
from tileiras_build.frontend.export_cutile import pack_arguments
from tileiras_build.simulate import emulator
from tileiras_build.target.targets import find_target

KERNELS = Path(__file__).with_name("tma_stored_tiles.py")
FAST_PATH = Path(__file__).parents[3] / "benchmarks" / "key_kernels.py"
SMS = ("sm_90", "sm_100", "sm_120")
STORE = "cp.async.bulk.tensor.{}d.global.shared::cta"
DOTS = ("f16", "bf16_wide", "f16_tall", "f16_narrow", "f16_to_f8", "f16_to_i32", "f16_to_f32", "f16_to_i8")
CHOSEN = ("f16", "bf16_wide", "f16_tall", "f16_narrow", "f16_to_f8", "f16_to_i8", "transposed", "persistent", "persistent_wide",
          "twice")  # fmt: skip
ONE_CTA = {"schedule": '{"schedule": {"num_ctas": 1}}'}
UNTOUCHED = 77  # what elements hold that no store may reach


def sizes(name):
    return [argument for argument in cases(KERNELS)[name].arguments if isinstance(argument, int)]


def integers(seed, shape, dtype=np.float16):
    """Small integers, so that every result is exact in any order."""
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(dtype)


def wide(array):
    return array.astype(np.float64)


def operands(name, m, n, k):
    """a, b and what lies in the result before."""
    left, right, result = (argument.dtype for argument in cases(KERNELS)[name].arguments[:3])
    a, b = integers(1, (m, k), left), integers(2, (k, n), right)
    if result == "float8_e5m2":
        a[:, 2:], b[2:] = 0, 0  # three bits of precision
    return a, b, np.full((m, n), UNTOUCHED).astype(result)


@pytest.mark.parametrize(("name", "sm"), [*alternate(DOTS, SMS), ("bf16_wide", "sm_120")])
def test_tiles_that_stick_out_of_the_array(name, sm):
    m, n, k = sizes(name)
    a, b, out = operands(name, m + 22, n + 16, k + 16)
    found = run(KERNELS, name, sm, [a, b, out], (2, 2, 1))[2]
    np.testing.assert_array_equal(wide(found), wide(a) @ wide(b))


@pytest.mark.parametrize(("name", "sm"), alternate(["f16", "f16_to_f8", "persistent"], ["sm_90", "sm_120", "sm_100"]))
def test_nothing_around_a_part_of_an_array_is_written(name, sm):
    m, n, k = sizes(name)
    a, b, whole = operands(name, m + 8, n + 96, k)
    part = np.s_[: m - 5, 16 : n - 16]
    a, b = a[: m - 5], np.ascontiguousarray(b[:, 16 : n - 16])
    expected = whole.copy()
    expected[part] = (wide(a) @ wide(b)).astype(whole.dtype)
    found = run_on_part(name, sm, [a, b, whole], part)
    np.testing.assert_array_equal(wide(found), wide(expected))


def run_on_part(name, sm, arrays, part):
    """The third array after a launch of a kernel whose parameters cover a part of it only."""
    copies = [aligned(array) for array in arrays]
    memory = emulator.Memory()
    for array in copies:
        memory.map(array.ctypes.data, array.nbytes)
    parameters = pack_arguments(cases(KERNELS)[name], [*copies[:2], copies[2][part]])
    emulator.launch(compiled(KERNELS, name, sm), name, (2, 2, 1), parameters, memory=memory, check_races=True)
    return copies[2]


@pytest.mark.parametrize(
    ("sm", "name", "blocks"),
    [(*case, blocks) for case, blocks in zip(product(SMS, ["persistent", "persistent_wide"]), cycle([1, 5, 2]))],
)
def test_a_block_stores_many_tiles(sm, name, blocks):
    m, n, k = sizes(name)
    a, b, out = operands(name, 2 * m + 24, n + 48, 2 * k)
    found = run(KERNELS, name, sm, [a, b, out], (blocks, 1, 1))[2]
    np.testing.assert_array_equal(wide(found), wide(a) @ wide(b))


@pytest.mark.parametrize(("sm", "name"), [("sm_90", "persistent"), ("sm_100", "persistent_wide")])
def test_ctas_of_a_cluster_store_parts_of_tiles_and_wait_for_none(sm, name):
    halves = {"schedule": '{"schedule": {"num_ctas": 2}}'}
    ptx = compiled(KERNELS, name, sm, **halves).ptx
    assert "cp.async.bulk.wait_group.read" in ptx and "cp.async.bulk.wait_group " not in ptx
    m, n, k = sizes(name)
    a, b, out = operands(name, 2 * m + 24, n + 48, 2 * k)
    found = run(KERNELS, name, sm, [a, b, out], (3, 1, 1), **halves)[2]
    np.testing.assert_array_equal(wide(found), wide(a) @ wide(b))


# Orders of stores and forms of tiles: two of three GPUs see each, for tokens and tensor maps are the same on all.
@pytest.mark.parametrize("sm", SMS[:2])
def test_a_loop_stores_in_the_same_place(sm):
    m, n, k = sizes("overwritten")
    a, b, out = operands("overwritten", 2 * m, 3 * n, k)
    found = run(KERNELS, "overwritten", sm, [a, b, np.ascontiguousarray(out[:, :n])], (2, 1, 1))[2]
    np.testing.assert_array_equal(wide(found), wide(a) @ wide(b[:, -n:]))


@pytest.mark.parametrize("sm", SMS[1:])
def test_two_stores_in_a_loop(sm):
    m, n, k = sizes("twice")
    a, b, out = operands("twice", 4 * m, n, k)
    found = run(KERNELS, "twice", sm, [a, b, out, out.copy()])
    np.testing.assert_array_equal(wide(found[2]), wide(a) @ wide(b))
    np.testing.assert_array_equal(wide(found[3]), -wide(found[2]))


@pytest.mark.parametrize("sm", SMS[::2])
def test_loads_that_come_after_a_store(sm):
    m, n, k = sizes("read_back")
    a, b, out = operands("read_back", m, n, k)
    found = run(KERNELS, "read_back", sm, [a, b, out, out.copy()])
    np.testing.assert_array_equal(wide(found[2]), wide(a) @ wide(b))
    np.testing.assert_array_equal(found[3], np.roll(found[2], n // 2, axis=1))


@pytest.mark.parametrize("sm", SMS)
def test_copies_that_come_after_a_store(sm):
    """They have no token at which threads could wait."""
    m, n, k = sizes("multiplied")
    a, b, out = operands("multiplied", m, n, k)
    found = run(KERNELS, "multiplied", sm, [a, b, out, out.copy()])
    np.testing.assert_array_equal(wide(found[2]), wide(a) @ wide(b))
    np.testing.assert_allclose(wide(found[3]), wide(a) @ wide(found[2]), rtol=1e-3)


@pytest.mark.parametrize("sm", SMS[:2])
def test_a_store_that_comes_after_others(sm):
    m, n, k = sizes("written_before")
    a, b, out = operands("written_before", m, n, k)
    found = run(KERNELS, "written_before", sm, [a, b, out])[2]
    np.testing.assert_array_equal(wide(found), wide(a) @ wide(b) + UNTOUCHED + 1)


@pytest.mark.parametrize("sm", SMS[1:])
def test_a_flag_is_set_after_a_store(sm):
    m, n, k = sizes("signalled")
    a, b, out = operands("signalled", 3 * m, n, k)
    found = run(KERNELS, "signalled", sm, [a, b, out, np.zeros(1, np.int32)], (3, 1, 1))
    np.testing.assert_array_equal(wide(found[2]), wide(a) @ wide(b))
    assert found[3][0] == 3


@pytest.mark.parametrize("sm", SMS[::2])
def test_a_transposed_result(sm):
    m, n, k = sizes("transposed")
    a, b, out = operands("transposed", m + 16, n + 32, k)
    found = run(KERNELS, "transposed", sm, [a, b, np.ascontiguousarray(out.T)], (2, 2, 1))[2]
    np.testing.assert_array_equal(wide(found), (wide(a) @ wide(b)).T)


@pytest.mark.parametrize("sm", SMS[:2])
def test_a_tile_of_three_dimensions(sm):
    m, n, k = sizes("stacked")
    a, b = integers(1, (2 * m, k)), integers(2, (k, n + 16))
    out = np.full((2, m - 16, n + 16), UNTOUCHED, np.float16)
    found = run(KERNELS, "stacked", sm, [a, b, out], (2, 2, 1))[2]
    np.testing.assert_array_equal(wide(found), (wide(a) @ wide(b)).reshape(2, m, n + 16)[:, : m - 16])


@pytest.mark.parametrize("sm", SMS[1:])
def test_an_array_without_elements_is_not_written(sm):
    """Its tensor map has an extent of 1, for there is none of 0."""
    m, n, k = sizes("f16")
    a, b, out = operands("f16", m, n, k)
    np.testing.assert_array_equal(run_on_part("f16", sm, [a, b, out], np.s_[:0]), out)


@pytest.mark.parametrize(("name", "sm"), alternate(CHOSEN, SMS))
def test_registers_reach_shared_memory_without_bank_conflicts(name, sm):
    m, n, k = sizes(name)
    a, b, out = operands(name, m, n, k)
    counters = emulator.Counters()
    if name == "transposed":
        out = np.ascontiguousarray(out.T)
    run(KERNELS, name, sm, [a, b, out, *[out.copy()] * (name == "twice")], counters=counters)
    assert not any(counters.bank_conflicts.values())


# ---- choice ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "sm"), alternate(CHOSEN, SMS))
def test_results_are_stored_by_tma_alone(name, sm):
    ptx = compiled(KERNELS, name, sm).ptx
    assert (STORE.format(2) in ptx, "st.global" in ptx) == (True, False)


def test_a_tile_of_three_dimensions_has_three_coordinates():
    assert STORE.format(3) in compiled(KERNELS, "stacked", "sm_90").ptx


@pytest.mark.parametrize("name", ["forbidden", "unaligned", "f16_to_f32", "f16_to_i32"])
def test_stores_that_may_not_or_need_not_use_tma(name):
    """Forbidden; strides that no tensor map has; elements that reach memory in whole sectors as they are."""
    assert "async.tiled_tma_store" not in compiled(KERNELS, name, "sm_90").tileas


def test_accumulators_in_rows_of_a_thread_are_stored_by_tma_in_any_type():
    assert STORE.format(2) in compiled(KERNELS, "f16_to_f32", "sm_100").ptx


WAITS = {"f16": 0, "twice": 0, "persistent": 0, "overwritten": 1, "signalled": 1}


@pytest.mark.parametrize(("name", "sm"), alternate(WAITS, SMS))
def test_written_is_waited_for_only_where_a_token_asks(name, sm):
    ptx = compiled(KERNELS, name, sm).ptx
    assert ptx.count("cp.async.bulk.wait_group ") == WAITS[name]
    assert ptx.count("cp.async.bulk.wait_group.read") >= 1


@pytest.mark.parametrize(("name", "wider"), [("f16", False), ("persistent", False), ("written_before", True)])
def test_all_of_memory_is_fenced_only_after_other_accesses(name, wider):
    assert ("fence.proxy.async;" in compiled(KERNELS, name, "sm_90").ptx) == wider


@pytest.mark.parametrize(("sm", "parts", "slots"), [("sm_90", 4, 2), ("sm_100", 2, 1), ("sm_120", 4, 2)])
def test_a_tile_that_does_not_fit_beside_the_ring_is_stored_in_parts(sm, parts, slots):
    """Two at a time, where warps do not divide the columns."""
    found = compiled(KERNELS, "persistent_wide", sm, **ONE_CTA).tileas
    assert f"chunks = {parts} : i32, slots = {slots} : i32" in found
    assert "chunks = 1 : i32, slots = 1 : i32" in compiled(KERNELS, "bf16_wide", sm).tileas


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_stages_are_not_fewer_for_a_store(sm):
    """Of 48 KiB each four fit into 227 KiB, beside 32 KiB for the tile in parts."""
    assert "!nv_tileas.pipeline<#builtin.int<4>>" in compiled(KERNELS, "persistent_wide", sm, **ONE_CTA).tileas


def test_what_rings_leave_of_the_share_of_two_ctas_is_used():
    """The next iteration's tiles fill the rings while a result leaves: half of it fits beside them."""
    one_query_tile = '{"schedule": {"query_tiles": 1}}'
    tileas = compiled(FAST_PATH, "attention_f16_256x128", "sm_100", schedule=one_query_tile).tileas
    assert "chunks = 2 : i32, slots = 1 : i32" in tileas
    taken = int(re.search(r"shared_bytes = (\d+)", tileas)[1])
    assert 3 * 32768 + 16384 <= taken <= find_target("sm_100").shared_memory_of(2)


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_each_tensor_map_is_prefetched_once(sm):
    """LLVM writes its intrinsic twice, for a parameter's own address space and for the generic one."""
    ptx = compiled(KERNELS, "f16", sm).ptx
    maps = re.findall(r"\.param \.align 64 \.b8 \w+\[128\]", ptx)
    assert len(re.findall(r"prefetch\S*\.tensormap", ptx)) == len(maps) > 1
