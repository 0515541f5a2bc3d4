"""The representation of companion-dialect values during conversion, and how they cross blocks and functions.

Inside a block only the dynamic leaves of a layout exist at run time: a tuple is represented by a Python tuple of
integers and i32 values, a layout by its shape and stride, a view by pointer and layout. A value that crosses a block or
a function is packed to the struct that ``type_converter.py`` defines for its type (tileir-internals, section 1.5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ....core.errors import InvalidInput
from ....ir.dialects.checked_cast import cast
from ....ir.dialects.cute import types as cute
from ....ir.dialects.cute_nvgpu.types import AtomType
from ....ir.dialects.cutlass.types import StateType
from ....ir.dialects.fast_xdsl import VALUES
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts.cute_algebra import Integers, Layout, flatten, print_tuple, rebuild, zip_leaves
from ...job import Job
from ...rewriting.dialect_conversion import location_of
from ..convert_nvgpu_and_gpu_to_nvvm.rewriter import Emitter

COMPANION_DIALECTS = ("cute.", "cute_nvgpu.", "cutlass.")


Leaf = int | SSAValue  # static, or dynamic
Tree = Leaf | tuple["Tree", ...]
StaticInfo = int | None | tuple["StaticInfo", ...]  # static leaves of a type; None is dynamic


@dataclass(frozen=True)
class View:
    """A pointer with the layout of what it points to, in elements."""

    pointer: SSAValue
    layout: Layout


@dataclass(frozen=True)
class DescIter:
    """A moving pointer: pointer, index and stride, in bytes."""

    pointer: SSAValue
    index: Leaf
    stride: Leaf


@dataclass(frozen=True)
class State:
    """The position of one side of a pipeline."""

    phase: Leaf
    index: Leaf
    count: Leaf


@dataclass(frozen=True)
class BoundAtom:
    """An atom with operands that are bound to each of its calls."""

    kind: AtomType
    operands: tuple[ConvertedValue, ...]


ConvertedValue = Tree | Layout | View | DescIter | State | AtomType | BoundAtom
# A rule of these dialects returns the representation of each result.
Rewrite = Callable[["Converter", TableOp], Sequence[ConvertedValue]]


def is_companion(type: Attribute) -> bool:
    """Whether a type belongs to cute, cute_nvgpu or cutlass."""
    return type.name.startswith(COMPANION_DIALECTS)


class Converter(Emitter, Integers):
    """Rewrites the operations of a module, ``root`` is the current one; as ``Integers`` it computes with leaves."""

    def __init__(self, job: Job, root: Operation):
        super().__init__(root, job)
        self.held: dict[SSAValue, ConvertedValue] = {}
        # The types of values before conversion.
        self.before: dict[SSAValue, Attribute] = {}

    def value(self, leaf: Leaf) -> SSAValue:
        """A leaf as an i32 value."""
        return self.of(leaf, i32)

    # ---- values --------------------------------------------------------------------------------------
    def __getitem__(self, value: SSAValue) -> ConvertedValue:
        """The representation of a value; a value of another dialect represents itself."""
        if value in self.held:
            return self.held[value]
        if is_companion(value.type):
            self.held[value] = self.unpacked(value, value.type)
            return self.held[value]
        return _constant_of(value)

    def view(self, value: SSAValue) -> View:
        """The representation of a view."""
        return cast(View, self[value])

    def state(self, value: SSAValue) -> State:
        """The representation of a pipeline state."""
        return cast(State, self[value])

    def scalar(self, value: SSAValue) -> Leaf:
        """The representation of a pointer or integer."""
        held = self[value]
        if isinstance(held, (int, *VALUES)):
            return held
        raise self.unsupported("cute-operand", f"needs a value where it has {value.type}")

    def tree(self, value: SSAValue) -> Tree:
        """The representation of an integer or a tuple of integers."""
        held = self[value]
        if isinstance(held, (int, SSAValue, tuple)):
            return held
        raise self.unsupported("cute-operand", f"needs integers where it has {value.type}")

    def plain(self, value: SSAValue) -> SSAValue:
        """A pointer, or another operand that represents itself."""
        if isinstance(held := self[value], VALUES):
            return held
        raise self.unsupported("cute-operand", f"needs a value where it has {value.type}")

    def type_of(self, value: SSAValue) -> Attribute:
        """The type of a value before conversion."""
        return self.before.get(value, value.type)

    def leaf(self, value: SSAValue) -> Leaf:
        """An integer operand as a leaf."""
        held = self[value]
        if isinstance(held, int):
            return held
        if isinstance(held, VALUES):
            return self.integer(held)
        raise self.unsupported("cute-operand", f"needs an integer where it has {value.type}")

    def operand(self, value: SSAValue) -> SSAValue:
        """An operand of an instruction: the value itself, or the pointer of a view."""
        held = self[value]
        if isinstance(held, int):
            return self.value(held) if is_companion(value.type) else value
        return held.pointer if isinstance(held, View) else self.plain(value)

    def layout(self, value: SSAValue) -> Layout:
        """The layout of a layout or view."""
        held = self[value]
        found = held.layout if isinstance(held, View) else held
        return found if isinstance(found, Layout) else Layout(found, 0)

    def invalid(self, id: str, message: str) -> InvalidInput:
        """A diagnostic about the current operation."""
        op = self.root
        return InvalidInput(id, f"'{op.name}' op {message}", location=location_of(op))

    # ---- across blocks -------------------------------------------------------------------------------
    def packed(self, value: SSAValue) -> SSAValue:
        """Pack a value to a struct of its leaves."""
        parts = self._parts(self[value], value.type)
        target = self.types.convert(value.type)
        return self._structured(target, iter(parts))

    def _structured(self, type: Attribute, parts: Iterator[Leaf]) -> SSAValue:
        if not isinstance(type, llvm.LLVMStructType):
            return self.value(next(parts))
        result = self.insert(llvm.UndefOp(type))
        for index, member in enumerate(type.types.data):
            result = self.with_field(result, self._structured(member, parts), index)
        return result

    def _parts(self, held: ConvertedValue, type: Attribute) -> list[Leaf]:
        if isinstance(held, View):
            return [held.pointer, *self._parts(held.layout, type)]
        if isinstance(held, Layout):
            return [leaf for pair in zip(flatten(held.shape), flatten(held.stride), strict=True) for leaf in pair]
        if isinstance(held, DescIter):
            return [held.pointer, held.index, held.stride]
        if isinstance(held, State):
            return [held.phase, held.index, held.count]
        return list(flatten(held))

    def unpacked(self, value: SSAValue, type: Attribute) -> ConvertedValue:
        """The representation of a packed value; ``type`` is its type before conversion."""
        if isinstance(type, AtomType):
            return type
        parts = iter(self._fields(value))
        if isinstance(type, cute.MemRefType):
            return View(next(parts), _layout_of(type.layout.data, parts))
        if isinstance(type, cute.LayoutType):
            return _layout_of(type.data, parts)
        if isinstance(type, cute.DescIterType):
            return DescIter(*parts)
        if isinstance(type, StateType):
            return State(*parts)
        if isinstance(type, cute.TUPLES):
            return _static_value(rebuild(type.data, parts), type.data)
        return next(parts)

    def _fields(self, value: SSAValue) -> Iterator[SSAValue]:
        if not isinstance(value.type, llvm.LLVMStructType):
            yield value
            return
        for index in range(len(value.type.types)):
            yield from self._fields(self.field(value, index))


def _constant_of(value: SSAValue) -> Leaf:
    """The integer of a constant, or the value itself."""
    owner = value.owner
    constant = (
        owner.properties.get("value") if isinstance(owner, Operation) and owner.name.endswith("constant") else None
    )
    if isinstance(constant, IntegerAttr) and value.type in (i32, i64):
        return constant.value.data
    return value


def _static_value(held: Tree, static: StaticInfo) -> Tree:
    """A tuple with the static leaves of its type."""
    return zip_leaves(lambda leaf, known: leaf if known is None else known, held, static)


def _layout_of(static: Layout, parts: Iterator[SSAValue]) -> Layout:
    pairs = list(parts)
    shape, stride = (rebuild(static.shape, iter(pairs[start::2])) for start in (0, 1))
    return replace(static, shape=_static_value(shape, static.shape), stride=_static_value(stride, static.stride))


def with_static_info(held: ConvertedValue, type: Attribute, cv: Converter) -> ConvertedValue:
    """``held`` with the static leaves of its type; raises InvalidInput if they contradict each other."""
    if isinstance(type, cute.MemRefType):
        view = cast(View, held)
        return View(view.pointer, _refined_layout(view.layout, type.layout.data, cv))
    if isinstance(type, cute.LayoutType) and isinstance(held, Layout):
        return _refined_layout(held, type.data, cv)
    if isinstance(type, cute.TUPLES) and isinstance(held, (int, SSAValue, tuple)):
        return _merged(held, type.data, cv)
    return held


def _refined_layout(held: Layout, static: Layout, cv: Converter) -> Layout:
    if static.swizzle != held.swizzle:
        raise cv.invalid("cute-type", f"makes {held} where its type says {static}")
    return replace(held, shape=_merged(held.shape, static.shape, cv), stride=_merged(held.stride, static.stride, cv))


def _merged(held: Tree, static: StaticInfo, cv: Converter) -> Tree:
    def agree(leaf: Leaf, known: int | None) -> Leaf:
        if isinstance(leaf, int) and known is not None and leaf != known:
            raise cv.invalid("cute-type", f"makes {print_tuple(held)} where its type says {print_tuple(static)}")
        return leaf if known is None else known

    try:
        return zip_leaves(agree, held, static)
    except ValueError:
        raise cv.invalid("cute-type", f"makes {print_tuple(held)} where its type says {print_tuple(static)}") from None


def int_parameter(op: Operation, name: str, default: int = 0) -> int:
    """The value of an integer attribute."""
    found = op.attributes.get(name)
    if found is not None and not isinstance(found, IntegerAttr):
        raise _attribute_fault(op, name, "an integer")
    return default if found is None else found.value.data


def keyword_parameter(op: Operation, name: str, default: str = "") -> str:
    """The text of a string attribute."""
    found = op.attributes.get(name)
    if found is not None and not isinstance(found, StringAttr):
        raise _attribute_fault(op, name, "a string")
    return default if found is None else found.data


def _attribute_fault(op: Operation, name: str, wanted: str) -> InvalidInput:
    message = f"'{op.name}' op needs {wanted} as its attribute {name}, not {op.attributes[name]}"
    return InvalidInput("cute-attribute", message, location=location_of(op))
