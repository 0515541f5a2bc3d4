"""The type section: types of cuda_tile by index."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatTF32Type,
    FunctionType,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from tileiras_build.ir.bytecode.byte_cursor import Cursor
from tileiras_build.ir.bytecode.opcodes import POINTER_ATTRIBUTES, V13_1, V13_2, V13_3, V13_4, Version
from tileiras_build.ir.dialects.cuda_tile.element_types import FloatNV8E5M3FNUType, i4
from tileiras_build.ir.dialects.cuda_tile.enums import PaddingValue
from tileiras_build.ir.dialects.cuda_tile.types import TOKEN, PointerType, TensorViewType, TileType
from tileiras_build.ir.dialects.cuda_tile.view_types import GatherScatterViewType, PartitionViewType, StridedViewType

DYNAMIC = -(1 << 63)  # a dynamic size or stride
MAX_NESTING = 8  # a signature with views of tensor views: up to 4 in valid files

# Tag -> (first version, type): the types without parameters (Tile IR BytecodeTypeOpcodes.td).
PLAIN_TYPES: dict[int, tuple[Version, Attribute]] = {
    0: (V13_1, i1),
    1: (V13_1, i8),
    2: (V13_1, i16),
    3: (V13_1, i32),
    4: (V13_1, i64),
    5: (V13_1, Float16Type()),
    6: (V13_1, BFloat16Type()),
    7: (V13_1, Float32Type()),
    8: (V13_1, FloatTF32Type()),
    9: (V13_1, Float64Type()),
    10: (V13_1, Float8E4M3FNType()),
    11: (V13_1, Float8E5M2Type()),
    17: (V13_1, TOKEN),
    18: (V13_2, Float8E8M0FNUType()),
    19: (V13_3, Float4E2M1FNType()),
    22: (V13_3, i4),
    130: (V13_4, FloatNV8E5M3FNUType()),
}


class TypeTable:
    """Types by index; an entry may refer to any other, but not contain itself."""

    def __init__(self, file: Cursor, entries: list[tuple[int, int]], version: Version):
        self.file, self.entries, self.version = file, entries, version
        self.known: list[Attribute | None] = [None] * len(entries)
        self.pending: set[int] = set()

    def read_all(self) -> None:
        """Read every entry, so that damaged unused ones are rejected, too."""
        for index, type in enumerate(self.known):
            if type is None:
                self._decode(index)

    def read(self, cursor: Cursor, what: str) -> Attribute:
        """Read the index of a type."""
        offset = cursor.position
        index = cursor.varint(what)
        if index >= len(self.known):
            cursor.fail(
                f"{what}: type index {index} is out of bounds, the file has {len(self.known)} types", offset=offset
            )
        type = self.known[index]
        return self._decode(index) if type is None else type

    def _decode(self, index: int) -> Attribute:
        cursor = self.file.sub_cursor(*self.entries[index])
        if index in self.pending:
            cursor.fail(f"type {index} contains itself")
        if len(self.pending) >= MAX_NESTING:
            cursor.fail(f"types are nested more than {MAX_NESTING} deep")
        self.pending.add(index)
        offset = cursor.position
        try:
            type = self._parse(cursor)
        except VerifyException as problem:
            cursor.fail(f"type {index}: {problem}", offset=offset)
        self.pending.remove(index)
        self.known[index] = type
        return type

    def _parse(self, cursor: Cursor) -> Attribute:
        offset = cursor.position
        tag = cursor.varint("a type tag")
        if (plain := PLAIN_TYPES.get(tag)) is not None:
            since, type = plain
            self._require(since, f"type tag {tag}", cursor, offset)
            return type
        if (composite := COMPOSITE_TYPES.get(tag)) is None:
            cursor.fail(f"unknown type tag {tag}", offset=offset)
        since, _, parse = composite
        self._require(since, f"type tag {tag}", cursor, offset)
        return parse(self, cursor)

    def _flag(self, cursor: Cursor, since: Version) -> bool:
        """The flags of optional parameters, of which no type has more than one."""
        if self.version < since:
            return False
        offset = cursor.position
        flags = cursor.varint("type flags")
        if flags > 1:
            cursor.fail(f"unknown type flags {flags:#x}", offset=offset)
        return flags == 1

    def _ptr_attr(self, cursor: Cursor, present: bool) -> str | None:
        if not present:
            return None
        offset, names = cursor.position, tuple(POINTER_ATTRIBUTES)
        number = cursor.varint("a pointer attribute")
        if number >= len(names):
            cursor.fail(f"unknown pointer attribute {number}", offset=offset)
        self._require(POINTER_ATTRIBUTES[names[number]], f"the pointer attribute '{names[number]}'", cursor, offset)
        return names[number]

    def _require(self, since: Version, what: str, cursor: Cursor, offset: int) -> None:
        if self.version < since:
            cursor.fail(
                f"{what} needs bytecode {since[0]}.{since[1]}, the file is {self.version[0]}.{self.version[1]}",
                id="bytecode-type",
                offset=offset,
            )

    def _padding(self, cursor: Cursor, present: bool) -> PaddingValue | None:
        offset = cursor.position
        if self.version < V13_3:
            present = cursor.byte("the presence of a padding value") == 1
        if not present:
            return None
        number, values = cursor.varint("a padding value"), tuple(PaddingValue)
        if number >= len(values):
            cursor.fail(f"unknown padding value {number}", offset=offset)
        return values[number]

    def _tensor_view(self, cursor: Cursor) -> TensorViewType:
        offset = cursor.position
        type = self.read(cursor, "a tensor view type")
        if not isinstance(type, TensorViewType):
            cursor.fail(f"expected a tensor view, got {type}", offset=offset)
        return type

    def pointer(self, cursor: Cursor) -> PointerType:
        present = self._flag(cursor, V13_4)
        pointee = self.read(cursor, "a pointee type")
        return PointerType(pointee, self._ptr_attr(cursor, present))

    def tile(self, cursor: Cursor) -> TileType:
        element_type = self.read(cursor, "an element type")
        return TileType(cursor.integers(8, "dimensions"), element_type)

    def tensor_view(self, cursor: Cursor) -> TensorViewType:
        present = self._flag(cursor, V13_4)
        element_type = self.read(cursor, "an element type")
        shape, strides = (
            tuple(None if dim == DYNAMIC else dim for dim in cursor.integers(8, what))
            for what in ("dimensions", "strides")
        )
        return TensorViewType(element_type, shape, strides, self._ptr_attr(cursor, present))

    def partition_view(self, cursor: Cursor) -> PartitionViewType:
        present = self._flag(cursor, V13_3)
        tile_shape = cursor.integers(4, "tile dimensions")
        view = self._tensor_view(cursor)
        dim_map = cursor.integers(4, "mapped dimensions")
        return PartitionViewType(tile_shape, view, dim_map, self._padding(cursor, present))

    def strided_view(self, cursor: Cursor) -> StridedViewType:
        present = self._flag(cursor, V13_3)
        tile_shape = cursor.integers(4, "tile dimensions")
        strides = cursor.integers(4, "traversal strides")
        view = self._tensor_view(cursor)
        dim_map = cursor.integers(4, "mapped dimensions")
        return StridedViewType(tile_shape, strides, view, dim_map, self._padding(cursor, present))

    def gather_scatter_view(self, cursor: Cursor) -> GatherScatterViewType:
        present = self._flag(cursor, V13_3)
        tile_shape = cursor.integers(4, "tile dimensions")
        view = self._tensor_view(cursor)
        sparse_dim = cursor.varint("a sparse dimension")
        return GatherScatterViewType(tile_shape, view, sparse_dim, self._padding(cursor, present))

    def function(self, cursor: Cursor) -> FunctionType:
        inputs = [self._value_type(cursor, "a parameter type") for _ in range(cursor.count("parameters"))]
        outputs = [self._value_type(cursor, "a result type") for _ in range(cursor.count("results"))]
        return FunctionType.from_lists(inputs, outputs)

    def _value_type(self, cursor: Cursor, what: str) -> Attribute:
        """A type of a value, which may not be a function type: functions of functions could have 2^n types in n
        entries.
        """
        offset = cursor.position
        type = self.read(cursor, what)
        if isinstance(type, FunctionType):
            cursor.fail(f"{what} cannot be a function type", offset=offset)
        return type


# Tag -> (first version, class, parser): the types with parameters.
COMPOSITE_TYPES: dict[int, tuple[Version, type[Attribute], Callable[[TypeTable, Cursor], Attribute]]] = {
    12: (V13_1, PointerType, TypeTable.pointer),
    13: (V13_1, TileType, TypeTable.tile),
    14: (V13_1, TensorViewType, TypeTable.tensor_view),
    15: (V13_1, PartitionViewType, TypeTable.partition_view),
    16: (V13_1, FunctionType, TypeTable.function),
    20: (V13_3, GatherScatterViewType, TypeTable.gather_scatter_view),
    21: (V13_3, StridedViewType, TypeTable.strided_view),
}
