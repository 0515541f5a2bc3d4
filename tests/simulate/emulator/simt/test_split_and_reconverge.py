"""Splitting and merging of groups, and their registers."""

import numpy as np
import pytest

from tests.simulate.emulator.isa.test_tcgen05_gemm import gemm
from tests.simulate.emulator.ptx_kernels import aligned, kernel, run
from tileiras_build.simulate.emulator.codegen.function_cache import function_cache_of
from tileiras_build.simulate.emulator.ptx.program import load
from tileiras_build.simulate.emulator.simt import merge_thread_groups, thread_group

THREADS, CTAS = 64, 4

# CTA c executes c iterations before END, where the CTAs of earlier iterations wait.
UNEVEN = """mov.u32 t0, %tid.x; mov.u32 t1, %ctaid.x; mov.u32 t2, 0; mad.lo.u32 t4, t1, 1000, t0; mul.lo.u32 t5, t4, 3; mul.lo.u32 t6, t4, 5;
TURN: setp.ge.u32 p0, t2, t1; @p0 bra END; add.u32 t2, t2, 1; add.u32 t4, t4, t2; bra TURN;
END: mad.lo.u32 t3, t1, {threads}, t0; mad.wide.u32 u4, t3, 4, u0; xor.b32 t4, t4, t5; xor.b32 t4, t4, t6; st.global.u32 [u4], t4;
setp.ne.u32 p1, t0, 0; @p1 bra OUT; add.u32 t4, t4, 1; st.global.u32 [u4], t4; OUT:"""


def uneven() -> np.ndarray:
    out = aligned(np.zeros((CTAS, THREADS), np.uint32))
    run(kernel(UNEVEN.format(threads=THREADS), 1, THREADS), out, grid=CTAS)
    return out


def expected() -> np.ndarray:
    cta, tid = np.ogrid[:CTAS, :THREADS]
    first = cta * 1000 + tid
    return ((first + cta * (cta + 1) // 2) ^ 3 * first ^ 5 * first) + (tid == 0)


@pytest.mark.parametrize("is_stacked", [True, False])
def test_same_threads_of_other_ctas_are_stacked(monkeypatch, is_stacked):
    if is_stacked:
        monkeypatch.setattr(merge_thread_groups, "_gathered", None)
    else:
        monkeypatch.setattr(merge_thread_groups, "_stacked", lambda *_: None)
    monkeypatch.setattr(merge_thread_groups, "collapse_families", lambda groups: groups)
    np.testing.assert_array_equal(uneven(), expected())


def test_children_copy_only_the_registers_that_they_read(monkeypatch):
    """The loop reads at most three; the code after it reads more, for all threads."""
    taken, step = [], thread_group.ThreadGroup.resolve_all

    def note(self, slots):
        if slots in [function.loads for function in self.functions.cache.values()]:
            taken.append(len(slots))
        step(self, slots)

    monkeypatch.setattr(thread_group.ThreadGroup, "resolve_all", note)
    np.testing.assert_array_equal(uneven(), expected())
    assert len(taken) > CTAS and max(taken) <= 3


def test_issuing_an_mma_needs_one_thread_only():
    program = load(gemm(64), "k", None)
    mmas = [pc for pc, ins in enumerate(program.code) if ins.op == "tcgen05" and ins.mods[0] in ("mma", "commit")]
    loads = [pc for pc, ins in enumerate(program.code) if ins.op == "tcgen05" and ins.mods[0] == "ld"]
    starts = {int(program.leader_of[pc]) for pc in mmas}
    needs_convergence = function_cache_of(program).needs_convergence
    assert not any(map(needs_convergence, starts)) and all(map(needs_convergence, loads))


def test_exiting_threads_are_not_merged_first(monkeypatch):
    merged, ended, merge = [], [], merge_thread_groups.reconverge

    def note(groups):
        merged.append(groups)
        ended.append(groups[0].functions.program.ends_at(groups[0].pc))
        return merge(groups)

    monkeypatch.setattr("tileiras_build.simulate.emulator.simt.scheduler.reconverge", note)
    np.testing.assert_array_equal(uneven(), expected())
    assert merged and not any(ended)
