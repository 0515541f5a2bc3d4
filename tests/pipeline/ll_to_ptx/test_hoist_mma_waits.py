"""ll_to_ptx/hoist_mma_waits.py: a loop's last MMAs are waited for first, and no computation of floats is delayed."""

import pytest

from tileiras_build.pipeline.ll_to_ptx.hoist_mma_waits import BEGIN, END, hoist_mma_waits

WAIT = "\twgmma.wait_group.sync.aligned 0;"
LABEL = "$L__BB0_2:"
BLOCK = (BEGIN, WAIT, END)
INTEGERS = ("\tbfe.u32 \t%r84, %r2, 3, 2;", "\t.loc\t1 7 0", "\tsetp.ne.b32 \t%p1, %r3, 0;")
OTHERS = (
    "\tmul.f32 \t%r1, %r2, %r3;",
    "\tcvt.rn.bf16.f32 \t%rs1, %r1;",
    "\tbar.sync \t1, 128;",
    "\tst.shared.b32 \t[%r1], %r2;",
    END,
)


def test_a_wait_goes_to_the_start_of_its_block():
    assert hoist_mma_waits("\n".join([LABEL, *INTEGERS, *BLOCK])) == "\n".join([LABEL, *BLOCK, *INTEGERS])


@pytest.mark.parametrize("other", OTHERS)
def test_a_wait_stays_behind_other_instructions(other):
    text = "\n".join([LABEL, other, *INTEGERS, *BLOCK])
    assert hoist_mma_waits(text) == text


def test_other_waits_stay():
    text = "\n".join([LABEL, *INTEGERS, BEGIN, WAIT.replace(" 0;", " 1;"), END])
    assert hoist_mma_waits(text) == text


def test_an_mma_that_is_waited_for_at_once_stays_behind_its_operands():
    mma = "\twgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r4, %r5}, {%r6, %r7}, %rd1, 1, 1, 1, 1; "
    text = "\n".join([LABEL, "\tmov.b32 \t%r6, %r2;", BEGIN, mma + WAIT.strip(), END])
    assert hoist_mma_waits(text) == text
