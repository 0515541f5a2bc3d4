"""Distributions of tiles over threads and shared memory as linear maps over F2. This folder does not import IR.

Start with the docstring of ``linear_layout.py``. Tile indices are packed row-major; a byte offset, a register number, a
lane are plain ints.

a register layout       LinearLayout(registers, lanes, warps, shape), .from_bases(bases, shape),
                        .replicated(shape, num_warps)
memory accesses         coalesced(shape, order, vector, num_warps), spread_vector(size, num_warps, max_vector), blocked(...)
between two placements  transposing(shape, order, element_bits, num_warps)
mma.sync                fragment(m, n, k, operand, element_bits), mma_tiling(m, n, k, Atom(...), warps_m, warps_n, ...)
                        -> MmaTiling (.a .b .c, .a_registers(...), .atoms()), mma_layouts(...), split_warps(...), ATOMS
wgmma                   wgmma_tiling(m, n, k, element_bits, num_warps) -> WgmmaTiling (.a .c, .instructions())
tcgen05                 tmem_tile(rows, columns, element_bits, num_warps) -> TmemTile (.layout),
                        TcgenMma(m, n, k, element_bits).instructions(), ScaleColumns(shape, line_dim, num_warps)
wgmma, tcgen05          matrix_operand(shared, k_dim) -> MatrixOperand: the canonical layout of a placement
element <-> register    .index .apply .register_offsets .thread_index .preimage .as_array
replication             .free_bits(input) .is_injective .distinct_registers()
derived layouts         .reshape .permute_dims .transpose .expand_dims .squeeze .resize .compose
                        reduction: .project .drop_dim .bits_along .is_separable; broadcast: .broadcast_dim
                        .cat .join .slice .slice_registers
global vector width     .contiguous(order)
copies of each warp     coalesced_in_warps(layout, order, vector), separate_warps(layout)
a conversion            plan_conversion(source, target, element_bits, stmatrix=, ldmatrix=, shuffle=, max_scratch=)
                        -> NoOp | RegisterPermutation | WarpShuffle | SharedRoundTrip; .cost of each
a shared placement      SharedLayout.plain .swizzled .boxed; choose_swizzle(store, load, shape, element_bits, ...)
                        bank_conflicts(layout, shared), largest_vector(layout, shared)
ld.shared, st.shared    shared_access(layout, shared) -> SharedAccess
ldmatrix, stmatrix      matrix_access(layout, shared) -> MatrixAccess or None
either                  cheapest_access(layout, shared, matrices); tile_chunks(layout, shared, parts, block, matrices)
                        -> TileChunks: several moves, .place(offset)
text                    to_cute(layout), from_cute(text, shape), shared_to_cute(shared),
                        shared_from_cute(text, element_bits)
"""

from .blocked import blocked, coalesced, spread_vector, transposing
from .conversion_plan import (
    NoOp,
    Plan,
    RegisterPermutation,
    RoundTripPass,
    SharedRoundTrip,
    TileChunks,
    cheapest_access,
    plan_conversion,
    plan_round_trip,
    tile_chunks,
)
from .cute_text import from_cute, shared_from_cute, shared_to_cute, to_cute
from .ldmatrix_access import MatrixAccess, MatrixInstruction, matrix_access
from .linear_layout import LinearLayout, pack, unpack
from .matrix_descriptor import MatrixOperand, matrix_operand
from .mma_fragments import ATOMS, Atom, MmaTiling, fragment, mma_layouts, mma_tiling, split_warps
from .shared_access import SharedAccess, VectorAccess, shared_access
from .shared_layout import SharedLayout, bank_conflicts, largest_vector, storage_bits
from .swizzle import NO_SWIZZLE, Swizzle
from .swizzle_selection import choose_swizzle
from .tmem_layout import ScaleColumns, TcgenMma, TmemTile, tmem_tile
from .warp_copies import coalesced_in_warps, separate_warps
from .warp_shuffle import Shuffle, Swap, WarpShuffle, plan_warp_shuffle
from .wgmma_layout import WgmmaTiling, wgmma_tiling
