"""The public text of types, constants, attributes and locations."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, IntegerAttr, i1, i64
from xdsl.ir import Attribute

from tileiras_build.ir.bytecode.float_bits import float_bits
from tileiras_build.ir.bytecode.format_floats import float_text
from tileiras_build.ir.dialects.checked_mlir_parser import escape, identifier
from tileiras_build.ir.dialects.cuda_tile.attrs import DenseConstantAttr, storage_bytes
from tileiras_build.ir.dialects.cuda_tile.element_types import is_float
from tileiras_build.ir.dialects.cuda_tile.location import CallSiteLocAttr, DILocAttr
from tileiras_build.ir.dialects.cuda_tile.ops_module import EntryOp

# Characters of text for each byte of bytecode; shorter text is always accepted.
HEX_THRESHOLD = 100  # MLIR prints larger constants that are not splats as bytes


class TypeNames(dict):
    """The public text of each type, without the dialect's prefix."""

    def __missing__(self, type: Attribute) -> str:
        text = str(type).replace("!cuda_tile.", "")
        self[type] = text
        return text


def symbol(name: str) -> str:
    """A symbol reference, quoted unless it is an identifier."""
    return f"@{identifier(name)}"


def constant_text(value: DenseConstantAttr, types: TypeNames) -> str:
    """``<f32: 1.000000e+00> : tile<4xf32>``."""
    return f"<{types[value.type.element_type]}: {_dense(value)}> : {types[value.type]}"


def _dense(value: DenseConstantAttr) -> str:
    if not value.is_splat and value.type.num_elements > HEX_THRESHOLD:
        return f'"0x{value.raw.hex().upper()}"'
    texts = _elements(value)
    if value.is_splat:
        return texts[0]
    for dim in reversed(value.type.shape):
        texts = [f"[{', '.join(texts[start : start + dim])}]" for start in range(0, len(texts), dim)]
    return texts[0]


def _elements(value: DenseConstantAttr) -> list[str]:
    """The elements as text; one for a splat."""
    element_type = value.type.element_type
    if is_float(element_type):
        size = storage_bytes(element_type)
        words = (value.raw[start : start + size] for start in range(0, len(value.raw), size))
        return [float_text(int.from_bytes(word, "little"), element_type) for word in words]
    values = [value.splat_value()] if value.is_splat else value.as_array().reshape(-1).tolist()
    return [str(bool(one)).lower() if element_type == i1 else str(int(one)) for one in values]


def identity_text(value: Attribute, types: TypeNames) -> str:
    """A typed literal: ``0x7F800000 : f32``, ``0 : i32``, ``1`` for i64."""
    if isinstance(value, FloatAttr):
        return f"{float_text(float_bits(value.value.data, value.type), value.type)} : {types[value.type]}"
    if not isinstance(value, IntegerAttr):
        return str(value)
    if value.type == i1:
        return str(bool(value.value.data)).lower()
    return str(value.value.data) + ("" if value.type == i64 else f" : {types[value.type]}")


def location_text(loc: Attribute | None) -> str:
    """``loc("kernel.py":12:4)``, with the call sites of inlined code, or ``loc(unknown)``."""
    return f"loc({_location(loc)})"


def _location(loc: Attribute | None) -> str:
    if isinstance(loc, DILocAttr):
        return f"{escape(loc.file)}:{loc.line}:{loc.column}"
    if not isinstance(loc, CallSiteLocAttr):
        return "unknown"
    *inner, last = map(_location, loc.data)
    return "".join(f"callsite({text} at " for text in inner) + last + ")" * len(inner)


def parameter_attributes(op: EntryOp) -> Iterable[str]:
    """The text after the type of each parameter: `` {name = value}``, "" for one without attributes."""
    if op.arg_attrs is None:
        return repeat("")
    return (f" {_attribute(one)}" if one.data else "" for one in op.arg_attrs.data)


def _attribute(value: Attribute) -> str:
    """An attribute as MLIR prints it: a dictionary in the order of its names."""
    if isinstance(value, DictionaryAttr):
        return f"{{{', '.join(f'{identifier(name)} = {_attribute(one)}' for name, one in sorted(value.data.items()))}}}"
    if isinstance(value, ArrayAttr):
        return f"[{', '.join(map(_attribute, value.data))}]"
    return str(value)
