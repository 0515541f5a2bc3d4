"""Declare the shared memory of a module's kernels.

In:    functions with ``shared_bytes``, the shared memory of one thread block, in bytes.
Out:   ``@global_smem`` in address space 3 at the start of the module, with the size of the kernel with the most; none
       if no kernel uses shared memory. An existing symbol of that name is kept.
After: scratch is assigned. Before: any operation is converted: code uses the symbol's address.
Sound: an existing, smaller variable of that name is rejected.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, i8
from xdsl.dialects.llvm import GlobalOp, LLVMArrayType
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from ...core.errors import InternalError
from ...ir.casting import cast, int_attr
from ...ir.dialects.llvm_ext import make_global
from ..common.llvm_type_constructors import array
from ..job import Job
from ..pass_manager import EdgePass
from .type_converter import ADDRESS_SPACES

SYMBOL = "global_smem"
ALIGNMENT = 1024  # bytes; the widest swizzle pattern repeats after as many (PTX ISA 9.0, Swizzling modes)


class EmitGlobalSmem(EdgePass):
    """One variable for the shared memory of all kernels of a module."""

    name = "emit-global-smem"

    def run(self, module: ModuleOp, job: Job) -> None:
        for container in (module, *(op for op in module.body.block.ops if op.name == "gpu.module")):
            if size := needed_bytes(container):
                _declare(container, size)


def needed_bytes(container: Operation) -> int:
    """The largest shared memory of a kernel, in bytes."""
    return max(kernel_bytes(container), default=0)


def kernel_bytes(container: Operation) -> list[int]:
    """The shared memory of each kernel, in bytes."""
    attributes = ("num_warps", "shared_bytes")  # each kernel has the first, kernels that use shared memory the second
    kernels = (op for op in container.regions[0].block.ops if any(name in op.attributes for name in attributes))
    return [int_attr(op, "shared_bytes", 0) for op in kernels]


def find_global_smem(container: Operation) -> GlobalOp | None:
    """The variable of a module; None if it has none."""
    variables = (op for op in container.regions[0].block.ops if isinstance(op, GlobalOp))
    return next((op for op in variables if op.sym_name.data == SYMBOL), None)


def global_smem_bytes(container: Operation) -> int:
    """The size of the variable; 0 where there is none."""
    variable = find_global_smem(container)
    return cast(LLVMArrayType, variable.global_type).size.data if variable is not None else 0


def _declare(container: Operation, size: int) -> None:
    if find_global_smem(container) is None:
        made = make_global(array(size, i8), SYMBOL, "internal", ADDRESS_SPACES["shared"], alignment=ALIGNMENT)
        Rewriter.insert_op(made, InsertPoint.at_start(container.regions[0].block))
    elif global_smem_bytes(container) < size:
        raise InternalError(
            "global-smem", f"@{SYMBOL} has {global_smem_bytes(container)} bytes, but a kernel needs {size}"
        )
