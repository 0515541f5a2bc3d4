"""The ``nvgpu`` dialect of NVIDIA GPU operations, in MLIR's text form.

``nvgpu.tma.rebind.descriptor``, ``nvgpu.cvt_*`` and ``nvgpu.*.packed.f32x2`` are not in MLIR; their forms are ours.
``nvgpu.warpgroup.mma`` and ``nvgpu.device_async_copy`` have additional operands and attributes for tile kernels;
without these, they are MLIR's.
"""

from __future__ import annotations

from xdsl.ir import Attribute, Dialect, Operation

from ..op_definition import defined_in
from . import attrs, ops_arith, ops_async_copy, ops_barrier, ops_matrix, ops_tma, types

NVGPU = Dialect(
    "nvgpu",
    defined_in(Operation, ops_barrier, ops_tma, ops_matrix, ops_async_copy, ops_arith),
    defined_in(Attribute, types, attrs),
)
