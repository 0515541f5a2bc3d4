"""Sets of threads are cached, also across equivalent batches."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import kernel, run
from tileiras_build.simulate.emulator.simt import thread_sets
from tileiras_build.simulate.emulator.simt.thread_sets import ThreadSet, ThreadSetCache, thread_set_cache

CTAS, EACH = 3, 64


def whole(family: ThreadSetCache) -> ThreadSet:
    return family.of(np.arange(CTAS)[:, None], np.arange(EACH)[None], EACH)


def test_equal_subsets_are_the_same_object():
    every = whole(ThreadSetCache())
    warp, _ = every.subset((np.arange(EACH) < 32)[None].repeat(CTAS, 0))
    first, _ = every.subset((np.arange(CTAS) == 0)[:, None].repeat(EACH, 1))
    by_warp, _ = warp.subset((np.arange(CTAS) == 0)[:, None])
    by_cta, select = first.subset((np.arange(EACH) < 32)[None])
    assert by_warp is by_cta and select == ("columns", slice(0, 32)) and by_cta.flat.tolist() == list(range(32))
    assert warp.subset((np.arange(CTAS) == 0)[:, None])[0] is by_warp


@pytest.mark.parametrize(
    ("tid", "is_dense"),
    [(range(32), True), (range(32, 64), True), (range(16, 48), False), (range(31), False), ([*range(31), 40], False)],
)
def test_whole_warps_are_dense(tid, is_dense):
    tid = np.array(tid)[None]
    assert ThreadSet(np.arange(2)[:, None], tid, EACH).dense == is_dense
    assert ThreadSet(np.zeros_like(tid), tid, EACH).dense == is_dense


def test_full_cache_is_replaced(monkeypatch):
    monkeypatch.setattr(thread_sets, "MAX_CACHED_SETS", 2)
    family = thread_set_cache(("a test",))
    assert whole(family) is whole(family) and thread_set_cache(("a test",)) is family
    for cta in range(3):
        whole(family).subset((np.arange(CTAS) == cta)[:, None])
    assert len(family.sets) == 2 and thread_set_cache(("a test",)) is not family


def test_maximum_number_of_caches():
    first = thread_set_cache(("the first",))
    for number in range(thread_sets.MAX_CACHES):
        thread_set_cache(("another", number))
    assert thread_set_cache(("the first",)) is not first


PLACES = """mov.u32 t0, %ctaid.x; mov.u32 t1, %nctaid.x; mov.u32 t5, %ctaid.y; mov.u32 t2, %tid.x; setp.lt.u32 p0, t2, 5; @p0 bra END;
mad.lo.u32 t3, t5, t1, t0; mad.lo.u32 t3, t3, 32, t2; mad.wide.u32 u1, t3, 4, u0; mad.lo.u32 t4, t0, 100, t1; st.global.u32 [u1], t4; END:"""


def test_launches_of_other_grids_have_other_caches():
    """Special registers are cached with the set."""
    text = kernel(PLACES)
    for x, y in ((6, 1), (3, 2), (6, 1)):
        out = np.zeros((y, x, 32), np.uint32)
        run(text, out, grid=(x, y))
        np.testing.assert_array_equal(
            out, np.where(np.arange(32) < 5, 0, np.arange(x)[:, None] * 100 + x)[None].repeat(y, 0)
        )
