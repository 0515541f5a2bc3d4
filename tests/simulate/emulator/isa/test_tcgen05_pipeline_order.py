"""Conflicting tcgen05 operations that are not pipelined need a wait between them (PTX ISA 9.0, 9.7.16.6.2)."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import aligned, run
from tests.simulate.emulator.tensor_kernels import COMMIT, encode, instruction, scaled_instruction, tensor_program
from tileiras_build.simulate.emulator import EmulatorFault

A, B, SCALES = encode(0, 0, 1024, 128), encode(16384, 0, 1024, 128), encode(32768, 0, 128)
WAIT = f"{COMMIT} V: mbarrier.try_wait.parity.shared.b64 p1, [bar], 0; @!p1 bra V; tcgen05.fence::after_thread_sync;"
SCALED = f"""mov.u64 d0, {A}; mov.u64 d1, {B}; mov.u32 t9, {scaled_instruction(128, 32, 0, 0, 1)};
tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32 [t1], d0, d1, t9, [t10], [t11], 0;"""


def copy(column: int) -> str:
    return f"mov.u64 d2, {SCALES}; add.u32 t12, t1, {column}; tcgen05.cp.cta_group::1.32x128b.warpx4 [t12], d2;"


def mma(column: int, columns: int) -> str:
    return f"""mov.u64 d0, {A}; mov.u64 d1, {B}; add.u32 t12, t1, {column}; mov.u32 t9, {instruction(128, columns)};
    tcgen05.mma.cta_group::1.kind::f16 [t12], d0, d1, t9, 0;"""


def of_tensor(column: int) -> str:
    """An MMA with its left operand in tensor memory."""
    return f"""mov.u64 d1, {B}; add.u32 t12, t1, {column}; mov.u32 t9, {instruction(128, 32)};
    add.u32 t13, t1, 96; tcgen05.mma.cta_group::1.kind::f16 [t13], [t12], d1, t9, 0;"""


# Name -> two operations in order of issue, and the message.
CASES = {
    "copy over an operand of an MMA": (SCALED, copy(64), "tcgen05.mma still reads columns of tensor memory that this one overwrites"),
    "copy over an accumulator": (mma(0, 32), copy(0), "tcgen05.mma still writes columns of tensor memory that this one overwrites"),
    "copy over a copy": (copy(64), copy(66), "tcgen05.cp still writes columns of tensor memory that this one overwrites"),
    "overlapping accumulators": (mma(0, 64), mma(32, 32), "tcgen05.mma still writes columns of tensor memory that this one overwrites"),
    "accumulator of another shape": (mma(0, 64), mma(0, 32), "tcgen05.mma still writes columns of tensor memory that this one overwrites"),
    "accumulator as an operand": (mma(0, 32), of_tensor(8), "tcgen05.mma still writes columns of tensor memory that this one reads"),
}  # fmt: skip


def execute(text: str) -> None:
    shared, cells = aligned(np.zeros((1, 49152), np.uint8)), aligned(np.zeros((1, 128, 128), np.uint32))
    places = "add.u32 t10, t1, 64; add.u32 t11, t1, 68;"
    wait = "W: mbarrier.try_wait.parity.shared.b64 p1, [bar], 0;"
    last = wait.replace(", 0;", ", 1;") if WAIT in text else wait
    ptx = tensor_program(49152, f"{places} {text} {COMMIT}", 128).replace(wait, last)
    run(ptx, shared, cells, aligned(cells), findings="fault", check_races=True)


@pytest.mark.parametrize("name", CASES)
def test_unordered_operations_are_reported(name):
    first, second, message = CASES[name]
    with pytest.raises(EmulatorFault, match=message):
        execute(first + second)


@pytest.mark.parametrize("name", CASES)
def test_wait_orders_operations(name):
    first, second, _ = CASES[name]
    execute(first + WAIT + second)


@pytest.mark.parametrize(
    "text",
    [copy(64) + copy(68) + SCALED + SCALED, mma(0, 32) + mma(0, 32), mma(0, 32) + mma(32, 32), copy(0) + mma(0, 32), SCALED + mma(64, 32)],
    ids=["copies before MMAs", "MMAs with the same accumulator", "disjoint accumulators", "an accumulator over a copy", "an accumulator over an operand"],
)  # fmt: skip
def test_pipelined_and_disjoint_operations_need_no_wait(text):
    execute(text)


@pytest.mark.parametrize("name", CASES)
def test_order_is_checked_again_after_other_operations(name):
    first, second, message = CASES[name]
    with pytest.raises(EmulatorFault, match=message):
        execute(second + WAIT + first + second)


def test_order_in_long_queues():
    many = "".join(mma(64 + 8 * i, 8) for i in range(5))
    execute(mma(0, 32) + many + mma(32, 32))
    with pytest.raises(
        EmulatorFault, match="tcgen05.mma still writes columns of tensor memory that this one overwrites"
    ):
        execute(mma(0, 32) + many + mma(16, 32))


# Thread 0 issues ``first``, and then, behind barriers, a thread of another warp (or of its own) ``second``; one that waits for
# the mbarrier reads columns 0 to 31, or 32 to 63.
def commit_by(first: str, second: str, thread: int, columns: int = 0) -> None:
    met = "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;"
    body = f"{met} setp.ne.u32 p6, t0, {thread}; @p6 bra V; {second} V: {met}"
    ptx = tensor_program(49152, first, 32, body=body, allocated=64).replace(
        "add.u32 t7, t2, 0; tcgen05.ld", f"add.u32 t7, t2, {columns}; tcgen05.ld"
    )
    shared, cells = aligned(np.ones((1, 49152), np.uint8)), aligned(np.full((1, 128, 32), 7, np.uint32))
    out = aligned(cells)
    run(ptx, shared, cells, out, findings="fault")
    assert (out != 7).all()


@pytest.mark.parametrize("thread", [1, 32])
def test_commit_excludes_operations_of_other_threads(thread):
    with pytest.raises(EmulatorFault, match="an asynchronous operation may still write these columns"):
        commit_by(mma(0, 32), COMMIT, thread)
    commit_by(mma(0, 32), COMMIT, 0)


def test_commit_includes_pipelined_operations():
    """Also if another thread has issued the first of them."""
    commit_by(mma(0, 32), mma(0, 32) + COMMIT, 32)


def test_operations_of_another_thread_stay_in_flight():
    """Even if they were issued before the commit."""
    with pytest.raises(
        EmulatorFault, match="operations on these columns have not been waited for"
    ):  # by tcgen05.dealloc
        commit_by(mma(32, 32), mma(0, 32) + COMMIT, 32)
    with pytest.raises(EmulatorFault, match="an asynchronous operation may still write these columns"):
        commit_by(mma(32, 32), mma(0, 32) + COMMIT, 32, columns=32)
    commit_by(mma(32, 32), mma(0, 32) + COMMIT, 0, columns=32)
