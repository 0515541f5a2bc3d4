"""The dialect, for text. Thread code of tile kernels imports the operations that it has."""

from __future__ import annotations

from xdsl.ir import Attribute, Dialect, Operation

from ..op_definition import defined_in
from . import attrs, ops_arith, ops_async_copy, ops_barrier, ops_matrix, ops_tma, types

NVGPU = Dialect(
    "nvgpu",
    defined_in(Operation, ops_barrier, ops_tma, ops_matrix, ops_async_copy, ops_arith),
    defined_in(Attribute, types, attrs),
)
