"""mbarrier arrivals in native code: NumPy's words, or a rejection."""

import numpy as np
import pytest

from tests.simulate.emulator.native.gates import use_kernels
from tests.simulate.emulator.ptx_kernels import aligned, kernel, run
from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator.isa import mbarrier
from tileiras_build.simulate.emulator.isa.mbarrier_state_word import COUNT_LIMIT, pack, unpack
from tileiras_build.simulate.emulator.native import mbarrier_arrive


def words_of(*fields: tuple[int, int, int, int]) -> np.ndarray:
    return pack(*(np.array(column, np.int64) for column in zip(*fields)))


KERNELS = pytest.mark.usefixtures("kernels")


@pytest.fixture
def kernels(monkeypatch):
    use_kernels(monkeypatch)


def change(words, places, arrivals, tx, drop=False):
    before = np.empty(len(places), np.uint64)
    given = (np.array(value, np.int64) for value in (places, arrivals, tx))
    return mbarrier_arrive.arrive_and_expect_tx(words, *given, drop, before), before


def fields(words) -> list[tuple[int, ...]]:
    return list(zip(*(field.tolist() for field in unpack(words))))


@KERNELS
def test_phase_completes_without_pending_arrivals_and_bytes():
    words = words_of((4, 4, 0, 1), (2, 1, 64, 0), (3, 1, 0, 1), (1, 1, 0, 0))
    old = words.copy()
    result, before = change(words, [1, 2, 3], [1, 1, 1], [-64, 0, 32])
    assert result == mbarrier_arrive.COMPLETED and before.tolist() == old[1:].tolist()
    assert fields(words) == [(4, 4, 0, 1), (2, 2, 0, 1), (3, 3, 0, 0), (1, 0, 32, 0)]


@KERNELS
def test_arrive_drop():
    words = words_of((4, 1, 0, 0))
    assert change(words, [0], [1], [0], drop=True)[0] == mbarrier_arrive.COMPLETED and fields(words) == [(3, 3, 0, 1)]


@KERNELS
@pytest.mark.parametrize(
    ("places", "arrivals", "tx"),
    [([1, 1], [1], [0]), ([1, 0], [1], [0]), ([0, 1], [3], [0]), ([0, 1], [1], [COUNT_LIMIT])],
)
def test_rejected_arrivals_change_nothing(places, arrivals, tx):
    words = words_of((4, 4, 0, 0), (4, 2, 1, 0))
    old = words.tolist()
    assert change(words, places, arrivals, tx)[0] == mbarrier_arrive.REFUSED and words.tolist() == old


@KERNELS
@pytest.mark.parametrize(
    ("words", "phase", "have_left"),
    [
        ([(1, 1, 0, 1), (4, 2, 32, 1)], 0, True), ([(1, 1, 0, 1), (4, 2, 32, 1)], 1, False),
        ([(1, 1, 0, 1), (4, 2, 32, 0)], 0, False), ([(1, 1, COUNT_LIMIT + 1, 1)], 0, None),
        ([(1, 1, 0, 0), (1, 1, COUNT_LIMIT + 1, 1)], 0, None),
    ],
)  # fmt: skip
def test_completed_phases(words, phase, have_left):
    """None for an invalid mbarrier, which NumPy reports."""
    assert (
        mbarrier_arrive.phases_completed(words_of((1, 1, 0, phase), *words), np.arange(1, len(words) + 1), phase)
        is have_left
    )


# -- threads that share an mbarrier ---------------------------------------------------------
THREADS, CTAS = 64, 3
ARRIVE = """.shared .align 8 .b64 b; mov.u32 t0, %tid.x; mov.u32 t1, %ctaid.x; setp.ne.u32 p0, t0, 0; @p0 bra READY;
mbarrier.init.shared::cta.b64 [b], {expected}; READY: bar.sync 0; setp.lt.u32 p1, t0, {below}; {predicate} mbarrier.arrive.shared::cta.b64 u5, [b];
bar.sync 0; mbarrier.test_wait.parity.shared::cta.b64 p2, [b], 0; selp.u32 t2, 1, 0, p2; shr.u64 u5, u5, 20; cvt.u32.u64 t3, u5; and.b32 t3, t3, 0xfffff;
mad.lo.u32 t2, t2, 1000, t3; mad.lo.u32 t1, t1, {threads}, t0; mad.wide.u32 u4, t1, 4, u0; st.global.u32 [u4], t2;"""


def arrivals(expected: int, below: int, *, is_predicated: bool) -> np.ndarray:
    """For each thread: the pending arrivals when it arrived (0 if it does not), plus 1000 if the phase has completed."""
    predicate = "mov.u64 u5, 0; @p1" if is_predicated else ""
    out = aligned(np.zeros((CTAS, THREADS), np.uint32))
    text = ARRIVE.format(expected=expected, below=below, predicate=predicate, threads=THREADS)
    run(kernel(text, 1, THREADS), out, grid=CTAS)
    return out


@pytest.mark.parametrize("is_predicated", [False, True])
@pytest.mark.parametrize("more", [0, 5])
def test_arrivals_of_a_cta_are_one_call(monkeypatch, is_predicated, more):
    below = 40 if is_predicated else THREADS
    closed = arrivals(below + more, below, is_predicated=is_predicated)
    use_kernels(monkeypatch)
    monkeypatch.setattr(mbarrier, "arrive_at_distinct", None)
    np.testing.assert_array_equal(arrivals(below + more, below, is_predicated=is_predicated), closed)
    assert (closed[:, :below] == (below + more) + 1000 * (not more)).all()


@pytest.mark.parametrize("is_open", [False, True])
def test_too_many_arrivals_of_a_cta(monkeypatch, is_open):
    if is_open:
        use_kernels(monkeypatch)
    with pytest.raises(emulator.EmulatorFault, match="more arrivals than the mbarrier's phase expects"):
        arrive_once_too_often()


def arrive_once_too_often() -> None:
    """All threads arrive at an mbarrier that expects one arrival less, and bytes that never arrive."""
    body = f""".shared .align 8 .b64 b; mov.u32 t0, %tid.x; setp.ne.u32 p0, t0, 0; @p0 bra READY; mbarrier.init.shared::cta.b64 [b], {THREADS - 1};
    mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [b], 16; READY: bar.sync 0; mbarrier.arrive.shared::cta.b64 _, [b];"""
    run(kernel(body, 0, THREADS), grid=CTAS)
