"""Debug info at the level of MLIR: locations, scopes, the three modes, debug values, refusals."""

import pytest
from xdsl.dialects.builtin import FileLineColLoc, FusedLoc, IntAttr, NoneAttr, StringAttr

from tests.pipeline.tileas_to_ll.modules import after, job, named, only
from tileiras_build.core.errors import ErrorGroup, InternalError, InvalidInput, Unsupported
from tileiras_build.ir.dialects.debuginfo.attrs import DIFile, DILexicalBlock, DILocation, DISubprogram
from tileiras_build.ir.dialects.debuginfo.llvm_debug_metadata import MODULE_FLAGS, DebugMetadata, subprogram_of
from tileiras_build.pipeline.opt import parse_module
from tileiras_build.pipeline.pass_manager import run_passes
from tileiras_build.pipeline.tileas_to_ll.debug.translate_debug_info import TranslateDebugInfo
from tileiras_build.pipeline.tileas_to_ll.type_converter import LLVMTypeConverter

PASS = "convert-debuginfo-to-llvm"
NONE, LINES, DEBUG = {}, {"lineinfo": True}, {"debug": True, "opt_level": 0}


def module(body: str, arguments: str = "%a: f32", place: str = '"k.py":2:1', top: str = "") -> str:
    return f"""builtin.module {{ gpu.module @m {{ {top}
      gpu.func @k({arguments}) kernel {{
        {body}
        gpu.return loc("k.py":9:1)
      }} loc({place})
    }} }}"""


def translated(body: str, options=DEBUG, **parts):
    return after(module(body, **parts), PASS, **options)


def add(location: str) -> str:
    return f"%total = arith.addf %a, %a : f32 loc({location})"


def place(location: str, options=LINES) -> DILocation | None:
    return only(translated(add(location), options), "arith.addf").attributes.get("dbg")


def coordinates(node: DILocation | None) -> list[tuple[str, int, int]]:
    """(file, line, column) from the innermost to the outermost caller."""
    found = []
    while node is not None:
        found.append((node.scope.file.filename, node.line, node.column))
        node = node.inlinedAt
    return found


# ---- locations -------------------------------------------------------------------------------------
@pytest.mark.seed("target-and-debug-info", "loc-file", "scope-file")
def test_file_line_column():
    node = place('"src/k.py":3:5')
    assert coordinates(node) == [("k.py", 3, 5)]
    assert node.scope.file == DIFile(("k.py", "src")) and subprogram_of(node.scope).source_name == "k"


@pytest.mark.seed("target-and-debug-info", "loc-callsite")
def test_call_sites_are_inlined():
    node = place('callsite("lib.py":8:1 at callsite("mid.py":6:2 at "k.py":4:3))')
    assert coordinates(node) == [("lib.py", 8, 1), ("mid.py", 6, 2), ("k.py", 4, 3)]


@pytest.mark.seed("target-and-debug-info", "loc-name")
def test_names_pass_through():
    assert coordinates(place('"total"("k.py":3:5)')) == [("k.py", 3, 5)]
    assert place('"total"') is None


@pytest.mark.seed("target-and-debug-info", "loc-unknown")
def test_unknown_is_not_tracked():
    assert place("unknown") is None


def fused(metadata) -> DILocation:
    """The place of an operation whose location is fused from k.py:5 and k.py:6."""
    at = lambda line: FileLineColLoc(StringAttr("k.py"), IntAttr(line), IntAttr(1))
    parsed = parse_module(module(add("unknown")))
    only(parsed, "arith.addf").location = FusedLoc((at(5), at(6)), metadata(at) if metadata else NoneAttr())
    run_passes([TranslateDebugInfo], parsed, job(**LINES))
    return only(parsed, "arith.addf").attributes["dbg"]


@pytest.mark.seed("target-and-debug-info", "loc-fused")
def test_fused_locations_are_the_metadatas_with_their_children_as_callers():
    assert [line for _, line, _ in coordinates(fused(lambda at: at(4)))] == [4, 5, 6]
    scoped = lambda at: DILocation.of(line=7, column=2, scope=place('"k.py":3:5').scope)
    assert [line for _, line, _ in coordinates(fused(scoped))] == [7, 5, 6]


@pytest.mark.seed("target-and-debug-info", "loc-fused")
def test_fused_locations_without_a_position_lead_with_the_first_child():
    assert [line for _, line, _ in coordinates(fused(None))] == [5, 6]
    assert [line for _, line, _ in coordinates(fused(lambda at: StringAttr("CSE")))] == [5, 6]
    assert coordinates(place('fused["k.py":3:5, "k.py":4:5]')) == [("k.py", 3, 5), ("k.py", 4, 5)]


# ---- scopes ----------------------------------------------------------------------------------------
NESTED = """%c = arith.constant true loc("k.py":3:1)
  scf.if %c {
    %x = arith.addf %a, %a : f32 loc("k.py":5:9)
    scf.if %c {
      %y = arith.mulf %a, %a : f32 loc("k.py":7:9)
    } loc("k.py":6:9)
  } loc("k.py":4:5)
  %z = arith.subf %a, %a : f32 loc("k.py":8:5)"""


@pytest.mark.seed("target-and-debug-info", "scope-lexical", "scope-lexical-parent")
def test_each_region_is_a_block_of_the_function():
    found = translated(NESTED)
    outer, inner, behind = (only(found, f"arith.{name}").attributes["dbg"].scope for name in ("addf", "mulf", "subf"))
    assert isinstance(outer, DILexicalBlock) and isinstance(inner, DILexicalBlock) and outer != inner
    assert (outer.line, inner.line) == (5, 7)
    assert outer.scope == inner.scope == behind and isinstance(behind, DISubprogram)


@pytest.mark.seed("target-and-debug-info", "scope-unit", "scope-file")
def test_functions_of_several_files_are_in_one_unit():
    text = """builtin.module { gpu.module @m {
      gpu.func @k() kernel { gpu.return loc("k.py":3:1) } loc("k.py":2:1)
      gpu.func @l() kernel { gpu.return loc("lib/l.py":6:1) } loc("lib/l.py":5:1)
    } }"""
    found = after(text, PASS, **DEBUG)
    first, second = (op.attributes["dbg"] for op in named(found, "gpu.func"))
    assert first.compileUnit == second.compileUnit == only(found, "gpu.module").attributes["dbg"]
    assert (first.file, second.file) == (DIFile(("k.py", "")), DIFile(("l.py", "lib")))


@pytest.mark.seed("target-and-debug-info", "scope-unit", "scope-file", "scope-subprogram")
def test_one_unit_for_the_module_and_one_subprogram_for_each_function():
    text = """builtin.module { gpu.module @m {
      gpu.func @k() kernel { gpu.return loc("k.py":3:1) } loc("k.py":2:1)
      gpu.func @l() kernel { gpu.return loc("k.py":6:1) } loc("k.py":5:1)
    } }"""
    found = after(text, PASS, **DEBUG)
    first, second = (op.attributes["dbg"] for op in named(found, "gpu.func"))
    assert first.compileUnit == second.compileUnit == only(found, "gpu.module").attributes["dbg"]
    assert (first.source_name, first.line, second.source_name, second.line) == ("k", 2, "l", 5)
    assert first.file == second.file and first.id != second.id
    returns = [op.attributes["dbg"].scope for op in named(found, "gpu.return")]
    assert returns == [first, second]


# ---- modes -----------------------------------------------------------------------------------------
VALUE = 'debuginfo.value %a, #debuginfo.variable<name = "a", arg = 1>, #llvm.di_expression : !debuginfo.value<f32>'


def kept(options) -> dict[str, bool]:
    add_at_4 = add('"k.py":4:5')
    found = translated(f'{VALUE} loc("k.py":3:5)\n{add_at_4}', options)
    text = str(found)
    return {
        "locations": "dbg" in only(found, "arith.addf").attributes,
        "subprograms": "dbg" in only(found, "gpu.func").attributes,
        "full": "linkageName" in text,
        "variables": "di_local_variable" in text,
        "values": bool(named(found, "llvm.intr.dbg.value")),
        "pins": bool(named(found, "llvm.nvvm.move")),
        "input": "debuginfo." in text,
    }


@pytest.mark.seed("target-and-debug-info", "mode-none")
def test_without_options_nothing_is_kept():
    assert set(kept(NONE).values()) == {False}


@pytest.mark.seed("target-and-debug-info", "mode-lineinfo")
def test_line_info_keeps_lines():
    assert {key for key, value in kept(LINES).items() if value} == {"locations", "subprograms"}


@pytest.mark.seed("target-and-debug-info", "mode-debug", "debug-gated")
@pytest.mark.parametrize("options", [DEBUG, {**DEBUG, "lineinfo": True}])
def test_device_debug_keeps_all(options):
    assert {key for key, value in kept(options).items() if not value} == {"input"}


# ---- debug values ----------------------------------------------------------------------------------
def shown(type: str, body: str = "", options=DEBUG, expression: str = "#llvm.di_expression"):
    """The module in which a variable of ``type`` is described, and its intrinsics."""
    body = body or f'debuginfo.value %a, #debuginfo.variable<name = "a">, {expression} : !debuginfo.value<{type}>'
    found = translated(f'{body} loc("k.py":3:5)', options, arguments=f"%a: {type}")
    return found, [op for op in found.walk() if op.name.startswith("llvm.intr.dbg.")]


@pytest.mark.seed("target-and-debug-info", "value-pin", "pin-between", "scope-variable", "operand-float")
def test_a_value_is_pinned_and_described():
    found, [intrinsic] = shown("f32")
    pin = intrinsic.value.owner
    assert pin.name == "llvm.nvvm.move" and pin.source is only(found, "gpu.func").body.block.args[0]
    variable = intrinsic.varInfo
    assert (variable.source_name, variable.line, variable.arg) == ("a", 3, None)
    assert variable.scope == only(found, "gpu.func").attributes["dbg"]
    assert intrinsic.expression.data == ()


@pytest.mark.seed("target-and-debug-info", "dataflow-unchanged")
def test_what_is_computed_does_not_change():
    unknown, local = add("unknown"), VALUE.replace(", arg = 1", "")
    with_values = parse_module(module(f'{local} loc("k.py":3:5)\n{unknown}'))
    run_passes([TranslateDebugInfo], with_values, job(**DEBUG))
    added = {op for op in with_values.walk() if op.name.startswith(("llvm.nvvm.move", "llvm.intr.dbg"))}
    assert len(added) == 2
    # Nothing but debug intrinsics reads what was added.
    readers = {use.operation.name for op in added for result in op.results for use in result.uses}
    assert readers == {"llvm.intr.dbg.value"}
    argument = only(with_values, "gpu.func").body.block.args[0]
    assert tuple(only(with_values, "arith.addf").operands) == (argument, argument)


@pytest.mark.seed("target-and-debug-info", "dataflow-unchanged", "pin-between")
def test_a_parameter_is_read_through_its_pin():
    before, after_it = add("unknown").replace("%total", "%x"), add("unknown")
    with_values = parse_module(module(f'{before}\n{VALUE} loc("k.py":3:5)\n{after_it}'))
    run_passes([TranslateDebugInfo], with_values, job(**DEBUG))
    argument = only(with_values, "gpu.func").body.block.args[0]
    pinned = only(with_values, "llvm.nvvm.move")
    first, second = (op for op in with_values.walk() if op.name == "arith.addf")
    assert tuple(first.operands) == (argument, argument) and tuple(second.operands) == (pinned.results[0],) * 2
    assert only(with_values, "llvm.intr.dbg.value").varInfo.arg == 1


@pytest.mark.seed("target-and-debug-info", "operand-integer")
@pytest.mark.parametrize("width", [1, 8, 16, 32, 64, 128])
def test_integers_keep_their_width(width):
    _, [intrinsic] = shown(f"i{width}")
    assert str(intrinsic.value.type) == f"i{width}"
    assert intrinsic.varInfo.type.encoding == ("DW_ATE_boolean" if width == 1 else "DW_ATE_signed")


@pytest.mark.seed("target-and-debug-info", "operand-float")
@pytest.mark.parametrize(
    ("type", "operand", "bits"), [("f16", "f16", 16), ("bf16", "bf16", 16), ("tf32", "f32", 32), ("f8E5M2", "i8", 8)]
)
def test_floats_are_shown_as_they_are_held(type, operand, bits):
    _, [intrinsic] = shown(type)
    assert str(intrinsic.value.type) == operand
    assert (intrinsic.varInfo.type.source_name, intrinsic.varInfo.type.sizeInBits) == (type, bits)


@pytest.mark.seed("target-and-debug-info", "debug-converter")
@pytest.mark.parametrize(
    ("type", "forms"), [("index", ["i64"]), ("bf16", ["bf16"]), ("tuple<f32, tuple<index>>", ["f32", "i64"])]
)
def test_debug_operands_are_no_part_of_the_abi(type, forms, monkeypatch):
    """Their types are converted without the converter of executable code."""
    monkeypatch.setattr(LLVMTypeConverter, "convert", lambda converter, type: pytest.fail(f"asked for {type}"))
    _, intrinsics = shown(type)
    assert [str(op.value.type) for op in intrinsics] == forms


def fragments(intrinsics) -> list[tuple[int, ...]]:
    for op in intrinsics:
        [(operator, _)] = op.expression.data
        assert operator == "DW_OP_LLVM_fragment"
    return [op.expression.data[-1][1] for op in intrinsics]


@pytest.mark.seed("target-and-debug-info", "operand-vector", "value-fragments")
def test_vectors_are_taken_apart_by_lane():
    _, intrinsics = shown("vector<4xf16>")
    assert fragments(intrinsics) == [(0, 16), (16, 16), (32, 16), (48, 16)]
    lanes = [op.value.owner.source.owner for op in intrinsics]
    assert [lane.name for lane in lanes] == ["llvm.extractelement"] * 4
    assert [lane.position.owner.value.value.data for lane in lanes] == [0, 1, 2, 3]
    assert len({op.varInfo for op in intrinsics}) == 1


@pytest.mark.seed("target-and-debug-info", "operand-struct", "value-fragments")
@pytest.mark.parametrize(
    ("type", "expected"),
    [
        ("!llvm.struct<(i8, f64)>", [(0, 8), (64, 64)]),  # aligned as in C
        ("!llvm.struct<(f32, !llvm.struct<(i16, i16)>, !llvm.array<2 x i8>)>",
         [(0, 32), (32, 16), (48, 16), (64, 8), (72, 8)]),
        ("tuple<f32, tuple<i64>>", [(0, 32), (64, 64)]),
        ("!llvm.struct<(vector<2xf32>, !llvm.ptr<3>)>", [(0, 32), (32, 32), (64, 32)]),
    ],
)  # fmt: skip
def test_structs_are_taken_apart_recursively(type, expected):
    _, intrinsics = shown(type)
    assert fragments(intrinsics) == expected
    assert intrinsics[0].varInfo.type.tag == "DW_TAG_structure_type"


@pytest.mark.seed("target-and-debug-info", "value-fragments")
def test_fragments_follow_the_expression():
    _, intrinsics = shown("vector<2xi8>", expression="#llvm.di_expression<[DW_OP_plus_uconst(4)]>")
    steps = [op.expression.data for op in intrinsics]
    assert steps[1] == (("DW_OP_plus_uconst", (4,)), ("DW_OP_LLVM_fragment", (8, 8)))


@pytest.mark.seed("target-and-debug-info", "value-kinds")
@pytest.mark.parametrize("kind", ["value", "declare", "addr"])
def test_the_kind_selects_the_intrinsic(kind):
    body = f"""debuginfo.value %a, #debuginfo.variable<name = "a">, #llvm.di_expression
      {{kind = "{kind}"}} : !debuginfo.value<!llvm.ptr>"""
    _, [intrinsic] = shown("!llvm.ptr", body)
    assert intrinsic.name == f"llvm.intr.dbg.{kind}" and intrinsic.value.owner.name == "llvm.nvvm.move"


@pytest.mark.seed("target-and-debug-info", "loc-name", "scope-variable")
def test_the_name_of_a_location_names_the_variable():
    value = 'debuginfo.value %a, #debuginfo.variable<name = "">, #llvm.di_expression : !debuginfo.value<f32>'
    intrinsic = only(translated(f'{value} loc("total"("k.py":3:5))'), "llvm.intr.dbg.value")
    assert (intrinsic.varInfo.source_name, intrinsic.varInfo.line) == ("total", 3)


@pytest.mark.seed("target-and-debug-info", "scope-variable")
def test_variables_can_be_named_by_symbol():
    top = 'debuginfo.variable @x <name = "x", line = 4>'
    value = "debuginfo.value %a, @x, #llvm.di_expression : !debuginfo.value<f32>"
    found = translated(f'{value} loc("k.py":3:5)', top=top)
    assert only(found, "llvm.intr.dbg.value").varInfo.line == 4
    assert not named(found, "debuginfo.variable")


# ---- refusals --------------------------------------------------------------------------------------
@pytest.mark.seed("target-and-debug-info", "error-unresolved-metadata")
def test_an_unresolved_variable_is_named_where_it_is_used():
    value = 'debuginfo.value %a, @gone, #llvm.di_expression : !debuginfo.value<f32> loc("k.py":3:5)'
    with pytest.raises(InvalidInput) as caught:
        translated(value)
    assert str(caught.value).startswith("k.py:3:5: error[debug-unresolved]: unresolved debug metadata: variable @gone")
    translated(value, LINES)  # no values are asked for


@pytest.mark.seed("target-and-debug-info", "operand-unresolved", "error-unresolved-metadata")
def test_an_unresolved_member_is_named_in_its_context():
    with pytest.raises(InvalidInput) as caught:
        shown("!llvm.struct<(f32, !llvm.struct<(i8, i7)>)>")
    message = "member [1][1] of the value has type i7, which has no debug operand form"
    assert caught.value.message == f"unresolved debug metadata: {message}"
    assert (caught.value.location.file, caught.value.location.line) == ("k.py", 3)


@pytest.mark.seed("target-and-debug-info", "error-unsupported-type", "operand-integer")
@pytest.mark.parametrize("type", ["i7", "i256", "complex<f32>"])
def test_an_unsupported_type_is_named(type):
    with pytest.raises(Unsupported) as caught:
        shown(type)
    assert caught.value.message == f"unsupported debug value type {type}" and caught.value.location.line == 3


@pytest.mark.seed("target-and-debug-info", "error-unknown-operation")
def test_an_unknown_operation_is_named():
    body = VALUE.replace("#llvm.di_expression :", '#llvm.di_expression {kind = "label"} :')
    with pytest.raises(InternalError) as caught:
        translated(f'{body} loc("k.py":3:5)')
    assert caught.value.message == "Building op `llvm.intr.dbg.label` but it isn't known in this MLIRContext"
    assert caught.value.location.line == 3


def test_all_refusals_of_a_module_are_reported():
    gone = 'debuginfo.value %a, @gone, #llvm.di_expression : !debuginfo.value<f32> loc("k.py":3:5)'
    with pytest.raises(ErrorGroup) as caught:
        translated(f"{gone}\n{gone.replace('3:5', '4:5').replace('@gone', '@lost')}")
    assert [error.location.line for error in caught.value.errors] == [3, 4]


# ---- as LLVM reads it ------------------------------------------------------------------------------
@pytest.mark.seed("target-and-debug-info", "loc-callsite", "scope-lexical", "scope-variable")
def test_llvm_accepts_the_metadata():
    import llvmlite.binding as llvm

    body = NESTED + f'\n{VALUE} loc(callsite("lib.py":8:1 at "k.py":4:3))'
    found = translated(body)
    metadata = DebugMetadata()
    number = metadata.number
    function = number(only(found, "gpu.func").attributes["dbg"])
    lines = [number(op.attributes["dbg"]) for op in found.walk() if isinstance(op.attributes.get("dbg"), DILocation)]
    intrinsic = only(found, "llvm.intr.dbg.value")
    variable, place = number(intrinsic.varInfo), number(intrinsic.attributes["dbg"])
    value = f"#dbg_value(float %a, !{variable}, !DIExpression(), !{place})"
    unit = number(only(found, "gpu.module").attributes["dbg"])
    text = "\n".join([
        f"define void @k(float %a) !dbg !{function} {{", value,
        *(f"  %v{index} = fadd float %a, %a, !dbg !{line}" for index, line in enumerate(lines)),
        "  ret void", "}", f"!llvm.dbg.cu = !{{!{unit}}}", "!llvm.module.flags = !{!0, !1}",
        *(f"!{index} = {flag}" for index, flag in enumerate(MODULE_FLAGS)), *metadata.lines(),
    ])  # fmt: skip
    with llvm.create_context() as context, llvm.parse_assembly(text, context=context) as parsed:
        parsed.verify()
        printed = str(parsed)
    # LLVM drops metadata that is not sound; all of it is there.
    assert printed.count("!DILocation(") == len(set(lines)) + 1 and "inlinedAt" in printed
    assert printed.count("!DILexicalBlock(") == 2 and "!DILocalVariable(name: \"a\", arg: 1" in printed
