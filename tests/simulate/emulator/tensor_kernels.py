"""Kernels for the tests of tcgen05: shared memory and tensor memory filled from arrays, one thread issues, all read back.

The layouts here are the ISA's, byte by byte; they share nothing with the emulator.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
from ptx_kernels import HEADER, aligned, run

VERSION = 1 << 46  # bits 46-48 of a descriptor
MODES = {0: 0, 32: 6, 64: 4, 128: 2, "128B/32B": 1}


def encode(start: int, leading: int, stride: int, swizzle=0) -> int:
    """A shared-memory descriptor (Table 40)."""
    return start >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | VERSION | MODES[swizzle] << 61


def swizzle_address(address: int, swizzle) -> int:
    """CuTe's Swizzle<B, M, S> of a byte address: bits [M + S, M + S + B) are XORed into [M, M + B)."""
    bits, base, shift = {0: (0, 4, 3), 32: (1, 4, 3), 64: (2, 4, 3), 128: (3, 4, 3), "128B/32B": (2, 5, 2)}[swizzle]
    return address ^ ((address >> (base + shift) & ((1 << bits) - 1)) << base)


def k_major_address(row: int, byte: int, start: int, leading: int, stride: int, swizzle) -> int:
    """The address of byte ``byte`` along K of a row."""
    if swizzle == 0:
        return start + row % 8 * 16 + row // 8 * stride + byte // 16 * leading + byte % 16
    return swizzle_address(start + row % 8 * swizzle + row // 8 * stride + byte, swizzle)


def mn_major_address(byte: int, k: int, start: int, leading: int, stride: int, swizzle) -> int:
    """The address of byte ``byte`` along M or N of one k."""
    if swizzle == 0:
        return start + byte % 16 + byte // 16 * stride + k % 8 * 16 + k // 8 * leading
    width, deep = (128, 4) if swizzle == "128B/32B" else (swizzle, 8)
    plain = byte % width + byte // width * leading + k % deep * width + k // deep * stride
    return swizzle_address(start + plain, swizzle)


def place(shared: np.ndarray, data: np.ndarray, address, *layout) -> None:
    """Write the bytes of ``data`` (rows, bytes) to shared memory by an address formula."""
    for row in range(data.shape[0]):
        for byte in range(data.shape[1]):
            shared[address(row, byte, *layout)] = data[row, byte]


def instruction(m, n, a=0, b=0, d=1, **fields) -> int:
    """An instruction descriptor of kinds tf32, f16, f8f6f4 and i8 (Table 42)."""
    word = d << 4 | a << 7 | b << 10 | n >> 3 << 17 | m >> 4 << 24
    at = {"saturate": 3, "negate_a": 13, "negate_b": 14, "turn_a": 15, "turn_b": 16, "sparse": 2}
    for name, value in fields.items():
        word |= value << at[name]
    return word


def scaled_instruction(m, n, a, b, scale_type, a_id=0, b_id=0) -> int:
    """An instruction descriptor of the block-scaled kinds (Tables 43 and 44)."""
    return b_id << 4 | a << 7 | b << 10 | n >> 3 << 17 | scale_type << 23 | m >> 7 << 27 | a_id << 29


def tensor_program(
    shared_bytes: int, issue: str, columns: int, *, wait: bool = True, body: str = "", group: int = 1,
    cluster: str = "", allocated: int | None = None, met: bool = True, parted: bool = True,
) -> str:  # fmt: skip
    """PTX of kernel k(shared image, cells in, cells out): 128 threads per CTA, cells are (lanes, columns) words.

    ``issue`` is run by thread 0 with t1 = the tensor address, t5 = the shared image's address, bar = an mbarrier.
    ``met``: the CTAs of a pair meet before they allocate its tensor memory; ``parted``: before they free it.
    """
    meet = "barrier.cluster.arrive; barrier.cluster.wait;" if group == 2 else ""
    allocated = allocated or max(32, 1 << (columns - 1).bit_length())
    registers = ", ".join(f"r{i}" for i in range(32))
    transfers = range(0, columns, 32)
    reads = "\n".join(f"ld.global.b32 r{i}, [u5+{4 * i}];" for i in range(32))
    writes = "\n".join(f"st.global.b32 [u6+{4 * i}], r{i};" for i in range(32))
    fill = "\n".join(
        f"add.u64 u5, u3, {4 * c}; {reads} add.u32 t7, t2, {c}; tcgen05.st.sync.aligned.32x32b.x32.b32 [t7], {{{registers}}};"
        for c in transfers
    )
    dump = "\n".join(
        f"add.u64 u6, u4, {4 * c}; add.u32 t7, t2, {c}; tcgen05.ld.sync.aligned.32x32b.x32.b32 {{{registers}}}, [t7]; tcgen05.wait::ld.sync.aligned; {writes}"
        for c in transfers
    )
    loop = "W: mbarrier.try_wait.parity.shared.b64 p1, [bar], 0; @!p1 bra W;" if wait else ""
    return f"""{HEADER}
.visible .entry k(.param .u64 k_0, .param .u64 k_1, .param .u64 k_2) .reqntid 128, 1, 1 {cluster} {{
.reg .pred p<8>; .reg .b16 h<4>; .reg .b32 t<24>; .reg .b32 r<32>; .reg .b64 u<16>; .reg .b64 d<4>;
.shared .align 1024 .b8 image[{shared_bytes}]; .shared .align 8 .b64 bar; .shared .align 4 .b32 slot;
ld.param.u64 u0, [k_0]; ld.param.u64 u1, [k_1]; ld.param.u64 u2, [k_2];
mov.u32 t0, %tid.x; mov.u32 t5, image; mov.u32 t6, %ctaid.x;
mul.wide.u32 u7, t6, {shared_bytes}; add.u64 u0, u0, u7;
mul.lo.u32 t3, t0, 16;
C: setp.ge.u32 p0, t3, {shared_bytes}; @p0 bra D;
cvt.u64.u32 u8, t3; add.u64 u8, u8, u0; ld.global.v4.b32 {{r0, r1, r2, r3}}, [u8]; add.u32 t4, t5, t3; st.shared.v4.b32 [t4], {{r0, r1, r2, r3}};
add.u32 t3, t3, 2048; bra C;
D: {meet.replace("arrive", "arrive.relaxed") if met else ""}
setp.ge.u32 p2, t0, 32; @p2 bra E;
tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [slot], {allocated};
tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned;
E: setp.ne.u32 p3, t0, 0; @p3 bra F; mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
F: fence.proxy.async.shared::cta; bar.sync 0;
ld.shared.b32 t1, [slot]; shr.u32 t2, t0, 5; shl.b32 t2, t2, 21; add.u32 t2, t2, t1;
mad.lo.u32 t8, t6, 128, t0; mul.wide.u32 u9, t8, {4 * columns}; add.u64 u3, u1, u9; add.u64 u4, u2, u9;
{fill}
tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
{meet}
@p3 bra G;
{issue}
G: {body}
{loop}
tcgen05.fence::after_thread_sync;
{dump}
bar.sync 0;
{meet if parted else ""}
@p2 bra Z;
tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 t1, {allocated};
Z: ret;
}}
"""


COMMIT = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];"


def run_tensor(
    shared: np.ndarray,
    issue: str,
    cells: np.ndarray,
    grid: int = 1,
    races: bool = False,
    matmul_rounding: str = "blas",
    **options,
) -> np.ndarray:
    """Run ``issue``; returns the tensor memory after it. ``shared`` (CTAs, bytes), ``cells`` (CTAs, 128, columns)."""
    shared = aligned(np.atleast_2d(shared))
    cells = aligned(np.broadcast_to(cells, (grid, 128, cells.shape[-1])).astype(np.uint32))
    out = aligned(np.zeros_like(cells))
    shared = aligned(np.broadcast_to(shared, (grid, shared.shape[-1])))
    ptx = tensor_program(shared.shape[-1], issue, cells.shape[-1], **options)
    run(ptx, shared, cells, out, grid=grid, check_races=races, matmul_rounding=matmul_rounding)
    return out


# -- elements ----------------------------------------------------------------------------------------
DTYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2, "e3m2": ml_dtypes.float6_e3m2fn, "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn, "s8": np.int8, "u8": np.uint8,
}  # fmt: skip


def random_matrix(rng, shape, type_: str):
    """(codes, float64 values) of random elements."""
    if type_ in ("s8", "u8"):
        values = rng.integers(-128 if type_ == "s8" else 0, 128 if type_ == "s8" else 256, shape).astype(DTYPES[type_])
        return values.view(np.uint8), values.astype(np.float64)
    values = rng.standard_normal(shape).astype(np.float32).astype(DTYPES[type_])
    if type_ == "tf32":
        values = (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    codes = values.view(f"u{values.dtype.itemsize}")
    if type_ in ("e2m1", "e3m2", "e2m3"):
        codes = codes & (15 if type_ == "e2m1" else 63)
    return codes, values.astype(np.float64)


def row_bytes(codes: np.ndarray, type_: str, packed: bool = False) -> np.ndarray:
    """Rows of codes as bytes in shared memory: small types are packed, 16 codes and padding to 16 bytes."""
    if type_ == "e2m1":
        pairs = (codes[:, 0::2] | codes[:, 1::2] << 4).astype(np.uint8)
        if packed:
            return pairs
        return np.concatenate(
            [np.pad(pairs[:, i : i + 8], ((0, 0), (0, 8))) for i in range(0, pairs.shape[1], 8)], axis=1
        )
    if type_ in ("e3m2", "e2m3"):
        bits = (codes[:, :, None] >> np.arange(6) & 1).astype(np.uint8).reshape(len(codes), -1, 96)
        packed_bytes = np.packbits(bits, axis=2, bitorder="little")
        return np.pad(packed_bytes, ((0, 0), (0, 0), (0, 4))).reshape(len(codes), -1)
    return np.ascontiguousarray(codes).view(np.uint8).reshape(len(codes), -1)
