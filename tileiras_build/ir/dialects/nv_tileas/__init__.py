"""Scheduled tile IR: how the program executes.

Every executable operation of nv_tileaa has a counterpart of the same name and operands; tiles carry ``#cute.layout``
encodings, and layout changes, scratch memory and barriers are operations and attributes that anyone can read:

    scratch_bytes, scratch_offset   shared memory the operation uses while it runs
    sync_before                     a barrier first: another operation's scratch may still be read
    vector                          elements per memory access that alignment and bounds allow
    fastest                         along which dimension a tile of pointers has them (default: the last)
    has_boundary_tile                          bounds allow single elements only where a tile ends the tensor; vectors elsewhere
    late                            each access of a load where its elements are used, with the next one under way
    whole                           a load's other way through the code, without bounds, for a tile inside the tensor
    in_bounds                       dimensions along which tiles end where the tensor ends: a tile of the tensor is whole
    index_checks                    what is asked of each tile index: nothing (0: it is proven to be one of the tensor's), whether
                                    it is past the end (1), also whether it is below zero (2)
    atom, warps                     the mma row of a dot and how warps divide m, n and batch
    tma, warpgroup                  a tile that TMA fetches ahead of time; the wgmma row of a dot
    producer_warps                  warps of a kernel that only fetch tiles or issue products, numbered after those that compute
"""

from xdsl.ir import Dialect

from .ops import COUNTERPARTS, SCHEDULED
from .types import BufferType, PipelineType, TmaDescType, TmemType

NvTileAS = Dialect("nv_tileas", [*COUNTERPARTS.values(), *SCHEDULED], [BufferType, PipelineType, TmaDescType, TmemType])
