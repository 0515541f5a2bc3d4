"""Lines of the Python source in cubins: which instruction is from which line, at no cost; variables with debug."""

import re
from itertools import cycle

import pytest

import tileiras_build
from tests import compiled_once
from tests.examples.example_library import CASES, FILE_OF, FOLDER, bytecode_of, inputs_of, launch
from tests.pairwise import alternate
from tests.pipeline.tileas_to_ll.dwarf import entries, sections
from tests.pipeline.tileas_to_ll.sass import disassemble, instructions
from tileiras_build.core.errors import InvalidInput
from tileiras_build.verify import find_faults

KERNELS = ("vector_add_f32", "gelu_erf_bf16", "softmax_f32", "matmul_f16_nt")
TARGETS = ("sm_80", "sm_90", "sm_120")


def compiled(name: str, target: str, lineinfo: bool):
    options = {"lineinfo": True} if lineinfo else {}
    return compiled_once.compiled(bytecode_of(name), target, stop_at="cubin", **options)


def debugged(name: str, target: str = "sm_90"):
    return compiled_once.compiled(bytecode_of(name), target, stop_at="cubin", opt_level=0, debug=True)


def source(name: str) -> list[str]:
    return FILE_OF[name].read_text().splitlines()


def path(name: str) -> str:
    return str(FILE_OF[name].relative_to(FOLDER.parent))


@pytest.mark.seed("target-and-debug-info", "mode-lineinfo")
@pytest.mark.parametrize(("name", "target"), alternate(KERNELS, TARGETS))
def test_code_is_the_same_with_and_without_lines(name, target):
    plain, lines = (sections(compiled(name, target, flag).cubin) for flag in (False, True))
    assert plain[f".text.{name}"] == lines[f".text.{name}"]
    assert ".debug_line" in lines and ".debug_line" not in plain


@pytest.mark.seed("target-and-debug-info", "mode-lineinfo")
@pytest.mark.parametrize(("name", "target"), list(zip(KERNELS, cycle(TARGETS))))
def test_every_instruction_has_a_line(name, target, tmp_path):
    found = instructions(compiled(name, target, True).cubin, tmp_path)
    assert found and all(one.places for one in found)


@pytest.mark.seed("target-and-debug-info", "mode-lineinfo")
@pytest.mark.parametrize("name", KERNELS)
def test_memory_instructions_are_at_the_lines_that_ask_for_them(name, tmp_path):
    text, file = source(name), path(name)
    found = instructions(compiled(name, "sm_80", True).cubin, tmp_path)
    lines_of = lambda word: {
        place[1] for one in found if re.search(rf"\b(?:{word})\b", one.text) for place in one.places if place[0] == file
    }
    loads, stores = lines_of("LDG|LDGSTS"), lines_of("STG")
    assert loads and all("load(" in text[line - 1] for line in loads)
    assert stores and all("store(" in text[line - 1] for line in stores)


def test_what_a_pass_added_is_where_the_code_before_it_is(tmp_path):
    name = "matmul_f16_nt"
    text = source(name)
    found = instructions(compiled(name, "sm_80", True).cubin, tmp_path)
    # Groups of asynchronous copies are closed by operations that are in no source.
    closing = {text[one.line - 1].strip() for one in found if one.text.startswith("LDGDEPBAR")}
    assert closing and all("ct.load(" in line for line in closing)


@pytest.mark.seed("target-and-debug-info", "loc-callsite")
def test_inlined_lines_name_their_callers(tmp_path):
    name = "gelu_erf_bf16"
    text, file = source(name), path(name)
    chains = {one.places for one in instructions(compiled(name, "sm_90", True).cubin, tmp_path)}
    inlined = {chain for chain in chains if len(chain) > 1}
    calls = {(text[inner[1] - 1].strip(), text[outer[1] - 1]) for inner, outer in inlined if inner[0] == file}
    # The exponential of erf() runs where erf() is called.
    assert any("ct.exp(" in inner and "erf(" in outer for inner, outer in calls)
    # And what cuTile's own library inlines is found in this file too.
    assert any(inner[0] != file and outer[0] == file for inner, outer in inlined)


@pytest.mark.seed("target-and-debug-info", "mode-lineinfo")
def test_lines_do_not_make_a_debug_build():
    ptx = compiled("gelu_erf_bf16", "sm_90", True).ptx
    assert ".target sm_90a\n" in ptx and "\t.loc\t" in ptx
    assert ".debug_info" not in ptx and "llvm.nvvm.move" not in compiled("gelu_erf_bf16", "sm_90", True).ll
    assert "DILocalVariable" not in compiled("gelu_erf_bf16", "sm_90", True).ll


@pytest.mark.seed("target-and-debug-info", "mode-none")
def test_nothing_is_kept_without_options(tmp_path):
    artifacts = compiled("gelu_erf_bf16", "sm_90", False)
    assert "!DI" not in artifacts.ll and "!dbg" not in artifacts.ll and ".loc" not in artifacts.ptx
    assert "//## File" not in disassemble(artifacts.cubin, tmp_path, "-g")


@pytest.mark.seed("target-and-debug-info", "value-survives")
def test_values_live_through_llvms_passes_in_debug_builds_alone():
    """Pointers of a kernel that reads and writes through them: each has a place to the end, and none with lines alone."""
    name, pins = "vector_add_f32", "call ptr addrspace(1) @llvm.nvvm.move"
    parameters = [entry.values for entry in entries(debugged(name).cubin) if entry.tag == "formal_parameter"]
    assert len([values for values in parameters if "location" in values]) >= debugged(name).ll.count(pins) == 3
    lines = compiled(name, "sm_90", True)
    assert "#dbg_value(" not in lines.ll and ".debug_abbrev" not in lines.ptx


@pytest.mark.seed("target-and-debug-info", "mode-debug")
@pytest.mark.parametrize("target", TARGETS)
def test_variables_are_in_the_debug_information(target):
    found = entries(debugged("vector_add_f32", target).cubin)
    parameters = {entry.values["name"]: entry for entry in found if entry.tag == "formal_parameter"}
    types = {entry.offset: entry for entry in found if entry.tag in ("base_type", "pointer_type")}
    assert {"arg0", "arg1"} <= parameters.keys()
    first = types[parameters["arg0"].values["type"]]
    assert first.tag == "pointer_type" and types[first.values["type"]].values["name"] == "f32"
    assert types[parameters["arg1"].values["type"]].values["name"] == "i32"
    # A place in .debug_loc: the debugger can show the value.
    assert all("location" in entry.values for entry in parameters.values())


@pytest.mark.seed("target-and-debug-info", "mode-debug", "scope-subprogram")
@pytest.mark.seed("lowering-overview", "option-debug")
def test_the_subprogram_is_full():
    name = "vector_add_f32"
    [kernel] = [entry for entry in entries(debugged(name).cubin) if entry.tag == "subprogram"]
    line = kernel.values["decl_line"]
    # Python begins a function at its decorator.
    assert source(name)[line - 1] == "@ct.kernel"
    assert source(name)[line].startswith(f"def {kernel.values['name']}(")
    assert debugged(name).ptx.count(".target sm_90a, debug") == 1


@pytest.mark.seed("target-and-debug-info", "loc-callsite")
def test_inlined_functions_are_in_the_debug_information():
    found = entries(debugged("gelu_erf_bf16").cubin)
    functions = {entry.offset: entry for entry in found if entry.tag == "subprogram"}
    calls = [entry for entry in found if entry.tag == "inlined_subroutine"]
    text = source("gelu_erf_bf16")
    at = {functions[call.values["abstract_origin"]].values["name"]: call.values["call_line"] for call in calls}
    assert "erf(" in text[at["erf"] - 1]


@pytest.mark.seed("target-and-debug-info", "scope-lexical", "scope-lexical-parent")
def test_loops_are_blocks_of_the_function():
    text = debugged("matmul_f16_nt").ll
    blocks = re.findall(r"!DILexicalBlock\(scope: !(\d+)", text)
    [subprogram] = re.findall(r"^!(\d+) = distinct !DISubprogram", text, re.MULTILINE)
    assert blocks and set(blocks) == {subprogram}


@pytest.mark.seed("target-and-debug-info", "pin-between", "value-pin")
def test_parameters_are_seen_through_their_pins():
    text = debugged("vector_add_f32").ll
    shown = re.findall(r"#dbg_value\(\S+(?: addrspace\(1\))? (%\w+),", text)
    pins = re.findall(r"(%\w+) = call \S+(?: addrspace\(1\))? @llvm\.nvvm\.move\.", text)
    assert shown and shown == pins
    # The code reads the pins: a value that nothing uses would be gone before the debugger looks.
    [body] = re.findall(r"^define ptx_kernel .*?^}$", text, re.MULTILINE | re.DOTALL)
    parameters = re.findall(r"(%\w+)[,)]", body.splitlines()[0])
    reads = [line for line in body.splitlines()[1:] if "@llvm.nvvm.move." not in line]
    assert len(parameters) == len(pins)
    for parameter in parameters:
        assert not [line for line in reads if re.search(rf"{parameter}\b", line)]


@pytest.mark.seed("target-and-debug-info", "dataflow-unchanged")
@pytest.mark.parametrize("name", ["gelu_erf_bf16", "max_and_argmax_f32"])
def test_the_results_are_the_same(name):
    for artifacts in (compiled(name, "sm_90", True), debugged(name)):
        assert find_faults(CASES[name], inputs_of(name), launch(name, artifacts)) == []


@pytest.mark.seed("target-and-debug-info", "mode-debug")
def test_debugging_needs_level_0():
    with pytest.raises(InvalidInput, match="optimized debugging is not supported, change optimization level to 0 or"):
        tileiras_build.compile(bytecode_of("vector_add_f32"), "sm_90", debug=True)
