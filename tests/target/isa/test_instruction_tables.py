"""Each instruction of the nvvm dialect has its row in the tables of capabilities."""

from functools import cache
from pathlib import Path

from tests.golden import split_file
from tileiras_build.ir.dialects.nvvm.intrinsic_or_inline_asm import INSTRUCTION_TABLE, Intrinsic
from tileiras_build.ir.dialects.nvvm.llvm_lowering import MAPPING, instruction_row
from tileiras_build.pipeline.ll_to_ptx.inline_asm_capabilities import instructions, needs
from tileiras_build.pipeline.opt import parse_module
from tileiras_build.target.capabilities import CAPABILITIES
from tileiras_build.target.isa.libnvvm_substitutions import INSTRUCTIONS
from tileiras_build.target.isa.llvm_intrinsics import APPROXIMATE, GENERIC, NVVM, nvvm_need
from tileiras_build.target.isa.ptx_instructions import ASSEMBLY

TESTS = Path(__file__).parents[2]
KINDS = INSTRUCTION_TABLE.keys() | MAPPING.keys()
# Capabilities of intrinsics without a row in the instruction table: they are for hand-written .ll. Those of assembly are the
# instructions of the PTX ISA, all of them; tests/pipeline/ll_to_ptx/test_inline_asm_capabilities.py asks ptxas.
BY_HAND = set(
    (
        "applypriority bf16x2.to clusterlaunchcontrol cp.async.bulk.tensor.g2s.cta.tile.gather4 "
        "cp.async.bulk.tensor.g2s.im2col.w cp.async.bulk.tensor.g2s.tile.gather4 "
        "cp.async.bulk.tensor.prefetch.im2col.w cp.async.bulk.tensor.s2g.tile.scatter4 cp.async.mbarrier discard "
        "ex2.approx.ftz.bf16 ex2.approx.ftz.v2bf16 f16x2.to.e4m3x2 f16x2.to.e5m2x2 f2tf32.rn f2tf32.rz f32x4.to "
        "fence.sc.cluster ff2bf16x2.rs ff2f16x2.rs getctarank is_explicit_cluster ldmatrix.sync.aligned.m16n16 "
        "ldmatrix.sync.aligned.m8n16 mapa mbarrier.arrive.relaxed mbarrier.arrive.scope "
        "mbarrier.complete.tx mbarrier.expect.tx mbarrier.init mbarrier.pending prefetch.global prefetch.tensormap redux.sync "
        "redux.sync.fmax redux.sync.fmin st.bulk stmatrix.sync.aligned.m16n8 stmatrix.sync.aligned.m8n8 tcgen05.shift tensormap.replace"
    ).split()
)


def shown() -> list[str]:
    """The modules of the golden files, before and after, and one with what they do not show."""
    goldens = [
        path for folder in ("mma", "tileas_to_ll") for path in sorted((TESTS / "pipeline" / folder).rglob("*.mlir"))
    ]
    cases = [case for path in goldens for case in split_file(path.read_text())[1]]
    texts = [text for case in cases for text in (case.source, case.expected) if "nvvm." in text]
    programs = [text for text in texts if not text.startswith("//") and "define " not in text]
    return [Path(__file__).with_name("instructions.mlir").read_text(), *programs]


@cache
def spelled() -> tuple[set, set[str], set[str]]:
    """The operations that the goldens cover, and their intrinsics and templates."""
    kinds, names, templates = set(), set(), set()
    for text in shown():
        for op in parse_module(text).walk():
            if op.__class__ in KINDS or op.name == "llvm.nvvm.move":
                row = instruction_row(op)
                kinds.add(op.__class__)
                if isinstance(row, Intrinsic):
                    names.add(row.intrinsic(op))
                else:
                    templates.add(row.text(op))
    return kinds, names, templates


def test_every_instruction_is_covered():
    assert {kind.name for kind in KINDS} - {kind.name for kind in spelled()[0]} == set()


def test_every_intrinsic_has_its_capability():
    for name in spelled()[1] | INSTRUCTIONS.keys():
        if name.startswith("llvm.nvvm."):
            assert nvvm_need(name.removeprefix("llvm.nvvm."))[0], name
        else:
            bare = name.removeprefix("llvm.")
            assert bare.split(".")[0] in GENERIC or bare in APPROXIMATE, name


def test_every_instruction_of_a_template_has_its_capability():
    for template in spelled()[2]:
        for name, operands in instructions(template):
            assert needs(name, operands)[0], (name, template)


def test_every_capability_of_an_intrinsic_has_its_row():
    # The gate of an intrinsic is the longest of its name's beginnings that has one.
    names = [name.removeprefix("llvm.nvvm.").split(".") for name in spelled()[1]]
    used = {next(filter(NVVM.__contains__, beginnings(words)), None) for words in names}
    mmas = {name for name in NVVM if name.startswith("mma.")}  # by MMA_ATOMS
    assert {name for name, need in NVVM.items() if need is not None} - used - mmas == BY_HAND


def beginnings(words: list[str]) -> list[str]:
    return [".".join(words[:length]) for length in range(len(words), 0, -1)]


def test_needs_are_capabilities_of_targets():
    assert ({*NVVM.values(), *ASSEMBLY.values()} - {None}) <= CAPABILITIES.keys()
