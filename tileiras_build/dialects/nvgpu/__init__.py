"""The ``nvgpu`` dialect: NVIDIA's operations above registers, in MLIR's text form.

``nvgpu.tma.rebind.descriptor``, ``nvgpu.cvt_*`` and ``nvgpu.*.packed.f32x2`` are not in MLIR; their forms are ours.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from . import ops_barrier, ops_copy, ops_matrix, ops_tensor_map
from .attrs import ATTRIBUTES

NVGPU = Dialect(
    "nvgpu",
    [*ops_barrier.OPERATIONS, *ops_tensor_map.OPERATIONS, *ops_matrix.OPERATIONS, *ops_copy.OPERATIONS],
    ATTRIBUTES,
)
