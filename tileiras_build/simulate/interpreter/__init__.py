"""The reference interpreter: the semantics of Tile IR in NumPy. It shares no code with the compiler's lowering.

    memory = interpreter.Memory()
    address = memory.map_array(array)
    interpreter.launch(bytecode, "kernel", (4,), [address.to_bytes(8, "little")], memory=memory)

A tile is a NumPy array (``element_types.py`` defines its dtype); operations are functions registered in
``tile_block_interpreter.HANDLERS``. ``randomize_unspecified_values.py`` explains tolerances, ``verify_kernels.py`` compares with compiled code.
"""

from ...ir.dialects.cuda_tile.ops_module import EntryOp
from . import (
    control_flow,
    float_ops,
    integer_ops,
    memory_ops,
    mma_ops,
    reduce_and_scan,
    tensor_views,
    tile_shape_ops,
    type_conversions,
)
from .interpreter_errors import InterpreterFault
from .mapped_memory import Memory, OutsideMemory
from .randomize_unspecified_values import Choice
from .tile_block_interpreter import HANDLERS, launch


def entry_names(module) -> list[str]:
    """The kernels of a module, in order."""
    return [op.sym_name.data for op in module.walk() if isinstance(op, EntryOp)]


def run_inputs(module, entry: str, inputs, limit: int | None = None) -> list[str]:
    """Run a kernel once on ``inputs``, whose buffers then hold the results; return a line of text per buffer.

    ``limit`` is the most operations that may run.
    """
    memory = Memory()
    for buffer in inputs.buffers:
        buffer.restore()
        buffer.map_into(memory)
    launch(module, entry, inputs.grid, inputs.params, memory=memory, limit=limit)
    return [f"parameter {buffer.parameter}: {buffer.describe()}" for buffer in inputs.buffers]


__all__ = ["HANDLERS", "Choice", "InterpreterFault", "Memory", "OutsideMemory", "entry_names", "launch", "run_inputs"]
