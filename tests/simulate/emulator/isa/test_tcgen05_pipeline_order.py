"""Operations on tensor memory that are in no pipeline need a wait where they use the same columns (PTX ISA 9.0, 9.7.16.6.2)."""

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


def product(column: int, columns: int) -> str:
    return f"""mov.u64 d0, {A}; mov.u64 d1, {B}; add.u32 t12, t1, {column}; mov.u32 t9, {instruction(128, columns)};
    tcgen05.mma.cta_group::1.kind::f16 [t12], d0, d1, t9, 0;"""


def of_tensor(column: int) -> str:
    """A product whose left operand are columns of tensor memory."""
    return f"""mov.u64 d1, {B}; add.u32 t12, t1, {column}; mov.u32 t9, {instruction(128, 32)};
    add.u32 t13, t1, 96; tcgen05.mma.cta_group::1.kind::f16 [t13], [t12], d1, t9, 0;"""


# What is issued one after the other, and what is wrong with it.
CASES = {
    "copy over what a product reads": (SCALED, copy(64), "tcgen05.mma still reads what this one overwrites"),
    "copy over a sum": (product(0, 32), copy(0), "tcgen05.mma still writes what this one overwrites"),
    "copy over a copy": (copy(64), copy(66), "tcgen05.cp still writes what this one overwrites"),
    "sum over a part of another": (product(0, 64), product(32, 32), "tcgen05.mma still writes what this one overwrites"),
    "sum of another shape": (product(0, 64), product(0, 32), "tcgen05.mma still writes what this one overwrites"),
    "operand that is a sum": (product(0, 32), of_tensor(8), "tcgen05.mma still writes what this one reads"),
}  # fmt: skip


def execute(text: str) -> None:
    shared, cells = aligned(np.zeros((1, 49152), np.uint8)), aligned(np.zeros((1, 128, 128), np.uint32))
    places = "add.u32 t10, t1, 64; add.u32 t11, t1, 68;"
    wait = "W: mbarrier.try_wait.parity.shared.b64 p1, [bar], 0;"
    last = wait.replace(", 0;", ", 1;") if WAIT in text else wait
    ptx = tensor_program(49152, f"{places} {text} {COMMIT}", 128).replace(wait, last)
    run(ptx, shared, cells, aligned(cells), findings="fault", check_races=True)


@pytest.mark.parametrize("name", CASES)
def test_what_nothing_orders_is_found(name):
    first, second, message = CASES[name]
    with pytest.raises(EmulatorFault, match=message):
        execute(first + second)


@pytest.mark.parametrize("name", CASES)
def test_behind_a_wait_it_is_right(name):
    first, second, _ = CASES[name]
    execute(first + WAIT + second)


@pytest.mark.parametrize(
    "text",
    [copy(64) + copy(68) + SCALED + SCALED, product(0, 32) + product(0, 32), product(0, 32) + product(32, 32), copy(0) + product(0, 32), SCALED + product(64, 32)],
    ids=["copies before products", "products with one sum", "sums beside each other", "a sum over a copy", "a sum over what a product reads"],
)  # fmt: skip
def test_what_is_in_a_pipeline_or_apart_needs_no_wait(text):
    execute(text)


@pytest.mark.parametrize("name", CASES)
def test_what_was_in_order_is_looked_at_again_behind_others(name):
    first, second, message = CASES[name]
    with pytest.raises(EmulatorFault, match=message):
        execute(second + WAIT + first + second)


def test_long_queues_are_looked_at_by_their_tables():
    many = "".join(product(64 + 8 * i, 8) for i in range(5))
    execute(product(0, 32) + many + product(32, 32))
    with pytest.raises(EmulatorFault, match="tcgen05.mma still writes what this one overwrites"):
        execute(product(0, 32) + many + product(16, 32))


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
def test_a_commit_says_nothing_of_what_another_thread_has_issued(thread):
    with pytest.raises(EmulatorFault, match="an asynchronous operation still writes here"):
        commit_by(product(0, 32), COMMIT, thread)
    commit_by(product(0, 32), COMMIT, 0)


def test_a_commit_waits_for_what_comes_before_in_a_pipeline():
    """Of which another thread has issued the start."""
    commit_by(product(0, 32), product(0, 32) + COMMIT, 32)


def test_what_another_thread_issues_is_left_undone():
    """Though it was issued before the commit."""
    with pytest.raises(
        EmulatorFault, match="operations on these columns have not been waited for"
    ):  # by tcgen05.dealloc
        commit_by(product(32, 32), product(0, 32) + COMMIT, 32)
    with pytest.raises(EmulatorFault, match="an asynchronous operation still writes here"):
        commit_by(product(32, 32), product(0, 32) + COMMIT, 32, columns=32)
    commit_by(product(32, 32), product(0, 32) + COMMIT, 0, columns=32)
