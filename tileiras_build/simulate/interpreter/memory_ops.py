"""Loads and stores through pointers, atomic operations, tokens, printing and assertions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import reduce

import numpy as np
from xdsl.ir import Attribute

from ...ir.dialects.cuda_tile.enums import AtomicRMWMode, MultimemReductionKind
from ...ir.dialects.cuda_tile.ops_atomic import AtomicCASTkoOp, AtomicRedViewTkoOp, AtomicRMWTkoOp
from ...ir.dialects.cuda_tile.ops_load_store import (
    AllocaOp,
    JoinTokensOp,
    LoadPtrTkoOp,
    MakeTokenOp,
    MemoryFenceAliasTkoOp,
    StorePtrTkoOp,
)
from ...ir.dialects.cuda_tile.ops_multimem import (
    MultimemLoadReduceViewTkoOp,
    MultimemReduceViewTkoOp,
    MultimemStoreViewTkoOp,
)
from ...ir.dialects.cuda_tile.ops_print_assert_grid_dependency import (
    AssertOp,
    GdcLaunchDependentsTkoOp,
    GdcWaitTkoOp,
    PrintTkoOp,
)
from .element_types import (
    F64,
    FORMATS,
    element_of,
    is_integer,
    pointee_of,
    storage_bits,
    storage_dtype,
    to_bit_patterns,
    to_float64,
)
from .float_ops import narrowed
from .ieee_rounding import EVEN, compute
from .integer_ops import to_int64, wrap
from .interpreter_errors import make_fault
from .tensor_views import TileViewOf, addresses_of, locate, padding_of
from .tile_block_interpreter import Frame, handles

# Tile blocks run sequentially in program order, which satisfies all token dependencies.


@handles(MakeTokenOp, JoinTokensOp, GdcLaunchDependentsTkoOp, GdcWaitTkoOp, MemoryFenceAliasTkoOp)
def token(frame: Frame, op) -> None:
    return None


def _selected(frame: Frame, op, pointers) -> tuple[np.ndarray, np.ndarray]:
    """The pointers of an access, and which elements its mask selects."""
    addresses = np.asarray(frame.get(pointers))
    mask = frame.get(op.mask)
    return addresses, np.ones(addresses.shape, bool) if mask is None else np.asarray(mask)


def _unspecified(frame: Frame, mask: np.ndarray, element_type: Attribute) -> np.ndarray:
    """The initial tile of a masked load: the values of unselected elements."""
    dtype = storage_dtype(element_type)
    return np.empty(mask.shape, dtype) if mask.all() else frame.choice.arbitrary(dtype, mask.shape)


@handles(LoadPtrTkoOp)
def load_pointers(frame: Frame, op: LoadPtrTkoOp):
    addresses, mask = _selected(frame, op, op.source)
    element_type, padding = element_of(op.result), frame.get(op.padding_value)
    values = np.array(padding) if padding is not None else _unspecified(frame, mask, element_type)
    values[mask] = frame.load(addresses[mask], element_type)
    return values, None


@handles(StorePtrTkoOp)
def store_pointers(frame: Frame, op: StorePtrTkoOp):
    addresses, mask = _selected(frame, op, op.destination)
    frame.store(addresses[mask], np.asarray(frame.get(op.value))[mask], element_of(op.value))
    return None


def _conflict_free_rounds(addresses: np.ndarray) -> Iterator[np.ndarray]:
    """Index arrays that partition the accesses, without duplicate addresses in one array, earlier elements first."""
    order = np.argsort(addresses, kind="stable")
    ordered = addresses[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    counts = np.diff(np.r_[starts, len(ordered)])
    turn = np.arange(len(ordered)) - np.repeat(starts, counts)
    for number in range(counts.max(initial=0)):
        yield order[turn == number]


def _bits(function: Callable, signed: bool) -> Callable:
    def apply(frame, old, new, element_type):
        return wrap(function(to_int64(old, element_type, signed), to_int64(new, element_type, signed)), element_type)

    return apply


def _add_floats(frame: Frame, old: np.ndarray, new: np.ndarray, element_type: Attribute) -> np.ndarray:
    """Atomic float addition: the order is unspecified, and hardware may flush denormals."""
    total = compute("add", element_type, EVEN, False, old, new)
    if element_type == F64:
        return frame.choice.perturb_ulps(total, element_type, 1)
    form = FORMATS[element_type]
    size = np.abs(to_float64(old, element_type)) + np.abs(to_float64(new, element_type))
    amount = np.where(size > 0, size * form.epsilon + 2.0**form.min_exponent, 0)
    return frame.choice.perturb_stored(total, element_type, amount)


ATOMIC_MODES: dict[AtomicRMWMode, Callable] = {
    AtomicRMWMode.AND: _bits(np.bitwise_and, False),
    AtomicRMWMode.OR: _bits(np.bitwise_or, False),
    AtomicRMWMode.XOR: _bits(np.bitwise_xor, False),
    AtomicRMWMode.ADD: _bits(np.add, True),
    AtomicRMWMode.ADDF: _add_floats,
    AtomicRMWMode.MAX: _bits(np.maximum, True),
    AtomicRMWMode.MIN: _bits(np.minimum, True),
    AtomicRMWMode.UMAX: _bits(np.maximum, False),
    AtomicRMWMode.UMIN: _bits(np.minimum, False),
    AtomicRMWMode.XCHG: lambda frame, old, new, element_type: new,
}


def _modify(frame: Frame, addresses: np.ndarray, element_type: Attribute, change: Callable) -> np.ndarray:
    """Replace each element by ``change(old values, their indices)``; returns the old values."""
    before = np.empty(addresses.shape, storage_dtype(element_type))
    for chosen in _conflict_free_rounds(addresses):
        old = frame.load(addresses[chosen], element_type)
        before[chosen] = old
        frame.store(addresses[chosen], change(old, chosen).astype(old.dtype), element_type)
    return before


@handles(AtomicRMWTkoOp)
def atomic_modify(frame: Frame, op: AtomicRMWTkoOp):
    addresses, mask = _selected(frame, op, op.pointers)
    element_type, change = element_of(op.arg), ATOMIC_MODES[op.mode.data]
    values = np.asarray(frame.get(op.arg))[mask]
    result = _unspecified(frame, mask, element_type)
    result[mask] = _modify(
        frame, addresses[mask], element_type, lambda old, chosen: change(frame, old, values[chosen], element_type)
    )
    return result, None


@handles(AtomicCASTkoOp)
def atomic_compare_and_swap(frame: Frame, op: AtomicCASTkoOp):
    """Compare-and-swap compares bits, also for floats; a masked element returns its ``cmp``."""
    addresses, mask = _selected(frame, op, op.pointers)
    element_type = element_of(op.val)
    expected, values = (np.asarray(frame.get(operand))[mask] for operand in (op.cmp, op.val))

    def change(old, chosen):
        same = to_bit_patterns(old, element_type) == to_bit_patterns(expected[chosen], element_type)
        return np.where(same, values[chosen], old)

    result = np.array(frame.get(op.cmp))
    result[mask] = _modify(frame, addresses[mask], element_type, change)
    return result, None


@handles(AtomicRedViewTkoOp)
def atomic_reduce(frame: Frame, op: AtomicRedViewTkoOp):
    view = frame.get(op.view)
    offsets, inside = locate(frame, op, view)
    element_type, change = view.tensor.element_type, ATOMIC_MODES[op.mode.data]
    values = np.asarray(frame.get(op.value))[inside]
    _modify(
        frame,
        addresses_of(view, offsets[inside]),
        element_type,
        lambda old, chosen: change(frame, old, values[chosen], element_type),
    )
    return None


def _float_extremum(function: Callable) -> Callable:
    def apply(frame, old, new, element_type):
        return narrowed(function(to_float64(old, element_type), to_float64(new, element_type)), element_type)

    return apply


# The reductions of multicast objects: integers, floats.
MULTIMEM_INTEGERS = {kind: ATOMIC_MODES[AtomicRMWMode(kind.value)] for kind in MultimemReductionKind}
MULTIMEM_FLOATS: dict[MultimemReductionKind, Callable] = {
    MultimemReductionKind.ADD: _add_floats,
    MultimemReductionKind.MIN: _float_extremum(np.fmin),
    MultimemReductionKind.MAX: _float_extremum(np.fmax),
}


def _multimem_reduction(op: MultimemLoadReduceViewTkoOp | MultimemReduceViewTkoOp, element_type: Attribute) -> Callable:
    return (MULTIMEM_INTEGERS if is_integer(element_type) else MULTIMEM_FLOATS)[op.reduction.data]


def _copies(frame: Frame, view: TileViewOf, offsets: np.ndarray) -> list[np.ndarray]:
    """The addresses of elements in each copy of a multicast object."""
    size = storage_bits(view.tensor.element_type) // 8
    return frame.launch.memory.addresses_of_copies(addresses_of(view, offsets), size)


@handles(MultimemLoadReduceViewTkoOp)
def multimem_load_reduce(frame: Frame, op: MultimemLoadReduceViewTkoOp):
    view = frame.get(op.view)
    offsets, inside = locate(frame, op, view)
    element_type, values = view.tensor.element_type, padding_of(frame, op, view.type, inside)
    copies = [frame.load(addresses, element_type) for addresses in _copies(frame, view, offsets[inside])]
    if copies:
        reduction = _multimem_reduction(op, element_type)
        values[inside] = reduce(lambda total, copy: reduction(frame, total, copy, element_type), copies)
    return values, None


@handles(MultimemReduceViewTkoOp)
def multimem_reduce(frame: Frame, op: MultimemReduceViewTkoOp):
    view = frame.get(op.view)
    offsets, inside = locate(frame, op, view)
    element_type, values = view.tensor.element_type, np.asarray(frame.get(op.tile))[inside]
    reduction = _multimem_reduction(op, element_type)
    for addresses in _copies(frame, view, offsets[inside]):
        _modify(frame, addresses, element_type, lambda old, chosen: reduction(frame, old, values[chosen], element_type))
    return None


@handles(MultimemStoreViewTkoOp)
def multimem_store(frame: Frame, op: MultimemStoreViewTkoOp):
    view = frame.get(op.view)
    offsets, inside = locate(frame, op, view)
    values = np.asarray(frame.get(op.tile))[inside]
    for addresses in _copies(frame, view, offsets[inside]):
        frame.store(addresses, values, view.tensor.element_type)
    return None


@handles(AllocaOp)
def allocate(frame: Frame, op: AllocaOp):
    size = -(-op.num_elem.value.data * storage_bits(pointee_of(op.result)) // 8)
    content = frame.choice.arbitrary(np.dtype(np.uint8), (size,))
    return np.asarray(frame.launch.allocate(content, op.alignment.value.data), np.uint64)


@handles(AssertOp)
def assert_condition(frame: Frame, op: AssertOp):
    failed = np.argwhere(~np.asarray(frame.get(op.condition)))
    if len(failed):
        where = f" at {tuple(map(int, failed[0]))}" if failed.shape[1] else ""
        raise make_fault(
            op, "assertion-failed", f"{op.message.data!r} does not hold{where} in tile block {frame.block_id}"
        )
    return ()


FORMAT = re.compile(r"%[^%diuxXofFeEgGaAcspn]*[%diuxXofFeEgGaAcspn]")
LENGTHS = re.compile(r"(hh|h|ll|l|j|z|t|L)(?=[a-zA-Z]$)")


def _print_value(expression: str, value: np.ndarray, element_type: Attribute) -> str:
    expression = LENGTHS.sub("", expression)
    if np.ndim(value):
        return f"[{', '.join(_print_value(expression, item, element_type) for item in value)}]"
    is_float = element_type in FORMATS
    unsigned = expression[-1] in "uxXo"
    number = (
        float(to_float64(value, element_type))
        if is_float
        else int(value)
        if np.asarray(value).dtype == np.uint64
        else int(to_int64(value, element_type, not unsigned))
    )
    try:
        return expression.replace("u", "d").replace("p", "#x") % number
    except (TypeError, ValueError):
        return str(number)  # a format that does not fit its operand: the output is undefined


@handles(PrintTkoOp)
def print_values(frame: Frame, op: PrintTkoOp):
    operands = iter([(frame.get(value), element_of(value)) for value in op.args])
    frame.launch.output(
        FORMAT.sub(lambda match: "%" if match[0] == "%%" else _print_value(match[0], *next(operands)), op.str.data)
    )
    return (None,) * len(op.results)
