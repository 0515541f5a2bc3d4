"""Atomic operations (PTX ISA 9.0, sections 9.7.13.5 to .8). Threads of one instruction act in ascending order."""

from __future__ import annotations

import numpy as np

from ..codegen.emit_block import UNSIGNED, vector_items
from ..memory.load_store import Site
from ..numerics import float_arithmetic
from ..ptx.ast import SINK, TYPE_BITS
from ..simt.thread_selection import Selection
from .handler_registry import handles
from .ld_st import address_expression, resolve_space, space_of, widen_address

_OPERATIONS = {"add", "and", "or", "xor", "min", "max", "exch", "cas", "inc", "dec"}


def _typed(function, dtype):
    """Adapt an operation on values of ``dtype`` to bit patterns."""

    def run(old, b, _):
        return function(old.view(dtype), b.view(dtype)).view(old.dtype)

    return run


def _float_bits(function, dtype, bits):
    def run(old, b, _):
        return bits(np.asarray(function(old.view(dtype), b.view(dtype))))

    return run


def _small(name: str, fmt: str, packed: bool):
    return lambda old, b, _: np.asarray(float_arithmetic.half_arithmetic(name, fmt, packed, frozenset(), old, b))


def _increment(old, b, _):
    return np.where(old >= b, old.dtype.type(0), old + old.dtype.type(1))


def _decrement(old, b, _):
    return np.where((old == 0) | (old > b), b, old - old.dtype.type(1))


_FUNCTIONS = {
    "add": np.add,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "min": np.minimum,
    "max": np.maximum,
}


def operation(name: str, type_: str):
    """function(old bits, b bits, c bits) -> new bits."""
    if name == "exch":
        return lambda old, b, _: b
    if name == "cas":
        return lambda old, b, c: np.where(old == b, c, old)
    if name in ("inc", "dec"):
        return _increment if name == "inc" else _decrement
    if type_ in ("f16", "bf16", "f16x2", "bf16x2"):
        return _small(name, type_.removesuffix("x2"), type_.endswith("x2"))
    if type_ in ("f32", "f64"):
        dtype = {"f32": np.float32, "f64": np.float64}[type_]
        function = {"add": np.add, "min": np.fmin, "max": np.fmax}[name]
        return _float_bits(function, dtype, float_arithmetic.bits32 if type_ == "f32" else float_arithmetic.bits64)
    dtype = {"s": "i", "u": "u", "b": "u"}[type_[0]] + str(TYPE_BITS[type_] // 8)
    return _typed(_FUNCTIONS[name], np.dtype(dtype))


class AtomicSite:
    """One atom or red instruction on elements of ``size`` bytes."""

    def __init__(self, ins, space: str, name: str, type_: str, count: int, offset: int):
        self.name, self.type, self.count = name, type_, count
        self.size = TYPE_BITS[type_] // 8
        self.site = Site(ins, space, self.size, count, offset)
        self.function = operation(name, type_)
        plain = {"u32": "u4", "s32": "i4", "b32": "u4", "u64": "u8", "s64": "i8", "b64": "u8", "f32": "f4", "f64": "f8"}
        self.serial = (_FUNCTIONS[name], np.dtype(plain[type_])) if name in _FUNCTIONS and type_ in plain else None
        if type_[0] == "f" and name != "add":
            self.serial = None

    def run(self, group, address, values, extra=None, mask=None):
        """Old values, one array of the group's shape per element; zeros where the mask is off."""
        selection = Selection(group, True if mask is None else mask)
        out = tuple(np.zeros(group.shape, self.site.dtype) for _ in range(self.count))
        n = len(selection.rows)
        if not n:
            return out
        target = np.broadcast_to(selection.pick(address), n)
        values = [np.broadcast_to(selection.pick(v), n) for v in values]
        extra = None if extra is None else np.broadcast_to(selection.pick(extra), n)
        pieces = self.site.locate(group, target, selection)
        accesses = group.observers.accesses
        if accesses is not None:
            for place, inside in pieces:
                accesses.observe_global(self.site, group, place, inside, selection, True, atomic=True)
        for place, inside in pieces:
            view = place.view(self.site.dtype)
            index = np.broadcast_to(place.index(self.size), n if inside is None else int(inside.sum()))
            rows, columns = (
                (selection.rows, selection.columns)
                if inside is None
                else (selection.rows[inside], selection.columns[inside])
            )
            for k, (o, value) in enumerate(zip(out, values)):
                part = value if inside is None else value[inside]
                more = extra if inside is None or extra is None else extra[inside]
                o[rows, columns] = self.apply(view, index + k if k else index, part, more)
        return out

    def apply(self, view, index, value, extra):
        """Apply the operation of all threads, in order; returns the old values."""
        order = np.argsort(index, kind="stable")
        places = index[order]
        first = np.ones(len(places), bool)
        first[1:] = places[1:] != places[:-1]
        if first.all():
            old = view[index]
            view[index] = self.function(old, value, extra)
            return old
        starts = np.flatnonzero(first)
        counts = np.diff(np.append(starts, len(places)))
        old = np.empty(len(places), view.dtype)
        if self.serial is not None and len(starts) < counts.max():
            self.accumulate(view, places, value[order], starts, counts, old)
        elif self.name == "cas" and len(starts) < counts.max():
            self.compare_and_swap(view, places, value[order], extra[order], starts, counts, old)
        else:
            rank = np.arange(len(places)) - np.repeat(starts, counts)
            self.apply_in_rounds(
                view, places, value[order], None if extra is None else extra[order], rank, counts.max(), old
            )
        out = np.empty_like(old)
        out[order] = old
        return out

    def accumulate(self, view, places, value, starts, counts, old):
        """Compute a running reduction per address."""
        function, dtype = self.serial
        for start, count in zip(starts.tolist(), counts.tolist()):
            place = places[start]
            chain = np.empty(count + 1, dtype)
            chain[0] = view[place : place + 1].view(dtype)[0]
            chain[1:] = value[start : start + count].view(dtype)
            chain = function.accumulate(chain, dtype=dtype).view(view.dtype)
            old[start : start + count] = chain[:-1]
            view[place] = chain[-1]

    def compare_and_swap(self, view, places, compare, value, starts, counts, old):
        """Process each address: all threads up to the next one that swaps read the same value."""
        for start, count in zip(starts.tolist(), counts.tolist()):
            place, at, end = places[start], start, start + count
            while at < end:
                found = view[place]
                hits = np.flatnonzero(compare[at:end] == found)
                swaps = at + int(hits[0]) if len(hits) else end
                old[at : swaps + 1 if len(hits) else end] = found
                if len(hits):
                    view[place] = value[swaps]
                at = swaps + 1

    def apply_in_rounds(self, view, places, value, extra, rank, count, old):
        """In round k, apply the k-th thread of every address."""
        by_rank = np.argsort(rank, kind="stable")
        edges = np.searchsorted(rank[by_rank], np.arange(count + 1))
        for k in range(count):
            some = by_rank[edges[k] : edges[k + 1]]
            where = places[some]
            found = view[where]
            old[some] = found
            view[where] = self.function(found, value[some], None if extra is None else extra[some])


class WideAtomicSite:
    """An atom.{exch,cas}.b128 instruction, executed thread by thread."""

    def __init__(self, ins, space: str, name: str, offset: int):
        self.site, self.name = Site(ins, space, 8, 2, offset), name

    def run(self, group, address, value, extra=None, mask=None):
        selection = Selection(group, True if mask is None else mask)
        out = tuple(np.zeros(group.shape, np.uint64) for _ in range(2))
        n = len(selection.rows)
        target = np.broadcast_to(selection.pick(address), n)
        parts = [
            [np.broadcast_to(selection.pick(x), n) for x in pair]
            for pair in ((value, extra) if extra is not None else (value,))
        ]
        for i in range(n):
            one = Selection.__new__(Selection)
            one.rows, one.columns, one.shape, one.mask = (
                selection.rows[i : i + 1],
                selection.columns[i : i + 1],
                group.shape,
                None,
            )
            [(place, _)] = self.site.locate(group, target[i : i + 1], one)
            old = self.site.gather(place)
            for o, v in zip(out, old):
                o[selection.rows[i], selection.columns[i]] = v[0]
            new = parts[0] if self.name == "exch" else parts[1]
            if self.name == "exch" or all(old[k][0] == parts[0][k][i] for k in (0, 1)):
                self.site.scatter(place, [new[0][i : i + 1], new[1][i : i + 1]])
        return out


@handles("atom", "red")
def handle_atomic(e, ins):
    returns = ins.op == "atom"
    args = list(ins.args)
    destination = args.pop(0) if returns else SINK
    address = args.pop(0)
    name = next((m for m in ins.mods if m in _OPERATIONS), None)
    type_ = ins.mods[-1]
    if name is None:
        e.fail("unknown operation")
    space = resolve_space(e, space_of(ins), address)
    base, offset = address_expression(e, space, address)
    base = widen_address(e, base, address, space)
    mask = e.predicate or "None"
    if type_ == "b128":
        site = e.constant(WideAtomicSite(ins, space, name, offset), "atomic")
        values = ", ".join(e.use(a, "b128") for a in args[:2])
        call = f"{site}.run(g, {base}, {values}, mask={mask})"
        return e.set(destination, "b128", call) if returns else e.line(call)
    kind = UNSIGNED[TYPE_BITS[type_]]
    count = len(vector_items(args[0]))
    site = e.constant(AtomicSite(ins, space, name, type_, count, offset), "atomic")
    values = ", ".join(e.use(v, kind) for v in vector_items(args[0]))
    extra = e.use(args[1], kind) if name == "cas" else "None"
    call = f"{site}.run(g, {base}, [{values}], {extra}, {mask})"
    targets = [t for t in vector_items(destination) if t is not SINK]
    if not targets:
        return e.line(call)
    if count == 1:
        return e.set(targets[0], kind, f"{call}[0]")
    e.set_tuple(vector_items(destination), kind, call)
