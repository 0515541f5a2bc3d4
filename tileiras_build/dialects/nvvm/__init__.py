"""The ``nvvm`` dialect: one operation per PTX instruction, in MLIR's text form; ``mapping`` says how each is called.

``nvvm.*.packed.f32x2``, ``nvvm.convert.f32x2.packed``, ``nvvm.convert.packed.f16x2`` and the result of
``nvvm.mbarrier.try_wait.parity.shared`` are not in MLIR; their forms are ours.
"""

from __future__ import annotations

from xdsl.ir import Dialect, Operation

from . import mapping, ops_copy, ops_matrix, ops_thread
from .attrs import ATTRIBUTES
from .target import TargetAttr

_OPERATIONS: tuple[type[Operation], ...] = (
    *ops_thread.OPERATIONS,
    *ops_copy.OPERATIONS,
    *ops_matrix.OPERATIONS,
    *mapping.ROWS,
)
NVVM = Dialect("nvvm", list(_OPERATIONS), [*ATTRIBUTES, TargetAttr])
