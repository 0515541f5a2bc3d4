"""Lower the remaining standard dialects of MLIR to the llvm dialect.

In:    func, cf, scf, arith, vector and memref operations of hand-written IR, among operations of llvm and nvvm.
Out:   llvm operations without inverse pairs of casts; operations without a lowering stay.
After: convert-nvgpu-and-gpu-to-nvvm. Before: translation to LLVM IR; ``opt --ll`` runs this pass.
Sound: each type has one LLVM form (``LLVMTypeConverter``); a multi-dimensional vector is an array of its rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import arith, func, llvm
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.scf import Scf
from xdsl.ir import Block, BlockArgument, Operation

from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.vector_ext import FromElementsOp
from ...job import Job
from ...pass_manager import EdgePass
from ...rewriting.dialect_conversion import apply_rules
from ..convert_nvgpu_and_gpu_to_nvvm.rewriter import Emitter
from ..reconcile_casts import reconcile_casts
from . import arithmetic, functions_and_branches, memref, pointer_and_storage_casts, vector  # noqa: F401 - each registers its lowerings
from .lowering_registry import LOWERINGS
from .scf_to_cf import lower_loops

LOOPS = frozenset(Scf.operations)
# Name prefixes of the operations that the writer prints, and of their containers.
WRITTEN = ("llvm.", "nvvm.", "builtin.", "gpu.module", "debuginfo.", FromElementsOp.name)


class ConvertToLLVM(EdgePass):
    """Lower functions, branches, loops, arithmetic, vectors and memory references to LLVM."""

    name = "convert-to-llvm"

    def run(self, module: ModuleOp, job: Job) -> None:
        """Loops first, then functions and blocks, then their operations; all failures are reported together."""
        if any(op.__class__ in LOOPS for op in walk(module)):
            lower_loops(module)
        operations = walk(module)
        if not any(needs_lowering(op) for op in operations):
            return
        _lower([op for op in operations if isinstance(op, func.FuncOp)], job)
        _retype_blocks(module, job)
        _lower([op for op in operations if not isinstance(op, func.FuncOp)], job)
        # Addresses have 64 bits: a lowering casts an index of another width.
        _lower([op for op in walk(module) if isinstance(op, arith.IndexCastOp)], job)
        # A cast to a type of a remaining operation is not an error here: the writer reports the operation.
        if all(op.name.startswith(WRITTEN) for op in walk(module)):
            reconcile_casts(module)


def needs_lowering(op: Operation) -> bool:
    """Whether this pass lowers an operation's dialect."""
    return op.name in LOWERINGS or op.__class__ in LOOPS


def _lower(operations: Iterable[Operation], job: Job) -> None:
    apply_rules(operations, LOWERINGS, lambda op: Emitter(op, job))


def _retype_blocks(module: ModuleOp, job: Job) -> None:
    """Convert block arguments to LLVM types; their users get a cast to the old type."""
    for op in walk(module):
        bare = isinstance(op, llvm.FuncOp) and "nvvm.kernel" in op.attributes
        for region in op.regions:
            for block in region.blocks:
                for argument in list(block.args):
                    _retype(argument, block, job, bare=bare and block is region.blocks[0])


def _retype(argument: BlockArgument, block: Block, job: Job, *, bare: bool) -> None:
    old = argument.type
    if block.first_op is not None:
        emit = Emitter(block.first_op, job)
        types = emit.types
        new = types.memory_pointer(old) if bare and isinstance(old, MemRefType) else types.convert(old)
        emit.retype(argument, new)
