"""The operations of ``cute``: one row each, by the rosters of tileir-internals, section 4.1.

Rows without documented operands accept any: the dialect parses them, and the conversion reports them.
"""

from __future__ import annotations

from ..op_definition import TableOp, define


def _row(name: str, operands: str, results: str, meaning: str, *, pure: bool = True) -> type[TableOp]:
    return define(f"cute.{name}", operands, results, meaning, pure=pure, attributes=None)


def _any(name: str) -> type[TableOp]:
    return _row(name, "inputs*", "outputs*", f"{name} of the roster, in any form", pure=False)


TUPLES = (
    *(
        _row(f"make_{name}", "leaves*", "result", f"a {name} of leaves and tuples, or of its type alone")
        for name in ("int_tuple", "shape", "stride", "coord", "tile", "tuple")
    ),
    _row("unpack_tuple", "tuple", "leaves*", "the leaves as i32"),
    _row("static", "", "result", "a tuple or layout that is determined by its type"),
    *(_row(f"tuple_{name}", "lhs rhs", "result", f"{name} of leaves") for name in ("add", "sub", "mul", "div", "mod")),
    _row("ceil_div", "lhs rhs", "result", "quotients of leaves, rounded up"),
    _row("shape_div", "lhs rhs", "result", "the quotients of a shape and the extents of another, rounded up"),
)
LAYOUTS = (
    _row("make_layout", "shape stride?", "result", "a layout; without strides a dense one, the first mode fastest"),
    _row("make_composed_layout", "layout", "result", "a layout composed with the swizzle of the result's type"),
    _row("get_shape", "source", "result", "the shape of a layout or view"),
    _row("get_stride", "source", "result", "the stride of a layout or view"),
    _row("get_layout", "view", "result", "the layout of a view"),
    _row("get_iter", "view", "result", "the pointer of a view"),
    _row("size", "source", "result", "the product of the extents"),
    _row("cosize", "source", "result", "one more than the largest offset"),
    _row("crd2idx", "coord layout", "result", "the offset of a coordinate"),
    _row("idx2crd", "index shape", "result", "the coordinate of a linear index"),
    _row("select", "source", "result", "some modes, by the attribute mode"),
    _row("group_modes", "source", "result", "modes begin to end - 1 as one"),
    _row("coalesce", "layout", "result", "the same function with as few modes as possible"),
    _row("filter_zeros", "layout", "result", "the layout with extent 1 where the stride is 0"),
    _row("complement", "layout size?", "result", "the offsets that a layout skips"),
    _row("right_inverse", "layout", "result", "the map from offsets to indices"),
    _row("composition", "lhs rhs", "result", "the first layout after the second"),
    _row("compose", "lhs rhs", "result", "the first layout after the second"),
    *(
        _row(f"{name}_divide", "source tile", "result", f"a layout divided into tiles, {name} form")
        for name in ("logical", "zipped", "tiled", "flat")
    ),
    _row("logical_product", "layout tiler", "result", "a layout repeated by a tiler"),
    _row("derefine", "source", "result", "the same value under a type with fewer static leaves"),
)
MEMORY = (
    _row("make_view", "pointer layout", "result", "a pointer with a layout"),
    _row("add_offset", "source offset", "result", "a pointer or iterator moved"),
    _row("recast_iter", "source", "result", "the same address of other elements"),
    _row("inttoptr", "source", "result", "an address as a pointer"),
    _row("ptrtoint", "source", "result", "a pointer as an address"),
    _row("ptr.store", "value pointer", "", "write one element", pure=False),
    _row("make_desc_iter", "pointer stride", "result", "an iterator over addresses"),
    _row("deref_desc_iter", "iterator", "result", "the current address of an iterator"),
    _row("make_fragment_like", "view", "result", "registers of the shape of a view", pure=False),
    _row("memref.alloca", "", "result", "storage of the thread", pure=False),
    _row("memref.alloc_smem", "", "result", "storage of the CTA", pure=False),
    _row("memref.load", "view coord", "result", "read one element", pure=False),
    _row("memref.store", "value view coord", "", "write one element", pure=False),
    _row("memref.load_vec", "view", "result", "read all elements of a dense view", pure=False),
    _row("memref.store_vec", "value view", "", "write all elements of a dense view", pure=False),
    _row("local_tile", "view tile coord", "result", "one tile of a view"),
    _row("local_partition", "view threads index", "result", "the elements of a view for one thread"),
)
ATOMS = (
    _row("make_atom", "inputs*", "result", "the atom of the result's type"),
    _row("copy_atom_call", "atom source destination", "", "one copy of an atom", pure=False),
    _row("mma_atom_call", "atom d a b c", "", "one MMA of an atom: d = a b + c", pure=False),
)
OTHER_OPS = tuple(
    _any(name)
    for name in (
        "get_layouts_from_tile", "recast_layout", "stencil_divide", "tile_to_shape", "make_tiled_copy", "make_tiled_mma",
        "copy", "prefetch", "prefetch_atom_call", "gemm", "tiled.copy.partition_S", "tiled.copy.partition_D",
        "tiled.copy.retile", "tiled.mma.partition", "tiled.mma.partition_shape", "fast_divmod.create_divisor",
        "fast_divmod.make_divisor", "fast_divmod.get_divisor", "fast_divmod.divide", "print", "print_tma_desc_tiled",
        "print_tma_desc_im2col",
    )
)  # fmt: skip
OPERATIONS = (*TUPLES, *LAYOUTS, *MEMORY, *ATOMS, *OTHER_OPS)
BY_NAME: dict[str, type[TableOp]] = {op.name: op for op in OPERATIONS}
