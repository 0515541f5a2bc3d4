"""Structured control flow to branches: xDSL's lowerings, and one for ``scf.while``, which xDSL lacks."""

from __future__ import annotations

from xdsl.dialects import cf, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import BlockInsertPoint, InsertPoint
from xdsl.transforms.convert_scf_to_cf import ForLowering, IfLowering, SwitchLowering

from ....ir.casting import parent_block, terminator, unwrap
from ....ir.dialects.checked_cast import cast


class WhileLowering(RewritePattern):
    """A condition block, the body, and a back edge."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.WhileOp, rewriter: PatternRewriter, /) -> None:
        """The operands of the condition are the arguments of the body and the results."""
        before, rest = parent_block(op), parent_block(op).split_before(op)
        decide, body = unwrap(op.before_region.first_block), unwrap(op.after_region.first_block)
        decided = cast(scf.ConditionOp, terminator(unwrap(op.before_region.last_block)))
        done = cast(scf.YieldOp, terminator(unwrap(op.after_region.last_block)))
        leave = Block(arg_types=op.result_types)
        unwrap(before.parent).insert_block_before(leave, rest)
        rewriter.insert(cf.BranchOp(rest), InsertPoint.at_end(leave))
        values = list(decided.args)
        rewriter.replace(decided, cf.ConditionalBranchOp(decided.condition, body, values, leave, values))
        rewriter.replace(done, cf.BranchOp(decide, *done.operands))
        rewriter.inline_region(op.before_region, BlockInsertPoint.before(leave))
        rewriter.inline_region(op.after_region, BlockInsertPoint.before(leave))
        rewriter.insert(cf.BranchOp(decide, *op.arguments), InsertPoint.at_end(before))
        rewriter.replace(op, [], leave.args)


PATTERNS = (IfLowering(), ForLowering(), SwitchLowering(), WhileLowering())


def lower_loops(module: ModuleOp) -> None:
    """Branches in place of loops and conditions."""
    PatternRewriteWalker(GreedyRewritePatternApplier(list(PATTERNS)), apply_recursively=True).rewrite_module(module)
