"""The registry of instruction handlers: ``HANDLERS`` maps opcodes to handlers.

A handler ``handler(emitter, instruction)`` emits Python for one instruction; a control-flow handler returns the last
line of the generated function. ``instruction_forms.py`` lists the valid forms of an opcode, and handlers see only those.
Helpers that generated code calls are in ``NAMESPACE``. Opcodes in ``WARP_WIDE`` need all live threads of their warps (or of
their mask), those in ``CONVERGENT_GROUP_OPS`` all threads of their warpgroups.
"""

from __future__ import annotations

HANDLERS: dict = {}
NAMESPACE: dict = {}
WARP_WIDE: set[str] = set()
CONVERGENT_GROUP_OPS: set[str] = set()
RESULT_KINDS: dict = {}

_ARITHMETIC = {"add", "sub", "mul", "fma", "mad", "div", "min", "max", "abs", "neg", "sqrt", "rsqrt", "rcp", "ex2",
               "lg2", "sin", "cos", "tanh", "copysign", "rem"}  # fmt: skip


def starts_function(ins, all_threads_wait: bool, diverged: bool) -> bool:
    """Whether a group may have to wait at this instruction and retry it, so that a function must start here.

    ``all_threads_wait``: the warpgroups are known to be converged. ``diverged``: warps may be diverged.
    """
    if ins.op == "mbarrier":
        return ins.mods[0] == "try_wait"
    if ins.op == "setmaxnreg":
        return True
    return (diverged and is_warp_wide(ins)) or (not all_threads_wait and ins.op in CONVERGENT_GROUP_OPS)


def is_warp_wide(ins) -> bool:
    """Whether an instruction needs all live threads of its warps or of its mask."""
    if ins.op == "tcgen05":
        return "sync" in ins.mods  # the other forms are issued by a single thread
    return ins.op in WARP_WIDE or (ins.op in ("bar", "barrier") and "warp" in ins.mods)


def handles(*opcodes: str, warp_wide: bool = False):
    """Register a handler for opcodes."""

    def register(function):
        for opcode in opcodes:
            HANDLERS[opcode] = function
        if warp_wide:
            WARP_WIDE.update(opcodes)
        return function

    return register


def helper(function):
    """Make a function callable from generated code."""
    NAMESPACE[function.__name__] = function
    return function


def result_kind(ins, position: int) -> str:
    """The kind of a destination register: a float kind, or any other kind for bits."""
    special = RESULT_KINDS.get(ins.op)
    if special is not None:
        return special(ins, position)
    if ins.op in _ARITHMETIC and ins.mods:
        return ins.mods[-1]
    if ins.op == "cvt":
        return ins.mods[-2]
    return "bits"
