"""Loops that scan a few single elements: where their loads stand, and what kernels with them compute."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_case

KERNELS = Path(__file__).with_name("scanned_sizes.py")
SMS = ["sm_80", "sm_90", "sm_100", "sm_120"]


@pytest.mark.parametrize("sm", SMS)
def test_experts_that_are_scanned_before_the_loop_over_tiles(sm):
    """Each program loads the sizes once, before its first tile; some experts have no rows."""
    sizes = np.array([70, 0, 3, 64, 63], np.int32)
    random = np.random.default_rng(1)
    x, w = (random.integers(-2, 3, shape).astype(np.float16) for shape in ((200, 72), (5, 72, 64)))
    [*_, found] = run(KERNELS, "of_experts", sm, [x, w, sizes, np.zeros((200, 64), np.float32)], (2, 1, 1))
    of_row = np.repeat(np.arange(5), sizes)
    expected = np.einsum("ik,ikn->in", x.astype(np.float32), w.astype(np.float32)[of_row])
    np.testing.assert_array_equal(found, expected)
    scanned = [op for op in scheduled_case(KERNELS, "of_experts", sm).walk() if _is_single(op)]
    partitions = {op.parent for op in scanned}
    assert len(scanned) == 5 * len(partitions) and "nv_tileas.for" not in {
        block.parent_op().name for block in partitions
    }
    assert sum("ends_block" in op.attributes for op in scanned) == len(partitions)


def _is_single(op) -> bool:
    """Whether an operation loads a tile of one element."""
    return op.name == "nv_tileas.tiled_load" and tuple(op.results[0].type.get_shape()) == (1,)


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_elements_that_depend_on_elements_keep_their_loop(sm):
    sizes, starts = np.arange(40, dtype=np.int32) ** 2, np.array([3, 9, 0, 30, 4, 17], np.int32)
    [*_, found] = run(KERNELS, "of_pointers", sm, [sizes, starts, np.zeros(3, np.int32)], (3, 1, 1))
    np.testing.assert_array_equal(found, [sizes[starts + n].sum() for n in range(3)])
    assert "ends_block" not in compiled(KERNELS, "of_pointers", sm).tileas
