"""Which way knobs change the modelled cost of a schedule."""

from dataclasses import replace

import pytest

from tileiras_build.pipeline.mma.family import families_of
from tileiras_build.pipeline.schedule.cost import (
    ALU,
    DRAM,
    ISSUE,
    L2,
    LATENCY,
    SHARED,
    TENSOR,
    cost,
    default_gpu,
)
from tileiras_build.pipeline.schedule.kernel import Dot, Kernel
from tileiras_build.pipeline.schedule.schedule import KNOBS, Schedule
from tileiras_build.target.gpu_rates import SM_RATES
from tileiras_build.target.targets import find_target

HOPPER, BLACKWELL, AMPERE = map(find_target, ("sm_90", "sm_100", "sm_80"))


def gemm(m=128, n=128, k=64, trips=64.0) -> Kernel:
    dot = Dot(m, n, k, "f16", "f16", "f32", trips, 2 * m * k, 2 * n * k)
    return Kernel((dot,), rest={"alu": m * n / 2}, stored=2 * m * n, warps=8)


def clocks(kernel: Kernel, target, **knobs) -> float:
    return cost(kernel, Schedule(**{"num_warps": 8, "num_stages": 4} | knobs), target).nanoseconds


@pytest.mark.parametrize("target", [HOPPER, BLACKWELL])
def test_the_tensor_pipe_takes_what_its_rate_says(target):
    found = cost(gemm(), Schedule(num_warps=8, num_stages=4), target)
    assert found.demands[TENSOR] == 64 * 128 * 128 * 64 / SM_RATES[target.number].tensor["f16"]
    assert found.clocks >= max(found.demands.values()) and max(found.shares.values()) <= 1.0


def test_more_stages_cost_nothing_and_hide_latency():
    costs = [clocks(gemm(), HOPPER, num_stages=count) for count in range(1, 8)]
    assert costs == sorted(costs, reverse=True) and costs[0] > 1.5 * costs[-1]
    assert cost(gemm(), Schedule(num_warps=8, num_stages=1), HOPPER).bound == LATENCY


def test_wider_tiles_take_less_of_l2():
    """The same multiply-adds: two tiles of 128 columns against one of 256."""
    assert clocks(gemm(n=256), HOPPER) < 2 * clocks(gemm(), HOPPER)
    assert cost(gemm(), Schedule(num_warps=8, num_stages=6), HOPPER).bound == L2


def test_a_pair_of_ctas_halves_the_columns_that_each_reads():
    one, pair = (clocks(gemm(m=256), BLACKWELL, num_ctas=2, two_cta_mma=wanted) for wanted in (None, True))
    assert pair < one
    found = cost(gemm(m=256), Schedule(num_ctas=2, two_cta_mma=True, num_stages=6), BLACKWELL)
    alone = cost(gemm(m=256), Schedule(num_ctas=2, num_stages=6), BLACKWELL)
    assert found.demands[SHARED] < alone.demands[SHARED] and found.demands[TENSOR] == alone.demands[TENSOR]


@pytest.mark.parametrize("target", [AMPERE, HOPPER, BLACKWELL])
def test_no_more_ctas_divide_a_tile_than_it_has_rows(target):
    small = gemm(m=2, n=2, k=1)
    assert cost(small, Schedule(num_warps=1, num_ctas=2), target) is not None
    assert cost(small, Schedule(num_warps=1, num_ctas=4), target) is None


def test_chained_dots_without_tensor_cores_have_a_cost():
    first = Dot(16, 16, 16, "f32", "f32", "f32", 64.0, 0, 1024, is_chained=True)
    found = cost(Kernel((first, first)), Schedule(num_warps=4, mma=("fma", "fma")), HOPPER)
    assert TENSOR not in found.demands and found.clocks > 0


def test_multicast_takes_less_of_l2():
    several, shared = (
        cost(gemm(m=256), Schedule(num_ctas=2, multicast=wanted, num_stages=6), HOPPER) for wanted in (None, True)
    )
    assert shared.demands[L2] < several.demands[L2] and shared.demands[SHARED] == several.demands[SHARED]


def test_neighbours_of_the_grid_share_loads():
    """Each CTA has a tile program of its own: a cluster of two takes less of L2 for each, and as much of the tensor pipe."""
    one, shared = (
        cost(gemm(), Schedule(grid_cluster=ctas, multicast=ctas and True, num_stages=6), HOPPER) for ctas in (None, 2)
    )
    assert shared.demands[L2] < one.demands[L2] and shared.demands[TENSOR] == one.demands[TENSOR]
    assert shared.nanoseconds < one.nanoseconds
    described = replace(gemm(), ctas=2)  # as it is once neighbours form a cluster
    knobs = {"grid_cluster": 2, "multicast": True, "num_stages": 6}
    assert cost(described, Schedule(**knobs), HOPPER).demands == shared.demands


@pytest.mark.parametrize("target", [HOPPER, BLACKWELL])
def test_parts_of_the_loop_take_a_tile_program_less_time_but_more_of_the_gpu(target):
    """Clocks count all CTAs of a tile program; each of them takes a part of it."""
    costs = [clocks(gemm(), target, split_k=ctas) for ctas in (1, 2, 4)]
    assert costs == sorted(costs) and costs[1] / 2 < 0.7 * costs[0] and costs[2] / 4 < costs[1] / 2
    described = gemm().with_split_k(2)  # as it is once CTAs divide the loop
    assert cost(described, Schedule(split_k=2), target) == cost(gemm(), Schedule(split_k=2), target)
    assert described.trips == gemm().trips / 2 and described.with_split_k(1) == gemm()


def test_smaller_ctas_leave_less_for_the_last_one():
    """4096 x 4096 elements are 1024 tiles of 128 x 128 on 148 SMs; half of one is idle on average."""
    whole, halves = (cost(kernel, Schedule(), BLACKWELL) for kernel in (gemm(m=256), gemm(m=256).divided(2)))
    assert halves.tail == pytest.approx(0.5 * 148 / 1024) and whole.tail == pytest.approx(2 * halves.tail)
    assert halves.nanoseconds_with_tail == pytest.approx(halves.nanoseconds * (1 + halves.tail))
    assert cost(gemm(), Schedule(split_k=2), BLACKWELL).tail == pytest.approx(halves.tail / 2)


def test_the_last_rows_of_an_sm_wait_for_themselves():
    """Less so where a CTA takes less time alone, and not at all where few CTAs keep DRAM busy."""
    wide, narrow = (cost(Kernel((), loaded=8192), Schedule(num_warps=warps), BLACKWELL) for warps in (1, 4))
    assert wide.clocks == pytest.approx(narrow.clocks, rel=0.04) and 0 < wide.tail < 0.1
    assert cost(Kernel((), loaded=65536), Schedule(), BLACKWELL).tail == 0


def test_ctas_of_a_warp_may_share_a_partition():
    """The last ones of an SM leave others idle, where threads have more to do than DRAM."""
    rows = Kernel((), rest={"alu": 65536.0}, loaded=2048, reductions=1)
    single, pairs, four = (cost(rows, Schedule(num_warps=warps), BLACKWELL).tail for warps in (1, 2, 4))
    assert single > 1.5 * pairs > 1.5 * four


def test_each_iteration_waits_for_its_loads():
    rows = Kernel((), loaded=8192, reductions=1)
    least, looped = (
        cost(replace(rows, rounds=n), Schedule(num_warps=4, occupancy=1), BLACKWELL).clocks for n in (1, 16)
    )
    assert looped - least > 10 * default_gpu(BLACKWELL).l2_latency
    assert cost(replace(rows, rounds=16), Schedule(num_warps=1), BLACKWELL).clocks < looped / 4


def test_instructions_from_registers_are_slower():
    first, *_ = families_of(HOPPER)
    others = [family.name for family in families_of(HOPPER) if family is not first]
    costs = [clocks(gemm(), HOPPER, mma=(name,)) for name in (first.name, *others)]
    assert costs == sorted(costs) and costs[1] > 1.2 * costs[0]


def test_each_warp_converts_its_own_fragments():
    """Four warps of 64 x 64 convert each element twice, eight of 32 x 64 or 64 x 32 three times on average."""
    [dot] = gemm().dots
    kernel = Kernel((replace(dot, a_work=8192.0, b_work=8192.0),), loop={"alu": 64 * 16384.0}, warps=8)
    alu = {
        count: cost(kernel, Schedule(num_warps=count, cp_async_stages=(2,)), AMPERE).demands[ALU] for count in (4, 8)
    }
    assert alu[4] == 2 * 64 * 16384 / SM_RATES[80].alu and alu[8] == 1.5 * alu[4]
    asynchronous = cost(kernel, Schedule(num_warps=8, num_stages=4), HOPPER)
    assert asynchronous.demands[ALU] == 64 * 16384 / SM_RATES[90].alu


def test_threads_compute_an_operand_before_its_mma_and_another_cta_hides_that():
    [dot] = gemm().dots
    work = {"special": 64 * 8192.0}
    loaded = replace(gemm(), loop=work)
    computed = replace(loaded, dots=(replace(dot, b_bytes=0, b_work=8192.0),))
    alone, together = (cost(computed, Schedule(num_warps=8, occupancy=ctas, num_stages=4), HOPPER) for ctas in (1, 2))
    assert alone.clocks > 1.2 * cost(loaded, Schedule(num_warps=8, occupancy=1, num_stages=4), HOPPER).clocks
    assert together.clocks < 0.8 * alone.clocks


def test_more_ctas_hide_what_one_waits_for():
    rows = Kernel((), rest={"special": 4096.0}, loaded=8192, stored=8192, reductions=2)
    costs = [cost(rows, Schedule(num_warps=4, occupancy=ctas), AMPERE).nanoseconds for ctas in (1, 2, 4, 8, 16)]
    assert costs == sorted(costs, reverse=True)
    assert cost(rows, Schedule(num_warps=4, occupancy=16), AMPERE).bound == DRAM


def test_each_warp_has_instructions_of_its_own():
    rows = Kernel((), rest={"special": 1024.0}, loaded=2048, stored=2048, reductions=2)
    issued = [cost(rows, Schedule(num_warps=warps), BLACKWELL).demands[ISSUE] for warps in (4, 8, 16)]
    assert issued[2] - issued[1] == 2 * (issued[1] - issued[0]) > 0


def test_wider_parts_of_rows_leave_registers_for_fewer_ctas():
    rows = Kernel((), rest={"special": 4096.0}, loaded=8192, stored=8192, reductions=2, row_words=4096)
    assert (
        cost(rows, Schedule(num_warps=4), HOPPER).ctas
        < cost(replace(rows, row_words=0), Schedule(num_warps=1), HOPPER).ctas
    )
    assert cost(rows, Schedule(num_warps=8), HOPPER).ctas == cost(rows, Schedule(num_warps=4), HOPPER).ctas - 3


def test_late_loads_wait_for_registers():
    rows = Kernel((), loaded=8192, stored=8192, reductions=1, row_words=16384, late_words=16384)
    few, many = (cost(rows, Schedule(num_warps=warps, occupancy=1), BLACKWELL) for warps in (4, 16))
    assert few.nanoseconds > many.nanoseconds
    assert cost(replace(rows, late_words=0), Schedule(num_warps=4, occupancy=1), BLACKWELL).clocks < few.clocks


def chained() -> Kernel:
    dot = Dot(128, 128, 128, "f16", "f16", "f32", 32.0, 0, 32768, is_chained=True)
    return Kernel((dot, replace(dot, is_computed=True)), loop={"special": 32 * 128 * 128.0}, warps=8)


# Kernels and schedules of which each optimization with a cost makes one cheaper.
SAMPLES = (
    (gemm(m=256), BLACKWELL, {"num_ctas": 2}),
    (gemm(), HOPPER, {"grid_cluster": 2, "num_stages": 6}),
    (replace(gemm(), is_persistent=True), BLACKWELL, {}),
    (chained(), HOPPER, {"num_stages": 2}),
    (chained(), BLACKWELL, {"num_stages": 2}),
    (gemm(), AMPERE, {"num_stages": None, "num_warps": 4, "cp_async_stages": (2,)}),
)


@pytest.mark.parametrize("knob", sorted(row.name for row in KNOBS if row.kind is bool and row.is_priced))
def test_an_optimization_with_a_cost_makes_some_kernel_cheaper(knob):
    assert any(clocks(*sample, **knobs | {knob: True}) < 0.99 * clocks(*sample, **knobs) for *sample, knobs in SAMPLES)


@pytest.mark.parametrize("target", [AMPERE, HOPPER, BLACKWELL])
def test_the_maximum_of_scores_comes_before_their_exponentials(target):
    """On one pipe or on two, both take their time in turn where two warps of a scheduler have nothing else."""
    kernel, count = chained(), 4 * 32 * 128 * 128.0
    at_once, in_turn = (replace(kernel, loop={"special": count, name: count}) for name in ("alu", "maxima"))
    assert clocks(at_once, target, rotate=True) < clocks(in_turn, target, rotate=True)
    for name in (ALU, ISSUE):
        assert cost(at_once, Schedule(), target).demands[name] == cost(in_turn, Schedule(), target).demands[name]


def test_a_score_takes_the_columns_of_what_it_is_computed_from():
    """With all accumulators in tensor memory, the first dot of an iteration follows the last one of the iteration before."""
    kernel, knobs = chained(), {"num_stages": 4, "num_warps": 4, "tmem_accumulators": True}
    longer = replace(kernel, dots=(replace(kernel.dots[0], k=4 * 128), kernel.dots[1]))
    found, more = (cost(one, Schedule(**knobs), BLACKWELL) for one in (kernel, longer))
    assert found.bound == more.bound == LATENCY and more.clocks > found.clocks


def expanded(**values) -> Kernel:
    """A matmul whose threads compute both operands from what they load."""
    dot = replace(gemm().dots[0], a_bytes=0, b_bytes=0, a_work=8192.0, b_work=8192.0, is_computed=True)
    return replace(gemm(), dots=(replace(dot, **values),), loop={"alu": 64 * 16384.0})


@pytest.mark.parametrize("target", [AMPERE, HOPPER])
def test_threads_load_expand_write_and_multiply_one_after_the_other(target):
    """Each element is expanded once, as loads are laid out, and what is multiplied is as much as without."""
    kernel = replace(expanded(), has_short_rows=target is HOPPER)
    stages = 2 if target is HOPPER else None
    found = cost(kernel, Schedule(num_warps=8, occupancy=1, num_stages=stages), target)
    assert found.demands[ALU] == (64 * 16384 + expanded().rest["alu"]) / SM_RATES[target.number].alu
    alone = sum(found.demands[name] for name in (ALU, TENSOR)) + 64 * expanded().dots[0].written / 128
    assert alone < found.clocks < 2 * alone and found.bound == LATENCY
    assert expanded().dots[0].written == 4 * 128 * 64 and expanded(a_bytes=1).dots[0].written == 2 * 128 * 64


def test_tiles_with_short_rows_are_waited_for():
    """TMA does not load scales of a few bytes in a row."""
    knobs = {"num_stages": 2, "occupancy": 1}
    assert clocks(replace(expanded(), has_short_rows=True), HOPPER, **knobs) > clocks(expanded(), HOPPER, **knobs)


def test_fragments_of_expanded_tiles_leave_registers_for_one_cta():
    loaded = replace(expanded(), dots=gemm().dots)
    assert [cost(one, Schedule(num_warps=8), AMPERE).ctas for one in (expanded(), loaded)] == [1, 2]


def test_halves_with_the_same_keys_gain():
    """Two halves of 256 rows load keys and values once; each computes its softmax while the other multiplies."""
    dot = Dot(256, 128, 128, "f16", "f16", "f32", 32.0, 0, 32768, is_chained=True)
    kernel = Kernel((dot, replace(dot, is_computed=True)), loop={"special": 32 * 256 * 128.0}, warps=8)
    usual = {"tmem_accumulators": True, "num_stages": 2, "mma": ("tcgen05",) * 2}
    at_once = clocks(kernel, BLACKWELL, query_tiles=2, num_warps=8, occupancy=1, **usual)
    assert at_once < clocks(kernel, BLACKWELL, query_tiles=1, num_warps=8, occupancy=1, **usual)
    assert at_once < clocks(kernel.divided(2), BLACKWELL, query_tiles=1, num_warps=4, occupancy=2, **usual)


def test_a_target_without_published_rates_has_no_cost():
    assert cost(gemm(), Schedule(), find_target("sm_88")) is None
