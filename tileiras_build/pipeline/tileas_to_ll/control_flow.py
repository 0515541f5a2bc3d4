"""Structured control flow as blocks and phis.

A loop has a header block that tests, a body, a latch that collects every ``continue`` and an exit that collects every
``break``. Each register of a carried tile is a phi of its own: scalar phis keep ptxas free (llvm-nvptx, section 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from ..shared.element_types import element_of
from . import heap_storage
from .builder import Value
from .kernel_emitter import Handler, KernelEmitter, layout_of

Edge = tuple[list[Value], str]


@dataclass
class Loop:
    """The loop being emitted: where its exits go, and with which values."""

    latch: str
    exit: str
    continues: list[Edge] = field(default_factory=list)
    breaks: list[Edge] = field(default_factory=list)


def carried(values: Sequence[SSAValue]) -> list[SSAValue]:
    """The values that exist at run time: tokens do not."""
    return [value for value in values if value.type.name != "nv_tileaa.mem_token"]


def _flatten(e: KernelEmitter, values: Sequence[SSAValue]) -> list[Value]:
    return [register for value in carried(values) for register in e.registers(value)]


def _types(values: Sequence[SSAValue]) -> list[str]:
    """The LLVM type of each register of the values."""
    types = []
    for value in carried(values):
        count = layout_of(value).num_registers if isinstance(value.type, TensorType) else 1
        types += [element_of(value.type).register] * count
    return types


def _bind(e: KernelEmitter, values: Sequence[SSAValue], registers: Sequence[Value]) -> None:
    position = 0
    for value in values:
        if value.type.name == "nv_tileaa.mem_token":
            e.values[value] = None
            continue
        count = layout_of(value).num_registers if isinstance(value.type, TensorType) else 1
        e.set(value, list(registers[position : position + count]))
        position += count


def _phi(types: Sequence[str], edges: Sequence[Edge], e: KernelEmitter) -> list[Value]:
    """The values at a block reached by ``edges``; written at the start of the current block."""
    if len(edges) == 1:
        return edges[0][0]
    result: list[Value] = []
    for number, type in enumerate(types):
        incoming = [(values[number], block) for values, block in edges]
        if all(value == incoming[0][0] for value, _ in incoming) and isinstance(incoming[0][0], int):
            result.append(incoming[0][0])
            continue
        text = ", ".join(f"[ {value}, %{block} ]" for value, block in incoming)
        result.append(e.b.value(f"phi {type} {text}"))
    return result


# ---- loops ---------------------------------------------------------------------------------------
class _Header:
    """Phis of a loop header, completed once the latch is known."""

    def __init__(self, e: KernelEmitter, types: Sequence[str], initial: Sequence[Value], entry: str):
        self.e, self.types, self.initial, self.entry = e, types, initial, entry
        self.names = [e.b.name() for _ in types]
        self.lines = [e.b.reserve() for _ in types]

    def complete(self, next_values: Sequence[Value], latch: str) -> None:
        rows = zip(self.lines, self.names, self.types, self.initial, next_values)
        for line, name, type, initial, value in rows:
            self.e.b.fill(line, f"{name} = phi {type} [ {initial}, %{self.entry} ], [ {value}, %{latch} ]")

    def unreachable_latch(self) -> None:
        """No path leads back: the phis have one input."""
        for line, name, type, initial in zip(self.lines, self.names, self.types, self.initial):
            self.e.b.fill(line, f"{name} = phi {type} [ {initial}, %{self.entry} ]")


def emit_for(e: KernelEmitter, op: Any) -> None:
    b = e.b
    block = op.regions[0].blocks[0]
    lower, upper, step = e.scalar(op.lower), e.scalar(op.upper), e.scalar(op.step)
    index_type = element_of(op.lower.type).register
    types = [index_type, *_types(op.results)]
    entry, header, body = b.block, b.label(), b.label()
    loop = Loop(b.label(), b.label())
    initial = [lower, *_flatten(e, op.initial)]
    b.branch(header)
    b.start(header)
    phis = _Header(e, types, initial, entry)
    unsigned = "unsigned" in op.attributes
    with b.scope():
        condition = b.value(f"icmp {'ult' if unsigned else 'slt'} {index_type} {phis.names[0]}, {upper}")
        b.branch_if(condition, body, loop.exit)
        b.start(body)
        e.values[block.args[0]] = phis.names[0]
        _bind(e, block.args[1:], phis.names[1:])
        _emit_body(e, block, loop)
        b.start(loop.latch)
        values = _phi(types[1:], loop.continues, e) if loop.continues else []
        following = b.value(f"add {index_type} {phis.names[0]}, {step}")
        b.branch(header)
        phis.complete([following, *values], loop.latch)
    b.start(loop.exit)
    _bind(e, op.results, _phi(types[1:], [(phis.names[1:], header), *loop.breaks], e))


def emit_loop(e: KernelEmitter, op: Any) -> None:
    b = e.b
    block = op.regions[0].blocks[0]
    types = _types(op.initial)
    entry, header = b.block, b.label()
    loop = Loop(b.label(), b.label())
    initial = _flatten(e, op.initial)
    b.branch(header)
    b.start(header)
    phis = _Header(e, types, initial, entry)
    with b.scope():
        _bind(e, block.args, phis.names)
        _emit_body(e, block, loop)
        if loop.continues:
            b.start(loop.latch)
            values = _phi(types, loop.continues, e)
            b.branch(header)
            phis.complete(values, loop.latch)
        else:
            phis.unreachable_latch()
    b.start(loop.exit)
    if loop.breaks:
        _bind(e, op.results, _phi(_types(op.results), loop.breaks, e))
    else:
        _bind(e, op.results, ["poison"] * len(_types(op.results)))


def _emit_body(e: KernelEmitter, block: Any, loop: Loop) -> None:
    e.loops.append(loop)
    e.emit_block(block)
    e.loops.pop()


def emit_continue(e: KernelEmitter, op: Any) -> None:
    heap_storage.leave_loop(e, op)
    loop = e.loops[-1]
    loop.continues.append((_flatten(e, op.operands), e.b.block))
    e.b.branch(loop.latch)


def emit_break(e: KernelEmitter, op: Any) -> None:
    heap_storage.leave_loop(e, op)
    loop = e.loops[-1]
    loop.breaks.append((_flatten(e, op.operands), e.b.block))
    e.b.branch(loop.exit)


# ---- if ------------------------------------------------------------------------------------------
def emit_if(e: KernelEmitter, op: Any) -> None:
    b = e.b
    labels, merge = (b.label(), b.label()), b.label()
    edges: list[Edge] = []
    b.branch_if(e.scalar(op.condition), *labels)
    for region, label in zip(op.regions, labels):
        b.start(label)
        block = region.blocks[0]
        last = block.last_op
        with b.scope():
            e.emit_block(block)
            if last is None or last.name.endswith(".yield"):
                edges.append((_flatten(e, last.operands if last else ()), b.block))
                b.branch(merge)
    if not edges:
        # Both arms leave the loop: what follows in the text is never reached.
        b.start(merge)
        _bind(e, op.results, ["poison"] * len(_types(op.results)))
        return
    b.start(merge)
    _bind(e, op.results, _phi(_types(op.results), edges, e))


def emit_yield(e: KernelEmitter, op: Any) -> None:
    """Its operands are read by the operation around it."""
    heap_storage.leave_block(e, op.parent)


def emit_return(e: KernelEmitter, op: Any) -> None:
    heap_storage.leave_kernel(e, op)
    e.b.line("ret void")


HANDLERS: dict[str, Handler] = {
    "nv_tileas.for": emit_for,
    "nv_tileas.loop": emit_loop,
    "nv_tileas.if": emit_if,
    "nv_tileas.continue": emit_continue,
    "nv_tileas.break": emit_break,
    "nv_tileas.yield": emit_yield,
    "func.return": emit_return,
}
