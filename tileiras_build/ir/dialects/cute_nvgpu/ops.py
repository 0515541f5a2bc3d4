"""The operations of ``cute_nvgpu``: one row each, by the roster of tileir-internals, section 4.2.

``arch.`` operations are single instructions on LLVM's types; ``atom``, an attribute of theirs, is an atom's type. Rows
without documented operands accept any: the dialect parses them, and the conversion reports them.
"""

from __future__ import annotations

from ..op_definition import TableOp, define


def _row(name: str, operands: str, results: str, meaning: str, *, pure: bool = False) -> type[TableOp]:
    return define(f"cute_nvgpu.{name}", operands, results, meaning, pure=pure, attributes=None)


MMA_OPS = (
    # ``overflow`` of integer accumulators: satfinite (the default) or wrapped.
    _row("arch.mma.SM80", "a* b* c*", "registers*", "mma.sync on registers"),
    _row("arch.mma.SM89", "a* b* c*", "registers*", "mma.sync on registers, floats of 8 bits and less"),
    # ``scales``: for A and for B the register, the byte index and the thread that supplies it, 16-bit constants.
    _row("arch.mma.SM120.block_scaled", "a* b* c* scales*", "registers*", "mma.sync on registers, with scales"),
    _row("arch.mma.SM90", "a b c", "result", "wgmma on descriptors and a struct of registers"),
    # ``a_mn_major``, ``b_mn_major``: the operand's layout in shared memory. ``cta_group``: 2 for a pair of CTAs.
    _row("arch.mma.SM100.umma", "d a b accumulate", "", "tcgen05.mma on tensor memory and descriptors"),
    # ``scale_byte``: the first byte of the scales in their columns of tensor memory.
    _row("arch.mma.SM100.umma_block_scaled", "d a b accumulate a_scales b_scales", "", "the same, with scales"),
)
COPY_OPS = (
    # ``offset``: bytes to add to the address.
    _row("arch.copy.ldsm", "source", "registers*", "ldmatrix"),
    _row("arch.copy.stsm", "destination registers*", "", "stmatrix"),
    _row("arch.copy.SM80.cp_async", "source destination bytes?", "", "cp.async; bytes past the last one are zeros"),
    _row(
        "arch.copy.SM100.tma_load", "destination descriptor barrier coords*", "", "a box of a tensor to shared memory"
    ),
    _row("arch.copy.SM100.tma_store", "descriptor source coords*", "", "a box of a tensor from shared memory"),
    # ``kind``: how; ``mode``: tile, or im2col.
    _row("arch.copy.SM100.tma_reduce", "descriptor source coords* hint?", "", "a box combined with a tensor, by kind"),
    _row("arch.copy.SM100.copy_s2t", "destination source", "", "tcgen05.cp from a descriptor to tensor memory"),
    # The registers are i32 values or one vector of them; ``shape`` and ``repetitions`` select forms other than rows of columns.
    # ``async``: the caller waits.
    _row("arch.copy.SM100.tmem_load", "source", "registers*", "tcgen05.ld"),
    _row("arch.copy.SM100.tmem_store", "destination registers*", "", "tcgen05.st"),
)
DESCRIPTORS = (
    _row("smem_desc_view", "view", "descriptor", "the descriptor of a matrix in shared memory", pure=True),
    _row("get_tma_desc_addr", "descriptor", "result", "the address of a tensor map", pure=True),
    _row("get_grid_constant_pointer", "argument", "result", "the address of a grid constant", pure=True),
    _row("cast_tma_desc_to_integer", "descriptor", "result", "a tensor map's address as an integer", pure=True),
    _row("copy_tma_desc", "source destination", "", "copy a tensor map of 128 bytes"),
    _row("prefetch_tma_desc", "descriptor", "", "prefetch.tensormap"),
    _row("arch.prefetch_tma_desc", "descriptor", "", "prefetch.tensormap"),
)
STORAGE = (
    _row("arch.alloc_smem", "", "result", "bytes of static shared memory"),
    _row("arch.alloc_rmem", "", "result", "bytes of the thread"),
    _row("arch.get_dyn_smem", "", "result", "the dynamic shared memory"),
    _row("arch.get_dyn_smem_size", "", "result", "its size in bytes"),
    _row("arch.make_warp_uniform", "value", "result", "the first lane's value", pure=True),
    _row("arch.sm100.alloc_tmem", "holder", "", "tensor memory; its address is written to shared memory"),
    _row("arch.sm100.retrieve_tmem_ptr", "holder", "result", "the address that an allocation wrote"),
    _row("arch.sm100.relinquish_tmem_alloc_permit", "", "", "the CTA does not allocate again"),
    _row("arch.sm100.dealloc_tmem", "pointer", "", "deallocate tensor memory"),
)
OTHERS = tuple(
    define(f"cute_nvgpu.{name}", "inputs*", "outputs*", f"{name} of the roster, in any form", pure=False, attributes=None)
    for name in (
        "atom.get_value", "arch.mma.SM80.sparse", "atom.make_tma_load", "atom.make_tma_store", "atom.make_tma_reduce",
        "atom.make_exec_tma", "atom.non_exec_tiled_tma_load", "atom.non_exec_tiled_tma_store",
        "atom.non_exec_tiled_tma_reduce", "atom.make_non_exec_tiled_tma_load", "atom.make_non_exec_tiled_tma_reduce",
        "make_tma_desc_tiled", "make_tma_desc_tiled_at", "make_tma_desc_im2col", "make_tma_desc_im2col_at",
        "update_tma_desc", "arch.mma.SM100.umma_sparse", "arch.mma.SM100.umma_block_scaled_sparse", "atom.make_s2t_copy",
        "atom.make_tmem_copy", "atom.get_copy_s2t_smem_desc_view", "make_sm120_mma_bs",
    )
)  # fmt: skip
OPERATIONS = (*MMA_OPS, *COPY_OPS, *DESCRIPTORS, *STORAGE, *OTHERS)
BY_NAME: dict[str, type[TableOp]] = {op.name: op for op in OPERATIONS}


def _arch(name: str) -> type[TableOp]:
    return BY_NAME[f"cute_nvgpu.arch.{name}"]


# The operations that tile kernels are lowered to.
LoadMatrixOp, StoreMatrixOp = _arch("copy.ldsm"), _arch("copy.stsm")
UmmaOp, UmmaBlockScaledOp = _arch("mma.SM100.umma"), _arch("mma.SM100.umma_block_scaled")
LoadTensorMemoryOp, StoreTensorMemoryOp = _arch("copy.SM100.tmem_load"), _arch("copy.SM100.tmem_store")
CopyToTensorMemoryOp = _arch("copy.SM100.copy_s2t")
AllocateTensorMemoryOp, FreeTensorMemoryOp = _arch("sm100.alloc_tmem"), _arch("sm100.dealloc_tmem")
TensorMemoryAddressOp = _arch("sm100.retrieve_tmem_ptr")
RelinquishOp = _arch("sm100.relinquish_tmem_alloc_permit")
PrefetchDescriptorOp = _arch("prefetch_tma_desc")
