"""ll_to_ptx/llvm_passes.py: six levels, what they keep, and the refusals that come before any pass manager."""

import re
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from tests.emulated_kernels import run
from tileiras_build.core.errors import InternalError, InvalidInput
from tileiras_build.pipeline import ll_to_ptx
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx.llvm_passes import (
    MAX_LOOPS,
    UNROLLED_LINES,
    _has_many_loops,
    _sinks_slowly,
    run_passes,
)
from tileiras_build.pipeline.ll_to_ptx.target_machine import TRIPLE, data_layout, library_machine, target_machine
from tileiras_build.target.isa.serializer_options import LEVELS
from tileiras_build.target.targets import TARGETS

JOB = Job(TARGETS["sm_90"])
KERNEL = """
@buffer = internal addrspace(3) global [32 x i32] undef, align 16
@table = internal addrspace(4) constant [2 x i32] [i32 5, i32 6]
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %i) "nvvm.reqntid"="128" "nvvm.maxnreg"="64" {
  %d = add i32 %i, 0
  %e = mul i32 %d, 1
  %s = getelementptr [32 x i32], ptr addrspace(3) @buffer, i32 0, i32 %e
  store i32 %e, ptr addrspace(3) %s
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %v = load i32, ptr addrspace(3) %s
  %t = getelementptr [2 x i32], ptr addrspace(4) @table, i32 0, i32 %v
  %c = load i32, ptr addrspace(4) %t
  %l = alloca [4 x i32]
  %m = getelementptr i32, ptr %l, i32 %c
  store volatile i32 %c, ptr %m
  %w = load volatile i32, ptr %m
  store i32 %w, ptr addrspace(1) %p
  ret void
}
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
"""


def optimized(text: str, level: int | str, pipeline: str = "short") -> str:
    machine = library_machine()
    with llvm.create_context() as context, llvm.parse_assembly(text, context=context) as module:
        module.triple, module.data_layout = TRIPLE, data_layout()
        run_passes(module, machine, level, pipeline)
        return str(module)


@pytest.mark.seed("codegen-overview", "levels")
@pytest.mark.seed("nvptx-bring-up", "pipeline-shape")
def test_levels_differ_in_what_they_do():
    sizes = {level: optimized(KERNEL, level).count("\n") for level in LEVELS}
    assert set(sizes) == {0, 1, 2, 3, "s", "z"}
    assert "add i32" in optimized(KERNEL, 0) and "add i32" not in optimized(KERNEL, 1)
    assert "optsize" in optimized(KERNEL, "s") and "minsize" in optimized(KERNEL, "z")
    assert "optsize" not in optimized(KERNEL, 3)


LOOP = """
define ptx_kernel void @k(ptr addrspace(1) %p) {
entry:
  br label %body
body:
  %i = phi i32 [ 0, %entry ], [ %next, %body ]
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store volatile i32 %i, ptr addrspace(1) %at
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, 8
  br i1 %more, label %body, label %done
done:
  ret void
}
"""


@pytest.mark.parametrize(("pipeline", "unrolled"), [("short", {2, 3}), ("default", {1, 2, 3})])
def test_short_loops_are_unrolled(pipeline, unrolled):
    assert {level for level in LEVELS if "br i1" not in optimized(LOOP, level, pipeline)} == unrolled


SCALAR_LOOP = """
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %body, label %done
body:
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store volatile i32 %i, ptr addrspace(1) %at
  %next = add i32 %i, 1
  br label %head
done:
  ret void
}
"""
SHARED = "  store volatile i32 %n, ptr addrspace(3) null\n  br label %head\nhead:"


def longer(text: str, passes: str) -> str:
    """The text with a loop of more lines than those that ``passes`` takes."""
    return text.replace(
        "  %next", "  store volatile i32 7, ptr addrspace(1) %at\n" * UNROLLED_LINES[passes] + "  %next"
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (SCALAR_LOOP, False),
        (SCALAR_LOOP.replace("  br label %head\nhead:", SHARED), True),
        (longer(SCALAR_LOOP, "loop_rotate"), True),
        (longer(LOOP, "loop_rotate"), False),
        (longer(LOOP, "loop_unroll"), True),
    ],
    ids=[
        "short",
        "with shared memory",
        "longer, of unknown length",
        "longer, of known length",
        "long, of known length",
    ],
)
def test_loops_that_are_kept(text, kept):
    assert (len(re.findall(r"store volatile i32 (?!7)\S+ ptr addrspace\(1\)", optimized(text, 3))) == 1) is kept


@pytest.mark.parametrize("trips", [1, 3, 8, 21])
def test_sums_of_an_unrolled_loop(trips):
    arrays = [np.zeros(trips, np.int32), np.zeros(2, np.int32)]
    out = run(Path(__file__).with_name("scalar_loops.py"), "summed", "sm_90", arrays)[1]
    assert out.tolist() == [trips, 10 + sum(range(trips))]


def test_a_wrong_pipeline_is_refused():
    with pytest.raises(InvalidInput, match="llvm_pipeline=best is not a valid value"):
        optimized(LOOP, 3, "best")


@pytest.mark.seed("codegen-overview", "pipeline-shape", "final-sweep")
@pytest.mark.seed("nvptx-bring-up", "pipeline-shape")
@pytest.mark.parametrize("level", [2, 3, "s", "z"])
def test_the_shape_of_a_pipeline(level):
    """Inlining, simplification of functions, value numbering, simplification again, what nobody needs goes."""
    passes = LEVELS[level].passes
    order = [
        "always_inliner",
        "sroa",
        "instruction_combine",
        "new_gvn",
        "dead_code_elimination",
        "global_dead_code_eliminate",
    ]
    assert sorted(order, key=passes.index) == order and passes[-1] == order[-1]
    assert passes.count("instruction_combine") == passes.count("simplify_cfg") == 2
    assert [name for name in passes if re.search("loop|unroll|vector|reassociate", name)] == (
        list(UNROLLED_LINES) if level in (2, 3) else []
    )


@pytest.mark.seed("codegen-overview", "stage-optimization", "opt-preserve", "kernel-metadata", "address-spaces")
@pytest.mark.parametrize("level", LEVELS)
def test_kernels_keep_marker_bounds_and_address_spaces(level):
    text = optimized(KERNEL, level)
    assert "define ptx_kernel void @k" in text and '"nvvm.reqntid"="128"' in text and '"nvvm.maxnreg"="64"' in text
    ptx = ll_to_ptx.lower(KERNEL, Job(TARGETS["sm_90"], opt_level=level))
    assert ".visible .entry k" in ptx and ".reqntid 128" in ptx and ".maxnreg 64" in ptx
    for access in ("st.shared", "ld.shared", "ld.const", ".local", "st.global"):
        assert access in ptx, access


@pytest.mark.seed("codegen-overview", "barrier-survival")
@pytest.mark.parametrize("level", LEVELS)
def test_a_barrier_stays_between_its_accesses(level):
    ptx = ll_to_ptx.lower(KERNEL, Job(TARGETS["sm_90"], opt_level=level))
    assert ptx.index("st.shared") < ptx.index("bar.sync") < ptx.index("ld.shared")


@pytest.mark.seed("nvptx-bring-up", "diag-level", "level-before-passes")
@pytest.mark.parametrize("level", [-1, 4, "3", "O3", "fast", None, True])
def test_levels_that_do_not_exist(level, monkeypatch):
    monkeypatch.setattr(llvm, "create_new_module_pass_manager", lambda: pytest.fail("a pass manager was built"))
    with pytest.raises(InvalidInput, match="invalid LLVM optimization level"):
        optimized(KERNEL, level)
    with pytest.raises(InvalidInput, match="opt-level"):
        ll_to_ptx.lower(KERNEL, Job(TARGETS["sm_90"], opt_level=level))


@pytest.mark.seed("nvptx-bring-up", "diag-machine", "pipeline-machine")
def test_passes_need_a_machine(monkeypatch):
    monkeypatch.setattr(llvm, "create_new_module_pass_manager", lambda: pytest.fail("a pass manager was built"))
    monkeypatch.setattr(llvm.Target, "create_target_machine", lambda *_, **__: _unavailable())
    target_machine.cache_clear()
    with pytest.raises(InternalError, match="target machine unavailable; cannot optimize with LLVM"):
        ll_to_ptx.lower(KERNEL, Job(TARGETS["sm_90"]))


def _unavailable():
    """What llvmlite does where LLVM makes no machine."""
    raise RuntimeError("unable to create target machine")


def chain_of_loops(count: int) -> str:
    """A reduction that each of ``count`` loops, one after the other, adds to."""
    lines = ["define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {", "entry:", "  br label %l0"]
    for i in range(count):
        before, block = (f"%y{i - 1}", f"l{i - 1}") if i else ("0", "entry")
        after = f"l{i + 1}" if i + 1 < count else "end"
        lines += [
            f"l{i}:",
            f"  %x{i} = phi i32 [ {before}, %{block} ], [ %y{i}, %l{i} ]",
            f"  %c{i} = phi i32 [ 0, %{block} ], [ %d{i}, %l{i} ]",
            f"  %y{i} = add i32 %x{i}, %n",
            f"  %d{i} = add i32 %c{i}, 1",
            f"  %t{i} = icmp slt i32 %d{i}, %n",
            f"  br i1 %t{i}, label %l{i}, label %{after}",
        ]
    return "\n".join([*lines, "end:", f"  store i32 %y{count - 1}, ptr addrspace(1) %p", "  ret void", "}"])


@pytest.mark.parametrize("count, many", [(10, False), (MAX_LOOPS, False), (MAX_LOOPS + 1, True), (150, True)])
def test_long_chains_of_loops_are_known(count, many):
    module = llvm.parse_assembly(chain_of_loops(count))
    assert [_has_many_loops(str(function)) for function in module.functions if not function.is_declaration] == [many]


def calls_and_writes(calls: int, writes: int) -> str:
    """A kernel with so many calls that read nothing, and so many instructions of assembly."""
    lines = [f"  %c{n} = call float @llvm.sqrt.f32(float %x)" for n in range(calls)]
    lines += ['  call void asm sideeffect "", ""()'] * writes
    body = "\n".join(lines)
    return f"declare float @llvm.sqrt.f32(float)\ndefine ptx_kernel void @k(float %x) {{\n{body}\n  ret void\n}}\n"


@pytest.mark.parametrize(
    "text, slow",
    [
        (calls_and_writes(250, 400), False),
        (calls_and_writes(251, 400), True),
    ],
)
def test_many_calls_and_writes_are_known(text, slow):
    module = llvm.parse_assembly(text)
    assert [_sinks_slowly(str(function)) for function in module.functions] == [False, slow]


@pytest.fixture
def added(monkeypatch) -> list[str]:
    """The names of the passes that are run."""
    names: list[str] = []
    original = llvm.create_new_module_pass_manager

    def recording():
        manager = original()
        for name in ("new_gvn", "sinking"):
            add = getattr(manager, f"add_{name}_pass")
            setattr(manager, f"add_{name}_pass", lambda name=name, add=add: names.append(name) or add())
        return manager

    monkeypatch.setattr(llvm, "create_new_module_pass_manager", recording)
    return names


@pytest.mark.parametrize(
    "text, expected",
    [
        (chain_of_loops(10), ["new_gvn", "sinking"]),
        (chain_of_loops(120), ["sinking"]),  # value numbering would end the process
        (calls_and_writes(251, 400), ["new_gvn"]),
    ],
)
def test_passes_are_left_out_where_they_are_slow(text, expected, added):
    run_passes(llvm.parse_assembly(text), library_machine(TRIPLE), 3)
    assert added == expected
