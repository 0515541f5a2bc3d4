"""The made-up instruction as the code of one thread."""

from tileiras_build.ir.dialects.cute import layout_of
from tileiras_build.ir.dialects.nvvm.intrinsic_or_inline_asm import NONE, Assembly, braced, define_instruction
from tileiras_build.pipeline.common.llvm_type_constructors import FLOAT, struct

from .family import tiling_of

TEMPLATE = f"toy.mma.sync.m16n8k8.f32 {braced(0, 4)}, {braced(4, 4)}, {braced(8, 2)}, {braced(10, 4)};"
ToyMmaOp = define_instruction(
    "toy.mma", "a* b* c*", "result", "A * B + C of a warp", Assembly(TEMPLATE, NONE, convergent=True)
)


def emit_dot(e, op):
    tiling = tiling_of(op)
    a, b = (e.values.registers_as(op.lhs, tiling.a), e.values.registers_as(op.rhs, tiling.b))
    accumulators = list(e.values.registers_as(op.acc, tiling.c))
    for members in tiling.atoms():
        fragments = [[held[index] for index in group] for held, group in zip((a, b, accumulators), members)]
        [result] = e.b.issue_several(ToyMmaOp, *fragments, types=[struct(*[FLOAT] * 4)])
        for register, value in zip(members[2], e.b.unpack(result)):
            accumulators[register] = value
    e.values[op.result] = [accumulators[name] for name in tiling.c.register_permutation(layout_of(op.result))]


HANDLERS = {"nv_tileas.dot": emit_dot}
