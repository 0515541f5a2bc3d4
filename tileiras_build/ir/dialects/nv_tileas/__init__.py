"""Scheduled tile IR: the execution of the program.

Every executable operation of nv_tileaa has a counterpart of the same name and operands; tiles carry ``#cute.layout``
encodings, and layout changes, scratch memory and barriers are explicit operations and attributes:

    scratch_bytes, scratch_offset   scratch shared memory of the operation
    sync_before                     a barrier first: another operation's scratch may still be read
    vector                          elements per memory access that alignment and bounds allow
    fastest                         along which dimension a tile of pointers has them (default: the last)
    has_boundary_tile               accesses of single elements in the boundary tile, vectors in all others
    lazy                            each access of a load where its elements are used, with the next one in flight
    read_only                       a load of memory that does not change while the kernel runs: at any time
    ends_block                      a basic block ends behind a load: what is computed afterwards is not issued before it
    full_tile_version               a second version of a load's code, without bounds checks, for tiles inside the tensor
    in_bounds                       dimensions along which tiles divide the tensor: no tile is partial
    index_checks                    the checks of each tile index: none (0: it is proven to be in bounds), the upper bound (1),
                                    both bounds (2)
    atom, warps                     the mma row of a dot, and the split of warps over m, n and batch
    tma, warpgroup                  a tile that TMA prefetches; the wgmma row of a dot
    producer_warps                  warps that only load tiles or issue MMAs, numbered after the consumer warps
"""

from xdsl.ir import Dialect

from .ops import COUNTERPARTS, SCHEDULED
from .types import BufferType, PipelineType, TmaDescType, TmemType

NvTileAS = Dialect("nv_tileas", [*COUNTERPARTS.values(), *SCHEDULED], [BufferType, PipelineType, TmaDescType, TmemType])
