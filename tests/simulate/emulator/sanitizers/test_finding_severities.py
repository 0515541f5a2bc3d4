"""Findings: a launch treats each as a fault, a warning or nothing; by default a warning for PTX, a fault for artifacts."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import HEADER, aligned
from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator import EmulatorFault, EmulatorWarning
from tileiras_build.simulate.emulator.sanitizers.finding_severities import FINDINGS, Findings

DECLARED = """.reg .pred p<4>; .reg .b32 t<8>; .reg .f32 d<4>; .reg .b64 u<4>; .shared .align 1024 .b8 s[4096]; .shared .align 4 .b32 slot;
ld.param.u64 u0, [k_0]; mov.u32 t0, %tid.x; mov.u32 t1, s; setp.ge.u32 p0, t0, 32; setp.ne.u32 p3, t0, 0;
"""
# Finding -> a kernel of 128 threads that has the finding and then stores 7; a part of the message.
KERNELS = {
    "arrival-relaxed": (
        """mad.lo.u32 t2, t0, 4, t1; st.shared.b32 [t2], t0; barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;
        xor.b32 t2, t2, 128; ld.shared.b32 t3, [t2];""", "with no non-relaxed barrier before this read"),
    "copy-not-ordered": (
        """@!p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32; @!p3 mbarrier.init.shared::cta.b64 [t1], 1;
        bar.sync 0; ld.shared.b32 t2, [slot]; add.u32 t4, t1, 1024; shr.u32 t4, t4, 4; cvt.u64.u32 u1, t4; or.b64 u1, u1, 0x0000400800000000;
        @p3 bra W; tcgen05.cp.cta_group::1.32x128b.warpx4 [t2], u1; tcgen05.cp.cta_group::1.32x128b.warpx4 [t2], u1;
        tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [t1];
        W: mbarrier.try_wait.parity.shared::cta.b64 p1, [t1], 0; @!p1 bra W;
        @!p0 tcgen05.dealloc.cta_group::1.sync.aligned.b32 t2, 32;""", "tcgen05.cp still writes"),
    "exit-before-arrival": (
        """@!p3 mbarrier.init.shared::cta.b64 [t1], 1;
        @!p3 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [t1];""", "a CTA exits before this arrives"),
    "exit-before-read": (
        "@!p3 cp.async.bulk.global.shared::cta.bulk_group [u0+64], [t1], 64;\n@!p3 cp.async.bulk.commit_group;", "bulk copy"),
    "load-not-waited": (
        """@!p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32; bar.sync 0; ld.shared.b32 t2, [slot];
        @!p0 tcgen05.ld.sync.aligned.32x32b.x1.b32 {t3}, [t2];
        @!p0 tcgen05.dealloc.cta_group::1.sync.aligned.b32 t2, 32;""", "tcgen05.ld of these columns"),
    "peer-cta-not-running": (
        """mov.u32 t2, %cluster_ctarank; xor.b32 t2, t2, 1; mapa.shared::cluster.u32 t3, t1, t2; @!p3 st.shared::cluster.b32 [t3], t0;
        barrier.cluster.arrive; barrier.cluster.wait;""", "whose shared memory this accesses, has started"),
    "wgmma-not-fenced": (
        """shr.u32 t2, t1, 4; cvt.u64.u32 u1, t2; or.b64 u1, u1, 0x0000000800010000; mov.pred p1, 1; wgmma.fence.sync.aligned;
        add.f32 d0, d0, d0;
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d0, d1, d2, d3}, u1, u1, p1, 1, 1, 0, 0;
        wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;""", "writes of d0"),
    "registers-differ": (
        """setp.lt.u32 p1, t0, 32; @p1 bra A; setmaxnreg.dec.sync.aligned.u32 48; bra OUT;
        A: setmaxnreg.dec.sync.aligned.u32 40; mov.u32 t2, 1; OUT: mov.u32 t2, 2;""", "of the warpgroup changes to"),
    "tensor-not-fenced": (
        """@!p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32; @!p3 mbarrier.init.shared::cta.b64 [t1], 1;
        bar.sync 0; ld.shared.b32 t2, [slot]; add.u32 t4, t1, 1024; shr.u32 t4, t4, 4; cvt.u64.u32 u1, t4; or.b64 u1, u1, 0x0000400800000000;
        @p3 bra W; tcgen05.cp.cta_group::1.32x128b.warpx4 [t2], u1;
        tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [t1];
        W: mbarrier.try_wait.parity.shared::cta.b64 p1, [t1], 0; @!p1 bra W; @p0 bra E;
        tcgen05.ld.sync.aligned.32x32b.x1.b32 {t3}, [t2]; tcgen05.wait::ld.sync.aligned;
        E: @!p0 tcgen05.dealloc.cta_group::1.sync.aligned.b32 t2, 32;""", "synchronized with this operation without a tcgen05.fence"),
}  # fmt: skip
WATCHED = {"arrival-relaxed", "peer-cta-not-running", "tensor-not-fenced"}  # reported by racecheck only
OF_PAIRS = {"peer-cta-not-running"}  # whose kernels run in clusters of two CTAs


def text(name: str) -> str:
    body = KERNELS[name][0] + "\n@!p3 st.global.u32 [u0], 7;\nret;"
    cluster = ".reqnctapercluster 2, 1, 1" if name in OF_PAIRS else ""
    return f"{HEADER}.visible .entry k(.param .u64 k_0) .reqntid 128, 1, 1 {cluster} {{ {DECLARED}{body} }}"


def execute(name: str, run, **options) -> int:
    memory, out = emulator.Memory(), aligned(np.zeros(64, np.uint32))
    params = [memory.map_array(out).to_bytes(8, "little")]
    run("k", 1 + (name in OF_PAIRS), params, memory=memory, check_races=name in WATCHED, **options)
    return int(out[0])


def run_text(name: str, **options) -> int:
    def run(entry, grid, params, **more):
        emulator.run_ptx(text(name), entry, grid, None, params, **more)

    return execute(name, run, **options)


def run_artifacts(name: str, **options) -> int:
    def run(entry, grid, params, **more):
        emulator.launch(SimpleNamespace(ptx=text(name), manifest={}), entry, grid, params, **more)

    return execute(name, run, **options)


def test_every_finding_has_a_kernel():
    assert set(KERNELS) == set(FINDINGS)


@pytest.mark.parametrize("name", KERNELS)
def test_finding_in_artifacts_is_a_fault(name):
    with pytest.raises(EmulatorFault, match=rf"{KERNELS[name][1]}.*\(finding {name}\)") as caught:
        run_artifacts(name)
    assert caught.value.line and caught.value.thread


@pytest.mark.parametrize("name", KERNELS)
def test_finding_in_ptx_is_one_warning(name):
    with pytest.warns(EmulatorWarning, match=rf"{KERNELS[name][1]}.*\(finding {name}\)") as caught:
        assert run_text(name) == 7
    assert len(caught) == 1


@pytest.mark.parametrize("name", KERNELS)
def test_options_override_the_defaults(name):
    others = next(other for other in FINDINGS if other != name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run_text(name, findings="silent") == run_text(name, findings={name: "silent"}) == 7
        assert run_artifacts(name, findings={name: "silent"}) == 7
    with pytest.warns(EmulatorWarning):
        assert run_artifacts(name, findings="warning") == 7
    with pytest.raises(EmulatorFault):
        run_text(name, findings={name: "fault"})
    with pytest.raises(EmulatorFault):
        run_artifacts(name, findings={others: "silent"})


def test_faults_cannot_be_silenced():
    body = "st.global.u32 [u0+1000000], 7; ret;"
    ptx = f"{HEADER}.visible .entry k(.param .u64 k_0) .reqntid 128, 1, 1 {{ {DECLARED}{body} }}"
    memory, out = emulator.Memory(), aligned(np.zeros(64, np.uint32))
    with pytest.raises(EmulatorFault, match="outside mapped memory"):
        emulator.run_ptx(
            ptx, "k", 1, None, [memory.map_array(out).to_bytes(8, "little")], memory=memory, findings="silent"
        )


def test_unknown_findings_and_actions():
    with pytest.raises(ValueError, match="unknown finding 'other'"):
        Findings({"other": "silent"})
    with pytest.raises(ValueError, match="unknown action 'loud'"):
        Findings("loud")
