"""Accesses of all copies of a multicast object (PTX ISA 9.0, section 9.7.9.14, multimem).

The copies are accessed one after the other. The order of a reduction is unspecified; here it is that of the copies.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import numpy as np

from ..codegen.emit_block import UNSIGNED, vector_items
from ..errors import OUT_OF_BOUNDS
from ..memory.load_store import Site
from ..numerics.float_formats import halves, join_halves, narrow, widen
from ..ptx.ast import TYPE_BITS
from .atomic import AtomicSite, operation
from .handler_registry import handles
from .ld_st import access_shape, address_expression, resolve_space, space_of, widen_address

REDUCTIONS = ("add", "min", "max", "and", "or", "xor")
# An array of the group's shape, or of one that broadcasts to it.
Mask = np.ndarray | None


class CopyAddresses:
    """The addresses of one instruction in each copy."""

    def __init__(self, site: Site, offset: int):
        self.site, self.offset = site, np.uint64(offset & 0xFFFFFFFFFFFFFFFF)

    def of(self, group, address, mask: Mask) -> Iterator[tuple[np.ndarray, Mask]]:
        """(addresses, mask) for each copy: the mask has the threads whose object has that copy."""
        address = np.asarray(address) + self.offset
        active = np.ones(group.shape, bool) if mask is None else np.broadcast_to(mask, group.shape)
        objects = group.memories.address_space.multicast_objects
        bases = np.array([one.base for one in objects], np.uint64)
        ends = np.array([one.base + one.size for one in objects] or [0], np.uint64)
        index = np.searchsorted(bases, address, "right").astype(np.int64) - 1
        outside = (index < 0) | (address + np.uint64(self.site.bytes) > ends[np.maximum(index, 0)])
        if (bad := outside & active).any():
            self.site.raise_first_fault(
                group, bad, "not an address of a multicast object", address, None, OUT_OF_BOUNDS
            )
        counts = np.array([len(one.copies) for one in objects])
        for copy in range(counts.max(initial=0)):
            bias = np.array(
                [(one.copies[min(copy, len(one.copies) - 1)] - one.base) % (1 << 64) for one in objects], np.uint64
            )
            has_copy = active & (counts[index] > copy)
            yield address + bias[index], None if mask is None and has_copy.all() else has_copy


class LoadReduceSite:
    """One multimem.ld_reduce of ``count`` elements of ``type_``."""

    def __init__(self, ins, name: str, type_: str, count: int, offset: int):
        self.site = Site(ins, "global", TYPE_BITS[type_] // 8, count)
        self.addresses = CopyAddresses(self.site, offset)
        self.reduce = _add_in_f32 if "acc::f32" in ins.mods else _fold(name)
        self.type = type_

    def run(self, group, address, mask: Mask) -> tuple[np.ndarray, ...]:
        """The reduced elements; zeros where the mask is off."""
        copies = [
            (self.site.load(group, where, threads), threads)
            for where, threads in self.addresses.of(group, address, mask)
        ]
        each = zip(*(values for values, _ in copies))
        masks = [threads for _, threads in copies]
        zeros = np.zeros(group.shape, self.site.dtype)
        return tuple(self.reduce([zeros + one for one in values], masks, self.type) for values in each)


Reduction = Callable[[list[np.ndarray], list[Mask], str], np.ndarray]


def _fold(name: str) -> Reduction:
    """A reduction in the element type."""

    def reduce(copies: list[np.ndarray], masks: list[Mask], type_: str) -> np.ndarray:
        function, total = operation(name, type_), copies[0]
        for value, mask in zip(copies[1:], masks[1:]):
            total = np.where(True if mask is None else mask, function(total, value, None), total)
        return total

    return reduce


def _add_in_f32(copies: list[np.ndarray], masks: list[Mask], type_: str) -> np.ndarray:
    """Add 16-bit floats, or pairs of them, in f32, and round once. Copies that a thread does not have are zeros."""
    element, is_pair = type_.removesuffix("x2"), type_.endswith("x2")
    values = [widen(element, halves(copy) if is_pair else copy) for copy in copies]
    total = narrow(element, np.asarray(functools.reduce(np.add, values)))
    return join_halves(total) if is_pair else np.asarray(total)


class WriteSite:
    """One multimem.red, or with an empty ``name`` one multimem.st."""

    def __init__(self, ins, name: str, type_: str, count: int, offset: int):
        plain = Site(ins, "global", TYPE_BITS[type_] // 8, count)
        self.addresses = CopyAddresses(plain, offset)
        self.store = None if name else plain.store
        self.atomic = AtomicSite(ins, "global", name, type_, count, 0) if name else None

    def run(self, group, address, values, mask: Mask) -> None:
        for where, threads in self.addresses.of(group, address, mask):
            if self.store is not None:
                self.store(group, where, values, threads)
            elif self.atomic is not None:
                self.atomic.run(group, where, values, None, threads)


@handles("multimem")
def handle_multimem(e, ins):
    loads = ins.mods[0] == "ld_reduce"
    address = ins.args[1] if loads else ins.args[0]
    space = resolve_space(e, space_of(ins), address)
    base, offset = address_expression(e, space, address)
    base = widen_address(e, base, address, space)
    type_, size, count = access_shape(ins)
    name = next((mod for mod in ins.mods if mod in REDUCTIONS), "")
    kind, mask = UNSIGNED[8 * size], e.predicate or "None"
    if not loads:
        site = e.constant(WriteSite(ins, name, type_, count, offset), "multimem")
        values = ", ".join(e.use(value, kind) for value in vector_items(ins.args[1]))
        return e.line(f"{site}.run(g, {base}, [{values}], {mask})")
    site = e.constant(LoadReduceSite(ins, name, type_, count, offset), "multimem")
    call, targets = f"{site}.run(g, {base}, {mask})", vector_items(ins.args[0])
    return e.set(targets[0], kind, f"{call}[0]") if count == 1 else e.set_tuple(targets, kind, call)
