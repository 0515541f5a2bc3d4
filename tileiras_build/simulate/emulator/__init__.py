"""A PTX emulator on the CPU, in NumPy: runs what we ship, for every SM, without a GPU.

It knows nothing of the compiler. ``launch`` runs a kernel of compiled artifacts, ``run_ptx`` one of a PTX text:

    memory = emulator.Memory()
    address = memory.map_array(array)
    emulator.run_ptx(ptx, "kernel", (4,), (128,), [address.to_bytes(8, "little")], memory=memory)

See ``simt/thread_group.py`` and ``simt/scheduler.py`` for the execution model, ``isa/`` for the instructions, ``float_formats.py``, ``float_arithmetic.py``,
``directed_rounding.py`` and ``float_conversions.py`` for the arithmetic.
"""

import os

# Its products are many and small: threads for one of them cost far more than they give. NumPy reads this once.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from .errors import EmulatorError, EmulatorFault, EmulatorWarning, PtxSyntaxError, UnsupportedInstruction
from .launch import launch, run_ptx, single_process_reason
from .memory.address_space import Memory
from .performance_counters import Counters

__all__ = [
    "Counters", "EmulatorError", "EmulatorFault", "EmulatorWarning", "Memory", "PtxSyntaxError",
    "UnsupportedInstruction", "launch", "run_ptx", "single_process_reason",
]  # fmt: skip
