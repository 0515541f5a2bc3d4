"""Line directives of the PTX: callers of inlined lines, and no label that would change the code."""

import re

import pytest

from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx import lower
from tileiras_build.pipeline.ll_to_ptx.fix_line_directives import MARK, LineDirectives, drop_labels
from tileiras_build.pipeline.ptx_to_cubin import lower as assemble
from tileiras_build.target.targets import find_target

# k calls outer at lines 3 and 4, which calls inner (of another file) at line 22.
MODULE = r"""
define ptx_kernel void @k(ptr addrspace(1) %p) !dbg !3 {
  %x = load volatile float, ptr addrspace(1) %p, !dbg !6
  %y = fadd float %x, 1.0, !dbg !20
  store volatile float %y, ptr addrspace(1) %p, !dbg !21
  %x2 = load volatile float, ptr addrspace(1) %p, !dbg !24
  store volatile float %x2, ptr addrspace(1) %p, !dbg !20
  ret void, !dbg !6
}
!llvm.dbg.cu = !{!1}
!llvm.module.flags = !{!10, !11}
!10 = !{i32 2, !"Debug Info Version", i32 3}
!11 = !{i32 2, !"Dwarf Version", i32 2}
!0 = !DIFile(filename: "k\C3\A9.py", directory: "d")
!1 = distinct !DICompileUnit(language: DW_LANG_C, file: !0, isOptimized: true, emissionKind: DebugDirectivesOnly)
!2 = !DISubroutineType(types: !{null})
!3 = distinct !DISubprogram(name: "k", scope: !0, file: !0, line: 1, type: !2, spFlags: DISPFlagDefinition, unit: !1)
!4 = distinct !DISubprogram(name: "outer", file: !0, line: 20, type: !2, spFlags: DISPFlagDefinition, unit: !1)
!5 = distinct !DISubprogram(name: "inn\C3\A9r", file: !9, line: 40, type: !2, spFlags: DISPFlagDefinition, unit: !1)
!6 = !DILocation(line: 2, column: 0, scope: !3)
!7 = !DILocation(line: 3, column: 4, scope: !3)
!8 = !DILocation(line: 4, column: 4, scope: !3)
!9 = !DIFile(filename: "inner.py", directory: "")
!17 = !DILocation(line: 22, column: 9, scope: !4, inlinedAt: !7)
!18 = !DILocation(line: 22, column: 9, scope: !4, inlinedAt: !8)
!20 = !DILocation(line: 42, column: 1, scope: !12, inlinedAt: !17)
!12 = !DILexicalBlockFile(scope: !5, file: !9, discriminator: 0)
!21 = !DILocation(line: 23, column: 1, scope: !4, inlinedAt: !7)
!24 = !DILocation(line: 42, column: 1, scope: !12, inlinedAt: !18)
"""
JOB = Job(find_target("90"), lineinfo=True)
INLINED = r", function_name \$L__inlined_names\+(\d+), inlined_at (\d+) (\d+) (\d+)"
LOC = re.compile(rf"\.loc\s+(\d+) (\d+) (\d+)(?:{INLINED})?")


def directives(ptx: str) -> list[tuple]:
    """(file name, line, column, function, caller's line) of every .loc."""
    files = dict(re.findall(r'\.file\s+(\d+) "([^"]*)"', ptx))
    data = re.search(r"\$L__inlined_names:\n\.b8 ([\d,]+)", ptx)
    names = bytes(map(int, data[1].split(","))) if data else b""
    word = lambda at: names[int(at) : names.index(b"\0", int(at))].decode() if at else None
    rows = LOC.findall(ptx)
    return [(files[f], int(n), int(c), word(at), int(line) if line else None) for f, n, c, at, _, line, _ in rows]


@pytest.mark.seed("target-and-debug-info", "loc-callsite")
def test_inlined_lines_name_their_callers():
    found = directives(lower(MODULE, JOB))
    path = r"d/k\303\251.py"
    assert ("inner.py", 42, 1, "innér", 22) in found and (path, 23, 1, "outer", 3) in found
    # The chain up to the kernel stands before each inlined line, the outermost first.
    first = found.index(("inner.py", 42, 1, "innér", 22))
    assert found[first - 2 : first] == [(path, 3, 4, None, None), (path, 22, 9, "outer", 3)]
    # The same line again, by way of line 4.
    second = found.index((path, 22, 9, "outer", 4))
    assert found[second - 1] == (path, 4, 4, None, None) and found[second + 1] == ("inner.py", 42, 1, "innér", 22)


def test_no_marked_column_is_left():
    assert all(column < MARK for _, _, column, _, _ in directives(lower(MODULE, JOB)))


def test_ptxas_accepts_it():
    assemble(lower(MODULE, JOB), JOB)


def test_columns_are_marked_only_for_directives():
    assert f"column: {MARK}" in LineDirectives(MODULE).text
    full = MODULE.replace("DebugDirectivesOnly", "FullDebug")
    assert LineDirectives(full).text == full
    plain = re.sub(r", inlinedAt: !\d+", "", MODULE)
    assert LineDirectives(plain).text == plain


def test_places_beyond_the_last_mark_keep_their_lines():
    row = "!{} = !DILocation(line: 5, column: 3, scope: !4, inlinedAt: !7)\n"
    found = LineDirectives(MODULE + "".join(row.format(number) for number in range(100, 33000)))
    marks = 0x10000 - MARK
    assert len(found.places) == marks and "column: 65536" not in found.text
    # The module has five inlined places of its own.
    assert found.text.count("line: 5, column: 3,") == 33000 - 100 + 5 - marks


@pytest.mark.seed("target-and-debug-info", "mode-lineinfo")
def test_labels_that_nothing_mentions_are_dropped():
    ptx = lower(MODULE, JOB)
    assert "$L__tmp" not in ptx and "$L__func_begin" not in ptx
    text = "$L__tmp0:\n\tadd;\n$L__tmp1:\n\tbra $L__BB0_1;\n$L__BB0_1:\n$L__func_end0:\n.b64 $L__tmp1\n.b64 $L__tmp10\n"
    assert drop_labels(text) == "\tadd;\n$L__tmp1:\n\tbra $L__BB0_1;\n$L__BB0_1:\n.b64 $L__tmp1\n.b64 $L__tmp10\n"
