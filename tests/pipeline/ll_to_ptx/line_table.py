"""A kernel of one store at a source line, as LLVM text; KIND stands for the compile unit's emission kind."""

LINES = """
define ptx_kernel void @k(ptr addrspace(1) %p) !dbg !4 {
  store i32 1, ptr addrspace(1) %p, !dbg !5
  ret void, !dbg !5
}
!llvm.dbg.cu = !{!1}
!llvm.module.flags = !{!2, !3}
!0 = !DIFile(filename: "k.py", directory: "/src")
!1 = distinct !DICompileUnit(language: DW_LANG_Python, file: !0, emissionKind: KIND)
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 2, !"Dwarf Version", i32 2}
!4 = distinct !DISubprogram(name: "k", file: !0, line: 7, type: !6, unit: !1, spFlags: DISPFlagDefinition)
!5 = !DILocation(line: 42, column: 3, scope: !4)
!6 = !DISubroutineType(types: !{})
"""
