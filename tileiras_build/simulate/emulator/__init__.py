"""A PTX emulator on the CPU, in NumPy: runs compiled kernels of every SM architecture without a GPU.

It does not depend on the compiler. ``launch`` runs a kernel of compiled artifacts, ``run_ptx`` a kernel of PTX text:

    memory = emulator.Memory()
    address = memory.map_array(array)
    emulator.run_ptx(ptx, "kernel", (4,), (128,), [address.to_bytes(8, "little")], memory=memory)

See ``simt/thread_group.py`` and ``simt/scheduler.py`` for the execution model, ``isa/`` for the instructions, and
``numerics/`` for the arithmetic.
"""

import os

# The matmuls are many and small, so BLAS threads do not pay off. NumPy reads this variable once, at import.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from .errors import EmulatorError, EmulatorFault, EmulatorWarning, PtxSyntaxError, UnsupportedInstruction
from .launch import launch, run_ptx, single_process_reason
from .memory.address_space import Memory
from .performance_counters import Counters

__all__ = [
    "Counters", "EmulatorError", "EmulatorFault", "EmulatorWarning", "Memory", "PtxSyntaxError",
    "UnsupportedInstruction", "launch", "run_ptx", "single_process_reason",
]  # fmt: skip
