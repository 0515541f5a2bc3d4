"""Source locations in the text reach the bytecode, with their scopes or with one that is made."""

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.ir.bytecode import disassemble, read_module
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.ir.dialects import cuda_tile as ct

SCOPES = """#file = #cuda_tile.di_file<"k.py" in "/src">
#unit = #cuda_tile.di_compile_unit<file = #file>
#k = #cuda_tile.di_subprogram<file = #file, line = 8, name = "kernel", linkageName = "k", compileUnit = #unit, scopeLine = 9>
#other = #cuda_tile.di_subprogram<file = #file, line = 1, name = "o", linkageName = "o", compileUnit = #unit>
#block = #cuda_tile.di_lexical_block<column = 4, line = 3, scope = #k, file = #file>
#at = loc("/src/k.py":10:10)
#own = #cuda_tile.di_loc<#at in #k>
#inner = #cuda_tile.di_loc<loc("/src/k.py":11:2) in #block>
#away = #cuda_tile.di_loc<loc("/src/o.py":2:1) in #other>
"""


def located(line: str, entry: str = "", scopes: str = SCOPES):
    """(the entry, its first operation) of bytecode with these locations."""
    text = f"entry @k() {{\n  %0 = make_token : token {line}\n  return\n}} {entry}\n{scopes}"
    module = read_module(write_module(parse_text(text, "k.mlir")))
    entry_op = next(op for op in module.walk() if isinstance(op, ct.EntryOp))
    return entry_op, entry_op.body.block.first_op


def test_scopes_are_kept():
    entry, op = located("loc(#inner)", "loc(#own)")
    loc = op.attributes["loc"]
    assert (loc.file, loc.line, loc.column, loc.function) == ("/src/k.py", 11, 2, "kernel")
    assert (loc.scope.line, loc.scope.column, loc.scope.subprogram.scope_line) == (3, 4, 9)
    assert entry.attributes["loc"].scope == loc.scope.subprogram
    assert loc.scope.file.path == loc.scope.subprogram.compile_unit.file.path == "/src/k.py"


def test_call_sites_are_kept():
    _, op = located("loc(callsite(#away at callsite(#inner at #own)))", "loc(#own)")
    loc = op.attributes["loc"]
    assert loc.position.function == "o" and [site.line for site in loc.call_sites] == [11, 10]


def test_a_kernel_without_scopes_gets_one():
    entry, op = located('loc(callsite("/src/h.py":3:4 at "/src/k.py":7:1))', 'loc("/src/k.py":5:0)', "")
    scope = entry.attributes["loc"].scope
    assert (scope.linkage_name, scope.line, scope.file.path) == ("k", 5, "/src/k.py")
    assert [part.scope for part in op.attributes["loc"].data] == [scope, scope]
    assert "loc" not in entry.body.block.last_op.attributes


@pytest.mark.parametrize("entry", ["", "loc(unknown)"])
def test_lines_of_operations_are_enough(entry):
    op_entry, op = located('loc("/src/k.py":7:1)', entry, "")
    assert op.attributes["loc"].scope.line == 7 and op_entry.attributes["loc"].line == 7


def test_what_is_printed_with_locations_reads_back():
    text = 'entry @k() {\n  %0 = make_token : token loc("a.py":3:4)\n  return loc(callsite("a.py":3:4 at "b.py":5:6))\n} loc("b.py":1:0)\n'
    assert disassemble(write_module(parse_text(text)), locations=True) == text


@pytest.mark.parametrize(("line", "entry", "message"), [
    ("loc(#own)", "loc(#inner)", "1:1: .*must be a subprogram"),
    ("loc(#own)", "loc(#away)", "1:1: .*has the linkage name 'o'"),
    ("loc(#own)", "loc(callsite(#own at #own))", "4:3: .*cannot be a call site"),
    ("loc(#own)", "", "2:8: .*an operation has a debug scope, the entry has none"),
    ("loc(#away)", "loc(#own)", "2:8: .*is in 'o', not in that of the entry"),
    ("loc(callsite(#own at #away))", "loc(#own)", "2:8: .*is in 'o'"),
    ('loc("name"(#own))', "loc(#own)", "2:27: .*cannot encode a named location"),
    ("loc(fused[#own, #inner])", "loc(#own)", "2:27: .*cannot encode a fused location"),
    ("", 'loc(fused["a.py":1:1, #own])', "4:3: .*cannot encode a fused location"),
    ("loc(#missing)", "", "2:31: .*#missing is not defined"),
    ("loc(#file)", "", "2:31: .*expected a location"),
    ("loc(#cuda_tile.di_loc<#own in #k>)", "", "expected a file, a line and a column"),
    ("loc(#cuda_tile.di_loc<#at in #file>)", "", "the scope of a location cannot be di_file"),
    ("loc(#cuda_tile.di_other<1>)", "", "'di_other' is neither a location nor"),
    ('loc("a.py":-1:2)', "", "a number up to 4294967295"),
    ("loc(" + "callsite(" * 100, "", "nested more than|expected a location|expected '#'"),
])  # fmt: skip
def test_what_breaks_the_rules_is_refused(line, entry, message):
    with pytest.raises(InvalidInput, match=message):
        located(line, entry)


@pytest.mark.parametrize(("scopes", "message"), [
    ("#a = loc(#b)\n#b = loc(#a)\n", "refers to itself"),
    ("#a = #cuda_tile.di_loc<loc(\"f\":1:1) in #s>\n#s = #cuda_tile.di_subprogram<line = 1>\n", "di_subprogram lacks 'file'"),
    ("#a = #cuda_tile.di_loc<loc(\"f\":1:1) in #s>\n#s = #cuda_tile.di_subprogram<lines = 1>\n", "has no field 'lines'"),
    ("#a = loc(unknown)\n#a = loc(unknown)\n", "#a is defined twice"),
    ("".join(f"#{chr(97 + n)} = loc(callsite(#{chr(98 + n)} at #{chr(98 + n)}))\n" for n in range(14)) + "#o = loc(unknown)\n", "more than 4096 parts"),
])  # fmt: skip
def test_definitions_are_checked(scopes, message):
    with pytest.raises(InvalidInput, match=message):
        located("loc(#a)", "", scopes)


def test_a_global_has_no_scope():
    text = "global @g <i32: 1> : tile<1xi32> loc({})\n"
    parse_text(text.format('"k.py":1:1'))
    with pytest.raises(InvalidInput, match="1:34: .*a global must not have a debug scope"):
        parse_text(text.format("#own") + SCOPES, "k.mlir")
