"""Sparse A of mma.sp and its metadata (PTX ISA 9.0, section 9.7.14.6); wgmma and tcgen05 use the same codes.

Registers contain A without its zeros (m x k / 2), with the layout of a dense A of that size. A row of A is divided into
chunks of 2 (tf32), 4 (16-bit and 8-bit elements) or 8 columns (4-bit elements, in pairs). A 4-bit code selects the nonzero
half of a chunk: two 2-bit indices, the first element's in the low bits. tf32 has two codes, 0b0100 for the first element and
0b1110 for the second one.

A metadata register has eight codes: for four chunks of each of rows lane / 4 and lane / 4 + 8 (elements of 16 bits and more),
or for eight chunks of one row (smaller elements; row + 8 is in the next lane). The selector chooses the lanes of each quad
that provide metadata. The ISA shows it in figures 119 to 147 only; as text it is in CUTLASS, in the layouts ELayout_* of
cute/atom/mma_traits_sm90_gmma_sparse.hpp and in cute/atom/mma_traits_sm120_sparse.hpp. ptxas confirms it: it rearranges
metadata this way for shapes that an architecture lacks (m16n8k32 of unordered s8 on sm_100, m16n8k64 of s4 on sm_90).
"""

from __future__ import annotations

import numpy as np

from ..codegen.emit_block import vector_items
from ..matmul.operand_value_ranges import MatmulOperand
from ..memory.load_store import Site
from ..ptx.ast import Immediate
from .handler_registry import helper

ORDERED = "sp::ordered_metadata"
CHUNKS = {32: 2, 16: 4, 8: 4, 4: 8}  # bits of an element of A -> columns of a chunk
# Type of A in an ``mma`` -> k -> number of selectors.
SELECTORS = {
    "tf32": {8: 4, 16: 2},
    **{name: {16: 4, 32: 2} for name in ("f16", "bf16")},
    **{name: {32: 2, 64: 1} for name in ("s8", "u8")},
    **{name: {64: 2, 128: 1} for name in ("s4", "u4")},
    **{name: {64: 1} for name in ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")},
    "e2m1_packed": {128: 1},
}
_CODES = np.arange(16)
_FIRST, _SECOND = _CODES & 3, _CODES >> 2
# Columns of a chunk -> for each code, the positions of the nonzero elements.
NONZERO_POSITIONS = {
    2: (_CODES >> 3)[:, None],
    4: np.stack([_FIRST, _SECOND], axis=1),
    8: np.stack([2 * _FIRST, 2 * _FIRST + 1, 2 * _SECOND, 2 * _SECOND + 1], axis=1),
}
# Valid codes; tcgen05 lists 0b0110 with the ordered ones (section 9.7.16.10.8.2).
VALID_CODES = {
    "any": _FIRST != _SECOND,
    "ordered": _FIRST < _SECOND,
    "tcgen05": (_FIRST < _SECOND) | (_CODES == 0b0110),
}
_TF32_CODES = np.isin(_CODES, (0b0100, 0b1110))


def read_codes(words: np.ndarray, selector: int, width: int, k: int) -> np.ndarray:
    """The codes (warps, 16, chunks) of metadata (warps, 32); ``width`` bits of an element."""
    count = k // CHUNKS[width] // 4  # lanes of each quad that provide metadata
    held = words.reshape(-1, 8, 4)[:, :, selector * count : (selector + 1) * count]
    codes = held[..., None] >> np.arange(0, 32, 4, dtype=np.uint32) & np.uint32(15)
    codes = codes.reshape(len(held), 8, -1, 2, 4 if width >= 16 else 8)  # (w, row, block, half, chunk)
    return codes.transpose(0, 3, 1, 2, 4).reshape(len(held), 16, -1)


def expand_sparse(values: np.ndarray, codes: np.ndarray, chunk: int) -> np.ndarray:
    """Expand a compressed A (…, rows, k / 2) with its codes (…, rows, chunks) to (…, rows, k)."""
    columns = NONZERO_POSITIONS[chunk][codes] + chunk * np.arange(codes.shape[-1])[:, None]
    full = np.zeros((*values.shape[:-1], 2 * values.shape[-1]), values.dtype)
    np.put_along_axis(full, columns.reshape(values.shape), values, axis=-1)
    return full


def invalid_code(codes: np.ndarray, chunk: int, possible: np.ndarray) -> str | None:
    """An error message for the first invalid code (…, rows, chunks), or None."""
    wrong = ~(_TF32_CODES if chunk == 2 else possible)[codes]
    if not wrong.any():
        return None
    place = tuple(np.argwhere(wrong)[0].tolist())
    code, start = int(codes[place]), chunk * place[-1]
    why = f"metadata of row {place[-2]}, columns {start} to {start + chunk - 1} of A: "
    if chunk == 2:
        return f"{why}{code:#06b} is neither 0b0100 nor 0b1110"
    return f"{why}invalid indices {code & 3} and {code >> 2}"


@helper
def expand_sparse_operand(group, ins, factor, metadata, selector: int, width: int, possible: str):
    """The expanded A (stack, rows, k): matrices of 16 rows (``mma``) or 64 rows (``wgmma``)."""
    rows, k = factor.values.shape[1], 2 * factor.values.shape[2]
    codes = read_codes(group.to_warps(metadata), selector, width, k)
    codes = codes.reshape(-1, rows, codes.shape[2])
    if wrong := invalid_code(codes, CHUNKS[width], VALID_CODES[possible]):
        Site(ins, "shared", 1).fault(group, wrong)
    values = np.broadcast_to(factor.values, (len(codes), rows, k // 2))
    return MatmulOperand(expand_sparse(values, codes, CHUNKS[width]), factor.kind)


def emit_expand_sparse(e, ins, a: str, a_type: str, width: int, k: int) -> str:
    """Source of the expanded A; ``a`` is the compressed one."""
    ordered = ORDERED in ins.mods
    if k not in SELECTORS.get(a_type, {}):
        e.fail("unsupported shape with a sparse A")
    if not ordered and any(mod.startswith("kind::") for mod in ins.mods):
        e.fail(f"a .kind needs .{ORDERED}")
    metadata, selector = ins.args[4], ins.args[5]
    chosen = read_selector(e, selector, SELECTORS[a_type][k])
    word = e.use(vector_items(metadata)[0], "u32")
    possible = "ordered" if ordered else "any"
    return e.temp(f"expand_sparse_operand(g, {e.constant(ins, 'ins')}, {a}, {word}, {chosen}, {width}, {possible!r})")


def read_selector(e, selector, count: int) -> int:
    if not isinstance(selector, Immediate) or not 0 <= selector.value < count:
        e.fail(f"the sparsity selector must be 0{f' to {count - 1}' if count > 1 else ''}")
    return selector.value
