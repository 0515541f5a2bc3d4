"""PHASES: the nine steps that turn the bodies of kernels into LLVM IR, in order.

What a phase converts gets its writer, the function that writes its code. The last phase runs the writers in program
order, because an operation object for each instruction of a thread would cost more than all of LLVM (builder.py): so
the phases before it decide, tile by tile, and the text is written once. Two things are checked after each phase: it ran
right after the one that its row names, and every operation has a writer or belongs to a phase still to come. What
survives is an error that names it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from xdsl.ir import Operation

from ...dialects.cuda_tile.location import source_location
from ...errors import InternalError
from ...knobs import DEBUG
from ...targets import TENSOR_MEMORY_ATOMS, WARPGROUP_ATOMS, Target
from ..shared.eliminate_common import merge
from .analyze_buffers import analyze_buffers
from .decompose_prints import decompose
from .kernel_emitter import KernelEmitter
from .type_converter import LLVMTypeConverter

ARITHMETIC = ("arith.", "math.")
Check = Callable[[KernelEmitter, Operation], None]


@dataclass(frozen=True)
class Phase:
    """One step over the body of a kernel.

    ``contract`` is what holds afterwards, ``after`` the phase right before it. ``prepare`` works on the kernel as a
    whole; then the operations of ``takes`` (names, or prefixes that end in a dot; ``atoms``: those with an ``atom``)
    pass ``check`` and get their writers.
    """

    name: str
    contract: str
    after: str | None
    prepare: Check | None = None
    takes: tuple[str, ...] = ()
    atoms: bool = False
    check: Check | None = None


# ---- what the phases do ------------------------------------------------------------------------------
def _decompose_prints(e: KernelEmitter, kernel: Operation) -> None:
    for op in [op for op in body_of(kernel) if op.name == "nv_tileas.print"]:
        decompose(op)


def _analyze_buffers(e: KernelEmitter, kernel: Operation) -> None:
    size = kernel.attributes.get("shared_bytes")
    e.buffers = analyze_buffers(kernel, size.value.data if size is not None else 0)


def _choose_pointer_space(e: KernelEmitter, kernel: Operation) -> None:
    if e.buffers is None:
        raise InternalError("phase-order", "the kernel's buffers are not analyzed")
    # Pointers may point into shared memory where a kernel has storage of its own: then all are generic.
    e.pointer_space = "" if e.buffers.generic else ".global"


def _check_copy(e: KernelEmitter, op: Operation) -> None:
    if op.name == "nv_tileas.async.tiled_tma_store":
        return _check_shapes(op, tuple(op.view.type.tile), tuple(op.attributes["placement"].data.shape))
    if op.buffer not in e.buffers.places:
        raise InternalError("copy-buffer", f"{op.name} copies to a buffer that has no place in shared memory")
    given = tuple(op.attributes["layout"].data.shape) if "layout" in op.attributes else op.view.type.tile
    wanted = tuple(op.buffer.type.placement.data.shape)
    _check_shapes(op, given, wanted)


def _check_shapes(op: Operation, given: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if wanted != given:
        raise InternalError("copy-shape", f"{op.name} copies a tile of shape {given} to a buffer of shape {wanted}")


def _check_atom(e: KernelEmitter, op: Operation) -> None:
    name = op.attributes["atom"].data
    if name not in _atoms(e.target):
        raise InternalError("atom-unknown", f"{op.name} asks for {name}, which {e.target.name} does not have")


@cache
def _atoms(target: Target) -> frozenset[str]:
    """The matrix instructions of a GPU."""
    rows = (*target.all_mma_atoms, *WARPGROUP_ATOMS, *TENSOR_MEMORY_ATOMS)
    return frozenset(row.name for row in rows if target.has(row.capability))


def _check_wait(e: KernelEmitter, op: Operation) -> None:
    pending = op.attributes["pending"].value.data if "pending" in op.attributes else 0
    rings = [buffer.type.stages.data for buffer in e.buffers.places if hasattr(buffer.type, "stages")]
    if pending < 0 or (rings and pending >= max(rings)):
        raise InternalError(
            "wait-pending", f"{op.name} leaves {pending} groups pending, more than any buffer has stages"
        )


def _clean_up(e: KernelEmitter, kernel: Operation) -> None:
    for block in kernel.regions[0].blocks:
        # Only these: a buffer that is read twice may have been written in between.
        merge(block, lambda op: op.name.startswith(ARITHMETIC))


def _check_cast(e: KernelEmitter, op: Operation) -> None:
    converter = LLVMTypeConverter()
    before, after = ([converter.convert(value.type) for value in values] for values in (op.operands, op.results))
    if before != after:
        types = [", ".join(str(value.type) for value in values) for values in (op.operands, op.results)]
        raise InternalError("cast-survives", f"a cast from {types[0]} to {types[1]} remains after the conversion")


def _write(e: KernelEmitter, kernel: Operation) -> None:
    for block in kernel.regions[0].blocks:
        e.emit_block(block)


WRITE = "materialize"
PHASES: tuple[Phase, ...] = (
    Phase("decompose-print", "prints take i32, i64 and f64", None, _decompose_prints),
    Phase("analyze-buffers", "every buffer has a place in shared memory", "decompose-print", _analyze_buffers),
    Phase(
        "convert-tiles",
        "of nv_tileas only copies, products of atoms, and pipelines are left",
        "analyze-buffers",
        _choose_pointer_space,
        ("nv_tileaa.", "nv_tileas.", "func."),
    ),
    Phase(
        "convert-bulk-copies",
        "copies between global and shared memory have a destination of their shape",
        "convert-tiles",
        takes=("nv_tileas.async_tiled_load", "nv_tileas.async.tiled_tma_load", "nv_tileas.async.tiled_tma_store"),
        check=_check_copy,
    ),
    Phase(
        "convert-cute",
        "every atom is one that the target has; nothing of cute, cute_nvgpu and cutlass is left",
        "convert-bulk-copies",
        takes=("cute.", "cute_nvgpu.", "cutlass."),
        atoms=True,
        check=_check_atom,
    ),
    Phase(
        "convert-async-pipelines",
        "no wait lets more copies be under way than there are stages",
        "convert-cute",
        takes=(
            "nv_tileas.async_commit",
            "nv_tileas.async_wait",
            "nv_tileas.async.tma_store_wait",
            "nv_tileas.async.pipeline.",
            "nv_tileas.async.sequence.",
        ),
        check=_check_wait,
    ),
    Phase(
        "clean-up",
        "no operation of arith and math repeats another; all are converted",
        "convert-async-pipelines",
        _clean_up,
        ARITHMETIC,
    ),
    Phase(
        "reconcile-casts",
        "a cast joins types of the same LLVM form",
        "clean-up",
        takes=("builtin.unrealized_conversion_cast",),
        check=_check_cast,
    ),
    Phase(WRITE, "the code is written", "reconcile-casts", _write),
)


# ---- running them ------------------------------------------------------------------------------------
def convert_body(e: KernelEmitter, kernel: Operation) -> None:
    """Write the body of ``kernel`` by the phases; raises InternalError where one is missing, early or incomplete."""
    names: list[str] = []
    body: list[Operation] | None = None
    for phase in PHASES:
        _check_order(phase, names)
        start = time.perf_counter()
        body = _run(phase, e, kernel, body)
        names.append(phase.name)
        _check_legal(phase, e, body, frozenset(names))
        if DEBUG.read() >= 2:
            print(f"{(time.perf_counter() - start) * 1e3:9.2f} ms  phase {phase.name} of {e.name}", file=sys.stderr)
    if names[-1:] != [WRITE]:
        raise InternalError("phase-order", f"the code of {e.name} is not written: phase {WRITE} must come last")


def _check_order(phase: Phase, done: list[str]) -> None:
    last = done[-1] if done else None
    if phase.after != last:
        message = f"phase {phase.name} must run right after {phase.after or 'nothing'}, not after {last or 'nothing'}"
        raise InternalError("phase-order", message)


def _run(phase: Phase, e: KernelEmitter, kernel: Operation, body: list[Operation] | None = None) -> list[Operation]:
    """Run a phase over ``body``, the kernel's operations where they are known; returns them as they are afterwards."""
    if phase.prepare is not None:
        phase.prepare(e, kernel)
        body = None
    body = list(body_of(kernel)) if body is None else body
    for op in body:
        if owner_of(op) == phase.name and op.name in e.handlers:
            if phase.check is not None:
                phase.check(e, op)
            e.writers[op] = e.handlers[op.name]
    return body


def _check_legal(phase: Phase, e: KernelEmitter, body: list[Operation], done: frozenset[str]) -> None:
    for op in body:
        if op not in e.writers and ((owner := owner_of(op)) is None or owner in done):
            error = InternalError("phase-contract", f"operation {op.name} survived phase {phase.name}")
            error.location = source_location(op)
            raise error


def body_of(kernel: Operation) -> Iterator[Operation]:
    """The operations in a kernel's body, at any depth."""
    return (op for block in kernel.regions[0].blocks for op in block.walk())


# What a phase takes -> its name; the longest entry counts.
OWNERS: dict[str, str] = {entry: phase.name for phase in PHASES for entry in phase.takes}
[ATOMS] = [phase.name for phase in PHASES if phase.atoms]


def owner_of(op: Operation) -> str | None:
    """The phase that converts an operation; None where there is none."""
    return ATOMS if "atom" in op.attributes else owner_by_name(op.name)


@cache
def owner_by_name(name: str) -> str | None:
    """The phase that converts the operations of a name."""
    found = [entry for entry in OWNERS if entry == name or (entry.endswith(".") and name.startswith(entry))]
    return OWNERS[max(found, key=len)] if found else None
