"""The types of alias-aware tile IR: pointers, memory references, tiled views, tokens."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer


@irdl_attr_definition
class PointerType(ParametrizedAttribute, TypeAttribute):
    """A pointer to global memory, typed by its pointee: ``!nv_tileaa.ptr<f32>``."""

    name = "nv_tileaa.ptr"
    pointee: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [parser.parse_type()]


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """An ordering edge between memory operations; it does not exist at run time."""

    name = "nv_tileaa.mem_token"


def _integers(values: Sequence[int | None]) -> ArrayAttr[IntAttr]:
    return _extents(tuple(values))


@lru_cache(maxsize=4096)
def _extents(values: tuple[int | None, ...]) -> ArrayAttr[IntAttr]:
    return ArrayAttr(IntAttr(-1 if value is None else value) for value in values)


def _tuple(values: ArrayAttr[IntAttr]) -> tuple[int | None, ...]:
    return tuple(None if value.data < 0 else value.data for value in values)


def _print_dims(printer: Printer, dims: ArrayAttr[IntAttr]) -> None:
    printer.print_string("[" + ", ".join("?" if d.data < 0 else str(d.data) for d in dims) + "]")


def _parse_dims(parser: AttrParser) -> ArrayAttr[IntAttr]:
    def dim() -> int | None:
        return None if parser.parse_optional_punctuation("?") else parser.parse_integer(allow_boolean=False)

    return _integers(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, dim))


@irdl_attr_definition
class MemRefType(ParametrizedAttribute, TypeAttribute):
    """A strided object in global memory: ``!nv_tileaa.memref<f16, [?, 64], [?, 1]>``.

    Extents and strides are in elements; ``?`` is dynamic.
    """

    name = "nv_tileaa.memref"
    element_type: Attribute
    dims: ArrayAttr[IntAttr]
    stride_dims: ArrayAttr[IntAttr]

    @staticmethod
    def of(element_type: Attribute, shape: Sequence[int | None], strides: Sequence[int | None]) -> MemRefType:
        return MemRefType(element_type, _integers(shape), _integers(strides))

    @property
    def shape(self) -> tuple[int | None, ...]:
        return _tuple(self.dims)

    @property
    def strides(self) -> tuple[int | None, ...]:
        return _tuple(self.stride_dims)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.element_type)
            for dims in (self.dims, self.stride_dims):
                printer.print_string(", ")
                _print_dims(printer, dims)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            element = parser.parse_type()
            parser.parse_punctuation(",")
            dims = _parse_dims(parser)
            parser.parse_punctuation(",")
            return [element, dims, _parse_dims(parser)]


@irdl_attr_definition
class TiledViewType(ParametrizedAttribute, TypeAttribute):
    """A partition of a memory reference into tiles.

    ``!nv_tileaa.tiled_view<partition, MEMREF, tile = [64, 32], dim_map = [0, 1], steps = [64, 32], padding>``

    ``kind`` is partition, strided or gather. Tile dimension d is dimension ``dim_map[d]`` of the memory reference. Tile
    i starts at element ``i * steps[d]``; for a gather view the index along ``sparse`` is a tile of element positions,
    and the other indices are element positions, too.
    """

    name = "nv_tileaa.tiled_view"
    kind: StringAttr
    source: MemRefType
    tile_dims: ArrayAttr[IntAttr]
    dims: ArrayAttr[IntAttr]
    step_dims: ArrayAttr[IntAttr]
    sparse: IntAttr
    padding: StringAttr

    @staticmethod
    def of(
        kind: str,
        source: MemRefType,
        tile: Sequence[int],
        dim_map: Sequence[int],
        steps: Sequence[int],
        *,
        sparse: int = -1,
        padding: str = "none",
    ) -> TiledViewType:
        return TiledViewType(
            StringAttr(kind),
            source,
            _integers(tile),
            _integers(dim_map),
            _integers(steps),
            IntAttr(sparse),
            StringAttr(padding),
        )

    def over(self, source: MemRefType) -> TiledViewType:
        """The same partition of another memory reference."""
        return TiledViewType(self.kind, source, self.tile_dims, self.dims, self.step_dims, self.sparse, self.padding)

    @property
    def tile(self) -> tuple[int, ...]:
        return tuple(dim.data for dim in self.tile_dims)

    @property
    def dim_map(self) -> tuple[int, ...]:
        return tuple(dim.data for dim in self.dims)

    @property
    def steps(self) -> tuple[int, ...]:
        return tuple(dim.data for dim in self.step_dims)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.kind.data + ", ")
            printer.print_attribute(self.source)
            for label, dims in (("tile", self.tile_dims), ("dim_map", self.dims), ("steps", self.step_dims)):
                printer.print_string(f", {label} = ")
                _print_dims(printer, dims)
            printer.print_string(f", sparse = {self.sparse.data}, padding = {self.padding.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            kind = StringAttr(parser.parse_identifier())
            parser.parse_punctuation(",")
            values: list[Attribute] = [kind, parser.parse_type()]
            for label in ("tile", "dim_map", "steps"):
                _parse_label(parser, label)
                values.append(_parse_dims(parser))
            _parse_label(parser, "sparse")
            values.append(IntAttr(parser.parse_integer()))
            _parse_label(parser, "padding")
            return [*values, StringAttr(parser.parse_identifier())]


def _parse_label(parser: AttrParser, label: str) -> None:
    parser.parse_punctuation(",")
    parser.parse_keyword(label)
    parser.parse_punctuation("=")
