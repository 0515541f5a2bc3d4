"""Racecheck of tensor memory: accesses of two threads need a synchronization with a fence on each side."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import aligned, run
from tests.simulate.emulator.tensor_kernels import COMMIT, encode, instruction, tensor_program
from tileiras_build.simulate.emulator import EmulatorFault

BEFORE, AFTER = "tcgen05.fence::before_thread_sync;", "tcgen05.fence::after_thread_sync;"
SYNC = f"{BEFORE} bar.sync 0; {AFTER}"
WAITED = f"@!p1 bra W;\n{AFTER}"
ACCUMULATOR = f"""mov.u64 d0, {encode(0, 0, 1024, 128)}; mov.u64 d1, {encode(16384, 0, 1024, 128)}; mov.u32 t9, {instruction(128, 32)};
tcgen05.mma.cta_group::1.kind::f16 [t1], d0, d1, t9, 0; {COMMIT}"""
# An MMA whose left operand the warps have stored in tensor memory.
OPERAND = f"""mov.u64 d1, {encode(16384, 0, 1024, 128)}; add.u32 t12, t1, 32; mov.u32 t9, {instruction(128, 32)};
tcgen05.mma.cta_group::1.kind::f16 [t1], [t12], d1, t9, 0; {COMMIT}"""
# Warps that overwrite the accumulator after a wait with a fence.
OVERWRITE = f"""V: mbarrier.try_wait.parity.shared.b64 p1, [bar], 0; @!p1 bra V; {AFTER}
tcgen05.st.sync.aligned.32x32b.x1.b32 [t2], {{r0}}; tcgen05.wait::st.sync.aligned;"""


def execute(ptx: str) -> None:
    shared, cells = aligned(np.zeros((1, 49152), np.uint8)), aligned(np.zeros((1, 128, 64), np.uint32))
    run(ptx, shared, cells, aligned(cells), findings="fault", check_races=True)


def program(issue: str, body: str = "") -> str:
    return tensor_program(49152, issue, 64, body=body)


def without(ptx: str, old: str, new: str) -> str:
    assert ptx.count(old) == 1
    return ptx.replace(old, new)


@pytest.mark.parametrize("issue", [ACCUMULATOR, OPERAND])
def test_fences_on_both_sides_order_accesses(issue):
    execute(program(issue))
    execute(program(issue, OVERWRITE))


@pytest.mark.parametrize(("ptx", "old", "new", "message"), [
    (program(ACCUMULATOR), SYNC, SYNC.replace(BEFORE, ""), "an access by warp 1 in .* without a tcgen05.fence::before_thread_sync after it"),
    (program(ACCUMULATOR), SYNC, SYNC.replace(AFTER, ""), "an access by warp 1 in .* without a tcgen05.fence::after_thread_sync before"),
    (program(OPERAND), SYNC, SYNC.replace(BEFORE, ""), "without a tcgen05.fence::before_thread_sync after it"),
    (program(ACCUMULATOR), WAITED, WAITED.replace(AFTER, ""), "a write by an operation issued by warp 0 in columns 0 to 31"),
    (program(ACCUMULATOR, OVERWRITE), f"@!p1 bra V; {AFTER}", "@!p1 bra V;", "an operation issued by warp 0 in columns 0 to 0"),
    (program(OPERAND, OVERWRITE.replace("[t2]", "[t7]")), f"@!p1 bra V; {AFTER}", "@!p1 bra V;", "an operation issued by warp 0 in columns 32 to"),
])  # fmt: skip
def test_missing_fence_is_reported(ptx, old, new, message):
    with pytest.raises(EmulatorFault, match=rf"{message}.*finding tensor-not-fenced"):
        execute(without(ptx, old, new))


def test_fence_on_the_wrong_side_of_the_barrier():
    with pytest.raises(EmulatorFault, match="without a tcgen05.fence::before_thread_sync"):
        execute(without(program(ACCUMULATOR), SYNC, f"bar.sync 0; {BEFORE} {AFTER}"))
    with pytest.raises(EmulatorFault, match="without a tcgen05.fence::after_thread_sync"):
        execute(without(program(ACCUMULATOR), SYNC, f"{AFTER} {BEFORE} bar.sync 0;"))


# Warps read the accumulator, an MMA overwrites it, and the warps wait for it.
STORED, LOADED = "tcgen05.wait::st.sync.aligned;", "tcgen05.wait::ld.sync.aligned;"
AGAIN = f"""V: mbarrier.try_wait.parity.shared.b64 p1, [bar], 0; @!p1 bra V; {AFTER}
tcgen05.ld.sync.aligned.32x32b.x1.b32 {{r0}}, [t2]; {LOADED} {SYNC} @p3 bra X; {ACCUMULATOR}
X: mbarrier.try_wait.parity.shared.b64 p1, [bar], 1; @!p1 bra X;"""
TWICE = tensor_program(49152, ACCUMULATOR, 64, body=AGAIN, wait=False)


@pytest.mark.parametrize(("ptx", "old", "new", "message"), [
    (program(OPERAND), f"{STORED} {SYNC}", f"{SYNC} {STORED}", r"store by .* no tcgen05.wait::st before the synchronization"),
    (program(ACCUMULATOR), f"{STORED} {SYNC}", f"{SYNC} {STORED}", r"store by .* no tcgen05.wait::st before the synchronization"),
    (TWICE, f"{LOADED} {SYNC}", f"{SYNC} {LOADED}", r"an access by .* no tcgen05.wait::ld before the synchronization.*finding load-not-waited"),
])  # fmt: skip
def test_wait_after_the_barrier_is_too_late(ptx, old, new, message):
    """Even if the emulator executes it before the other thread's operation."""
    with pytest.raises(EmulatorFault, match=message):
        execute(without(ptx, old, new))


def test_wait_may_follow_the_fence():
    execute(TWICE)
    execute(without(TWICE, f"{LOADED} {SYNC}", f"{BEFORE} {LOADED} bar.sync 0; {AFTER}"))


@pytest.mark.parametrize("issue", [ACCUMULATOR, OPERAND])
def test_missing_barrier_is_a_race(issue):
    with pytest.raises(
        EmulatorFault, match="race on tensor memory: no synchronization orders (an access|a store) by warp . in columns"
    ):
        execute(without(program(issue), SYNC, f"{BEFORE} {AFTER}"))


def test_warp_without_a_wait_for_the_mma_races():
    """Another warp has waited, with no barrier between the two."""
    early = """setp.ge.u32 p4, t0, 64; @p4 bra V; W: mbarrier.try_wait.parity.shared.b64 p1, [bar], 0; @!p1 bra W; bra X;
    V: mov.u32 t14, 0; U: add.u32 t14, t14, 1; setp.lt.u32 p5, t14, 2000; @p5 bra U; X:"""
    loop = "W: mbarrier.try_wait.parity.shared.b64 p1, [bar], 0; @!p1 bra W;"
    with pytest.raises(EmulatorFault, match="race on tensor memory|may still write these columns"):
        execute(without(program(ACCUMULATOR), loop, early))


def test_deallocation_races_with_accesses_of_other_warps():
    old = "bar.sync 0;\n\n@p2 bra Z;"
    with pytest.raises(
        EmulatorFault,
        match="no synchronization orders an access by warp 1 in columns 0 to 63 of this CTA before this deallocation",
    ):
        execute(without(program(ACCUMULATOR), old, old.replace("bar.sync 0;", "")))


def test_deallocation_races_with_an_mma_in_flight():
    """Only another warp has waited for the MMA."""
    issue = ACCUMULATOR.replace(COMMIT, "") + COMMIT
    one = "setp.lt.u32 p4, t0, 32; @p4 bra V; W: mbarrier.try_wait.parity.shared.b64 p1, [bar], 0; @!p1 bra W; V: @!p4 bra Z;"
    ptx = program(issue)
    start, end = ptx.index("W: mbarrier.try_wait"), ptx.index("@p2 bra Z;")
    late = "mov.u32 t14, 0; U: add.u32 t14, t14, 1; setp.lt.u32 p5, t14, 2000; @p5 bra U;"
    with pytest.raises(
        EmulatorFault,
        match="no synchronization orders an operation issued by warp 0 in columns 0 to 63 of this CTA before this",
    ):
        execute(f"{ptx[:start]}{one}{late}{ptx[end:]}")
