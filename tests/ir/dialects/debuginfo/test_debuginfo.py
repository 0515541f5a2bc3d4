"""Debug attributes and operations: their text form, and what LLVM's metadata makes of them."""

import pytest
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from tileiras_build.ir.dialects.debuginfo.attrs import (
    DICompileUnit,
    DIExpression,
    DIFile,
    DILocation,
    DISubprogram,
    DISubroutineType,
)
from tileiras_build.ir.dialects.debuginfo.llvm_debug_metadata import DebugMetadata, expression_text, quoted
from tileiras_build.pipeline.opt import context

FILE = DIFile(("k.py", "src"))
UNIT = DICompileUnit.of(id=0, sourceLanguage="DW_LANG_C", file=FILE, isOptimized=True, emissionKind="Full")
PROGRAM = DISubprogram.of(
    id=1, compileUnit=UNIT, scope=FILE, name="k", file=FILE, line=3, scopeLine=3,
    subprogramFlags="Definition|Optimized", type=DISubroutineType((None,)),
)  # fmt: skip

TEXTS = [
    '#llvm.di_file<"k.py" in "src">',
    '#llvm.di_compile_unit<id = distinct[0]<>, sourceLanguage = DW_LANG_C, file = #llvm.di_file<"k.py" in "src">, '
    'producer = "p", isOptimized = false, emissionKind = Full>',
    "#llvm.di_subroutine_type",
    '#llvm.di_basic_type<tag = DW_TAG_base_type, name = "i32", sizeInBits = 32, encoding = DW_ATE_signed>',
    '#llvm.di_composite_type<tag = DW_TAG_array_type, baseType = #llvm.di_basic_type<tag = DW_TAG_base_type, '
    'name = "f32", sizeInBits = 32>, flags = Vector, sizeInBits = 128, elements = #llvm.di_subrange<count = 4>>',
    "#llvm.di_expression",
    "#llvm.di_expression<[DW_OP_deref, DW_OP_LLVM_fragment(0, 32)]>",
    '#debuginfo.variable<name = "x", line = 3, arg = 1>',
]


@pytest.mark.parametrize("text", [*TEXTS, str(PROGRAM)])
def test_attributes_print_as_they_parse(text):
    attribute = Parser(context(), text).parse_attribute()
    assert str(attribute) == text
    assert Parser(context(), str(attribute)).parse_attribute() == attribute


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#llvm.di_subrange<count = 4, count = 5>", "no field count"),
        ("#llvm.di_subrange<size = 4>", "no field size"),
        ('#llvm.di_basic_type<tag = DW_TAG_base_type, name = "i32">', "needs the field sizeInBits"),
    ],
)
def test_malformed_attributes_are_refused(text, reason):
    with pytest.raises(ParseError, match=reason):
        Parser(context(), text).parse_attribute()


def test_nodes_are_made_from_their_fields():
    with pytest.raises(TypeError, match="missing fields .'scope'"):
        DILocation.of(line=1, column=2)
    with pytest.raises(TypeError, match="unknown fields .'colum'"):
        DILocation.of(line=1, colum=2, column=2, scope=PROGRAM)


def test_metadata():
    metadata = DebugMetadata(first=7)
    inner = DILocation.of(line=4, column=5, scope=PROGRAM, inlinedAt=DILocation.of(line=9, column=1, scope=PROGRAM))
    assert metadata.number(inner) == metadata.number(inner) == 12
    assert metadata.lines() == [
        '!7 = !DIFile(filename: "k.py", directory: "src")',
        "!8 = distinct !DICompileUnit(language: DW_LANG_C, file: !7, isOptimized: true, emissionKind: FullDebug, "
        "runtimeVersion: 0)",
        "!9 = !DISubroutineType(types: !{null})",
        '!10 = distinct !DISubprogram(unit: !8, scope: !7, name: "k", file: !7, line: 3, scopeLine: 3, '
        "spFlags: DISPFlagDefinition | DISPFlagOptimized, type: !9)",
        "!11 = !DILocation(line: 9, column: 1, scope: !10)",
        "!12 = !DILocation(line: 4, column: 5, scope: !10, inlinedAt: !11)",
    ]


def test_expressions_and_strings():
    assert expression_text(DIExpression.fragment(32, 16)) == "!DIExpression(DW_OP_LLVM_fragment, 32, 16)"
    assert quoted('a"\\é') == '"a\\22\\5C\\C3\\A9"'


def test_operations_print_as_they_parse():
    text = """builtin.module {
  debuginfo.variable @x <name = "x", line = 3>
  func.func @f(%a: f32, %v: vector<4xf32>, %i: i32) {
    debuginfo.value %a, @x, #llvm.di_expression : !debuginfo.value<f32>
    debuginfo.value %a, #debuginfo.variable<name = "y">, #llvm.di_expression {kind = "addr"} : !debuginfo.value<f32>
    %p = llvm.nvvm.move %a : f32
    %e = llvm.extractelement %v[%i : i32] : vector<4xf32>
    func.return
  }
}"""
    module = Parser(context(), text).parse_module()
    module.verify()
    assert str(module) == text
