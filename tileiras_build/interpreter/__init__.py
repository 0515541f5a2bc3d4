"""The reference interpreter: what Tile IR means, in NumPy. It shares no code with the compiler's lowering.

    memory = interpreter.Memory()
    address = memory.map_array(array)
    interpreter.launch(bytecode, "kernel", (4,), [address.to_bytes(8, "little")], memory=memory)

A tile is a NumPy array (``formats.py`` says in which dtype); operations are functions registered in
``machine.HANDLERS``. ``jitter.py`` explains how tolerances come about, ``verify.py`` compares with compiled code.
"""

from . import accesses, aggregates, control, conversions, floats, integers, matrices, shapes, views  # noqa: F401
from .faults import InterpreterFault
from .jitter import Choice
from .machine import HANDLERS, launch
from .memory import Memory, OutsideMemory

__all__ = ["HANDLERS", "Choice", "InterpreterFault", "Memory", "OutsideMemory", "launch"]
