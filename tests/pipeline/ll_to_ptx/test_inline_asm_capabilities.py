"""ll_to_ptx/inline_asm_capabilities.py: instructions in inline assembly that a GPU lacks are refused in our words, before ptxas is asked."""

import ast
import re
import subprocess

import pytest

from tests.pipeline.ll_to_ptx.assembly_samples import HEAD, SAMPLES
from tileiras_build import driver
from tileiras_build.core.errors import InternalError, TileirasError, Unsupported
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx.inline_asm_capabilities import faults, instructions, needs, needs_checking
from tileiras_build.pipeline.ll_to_ptx.llvm_ir_checks import check_module
from tileiras_build.pipeline.ptx_to_cubin import find_ptxas
from tileiras_build.pipeline.stages import PACKAGE
from tileiras_build.target.capabilities import CAPABILITIES
from tileiras_build.target.isa.ptx_instructions import ASSEMBLY, SPECIAL_REGISTERS
from tileiras_build.target.mma_atoms import MMA_ATOMS, TCGEN05_ATOMS, WGMMA_ATOMS
from tileiras_build.target.targets import ALL_TARGETS, FAMILY_TARGETS, TARGETS

GATED = [(need, text) for need, text in SAMPLES if need is not None and any(not t.has(need) for t in TARGETS.values())]
SM80, SM90, SM120 = TARGETS["sm_80"], TARGETS["sm_90"], TARGETS["sm_120"]


def kernel(template, constraints="~{memory}"):
    """A module with the assembly on its third line."""
    call = f'call void asm sideeffect "{template}", "{constraints}"() #0'
    return f"\ndefine ptx_kernel void @k() {{\n  {call}\n  ret void\n}}\nattributes #0 = {{ convergent nounwind }}\n"


def word(text):
    """The instruction of a sample, without what stands around it."""
    return next(name for name, _ in instructions(text))


@pytest.mark.seed("codegen-overview", "gated-families")
@pytest.mark.parametrize("need, text", GATED, ids=[word(text) for _, text in GATED])
def test_accepted_where_the_gpu_has_it_and_refused_elsewhere(need, text):
    for target in TARGETS.values():
        if target.has(need):
            check_module(kernel(text), target)
            continue
        with pytest.raises(Unsupported) as caught:
            check_module(kernel(text), target)
        error = caught.value
        assert error.id == "intrinsic-target" and error.location.line == 3
        assert error.message == f"inline assembly {word(text)} needs {need}, which {target.name} does not have"
        assert f"choose {', '.join(t.name for t in TARGETS.values() if t.has(need))}, or" in error.remedy


def test_the_baseline_is_allowed_everywhere():
    for need, text in SAMPLES:
        if need is None or all(target.has(need) for target in TARGETS.values()):
            for target in TARGETS.values():
                check_module(kernel(text), target)


def assemble(texts, target, folder):
    """What ptxas says of a kernel of these instructions; "" where it takes them."""
    path = folder / f"{target.name}.ptx"
    body = "\n".join(f"{{ {text} }}" for text in texts)
    path.write_text(HEAD.format(version="9.4", arch=target.arch) + body + "\nret;\n}\n")
    command = [str(find_ptxas()), "-arch", target.arch, "-O0", str(path), "-o", str(path.with_suffix(".cubin"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr + done.stdout if done.returncode else ""


@pytest.mark.parametrize("target", ALL_TARGETS.values(), ids=lambda target: target.name)
def test_ptxas_takes_all_that_is_accepted(target, tmp_path):
    assert assemble([text for _, text in SAMPLES if not [*faults(text, target)]], target, tmp_path) == ""


def accepted(texts, target, folder):
    """The instructions in which ptxas finds no error."""
    found = {int(line) for line in re.findall(r"line (\d+); error", assemble(texts, target, folder))}
    return [text for line, text in enumerate(texts, HEAD.count("\n") + 1) if line not in found]


def test_ptxas_refuses_what_is_refused(tmp_path):
    """On the newest GPU that lacks it: a row that asks for too much shows there first."""
    lacking = {text: [target for target in TARGETS.values() if [*faults(text, target)]][-1] for _, text in GATED}
    for target in TARGETS.values():
        assert accepted([text for text, newest in lacking.items() if newest is target], target, tmp_path) == []


@pytest.mark.parametrize("target", FAMILY_TARGETS.values(), ids=lambda target: target.name)
def test_ptxas_refuses_what_a_family_lacks(target, tmp_path):
    """Capabilities that the GPU has and its family has not."""
    own = TARGETS[target.generation].capabilities
    lacking = [text for need, text in GATED if need in own and [*faults(text, target)]]
    assert accepted(lacking, target, tmp_path) == []


def test_every_row_is_of_a_known_instruction_and_needs_a_capability():
    assert {need for need in (*ASSEMBLY.values(), *SPECIAL_REGISTERS.values()) if need} <= set(CAPABILITIES)
    firsts = {name for name in ASSEMBLY if "." not in name}
    assert {name.split(".")[0].split("/")[0] for name in ASSEMBLY} - firsts <= {"*"}


def test_every_capability_of_a_row_has_a_sample():
    assert {need for need in ASSEMBLY.values() if need} <= {need for need, _ in SAMPLES}


ATOMS = [(atom.ptx_name(), atom.capability) for atom in MMA_ATOMS]
ATOMS += [(atom.ptx_name(64), atom.capability) for atom in WGMMA_ATOMS]


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_mma_atoms_agree_with_the_targets_tables(target):
    for name, capability in ATOMS:
        # Native is a matter of speed: others accept the instruction.
        accepted = target.has(capability.removesuffix("_native"))
        assert accepted == (not [*faults(f"{name} $0, $1, $2, $3;", target)]), name
    assert TCGEN05_ATOMS and bool([*faults("tcgen05.mma.cta_group::1.kind::f16 $0;", target)]) != target.has("tcgen05")


INSTRUCTIONS = [
    ("bar.sync 0;", ["bar.sync"]),
    ("ret;", ["ret"]),
    ("@$0 st.global.b32 [$1], $2;", ["st.global.b32"]),
    ("@!p bra.uni L;", ["bra.uni"]),
    ("{.reg .pred p; setp.ne.b32 p, $1, 0; wgmma.x {$0}, p;}", ["setp.ne.b32", "wgmma.x"]),
    (
        r"{\0A.reg .pred p;\0AWAIT_${:uid}:\0Ambarrier.try_wait.b64 p, [$0];\0A@!p bra WAIT_${:uid};\0A}",
        ["mbarrier.try_wait.b64", "bra"],
    ),
    ("AGAIN: mov.b32 a, $0; { add.s32 a, a, 1; } atom.cas.b32 $0, a; DONE: }", ["mov.b32", "add.s32", "atom.cas.b32"]),
    (r"// wgmma.no\0Abar.sync 0; /* tcgen05.no; */ ret;", ["bar.sync", "ret"]),
    ("", []),
    (" ; ; ", []),
]


@pytest.mark.parametrize("template, names", INSTRUCTIONS)
def test_the_instructions_of_a_template(template, names):
    assert [name for name, _ in instructions(template)] == names


def test_all_templates_are_looked_at_and_each_instruction_of_them():
    text = kernel("mov.u32 r, 1; add.rn.f32x2 $0, $1, $2;").replace("@k", "@first") + kernel(
        "bar.sync 0; wgmma.fence.sync.aligned;"
    )
    with pytest.raises(TileirasError) as caught:
        check_module(text, SM80)
    assert "add.rn.f32x2 needs f32x2" in str(caught.value) and "wgmma.fence.sync.aligned needs wgmma" in str(
        caught.value
    )


@pytest.mark.parametrize("break_", ["\n", r"\0A", r"\09", r"\0D\0A"])
def test_escapes_and_line_ends_hide_nothing(break_):
    with pytest.raises(Unsupported, match="needs f32x2"):
        check_module(kernel(f"ret;{break_}fma.rn.f32x2 $0, $1, $2, $3;"), SM90)


def test_the_number_of_operands_tells_three_input_max():
    assert needs("max.f32", "$0, {$1, $2}, $3")[1] == ()
    assert needs("max.f32", "$0, $1, $2, $3")[1] == ("max3",)
    assert needs_checking(["max.f32 $0, $1, $2, $3;"], SM80)


def test_an_instruction_that_no_row_knows():
    with pytest.raises(InternalError, match=r"assembly-unknown.*'warp\.drive\.u32'.*ASSEMBLY"):
        check_module(kernel("warp.drive.u32 $0;"), SM90)


LL = 'target triple = "nvptx64-nvidia-cuda"\n'


@pytest.mark.parametrize(
    "need, text", [row for row in GATED if row[0] in ("f32x2", "redux_f32", "ldmatrix_b8", "mma_block_scale")]
)
def test_lower_refuses_a_file_for_another_gpu(need, text):
    with pytest.raises(Unsupported, match=f"intrinsic-target.*{need}, which sm_80"):
        driver.lower((LL + kernel(text)).encode(), "ll", "cubin", Job(SM80), name="k.ll")


def written(folder):
    """The parts of a folder's string constants that look like inline assembly."""
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from re.findall(r"(?:^|[;}\n] ?|@\S+ )([a-z]\w*(?:\.[\w:]+)+) (?:\w, )?[$\[{]", node.value)


def test_every_instruction_of_the_instruction_tables_has_a_row():
    names = set(written("ir/dialects"))
    assert len(names) >= 3 and [name for name in names if not needs(name)[0]] == []
    assert set(written("pipeline")) == set()
