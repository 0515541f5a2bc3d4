"""The race check of tensor memory: accesses of other threads need a synchronisation, and a fence on each of its sides."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import aligned, run
from tests.simulate.emulator.tensor_kernels import COMMIT, encode, instruction, tensor_program
from tileiras_build.simulate.emulator import EmulatorFault

BEFORE, AFTER = "tcgen05.fence::before_thread_sync;", "tcgen05.fence::after_thread_sync;"
MET = f"{BEFORE} bar.sync 0; {AFTER}"
WAITED = f"@!p1 bra W;\n{AFTER}"
SUM = f"""mov.u64 d0, {encode(0, 0, 1024, 128)}; mov.u64 d1, {encode(16384, 0, 1024, 128)}; mov.u32 t9, {instruction(128, 32)};
tcgen05.mma.cta_group::1.kind::f16 [t1], d0, d1, t9, 0; {COMMIT}"""
# A product whose left operand the warps have stored in tensor memory.
OPERAND = f"""mov.u64 d1, {encode(16384, 0, 1024, 128)}; add.u32 t12, t1, 32; mov.u32 t9, {instruction(128, 32)};
tcgen05.mma.cta_group::1.kind::f16 [t1], [t12], d1, t9, 0; {COMMIT}"""
# Warps that overwrite the sum: behind a wait with a fence, or with none.
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


@pytest.mark.parametrize("issue", [SUM, OPERAND])
def test_what_is_fenced_on_both_sides_is_ordered(issue):
    execute(program(issue))
    execute(program(issue, OVERWRITE))


@pytest.mark.parametrize(("ptx", "old", "new", "message"), [
    (program(SUM), MET, MET.replace(BEFORE, ""), "what warp 1 does in .* no tcgen05.fence::before_thread_sync behind it"),
    (program(SUM), MET, MET.replace(AFTER, ""), "what warp 1 does in .* no tcgen05.fence::after_thread_sync ahead"),
    (program(OPERAND), MET, MET.replace(BEFORE, ""), "no tcgen05.fence::before_thread_sync behind it"),
    (program(SUM), WAITED, WAITED.replace(AFTER, ""), "what an operation writes that warp 0 issued in columns 0 to 31"),
    (program(SUM, OVERWRITE), f"@!p1 bra V; {AFTER}", "@!p1 bra V;", "an operation that warp 0 issued in columns 0 to 0"),
    (program(OPERAND, OVERWRITE.replace("[t2]", "[t7]")), f"@!p1 bra V; {AFTER}", "@!p1 bra V;", "an operation that warp 0 issued in columns 32 to"),
])  # fmt: skip
def test_a_fence_that_is_missing_is_found(ptx, old, new, message):
    with pytest.raises(EmulatorFault, match=rf"{message}.*finding tensor-not-fenced"):
        execute(without(ptx, old, new))


def test_a_fence_on_the_wrong_side_of_the_barrier_is_none():
    with pytest.raises(EmulatorFault, match="no tcgen05.fence::before_thread_sync"):
        execute(without(program(SUM), MET, f"bar.sync 0; {BEFORE} {AFTER}"))
    with pytest.raises(EmulatorFault, match="no tcgen05.fence::after_thread_sync"):
        execute(without(program(SUM), MET, f"{AFTER} {BEFORE} bar.sync 0;"))


# Warps that read the sum, a product over it, and its end.
STORED, LOADED = "tcgen05.wait::st.sync.aligned;", "tcgen05.wait::ld.sync.aligned;"
AGAIN = f"""V: mbarrier.try_wait.parity.shared.b64 p1, [bar], 0; @!p1 bra V; {AFTER}
tcgen05.ld.sync.aligned.32x32b.x1.b32 {{r0}}, [t2]; {LOADED} {MET} @p3 bra X; {SUM}
X: mbarrier.try_wait.parity.shared.b64 p1, [bar], 1; @!p1 bra X;"""
TWICE = tensor_program(49152, SUM, 64, body=AGAIN, wait=False)


@pytest.mark.parametrize(("ptx", "old", "new", "message"), [
    (program(OPERAND), f"{STORED} {MET}", f"{MET} {STORED}", r"stores .* not been waited for \(tcgen05.wait::st\) by what"),
    (program(SUM), f"{STORED} {MET}", f"{MET} {STORED}", r"stores .* not been waited for \(tcgen05.wait::st\) by what"),
    (TWICE, f"{LOADED} {MET}", f"{MET} {LOADED}", r"does .*\(tcgen05.wait::ld\) by what.*finding load-not-waited"),
])  # fmt: skip
def test_a_wait_behind_the_barrier_is_too_late(ptx, old, new, message):
    """Though in the emulator it comes before what the other thread issues."""
    with pytest.raises(EmulatorFault, match=message):
        execute(without(ptx, old, new))


def test_a_wait_may_follow_the_fence_but_not_the_barrier():
    execute(TWICE)
    execute(without(TWICE, f"{LOADED} {MET}", f"{BEFORE} {LOADED} bar.sync 0; {AFTER}"))


@pytest.mark.parametrize("issue", [SUM, OPERAND])
def test_without_a_barrier_it_is_a_race(issue):
    with pytest.raises(
        EmulatorFault, match="race on tensor memory: nothing orders what warp . (does|stores) in columns"
    ):
        execute(without(program(issue), MET, f"{BEFORE} {AFTER}"))


def test_a_warp_that_has_not_waited_for_a_sum_races():
    """Another one has, and nothing is between them."""
    early = """setp.ge.u32 p4, t0, 64; @p4 bra V; W: mbarrier.try_wait.parity.shared.b64 p1, [bar], 0; @!p1 bra W; bra X;
    V: mov.u32 t14, 0; U: add.u32 t14, t14, 1; setp.lt.u32 p5, t14, 2000; @p5 bra U; X:"""
    loop = "W: mbarrier.try_wait.parity.shared.b64 p1, [bar], 0; @!p1 bra W;"
    with pytest.raises(EmulatorFault, match="race on tensor memory|still writes here"):
        execute(without(program(SUM), loop, early))


def test_a_warp_that_frees_what_others_may_still_use():
    old = "bar.sync 0;\n\n@p2 bra Z;"
    with pytest.raises(
        EmulatorFault, match="nothing orders what warp 1 does in columns 0 to 63 of this CTA before this, which frees"
    ):
        execute(without(program(SUM), old, old.replace("bar.sync 0;", "")))


def test_a_warp_that_frees_what_an_operation_may_still_write():
    """Another warp has waited for it."""
    issue = SUM.replace(COMMIT, "") + COMMIT
    one = "setp.lt.u32 p4, t0, 32; @p4 bra V; W: mbarrier.try_wait.parity.shared.b64 p1, [bar], 0; @!p1 bra W; V: @!p4 bra Z;"
    ptx = program(issue)
    start, end = ptx.index("W: mbarrier.try_wait"), ptx.index("@p2 bra Z;")
    late = "mov.u32 t14, 0; U: add.u32 t14, t14, 1; setp.lt.u32 p5, t14, 2000; @p5 bra U;"
    with pytest.raises(
        EmulatorFault, match="nothing orders an operation that warp 0 issued in columns 0 to 63 of this CTA before this"
    ):
        execute(f"{ptx[:start]}{one}{late}{ptx[end:]}")
