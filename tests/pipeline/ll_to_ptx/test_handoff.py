"""What LLVM is handed: the module that its passes and its code generator get, and what each of the passes is for."""

import re

import pytest

from tests.compiled_once import compiled
from tests.examples.example_library import bytecode_of
from tests.pipeline.ll_to_ptx.test_llvm_passes import optimized
from tests.pipeline.ll_to_ptx.test_ptx_text import GLOBAL, kernel, lower
from tileiras_build.pipeline import ll_to_ptx
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx import compile_module, llvm_passes
from tileiras_build.pipeline.ll_to_ptx.target_machine import data_layout
from tileiras_build.target.isa.serializer_options import LEVELS, TRIPLE
from tileiras_build.target.targets import TARGETS

SM90 = TARGETS["sm_90"]


@pytest.fixture
def handed_over(monkeypatch):
    """Modules as they are when LLVM's passes begin: (triple, data layout, text)."""
    found = []
    run = compile_module.run_passes

    def recording(module, *more):
        found.append((module.triple, module.data_layout, str(module)))
        return run(module, *more)

    monkeypatch.setattr(compile_module, "run_passes", recording)
    return found


@pytest.mark.seed("codegen-overview", "stage-handoff")
def test_triple_chip_features_and_layout_are_attached_and_no_tile_is_left(handed_over):
    ll_to_ptx.lower(compiled(bytecode_of("gelu_erf_f32"), "sm_90").ll, Job(SM90))
    triple, layout, text = handed_over[-1]
    assert (triple, layout) == (TRIPLE, data_layout())
    kernels = re.findall(r"^define ptx_kernel .*#(\d+) \{$", text, re.MULTILINE)
    assert len(kernels) == text.count("define ptx_kernel") == 1
    [machine] = re.findall(rf"^attributes #{kernels[0]} = \{{(.*)\}}$", text, re.MULTILINE)
    assert f'"target-cpu"="{SM90.llvm_cpu}"' in machine and f'"target-features"="{SM90.llvm_features}"' in machine
    assert not re.search(r"\b(?:cuda_tile|nv_tileaa|nv_tileas|cute|cute_nvgpu|cutlass|nvgpu|gpu)\.\w", text)


@pytest.mark.seed("codegen-overview", "stage-handoff")
def test_accesses_that_say_nothing_are_aligned_by_the_layout(handed_over):
    lower(kernel(f"  %v = load i64, {GLOBAL} %p\n  store i64 %v, {GLOBAL} %p"))
    [(triple, _, text)] = handed_over
    assert triple == TRIPLE and text.count("align 8") == 2


HELPER = "define internal i32 @helper(i32 %x) alwaysinline {\n  %y = add i32 %x, 1\n  ret i32 %y\n}"
EVERY, CLEANED, FULL, FAST = (0, 1, 2, 3, "s", "z"), (1, 2, 3, "s", "z"), (2, 3, "s", "z"), (2, 3)


def loop(end, body):
    return (
        f"  br label %h\nh:\n  %n = phi i32 [ 0, %0 ], [ %m, %b ]\n  %c = icmp slt i32 %n, {end}\n"
        f"  br i1 %c, label %b, label %e\nb:\n{body}  %m = add i32 %n, 1\n  br label %h\ne:"
    )


# Pass -> the levels that have it, the body of a kernel, and what it leaves nothing of.
STAGES = {
    "always_inliner": (EVERY, f"  %x = call i32 @helper(i32 %i)\n  store i32 %x, {GLOBAL} %p", "call i32"),
    "sroa": (
        CLEANED,
        "  %a = alloca i32\n  store i32 0, ptr %a\n  br label %l\nl:\n  %x = load i32, ptr %a\n  %y = add i32 %x, 1\n"
        "  store i32 %y, ptr %a\n  call void @use(i32 %y)\n  %c = icmp slt i32 %y, %i\n  br i1 %c, label %l, label %e\ne:",
        "alloca",
    ),
    "instruction_combine": (CLEANED, f"  %x = mul i32 %i, 8\n  store i32 %x, {GLOBAL} %p", "mul"),
    "simplify_cfg": (CLEANED, "  br label %next\nnext:", "br label"),
    "new_gvn": (
        FULL,
        f"  %v = load i32, {GLOBAL} %p\n  %c = icmp slt i32 %i, 4\n  br i1 %c, label %t, label %e\nt:\n"
        f"  %w = load i32, {GLOBAL} %p\n  %x = mul i32 %w, %v\n  call void @use(i32 %x)\n  br label %e\ne:",
        "%w",
    ),
    "sinking": (
        FULL,
        "  %x = mul i32 %i, %i\n  %y = xor i32 %x, 77\n  %c = icmp slt i32 %i, 4\n  br i1 %c, label %t, label %e\nt:\n"
        "  call void @use(i32 %y)\n  call void @use(i32 %x)\n  br label %e\ne:",
        r"mul[^\n]*\n[^:]*br i1",
    ),
    "loop_rotate": (FAST, loop("%i", "  call void @use(i32 %n)\n"), r"br label %h\n"),
    "loop_unroll": (FAST, loop(4, "  call void @use(i32 %n)\n"), "br i1"),
    "reassociate": (
        FAST,
        loop(4, "  %x = mul i32 %n, %i\n  %y = mul i32 %x, %n\n  %z = mul i32 %y, %i\n  call void @use(i32 %z)\n"),
        r"(mul[^\n]*\n\s*){3}",
    ),
    "dead_code_elimination": (CLEANED, "  %x = mul i32 %i, %i", "mul"),
    "global_dead_code_eliminate": (EVERY, f"  store i32 %i, {GLOBAL} %p", "@helper"),
}
DECLARED = "declare void @use(i32)\n"


@pytest.mark.seed("nvptx-bring-up", "pipeline-shape")
@pytest.mark.parametrize("name", STAGES)
def test_what_each_pass_is_for(name):
    levels, body, left = STAGES[name]
    assert levels == tuple(level for level, row in LEVELS.items() if name in row.passes)
    for level in levels:
        tail = (
            DECLARED if levels == FAST else f"{HELPER}\n{DECLARED}"
        )  # beside a function without loops nothing is unrolled
        text = optimized(kernel(body, tail=tail), level)
        assert not re.search(left, text[text.index("define ptx_kernel") :] if "@" not in left else text), text


@pytest.mark.seed("nvptx-bring-up", "pipeline-shape")
@pytest.mark.parametrize("level", LEVELS)
def test_passes_run_in_the_order_of_their_level(level, monkeypatch):
    added, create = [], llvm_passes.llvm.create_new_module_pass_manager

    class Recording:
        def __init__(self, manager):
            self._manager = manager

        def __getattr__(self, name):
            found = getattr(self._manager, name)
            if not name.startswith("add_"):
                return found
            return lambda *more: added.append(name[4:-5]) or found(*more)

    monkeypatch.setattr(llvm_passes.llvm, "create_new_module_pass_manager", lambda: Recording(create()))
    optimized(kernel(loop("%i", "  call void @use(i32 %n)\n"), tail=DECLARED), level)
    assert tuple(added) == LEVELS[level].passes
    assert added[0] == "always_inliner" and added[-1] == "global_dead_code_eliminate"
    if level not in (0, 1):
        assert added.index("simplify_cfg") < added.index("new_gvn") < added.index("sinking")


def test_every_pass_of_a_level_has_its_case():
    assert {name for row in LEVELS.values() for name in row.passes} == set(STAGES)
