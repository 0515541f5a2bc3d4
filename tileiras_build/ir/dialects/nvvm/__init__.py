"""The ``nvvm`` dialect in MLIR's text form: one operation per PTX instruction; ``llvm_lowering`` lowers them.

``nvvm.*.packed.f32x2``, ``nvvm.convert.f32x2.packed``, ``nvvm.convert.packed.f16x2`` and the result of
``nvvm.mbarrier.try_wait.parity.shared`` are not in MLIR; their forms are ours.
"""

from __future__ import annotations

from xdsl.ir import Attribute, Dialect, Operation

from ..op_definition import defined_in
from . import (
    attrs,
    llvm_lowering,
    ops_copy,
    ops_fence_proxy,
    ops_matrix,
    ops_mbarrier,
    ops_packed_arith,
    ops_thread,
    target,
)

NVVM = Dialect(
    "nvvm",
    [
        *defined_in(Operation, ops_thread, ops_mbarrier, ops_fence_proxy, ops_copy, ops_matrix, ops_packed_arith),
        *ops_thread.READS.values(),
        *llvm_lowering.INSTRUCTION_TABLE,
    ],
    defined_in(Attribute, attrs, target),
)
