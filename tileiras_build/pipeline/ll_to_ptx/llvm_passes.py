"""The LLVM passes of each optimization level, in order.

LLVM's own pipelines of the same levels (``llvm_pipeline=default``), after the same inliner, take 4 to 19 % more CPU from .ll to cubin and produce
more machine instructions in 18 to 31 of 47 kernels (1 to 3 % in all; ``benchmarks/llvm_pipelines.py``): loops that the
tile passes have scheduled gain nothing from unrolling, rotation or vectorization. Short loops of scalars do, and are unrolled. The NVPTX code generator runs its own
cleanups (address spaces, load/store vectorizer, GVN, LSR) afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf

import llvmlite.binding as llvm

from ...core.errors import InvalidInput
from ...target.isa.serializer_options import Level, find_level
from ..job import LLVM_PIPELINES

# NewGVN aborts by an assertion once it has visited a value 100 times, which a chain of this many loops can cause. The
# code generator's own GVN then finds the redundancies.
VALUE_NUMBERING = "new_gvn"
MAX_LOOPS = 64
# Sinking asks of each call whether later writes of its block, assembly among them, change what the call reads: 0.25 us each.
# ptxas sinks, too.
SINKING = "sinking"
MAX_SINKING_QUERIES = 100_000
# LLVM unrolls rotated loops of any length, so that loads of scalars run ahead of each other, and others if their lengths are known.
# Loops of more lines of LLVM IR hide latency by their width, and those with shared memory have been scheduled by the tile passes.
UNROLLED_LINES = {"loop_rotate": 16, "loop_unroll": 48, "reassociate": 16}
MAX_LINES = 500  # of a function: whose loops are not looked for
_LABEL = re.compile(r"^([\w.$-]+|\"[^\"]*\"):|label %([\w.$-]+|\"[^\"]*\")", re.MULTILINE)


def run_passes(
    module: llvm.ModuleRef,
    machine: llvm.TargetMachine,
    opt_level: int | str,
    pipeline: str = LLVM_PIPELINES[0],
    text: str | None = None,
) -> None:
    """Run the passes of a level, or LLVM's default pipeline of it, on the module in place.

    ``text`` is what the module was parsed from; without it LLVM prints the module, which takes a tenth of the passes' time.
    Raises InvalidInput[opt-level] or [option-value] before any pass manager is created.
    """
    level = find_level(opt_level)
    if pipeline not in PIPELINES:
        message = f"llvm_pipeline={pipeline} is not a valid value"
        raise InvalidInput("option-value", message, remedy=f"use one of {', '.join(PIPELINES)}")
    mark_functions(module, level)
    PIPELINES[pipeline](module, machine, level, text)


def _run_short(module: llvm.ModuleRef, machine: llvm.TargetMachine, level: Level, text: str | None) -> None:
    """The passes of the level's row."""
    # A pass manager cannot run twice (LLVM asserts); a new one costs 0.1 ms.
    manager = llvm.create_new_module_pass_manager()
    functions = f"\n{module if text is None else text}".split("\ndefine ")[1:]
    skipped = {name for name, is_slow in SLOW.items() if any(map(is_slow, functions))}
    longest = max(map(_longest_loop, functions), default=0)
    skipped |= {name for name, lines in UNROLLED_LINES.items() if longest > lines}
    for name in (name for name in level.passes if name not in skipped):
        getattr(manager, f"add_{name}_pass")()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0))
    manager.run(module, builder)


def _run_default(module: llvm.ModuleRef, machine: llvm.TargetMachine, level: Level, text: str | None) -> None:
    """PassBuilder's per-module default pipeline of O0 to O3. Os and Oz are O2 for functions that are marked, as clang marks them.

    Libdevice's bodies are inlined first: no user wrote those calls.
    """
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=level.number))
    inliner = llvm.create_new_module_pass_manager()
    inliner.add_always_inliner_pass()
    inliner.run(module, builder)
    builder.getModulePassManager().run(module, builder)


PIPELINES = dict(zip(LLVM_PIPELINES, (_run_short, _run_default), strict=True))


def mark_functions(module: llvm.ModuleRef, level: Level) -> None:
    """Set the function attributes of the level."""
    for function in module.functions if level.attributes else ():
        for attribute in level.attributes if not function.is_declaration else ():
            function.add_function_attribute(attribute)


def _loops(function: str) -> Iterator[int]:
    """The lines of each loop of a function, in the order of their back edges."""
    seen: dict[str, int] = {}
    for match in _LABEL.finditer(function):
        label, target = match.groups()
        if label:
            seen[label] = match.start()
        elif target in seen:
            yield function.count("\n", seen[target], match.end())


def _has_many_loops(function: str) -> bool:
    """Whether a function has more than MAX_LOOPS back edges."""
    return function.count("label %") > MAX_LOOPS and sum(1 for _ in _loops(function)) > MAX_LOOPS


def _longest_loop(function: str) -> float:
    """The lines of the longest loop of a function; infinite for one that is not unrolled: without loops, with shared memory, or long."""
    if function.count("\n") > MAX_LINES or "addrspace(3)" in function:
        return inf
    return max(_loops(function), default=inf)


def _sinks_slowly(function: str) -> bool:
    """Whether sinking may make more than MAX_SINKING_QUERIES queries: an upper bound, as earlier passes merge blocks."""
    assembly = function.count(" asm sideeffect ")
    return (function.count(" call ") - assembly) * (function.count("\n  store ") + assembly) > MAX_SINKING_QUERIES


# Passes that a module does without, if the text of one of its functions has the property.
SLOW = {VALUE_NUMBERING: _has_many_loops, SINKING: _sinks_slowly}
