"""The source line of an instruction of PTX."""

from tileiras_build.simulate.emulator.ptx.source_locations import SourceLine, source_of

PTX = """.version 9.0
.visible .entry k() {
	.loc	1 4 0
	mov.u32 %r1, 1;
	.loc	2 7 8, function_name $L__info_string0, inlined_at 1 9 4
	add.s32 %r1, %r1, 1;
	.loc	1 0 0
	ret;
}
	.file	1 "/a/b.py"
	.file	2 "c \\"d\\".py"
"""


def test_last_loc_before_an_instruction():
    assert source_of(PTX, 4) == SourceLine("/a/b.py", 4, 0)
    assert source_of(PTX, 6) == SourceLine('c "d".py', 7, 8)


def test_instruction_without_a_loc():
    assert source_of(PTX, 2) is None and source_of(PTX, 8) is None and source_of(PTX, None) is None
