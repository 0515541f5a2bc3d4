"""Splitting and merging of groups: their sets of threads and their registers."""

from types import SimpleNamespace

import numpy as np
import pytest

from tileiras_build.simulate.emulator.simt.merge_thread_groups import overlay
from tileiras_build.simulate.emulator.simt.thread_group import ThreadGroup

CTAS, THREADS = 3, 64
MASKS = {
    "lanes": (np.arange(THREADS) == 5)[None].repeat(CTAS, 0),
    "ctas": (np.arange(CTAS) != 1)[:, None].repeat(THREADS, 1),
    "any": np.arange(CTAS)[:, None] * 7 > np.arange(THREADS)[None],
}


def group() -> ThreadGroup:
    batch = SimpleNamespace(
        geometry=SimpleNamespace(threads=THREADS), memories=None, observers=None, sync=None, functions=None, options=None, prints=None,
        scheduler=SimpleNamespace(alive=np.ones(CTAS * THREADS, bool)),
    )  # fmt: skip
    scalar, each = np.uint32(7), np.arange(CTAS, dtype=np.uint32)[:, None]
    thread = np.arange(CTAS * THREADS, dtype=np.uint32).reshape(CTAS, THREADS)
    return ThreadGroup(batch, np.arange(CTAS)[:, None], np.arange(THREADS)[None], [scalar, each, thread])


@pytest.mark.parametrize("name", MASKS)
def test_split_off_by_mask(name):
    whole, mask = group(), MASKS[name]
    part, rest = whole.split_off(mask), whole.split_off(~mask)
    assert part.is_rectangular == rest.is_rectangular == (name != "any")
    assert part.flat.tolist() == np.flatnonzero(mask).tolist()
    assert part.full(part.resolve(2)).tolist() == np.flatnonzero(mask).tolist()
    assert part.full(part.resolve(1)).tolist() == np.nonzero(mask)[0].tolist()


@pytest.mark.parametrize("name", MASKS)
def test_merged_registers(name):
    """The children's registers overwrite the parent's; scalars and per-CTA values keep their shapes."""
    whole, mask = group(), MASKS[name]
    part, rest = whole.split_off(mask), whole.split_off(~mask)
    same = overlay(whole.R[0], [(part, np.uint32(9)), (rest, np.uint32(9))], whole.shape)
    assert same == 9 and np.ndim(same) == 0
    one = overlay(whole.R[0], [(part, np.uint32(9))], whole.shape)
    assert one.shape == ((CTAS, 1) if name == "ctas" else whole.shape)
    np.testing.assert_array_equal(np.broadcast_to(one, whole.shape), np.where(mask, 9, 7))
    moved = overlay(whole.R[2], [(rest, rest.resolve(2) + np.uint32(1))], whole.shape)
    np.testing.assert_array_equal(moved, whole.R[2] + ~mask)
