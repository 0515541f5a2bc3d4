"""benchmarks/spills.py: what it counts, and what it demands."""

import sys
from pathlib import Path

import pytest

from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ptx_to_cubin import lower
from tileiras_build.target.targets import TARGETS

ROOT = Path(__file__).parents[2]
ADD = ROOT / "examples/prebuilt/vector_add_f32.tilebc"
LOCAL = """
.version 8.4
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
    .local .align 4 .b8 words[64];
    .reg .b32 %r<3>;
    .reg .b64 %d<4>;
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %d0, %r0, 4;
    mov.u64 %d1, words;
    add.u64 %d1, %d1, %d0;
    st.local.u32 [%d1], %r0;
    ld.local.u32 %r1, [words+8];
    ld.param.u64 %d2, [out];
    st.global.u32 [%d2], %r1;
    ret;
}
"""


@pytest.fixture
def spills(monkeypatch):
    """The program as its folder's scripts see it."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import spills

    yield spills
    for name in ("spills", "compile_speed"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(("ours", "theirs", "worse"), [(3, 0, True), (3, 2, True), (3, 3, False), (3, None, False)])
def test_never_more_than_the_peer(spills, ours, theirs, worse):
    assert spills.Found("k", "sm_90", ours, theirs).is_worse == worse


def test_a_kernel_without_spills(spills):
    assert spills.count(spills.Work("add", "sm_90", ADD.read_bytes(), None)) == spills.Found("add", "sm_90", 0)


def test_a_kernel_that_is_refused(spills):
    assert "bytecode" in spills.count(spills.Work("none", "sm_90", b"none", None)).refused


def test_local_memory_is_counted(spills):
    cubin, _ = lower(LOCAL, Job(TARGETS["sm_90"]))
    assert spills.spills_of(cubin) == 2
