"""Kernels that return early or multiply in choices: every partition does, nothing is in flight when a block ends, and fast paths stay."""

from itertools import cycle
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import cases, compiled, run, scheduled_case
from tests.pairwise import alternate
from tileiras_build.core.errors import InternalError
from tileiras_build.pipeline.analysis.tma_operands import control_flow_obstacles
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines
from tileiras_build.pipeline.verifiers.tma_stores import verify_tma_stores

KERNELS = Path(__file__).with_name("dots_in_branches.py")
SMS = ("sm_80", "sm_90", "sm_100", "sm_120")
FETCHING = SMS[1:]
# Tests of one kernel in turn: every way to copy and to multiply sees half of them.
BY_HALVES = SMS[::2], SMS[1::2]
TAIL = "nv_tileas.async.pipeline.producer_tail"
BEFORE = 9  # what the result holds before


def operands(steps, rows, m=128, n=64, k=64):
    """What a kernel multiplies, in f32."""
    rng = np.random.default_rng(steps)
    a, b = rng.integers(-2, 3, (rows * m, steps * k)), rng.integers(-2, 3, (steps * k, n))
    return a.astype(np.float32), b.astype(np.float32)


def launched(name, sm, steps, lengths, limit, columns=1, blocks=None, **options):
    """What a kernel leaves of as many rows of tiles as there are lengths, and the dot of all."""
    m, n, k = [argument for argument in cases(KERNELS)[name].arguments if isinstance(argument, int)]
    rows = len(lengths)
    a, b = operands(steps, rows, m, n, k)
    out = np.full((rows * m, columns * n), BEFORE, np.float32)
    values = [a.astype(np.float16), b.astype(np.float16), np.array(lengths, np.int32), out, limit]
    found = run(KERNELS, name, sm, values, (blocks or rows, 1, 1), **options)[3]
    return found.reshape(rows, m, columns * n), (a @ b).reshape(rows, m, n)


@pytest.mark.parametrize(("steps", "sm"), alternate([1, 11], SMS))  # fewer than stages, and more
def test_blocks_without_a_tile_do_nothing(sm, steps):
    found, whole = launched("guarded", sm, steps, [0, 0], 1)
    np.testing.assert_array_equal(found[0], whole[0])
    assert (found[1] == BEFORE).all()


@pytest.mark.parametrize("sm", BY_HALVES[1])
def test_programs_without_a_tile_end_an_iteration(sm):
    found, whole = launched("guarded", sm, 2, [0, 0, 0], 2, persistent=1)
    np.testing.assert_array_equal(found[:2], whole[:2])
    assert (found[2] == BEFORE).all()
    ptx = compiled(KERNELS, "guarded", sm, persistent=1).ptx
    assert {"sm_80": "cp.async", "sm_90": "wgmma", "sm_100": "tcgen05.mma", "sm_120": "cp.async.bulk"}[sm] in ptx


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_clusters_without_a_tile_do_nothing(sm):
    found, whole = launched("guarded_2ctas", sm, 3, [0, 0], 1)
    np.testing.assert_array_equal(found[0], whole[0])
    assert (found[1] == BEFORE).all()


@pytest.mark.parametrize("sm", BY_HALVES[0])
def test_an_array_says_which_blocks_return(sm):
    found, whole = launched("looked_up", sm, 2, [3, 1, 2], 2)
    np.testing.assert_array_equal(found[0], whole[0])
    assert (found[1] == BEFORE).all() and (found[2] == 1).all()


@pytest.mark.parametrize(("options", "sm"), alternate([{}, {"persistent": 1}], SMS))
def test_a_division_behind_a_return_is_not_made_before_it(sm, options):
    """LLVM takes from a division that its divisor is not 0, and would return never."""
    for limit, lengths in ((0, [1, 1]), (1, [0, 1])):
        found, whole = launched("divided", sm, 2, lengths, limit, **options)
        assert (found[0] == BEFORE).all()
        np.testing.assert_array_equal(found[1], whole[1] if limit else np.full_like(found[1], BEFORE))


@pytest.mark.parametrize("sm", BY_HALVES[1])
def test_a_return_behind_a_store(sm):
    found, whole = launched("between", sm, 2, [0, 0], 1)
    np.testing.assert_array_equal(found, np.stack([whole[0], 2 * whole[1]]))


@pytest.mark.parametrize(("name", "sm"), alternate(["after_a_tile", "around_dots"], SMS))
def test_a_tile_says_which_blocks_return(name, sm):
    found, whole = launched(name, sm, 3, [1, 0], BEFORE)
    np.testing.assert_array_equal(found[0], whole[0])
    np.testing.assert_array_equal(found[1], whole[1] if name == "after_a_tile" else np.full_like(found[1], BEFORE))
    found, _ = launched(name, sm, 3, [1, 0], BEFORE - 1)
    assert (found == BEFORE).all()


@pytest.mark.parametrize(("name", "sm"), alternate(["in_a_loop", "in_a_while_loop", "once_in_a_while_loop"], SMS))
def test_a_return_from_a_loop(name, sm):
    found, whole = launched(name, sm, 2, [0, 0, 0], 2)
    np.testing.assert_array_equal(found[:2], whole[:2])
    assert (found[2] == BEFORE).all()


# By kernel: the number that it is launched with, lengths of rows, and how often each row's dot is in the result.
LOOPS = {
    "while_a_result_is_small": (10**6, (0, 3, 1), (0, 3, 1)),
    "in_nested_loops": (0, (0, 3, 4), (1, 4, -5)),
    "behind_a_store_in_a_loop": (2, (1, 0, 1), (2, 1, 2)),
}


LAUNCHED = [(*case, steps) for case, steps in zip(alternate(SMS, LOOPS), cycle([5, 1, 5]))]


@pytest.mark.parametrize(("sm", "name", "steps"), LAUNCHED)
def test_loops_that_only_run_on_go_on(sm, name, steps):
    """Fewer steps than there are stages, and more. No number says before how often they run: whatever path the dots take, none waits for what never comes."""
    number, lengths, times = LOOPS[name]
    found, whole = launched(name, sm, steps, lengths, number)
    np.testing.assert_array_equal(found[:2], [times[row] * whole[row] for row in (0, 1)])
    last = whole[2] if name == "behind_a_store_in_a_loop" else times[2] * whole[2]
    np.testing.assert_array_equal(found[2], last)


@pytest.mark.parametrize("sm", BY_HALVES[0])
def test_loops_that_end_between_steps(sm):
    steps, lengths = 5, (0, 3, 9)
    returned, whole = launched("between_steps", sm, steps, lengths, 0)
    broken, _ = launched("while_there_are_steps", sm, steps, lengths, 0)
    assert (returned[0] == 0).all() and (broken[0] == 0).all()
    np.testing.assert_array_equal(returned[1], broken[1] - 3)
    np.testing.assert_array_equal([returned[2] - 1, broken[2] - 5], [whole[2], whole[2]])


@pytest.mark.parametrize(("steps", "sm"), alternate([1, 11], SMS))  # fewer than stages, and more
def test_a_choice_of_blocks(sm, steps):
    found, whole = launched("chosen", sm, steps, [0, 0], 1)
    np.testing.assert_array_equal(found[0], whole[0])
    assert (found[1] == BEFORE).all()


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_a_choice_of_clusters(sm):
    found, whole = launched("chosen_2ctas", sm, 3, [0, 0], 1)
    np.testing.assert_array_equal(found[0], whole[0])
    assert (found[1] == BEFORE).all()


@pytest.mark.parametrize("sm", BY_HALVES[1])
def test_dots_in_either_arm(sm):
    found, whole = launched("either", sm, 3, [0, 2, 1], 1)
    np.testing.assert_array_equal(found, np.stack([2 * whole[0], 3 * whole[1], 0 * whole[2]]))


@pytest.mark.parametrize("sm", BY_HALVES[0])
def test_a_choice_in_a_loop(sm):
    found, whole = launched("some_of_a_loop", sm, 3, [0, 0, 0], 1)
    np.testing.assert_array_equal(found[[0, 2]], whole[[0, 2]])
    assert (found[1] == BEFORE).all()


@pytest.mark.parametrize("sm", BY_HALVES[1])
def test_a_branch_bounds_a_loop(sm):
    found, _ = launched("bounded_by_a_branch", sm, 3, [2, 0, 0], 2)
    a, b = operands(3, 3)
    np.testing.assert_array_equal(found[0], a[:128, :128] @ b[:128])
    assert (found[1] == 0).all()
    np.testing.assert_array_equal(found[2], a[256:, 64:] @ b[64:])


@pytest.mark.parametrize("sm", BY_HALVES[0])
def test_places_are_looked_up(sm):
    found, whole = launched("expert", sm, 5, [2, 0, 1], 2)
    np.testing.assert_array_equal(found[:2], whole[[2, 0]])
    assert (found[2] == BEFORE).all()


@pytest.mark.parametrize("sm", BY_HALVES[1])
def test_loads_run_ahead_of_stores_that_no_token_orders_before_them(sm):
    steps = 6
    a, b = operands(steps, 2)
    partial = np.cumsum([a[:, k : k + 64] @ b[k : k + 64] for k in range(0, steps * 64, 64)], 0)
    found, _ = launched("stores_in_the_loop", sm, steps, [0, 0], 0, columns=steps)
    np.testing.assert_array_equal(found.reshape(256, -1), np.concatenate(list(partial), 1))


@pytest.mark.parametrize("sm", BY_HALVES[0])
def test_loads_behind_another_grid(sm):
    found, whole = launched("behind_another_grid", sm, 3, [1, 1], 0)
    np.testing.assert_array_equal(found[0], whole[0])
    assert (found[1] == BEFORE).all()
    waits = {"sm_80": 0, "sm_90": 2, "sm_100": 2, "sm_120": 2}  # one in each partition
    assert compiled(KERNELS, "behind_another_grid", sm).ptx.count("griddepcontrol.wait") == waits[sm]


@pytest.mark.parametrize("sm", BY_HALVES[1])
def test_dots_outside_loops(sm):
    found, whole = launched("once", sm, 2, [0, 0], 1)
    a, b = operands(2, 2)
    np.testing.assert_array_equal(found, [whole[0], a[128:, :64] @ b[:64]])


@pytest.mark.parametrize("sm", BY_HALVES[0])
def test_groups_of_rows(sm):
    found, whole = launched("groups", sm, 3, [3, 0, 2, 1], 3, blocks=2)
    np.testing.assert_array_equal(found[[0, 2]], whole[[0, 2]])
    assert (found[1] == BEFORE).all()
    np.testing.assert_array_equal(found[3] - 2, whole[3])


@pytest.mark.parametrize("sm", BY_HALVES[1])
def test_a_loop_searches_a_place(sm):
    found, whole = launched("searched", sm, 3, [1, 7, 0], 3)
    np.testing.assert_array_equal(found[:2], whole[[2, 0]])
    assert (found[2] == BEFORE).all()


@pytest.mark.parametrize(("steps", "sm"), alternate([1, 2, 5], SMS))
def test_gathered_rows_by_a_looked_up_place(sm, steps):
    found, _ = launched("gathered", sm, steps, [0, 1, 0], 256)
    a, b = operands(steps, 3)
    np.testing.assert_array_equal(found[0], a[127::-1] @ b)
    np.testing.assert_array_equal(found[1], a[255:127:-1, :-64] @ b[64:])
    assert (found[2] == BEFORE).all()


@pytest.mark.parametrize("sm", BY_HALVES[0])
def test_no_gather_runs_ahead_of_a_scatter_that_it_follows(sm):
    steps = 4
    found, _ = launched("scattered", sm, steps, [0], 0)
    a, b = operands(steps, 1)
    np.testing.assert_array_equal(found[0], np.tile(a[:, :64], steps) @ b)


@pytest.mark.parametrize("sm", BY_HALVES[1])
def test_scalars_that_the_kernel_writes(sm):
    found, whole = launched("counted_down", sm, 2, [2, 0, 1], 0)
    np.testing.assert_array_equal(found, [2 * whole[0], 0 * whole[1], whole[2]])
    found, whole = launched("overwritten", sm, 2, [2, 0], 1)
    np.testing.assert_array_equal(found[0], whole[0])
    assert (found[1] == BEFORE).all()


FAST = (
    "guarded", "looked_up", "between", "chosen", "either", "some_of_a_loop", "in_a_loop", "in_a_while_loop",
    "once_in_a_while_loop", "between_steps", "while_there_are_steps", "in_nested_loops", "behind_a_store_in_a_loop", "divided",
    "bounded_by_a_branch", "expert", "stores_in_the_loop", "behind_another_grid", "once", "groups", "searched",
    "gathered",
)  # fmt: skip
SLOW = {
    "after_a_tile": "the contents of a tile",
    "while_a_result_is_small": "the contents of a tile",
    "counted_down": "memory that the kernel writes",
    "overwritten": "memory that the kernel writes",
}


@pytest.mark.parametrize("name", SLOW)
def test_what_threads_cannot_know_alone_is_named(name):
    [*_, dot] = (op for op in scheduled_case(KERNELS, name, "sm_120").walk() if op.name == "nv_tileas.dot")
    assert any(SLOW[name] in reason for reason in control_flow_obstacles(dot))


@pytest.mark.parametrize("name", SLOW)
def test_threads_copy_the_operands_where_no_producer_can_follow(name):
    assert "wgmma" in (ptx := compiled(KERNELS, name, "sm_90").ptx) and "cp.async.bulk.tensor" not in ptx


def test_no_commit_arrives_after_a_return_without_a_producer():
    """The emulator reports a ``tcgen05.commit`` that arrives in a CTA that has ended."""
    found, whole = launched("around_dots", "sm_100", 3, [1, 0], BEFORE)
    np.testing.assert_array_equal(found[0], whole[0])
    assert (found[1] == BEFORE).all()
    assert "tcgen05.mma" in compiled(KERNELS, "around_dots", "sm_100").ptx
    tails = [op for op in scheduled_case(KERNELS, "around_dots", "sm_100").walk() if op.name == TAIL]
    assert len(tails) == 2, "at the return and at the end, and not at the return before the dots"


@pytest.mark.parametrize(("name", "sm"), list(zip(FAST, cycle(FETCHING))))
def test_a_return_costs_no_fast_path(name, sm):
    ptx = compiled(KERNELS, name, sm).ptx
    assert "cp.async.bulk.tensor" in ptx
    assert {"sm_90": "wgmma", "sm_100": "tcgen05.mma", "sm_120": "ldmatrix"}[sm] in ptx


@pytest.mark.parametrize(("name", "sm"), list(zip(FAST, cycle(FETCHING))))
def test_partitions_that_return_are_accepted(name, sm):
    module = scheduled_case(KERNELS, name, sm)
    verify_tma_stores(module)
    assert verify_pipelines(module)


def returns(module):
    """The early returns of each partition."""
    [switch] = [op for op in module.walk() if op.name == "nv_tileas.agent_switch"]
    return [[op for op in region.walk() if op.name == "nv_tileaa.return"] for region in switch.regions]


@pytest.mark.parametrize("index", [0, -1])
def test_a_partition_that_goes_on_where_another_returns_is_refused(index):
    module = scheduled_case(KERNELS, "guarded", "sm_90")
    [gone] = returns(module)[index]
    gone.detach()
    with pytest.raises(InternalError, match="pipeline-verifier.*items"):
        verify_pipelines(module)


def test_a_return_before_a_store_has_been_read_is_refused():
    module = scheduled_case(KERNELS, "between", "sm_100")
    [end] = returns(module)[-1]
    end.prev_op.detach()
    with pytest.raises(InternalError, match="tma-store-verifier.*return comes while"):
        verify_tma_stores(module)
