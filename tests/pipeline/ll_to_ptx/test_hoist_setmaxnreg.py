"""ll_to_ptx/hoist_setmaxnreg.py: registers are taken before anything is computed, and nothing that others wait for moves."""

import pytest

from tileiras_build.pipeline.ll_to_ptx.hoist_setmaxnreg import hoist_setmaxnreg

GRANT = "\tsetmaxnreg.inc.sync.aligned.u32 \t232;"
PLAIN = ("\tadd.s32 \t%r1, %r2, 4;", "\tld.param.b32 \t%r2, [k_param_0];", "\tcvt.s64.s32 \t%rd1, %r1;")
OTHERS = (
    "$L__BB0_1:",
    "\tbar.sync \t1, 128;",
    "\tld.volatile.shared.b32 \t%r7, [%r1];",
    "\t@%p1 bra \t$L__BB0_2;",
    "\tst.shared.b32 \t[%r1], %r2;",
)


@pytest.mark.parametrize("before", OTHERS)
def test_a_grant_goes_up_to_what_is_not_plain(before):
    assert hoist_setmaxnreg("\n".join(["{", before, *PLAIN, GRANT, PLAIN[0]])) == "\n".join(
        ["{", before, GRANT, *PLAIN, PLAIN[0]]
    )


def test_other_programs_stay():
    release = GRANT.replace("inc", "dec")
    assert hoist_setmaxnreg("\n".join([*PLAIN, release])) == "\n".join([*PLAIN, release])
