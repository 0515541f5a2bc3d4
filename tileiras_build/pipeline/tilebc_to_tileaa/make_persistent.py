"""Have each CTA run tile programs one after the other, as the option ``persistent`` asks.

In:    nv_tileaa operations; kernels, whose body is one tile program, and ``persistent`` = 1.
Out:   a loop over numbers of tile programs, from the program's own number to how many programs there are, in steps of as many as
       are launched; its body is the program, whose place in the grid, and the grid's extents, are computed from the loop's number
       and from three parameters behind the kernel's own. ``persistent_axes`` on the kernel, the axes of the grid that its program
       asks for, or ``persistent_declined``, the reason why it stays one program. Scalars, views and tokens that are the same for
       every program stand before the loop.
After: group_tiles (its places are computed for each program), guard_masks. Before: all passes that look for loops over tiles.
Sound: programs are numbered as the hardware starts CTAs, axis 0 first; of n that are launched, the first along axis 0, number p
       runs p, p + n, p + 2n, …, so that each number below the number of programs is taken once, by one CTA (or one cluster),
       in rising order: a program that waits for one with a lower number finds it done or in flight. What is moved before
       the loop is pure. A program has nothing of the one before: tokens begin anew (Tile IR orders no programs), and storage of
       a program, which would be the same place, is declined. A return ends a program, thus an iteration: what follows it stands
       in the other arm of its choice, where there is one, so that the loop makes whole iterations.
       Numbers stay below 2^31 with the next ones: the launcher refuses larger grids (``launch/runtime/kernel_library.py``).
Source: CUTLASS, "Persistent tile schedulers"; Triton's tutorial on persistent matrix multiplication.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, TensorType, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ...ir.casting import as_op, int_attr, parent_block, parent_op
from ...ir.dialects import arith
from ...ir.dialects.cuda_tile.attrs import BoundedAttr
from ...ir.dialects.fast_xdsl import append, block_operations, replace_uses, walk
from ...ir.dialects.nv_tileaa.ops import (
    AllocaOp,
    AssumeOp,
    ContinueOp,
    ForOp,
    GetNumProgramsOp,
    GetProgramIdOp,
    ReturnOp,
    YieldOp,
)
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function, is_if
from ...manifest.manifest_constants import AXES
from ..analysis.op_queries import may_divide_by_zero, may_end
from ..common.cse import is_pure
from ..common.nest_early_returns import nest_early_returns
from ..job import Job
from ..pass_manager import EdgePass


class MakePersistent(EdgePass):
    """Loops over tile programs."""

    name = "tileaa-make-persistent"

    def run(self, module: ModuleOp, job: Job) -> None:
        if not job.persistent:
            return
        for func in module.body.block.ops:
            if is_function(func):
                _loop(func)


def _loop(func: Operation) -> None:
    reason = _obstacle(func)
    if reason is not None:
        as_op(func).persistent_declined = reason
        return
    asked = [op for op in walk(func) if isinstance(op, GetProgramIdOp | GetNumProgramsOp)]
    func.attributes["persistent_axes"] = DenseArrayBase.from_list(i32, sorted({int_attr(op, "axis") for op in asked}))
    block, body = func.regions[0].blocks[0], Block(arg_types=[i32])
    nest_early_returns(block, YieldOp)
    program = block_operations(block)
    extents: list[SSAValue] = [block.insert_arg(i32, len(block.args)) for _ in range(AXES)]
    for op in program:
        op.detach()
    loop = _TileLoop(block, extents)
    places = {
        axis: loop.place(axis, body)
        for axis in {int_attr(op, "axis") for op in asked if isinstance(op, GetProgramIdOp)}
    }
    _fill_loop_body(loop, program, body)
    _replace_program_ids(asked, places, loop.extents)
    _end_iterations(body)
    loop.close(body)


def _obstacle(func: Operation) -> str | None:
    """Why a kernel stays one tile program; None where it need not."""
    for op in walk(func):
        if isinstance(op, AllocaOp):
            return "the kernel has storage for the life of a tile program"
        if isinstance(op, ReturnOp) and not _is_iteration_end(op, func):
            return "the kernel returns from within a loop"
    return None


def _is_iteration_end(op: Operation, func: Operation) -> bool:
    """Whether choices alone are around a return."""
    around = parent_op(op)
    while is_if(around):
        around = parent_op(around)
    return around is func


class _TileLoop:
    """The loop over the tile programs of a grid, whose extents are parameters, at the end of ``block``."""

    def __init__(self, block: Block, extents: list[SSAValue]):
        self.block = block
        self.extents = [self.add(_max_with_one(extent)) for extent in extents]
        self.plane = self.binary(arith.MuliOp, self.extents[0], self.extents[1])
        self.programs = self.binary(arith.MuliOp, self.plane, self.extents[2])
        self.first = self.add(GetProgramIdOp.make([], [i32], axis=0))
        self.step = self.add(GetNumProgramsOp.make([], [i32], axis=0))

    def add(self, op: Operation, block: Block | None = None) -> SSAValue:
        append(block or self.block, op)
        return op.results[0]

    def binary(self, kind: type[TableOp], left: SSAValue, right: SSAValue, block: Block | None = None) -> SSAValue:
        return self.add(kind.make([left, right], [i32]), block)

    def place(self, axis: int, body: Block) -> SSAValue:
        """The program's place along an axis, computed in the loop's body."""
        number = body.args[0]
        if axis == 0:
            return self.binary(arith.RemUIOp, number, self.extents[0], body)
        if axis == 1:
            line = self.binary(arith.DivUIOp, number, self.extents[0], body)
            return self.binary(arith.RemUIOp, line, self.extents[1], body)
        return self.binary(arith.DivUIOp, number, self.plane, body)

    def close(self, body: Block) -> None:
        """The loop itself, and the end of the kernel."""
        append(self.block, ForOp.make([self.first, self.programs, self.step, []], [], regions=[Region(body)]))
        append(self.block, ReturnOp.make([[]], []))


def _max_with_one(extent: SSAValue) -> Operation:
    return AssumeOp.make([extent], [i32], predicate=BoundedAttr(1, None))


def _fill_loop_body(loop: _TileLoop, program: list[Operation], body: Block) -> None:
    """The operations of a program in the body, or before the loop where they are the same for all programs."""
    inside: set[SSAValue] = set()
    ends = any(map(may_end, program[:-1]))
    for op in program:
        alike = _is_program_independent(op) and not inside & set(op.operands) and not (ends and may_divide_by_zero(op))
        append(loop.block if alike else body, op)
        if not alike:
            inside.update(op.results)


def _replace_program_ids(asked: Sequence[Operation], places: dict[int, SSAValue], extents: list[SSAValue]) -> None:
    for op in asked:
        axis = int_attr(op, "axis")
        replace_uses(op.results[0], places[axis] if isinstance(op, GetProgramIdOp) else extents[axis])
        parent_block(op).erase_op(op)


def _is_program_independent(op: Operation) -> bool:
    """Whether an operation costs no register of each thread for long if it is moved before the loop: tiles stay."""
    return (
        is_pure(op)
        and not isinstance(op, GetProgramIdOp)
        and not any(isinstance(result.type, TensorType) for result in op.results)
    )


def _end_iterations(body: Block) -> None:
    for op in walk(body):
        if isinstance(op, ReturnOp):
            block = parent_block(op)
            block.erase_op(op)
            append(block, ContinueOp.make([[]], []))
