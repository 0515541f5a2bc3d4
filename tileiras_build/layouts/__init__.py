"""Distributions of tiles over threads and shared memory as linear maps over F2. Imports no IR.

Start with the essay of ``linear_layout.py``. Tile indices are packed row-major; a byte offset, a register number, a lane are plain ints.

| to get | call |
|---|---|
| a layout from bases | ``LinearLayout(registers, lanes, warps, shape)``, ``LinearLayout.from_bases``, ``.replicated`` |
| a layout for memory access | ``coalesced(shape, order, vector, num_warps)``, ``spread_vector``; Triton-like ``blocked(...)`` |
| mma.sync operands | ``fragment(m, n, k, operand, element_bits)``, ``mma_tiling(...)`` -> ``MmaTiling``, ``mma_layouts``, ``split_warps`` |
| which element is where | ``.index``, ``.apply``, ``.register_offsets``, ``.thread_index``, ``.preimage``, ``.as_array`` |
| replication | ``.free_bits(input)``, ``.is_injective``, ``.distinct_registers()`` |
| derived layouts | ``.reshape .permute_dims .transpose .expand_dims .squeeze .project .drop_dim .broadcast_dim .cat .join .slice .slice_registers .then`` |
| a reduction's shape | ``.bits_along(dim)``, ``.is_separable(dim)`` |
| vector width in global memory | ``.contiguous(order)`` |
| a conversion | ``plan_conversion(source, target, element_bits, ...)`` -> NoOp, RegisterPermutation, WarpShuffle, SharedRoundTrip |
| a shared-memory placement | ``SharedLayout.plain .swizzled .boxed``, ``choose_swizzle(store, load, shape, element_bits, ...)``, ``bank_conflicts`` |
| addresses for ld/st.shared | ``shared_access(layout, shared)`` -> SharedAccess |
| ldmatrix, stmatrix | ``matrix_access(layout, shared)`` -> MatrixAccess or None |
| text | ``to_cute(layout)``, ``from_cute(text, shape)``, ``shared_to_cute(shared)``, ``shared_from_cute(text, element_bits)`` |
"""

from .blocked import blocked, coalesced, spread_vector
from .conversion import (
    NoOp,
    Plan,
    RegisterPermutation,
    RoundTripPass,
    SharedRoundTrip,
    plan_conversion,
    plan_round_trip,
)
from .cute import from_cute, shared_from_cute, shared_to_cute, to_cute
from .fragments import ATOMS, Atom, MmaTiling, fragment, mma_layouts, mma_tiling, split_warps
from .ldmatrix import MatrixAccess, MatrixInstruction, matrix_access
from .linear_layout import LinearLayout, pack, unpack
from .placement import choose_swizzle
from .shared_access import SharedAccess, VectorAccess, shared_access
from .shared_layout import SharedLayout, bank_conflicts, largest_vector, storage_bits
from .swizzle import NO_SWIZZLE, Swizzle
from .warp_shuffle import Shuffle, Swap, WarpShuffle, plan_warp_shuffle
