"""What the PTX of hand-written modules looks like: header, parameters, registers, memory, data and debug sections."""

import re

import llvmlite.binding as llvm
import pytest

from tileiras_build.pipeline import ll_to_ptx
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx import compile_module
from tileiras_build.pipeline.ll_to_ptx.target_machine import target_machine_for
from tileiras_build.pipeline.ptx_to_cubin import lower as assemble
from tileiras_build.target.targets import TARGETS

SM90 = TARGETS["sm_90"]
GLOBAL = "ptr addrspace(1)"


def lower(text: str, sm: str = "sm_90", **options) -> str:
    return ll_to_ptx.lower(text, Job(TARGETS[sm], **options))


def kernel(body: str, parameters: str = f"{GLOBAL} %p, i32 %i, float %f", head: str = "", tail: str = "") -> str:
    return f"{head}\ndefine ptx_kernel void @k({parameters}) {{\n{body}\n  ret void\n}}\n{tail}"


STORE = f"  store i32 %i, {GLOBAL} %p"


@pytest.mark.seed("codegen-overview", "emission-header", "one-target", "stage-handoff")
@pytest.mark.seed("target-and-debug-info", "consumer-assembler")
@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_the_header_is_the_resolved_target(target):
    ptx = lower(kernel(STORE), target.name)
    directives = [line for line in ptx.splitlines() if line.startswith(".")][:3]
    version = ".".join(map(str, target.ptx_version))
    assert directives == [f".version {version}", f".target {target.arch}", ".address_size 64"]
    assert ptx.count(".target") == 1


@pytest.mark.seed("codegen-overview", "stage-target-lowering", "abi-params", "param-space")
def test_kernel_parameters_are_loads_from_parameter_space():
    ptx = lower(kernel(f"  %x = sitofp i32 %i to float\n  %y = fadd float %x, %f\n  store float %y, {GLOBAL} %p"))
    declared = re.findall(r"\.param \.(\w+) (?:\.ptr \.global \.align 1 )?k_param_(\d)", ptx)
    assert declared == [("u64", "0"), ("u32", "1"), ("f32", "2")]
    assert [int(number) for number in re.findall(r"ld\.param\.\w+ \t%\w+, \[k_param_(\d)\]", ptx)] == [0, 1, 2]


PAIR = "{ i32, i64 }"
FIELDS = f"""  %a = getelementptr {PAIR}, ptr %s, i32 0, i32 0
  %b = getelementptr {PAIR}, ptr %s, i32 0, i32 1
  %x = load i32, ptr %a
  %y = load i64, ptr %b
  %z = sext i32 %x to i64
  %w = add i64 %y, %z
  store i64 %w, {GLOBAL} %p, align 8"""


@pytest.mark.seed("codegen-overview", "abi-byval")
def test_aggregates_by_value_are_loads_of_their_fields():
    ptx = lower(kernel(FIELDS, f"{GLOBAL} %p, ptr byval({PAIR}) align 8 %s"))
    assert ".param .align 8 .b8 k_param_1[16]" in ptx
    assert re.findall(r"ld\.param\.(\w+) \t%\w+, \[(k_param_1\S*)\]", ptx) == [
        ("s32", "k_param_1"),
        ("b64", "k_param_1+8"),
    ]
    assert "local" not in ptx


@pytest.mark.seed("codegen-overview", "abi-grid-constant")
@pytest.mark.parametrize("mark, copied", [('"nvvm.grid_constant" ', False), ("", True)])
def test_grid_constants_stay_in_parameter_space(mark, copied):
    asm = '  call void asm sideeffect "prefetch.tensormap [$0];", "l,~{memory}"(ptr %s)'
    ptx = lower(kernel(asm, f"ptr byval([128 x i8]) align 64 {mark}%s"))
    assert ("st.local" in ptx or "__local_depot" in ptx) == copied


@pytest.mark.seed("codegen-overview", "vector-memory", "lane-grouping")
@pytest.mark.parametrize("space, name", [(1, "global"), (3, "shared")])
@pytest.mark.parametrize(
    "type, align, load", [("<4 x float>", 16, "v4.b32"), ("<2 x float>", 8, "b64|v2.b32"), ("<2 x i64>", 16, "v2.b64")]
)
def test_vectors_keep_their_lanes_and_space(space, name, type, align, load):
    pointer = f"ptr addrspace({space})"
    body = f"  %x = load {type}, {pointer} %q, align {align}\n  store {type} %x, {pointer} %r, align {align}"
    ptx = lower(kernel(body, f"{pointer} %q, {pointer} %r"))
    assert re.search(rf"ld\.{name}\.(?:{load})", ptx) and re.search(rf"st\.{name}\.(?:{load})", ptx)


@pytest.mark.seed("codegen-overview", "matcher-default")
@pytest.mark.parametrize(
    "operation, mnemonic",
    [("add i32 %i, 7", "add.s32"), ("mul i32 %i, %i", "mul.lo.s32"), ("shl i32 %i, 3", "shl.b32"),
     ("sdiv i32 %i, 7", "mul.hi.s32|mul.wide.s32"), ("xor i32 %i, 5", "xor.b32"), ("ashr i32 %i, 2", "shr.s32")],
)  # fmt: skip
def test_ordinary_operations_are_selected(operation, mnemonic):
    assert re.search(mnemonic, lower(kernel(f"  %x = {operation}\n  store i32 %x, {GLOBAL} %p")))


@pytest.mark.seed("codegen-overview", "selected-instruction")
@pytest.mark.parametrize("sm, packed", [("sm_90", False), ("sm_100", True)])
def test_the_instruction_is_the_targets(sm, packed):
    body = f"  %v = load <2 x float>, {GLOBAL} %p\n  %w = fadd <2 x float> %v, %v\n  store <2 x float> %w, {GLOBAL} %p"
    ptx = lower(kernel(body), sm)
    assert ("add.rn.f32x2" in ptx) == packed and ptx.count("add.rn.f32 ") == (0 if packed else 2)


@pytest.mark.seed("codegen-overview", "selected-instruction")
def test_exact_operations_stay_exact():
    body = f"""  %m = fmul float %f, %f
  %a = fadd float %m, %f
  %d = fdiv float %a, %f
  %s = call float @llvm.sqrt.f32(float %d)
  store float %s, {GLOBAL} %p"""
    ptx = lower(kernel(body, tail="declare float @llvm.sqrt.f32(float)"))
    assert all(name in ptx for name in ("mul.rn.f32", "add.rn.f32", "div.rn.f32", "sqrt.rn.f32"))
    assert "fma" not in ptx and "approx" not in ptx


SHARED = "@tile = internal addrspace(3) global [64 x i32] undef, align 16\n@table = addrspace(1) constant [2 x i32] [i32 1, i32 2]"
TWO = "define ptx_kernel void @other(ptr addrspace(1) %p) {\n  %t = load i32, ptr addrspace(3) @tile\n  store i32 %t, ptr addrspace(1) %p\n  ret void\n}"


@pytest.mark.seed("codegen-overview", "emission-globals")
def test_variables_are_declared_before_functions():
    ptx = lower(kernel("  store i32 %i, ptr addrspace(3) @tile", head=SHARED, tail=TWO))
    first = ptx.index(".entry")
    assert 0 < ptx.index(".shared .align 16 .b8 tile[256]") < first
    assert 0 < ptx.index(".global .align 4 .b8 table[8] = {1, 0, 0, 0, 2}") < first


@pytest.mark.seed("codegen-overview", "emission-registers", "emission-directives")
@pytest.mark.seed("nvptx-bring-up", "service-register-info")
def test_registers_are_declared_by_class_at_the_top():
    body = f"""  %c = fcmp olt float %f, 0.0
  %x = select i1 %c, i32 %i, i32 7
  %d = sitofp i32 %x to double
  store double %d, {GLOBAL} %p"""
    ptx = lower(kernel(body))
    block = ptx[ptx.index("{\n") :].splitlines()[1:]
    declared = [line.split()[1] for line in block if line.strip().startswith(".reg")]
    assert declared == [".pred", ".b32", ".b64"]
    assert not any(".reg" in line for line in block[len(declared) :])


CALLING = f"""
define i32 @twice(i32 %x) noinline {{
  %y = shl i32 %x, 1
  ret i32 %y
}}
define ptx_kernel void @k({GLOBAL} %p, i32 %n) {{
entry:
  %a = alloca [16 x i32]
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %g = getelementptr [16 x i32], ptr %a, i32 0, i32 %i
  %t = call i32 @twice(i32 %i)
  store volatile i32 %t, ptr %g
  %j = add i32 %i, 1
  %c = icmp slt i32 %j, %n
  br i1 %c, label %loop, label %end
end:
  %r = load volatile i32, ptr %a
  store i32 %r, {GLOBAL} %p
  ret void
}}
"""


@pytest.mark.seed("codegen-overview", "stage-machine-passes", "stage-emission")
@pytest.mark.parametrize("level", [0, 3])
def test_calls_loops_and_stacks_assemble(level):
    job = Job(SM90, opt_level=level)
    ptx = ll_to_ptx.lower(CALLING, job)
    assert "call.uni" in ptx and "__local_depot" in ptx and "$L__BB" in ptx
    assert assemble(ptx, job)[1]["kernels"]["k"]["resources"]["stack"] >= 64


@pytest.mark.seed("codegen-overview", "sequence")
@pytest.mark.seed("nvptx-bring-up", "sequence")
def test_the_order_of_the_steps(monkeypatch):
    order = []
    steps = ["check_module", "_parse", "_link", "target_machine_for", "run_passes", "fix_header"]
    for name in steps:
        step = getattr(compile_module, name)
        monkeypatch.setattr(
            compile_module, name, lambda *a, step=step, name=name, **more: order.append(name) or step(*a, **more)
        )
    lower(kernel(STORE))
    assert order == steps


# ---- the assembler's vocabulary ------------------------------------------------------------------
HOST_DIRECTIVES = re.compile(r"^\s*\.(?:text|data|bss|size|type|globl|p2align|ident)\b", re.MULTILINE)


@pytest.mark.seed("nvptx-bring-up", "no-host-sections", "sections-braces", "asm-global", "service-asm-info")
@pytest.mark.seed("nvptx-bring-up", "asm-comment", "asm-private-prefix", "service-asm-printer")
def test_ptx_has_no_host_directives():
    ptx = lower(CALLING)
    assert not HOST_DIRECTIVES.search(ptx)
    assert "\t// .globl\tk" in ptx, "a note, not a directive"
    assert re.search(r"^\)\n\{\n", ptx, re.MULTILINE) and ptx.rstrip().endswith("}")
    assert re.search(r"^\$L__BB\d+_\d+:", ptx, re.MULTILINE)


@pytest.mark.seed("nvptx-bring-up", "asm-weak")
def test_weak_linkage_is_ptxs_own():
    ptx = lower("define weak i32 @w(i32 %x) noinline {\n  ret i32 %x\n}\n" + kernel(STORE))
    assert ".weak .func" in ptx and not re.search(r"^\s*\.weak\s+w\b", ptx, re.MULTILINE)


@pytest.mark.seed("nvptx-bring-up", "asm-inline-markers")
def test_assembly_stands_between_comments():
    ptx = lower(kernel('  call void asm sideeffect "membar.gl;", ""()'))
    assert "\t// begin inline asm\n\tmembar.gl;\n\t// end inline asm\n" in ptx


@pytest.mark.seed("nvptx-bring-up", "asm-ascii")
def test_strings_are_bytes():
    head = '@text = addrspace(1) constant [3 x i8] c"hi\\00"'
    assert ".global .align 1 .b8 text[3] = {104, 105}" in lower(kernel(STORE, head=head))


@pytest.mark.seed("nvptx-bring-up", "asm-integrated", "service-code-emitter")
def test_there_is_no_object_emission():
    with llvm.create_context() as context, llvm.parse_assembly(kernel(STORE), context=context) as module:
        with pytest.raises(RuntimeError):
            target_machine_for(SM90).emit_object(module)


DEBUG = f"""
define ptx_kernel void @k({GLOBAL} %p) !dbg !4 {{
  store i32 1, {GLOBAL} %p, !dbg !5
  ret void, !dbg !5
}}
!llvm.dbg.cu = !{{!1}}
!llvm.module.flags = !{{!2, !3}}
!0 = !DIFile(filename: "k.py", directory: "/src")
!1 = distinct !DICompileUnit(language: DW_LANG_Python, file: !0, emissionKind: FullDebug)
!2 = !{{i32 2, !"Debug Info Version", i32 3}}
!3 = !{{i32 2, !"Dwarf Version", i32 2}}
!4 = distinct !DISubprogram(name: "k", file: !0, line: 7, type: !6, unit: !1, spFlags: DISPFlagDefinition)
!5 = !DILocation(line: 42, column: 3, scope: !4)
!6 = !DISubroutineType(types: !{{}})
"""


@pytest.mark.seed("nvptx-bring-up", "sections-toggle")
def test_a_section_is_closed_before_the_next_one():
    ptx = lower(DEBUG, debug=True, opt_level=0)
    sections = re.split(r"^\s*\.section\s+\S+\n", ptx, flags=re.MULTILINE)[1:]
    assert len(sections) > 2
    for section in sections:
        braces = [line.strip() for line in section.splitlines() if line.strip() in ("{", "}")]
        assert section.lstrip().startswith("{") and braces == ["{", "}"]


@pytest.mark.seed("nvptx-bring-up", "asm-debug", "asm-data8", "asm-data32", "asm-data64", "sections-braces")
def test_debug_sections_are_data_in_braces():
    ptx = lower(DEBUG, debug=True, opt_level=0)
    section = ptx[ptx.index(".debug_info") :]
    assert section.split("\n")[1].strip() == "{"
    assert re.search(r"^\.b8 ", section, re.MULTILINE) and re.search(r"^\.b32 ", section, re.MULTILINE)
    assert re.search(r"^\.b64 ", section, re.MULTILINE)
    assert set(re.findall(r"^\s*\.section\s+(\S+)", ptx, re.MULTILINE)) >= {".debug_abbrev", ".debug_info"}
