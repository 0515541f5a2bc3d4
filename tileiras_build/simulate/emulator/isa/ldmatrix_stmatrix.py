"""ldmatrix, stmatrix and movmatrix: matrices between shared memory and registers (PTX ISA 9.0, section 9.7.14)."""

from __future__ import annotations

import re

import numpy as np

from ..codegen.emit_block import vector_items
from ..memory.load_store import Site
from ..native import ldmatrix_rows
from ..native.native_code import is_ready
from ..simt.thread_selection import Selection
from .handler_registry import handles, helper
from .ld_st import address_expression, resolve_space, space_of
from .warp_collectives import emit_warp_sync


# -- padded formats ----------------------------------------------------------------------------------
def decompress_fp4(chunks: np.ndarray) -> np.ndarray:
    """b4x16_p64, 16 codes of 4 bits and 8 bytes of padding -> 16 bytes (…, 16), the code in bits 2 to 5."""
    out = np.empty(chunks.shape, np.uint8)
    out[..., 0::2], out[..., 1::2] = (chunks[..., :8] & 15) << 2, (chunks[..., :8] >> 4) << 2
    return out


def decompress_fp6(chunks: np.ndarray) -> np.ndarray:
    """b6x16_p32, 16 codes of 6 bits and 4 bytes of padding -> 16 bytes (…, 16), the code in the low 6 bits."""
    source = np.ascontiguousarray(chunks[..., :12]).reshape(*chunks.shape[:-1], 4, 3).astype(np.uint32)
    word = source[..., 0] | source[..., 1] << 8 | source[..., 2] << 16
    codes = (word[..., None] >> np.array([0, 6, 12, 18], np.uint32)) & np.uint32(63)
    return codes.astype(np.uint8).reshape(chunks.shape)


DECOMPRESS = {"b4x16_p64": decompress_fp4, "b6x16_p32": decompress_fp6}


# -- ldmatrix, stmatrix, movmatrix -------------------------------------------------------------------
class MatrixSite:
    """One ldmatrix or stmatrix: ``count`` matrices whose rows of 16 bytes are addressed by 8 lanes each.

    ``change`` decompresses loaded rows (…, 16) of the padded formats.
    """

    def __init__(self, ins, space: str, count: int, transposed: bool, offset: int, change=None):
        self.count, self.transposed, self.change = count, transposed, change
        self.site = Site(ins, space, 16, 1, offset)

    lanes = 8  # lanes that address one matrix, one per row
    registers = 1  # per matrix

    def rows(self, group, address):
        """(pieces, place, index (warps, matrices, rows), selection) of the rows addressed by the first lanes."""
        wanted = self.lanes * self.count
        selection = None
        if wanted < 32:
            selection = Selection(group, np.broadcast_to((group.tid & 31) < wanted, group.shape))
            address = np.broadcast_to(selection.pick(address), len(selection.rows))
        pieces = self.site.locate(group, address, selection)
        place, inside = pieces[0]
        if inside is not None:
            self.site.fault(group, "the rows of a matrix are in different state spaces")
        index = place.index(16)
        if selection is None:
            index = group.to_warps(index)
        return pieces, place, index.reshape(group.warps, self.count, self.lanes), selection

    def read(self, group, address) -> np.ndarray:
        """Bytes (warps, count, rows, 16)."""
        pieces, place, index, selection = self.rows(group, address)
        if group.observers.accesses is not None:
            group.observers.accesses(self.site, group, pieces, False, selection)
        data = place.view(np.complex128)[index][..., None].view(np.uint8)
        return self.change(data) if self.change else data

    def load(self, group, address):
        words = self.load_natively(group, address)
        if words is not None:
            return tuple(words.reshape(self.count, *group.shape))
        data = self.read(group, address)
        if self.transposed:
            words = data.view(np.uint16).swapaxes(2, 3)
            words = np.ascontiguousarray(words).view(np.uint32)
        else:
            words = data.view(np.uint32)
        words = np.ascontiguousarray(words.reshape(group.warps, self.count, 32).swapaxes(0, 1))
        return tuple(group.from_warps(words[i]) for i in range(self.count))

    def load_natively(self, group, address) -> np.ndarray | None:
        """Registers (count, warps, 32) loaded by native code; None if NumPy must do it, or report the fault."""
        has_observers = group.observers.accesses is not None and not group.observers.accesses.idle
        if has_observers or group.geometry.cluster_size > 1 or self.change or not is_ready():
            return None
        is_plain = self.site.space == "shared" and group.dense and group.is_rectangular
        shapes = group.shape, (1, group.shape[1])
        if not is_plain or np.shape(address) not in shapes or address.dtype != np.uint32:
            return None
        marks = None if group.observers.async_copy_marks is None else group.observers.async_copy_marks.marks[16]
        return ldmatrix_rows.load(
            np.ascontiguousarray(address), self.site.offset, group.cta, group.memories.shared, marks,
            group.memories.shared_size, group.memories.shared_limit, self.count, self.transposed,
        )  # fmt: skip

    def store(self, group, address, values):
        pieces, place, index, selection = self.rows(group, address)
        words = np.stack([group.to_warps(v) for v in values], axis=1).reshape(group.warps, self.count, 8, 4)
        rows = self.rows_from(words).view(np.complex128)[..., 0]
        if group.observers.accesses is not None:
            by_thread = rows.reshape(-1) if selection else group.from_warps(rows.reshape(-1, 32))
            group.observers.accesses(self.site, group, pieces, True, selection, [by_thread])
        place.view(np.complex128)[index] = rows

    def rows_from(self, words) -> np.ndarray:
        """The rows in memory (warps, count, 8, 4 words) of registers (warps, count, 8, 4): lane = 4 * row + t."""
        if self.transposed:
            words = np.ascontiguousarray(words).view(np.uint16).swapaxes(2, 3)
        return np.ascontiguousarray(words).view(np.uint32)


class ByteMatrixSite(MatrixSite):
    """ldmatrix.m16n16.trans.b8: 16 x 16 bytes, rows of 16 bytes addressed by 16 lanes, transposed by the load.

    Lane l receives, in register 2 * i + h of matrix i, column-major elements: row 4 * (l % 4) ... + 3 of column
    l / 4 + 8 * h (section 9.7.14.5.15).
    """

    lanes = 16
    registers = 2

    def load(self, group, address):
        transposed = np.ascontiguousarray(self.read(group, address).swapaxes(2, 3))  # (w, matrix, column, row)
        words = transposed.view(np.uint32).reshape(group.warps, self.count, 2, 32)
        return tuple(group.from_warps(np.ascontiguousarray(words[:, i, h])) for i in range(self.count) for h in (0, 1))


class ByteStoreSite(MatrixSite):
    """stmatrix.m16n8.trans.b8: 16 x 8 bytes, each column a row of 16 bytes in memory.

    Byte v of lane l's register is row l / 4 + 8 * (v / 2), column 2 * (l % 4) + v % 2 (section 9.7.14.5.16), like the
    accumulators of mma.
    """

    def rows_from(self, words) -> np.ndarray:
        parts = np.ascontiguousarray(words).view(np.uint8).reshape(*words.shape[:2], 8, 4, 2, 2)  # row, t, half, e
        return (
            np.ascontiguousarray(parts.transpose(0, 1, 3, 5, 4, 2)).view(np.uint64).view(np.uint32).reshape(words.shape)
        )


_PLAIN, _TRANSPOSED = ("b8x16.b4x16_p64", "b8x16.b6x16_p32"), ("b8", "b8x16.b4x16_p64", "b8x16.b6x16_p32")
# (opcode, shape, transposed, type) -> the class, and the maximum number of matrices.
MATRICES = {
    **{(op, "m8n8", t, "b16"): (MatrixSite, 4) for op in ("ldmatrix", "stmatrix") for t in (False, True)},
    **{("ldmatrix", "m8n16", False, type_): (MatrixSite, 4) for type_ in _PLAIN},
    **{("ldmatrix", "m16n16", True, type_): (ByteMatrixSite, 2) for type_ in _TRANSPOSED},
    ("stmatrix", "m16n8", True, "b8"): (ByteStoreSite, 4),
}


def matrix_site(e, ins, address, registers: list) -> tuple[str, str]:
    count = next((int(m[1]) for m in ins.mods if m in ("x1", "x2", "x4")), 1)
    space = resolve_space(e, space_of(ins), address)
    base, offset = address_expression(e, space, address)
    shape = next((m for m in ins.mods if re.fullmatch(r"m\d+n\d+", m)), None)
    type_ = ".".join(m for m in ins.mods if m[0] == "b")
    cls, most = MATRICES.get((ins.op, shape, "trans" in ins.mods, type_), (None, 0))
    if cls is None or count > most:
        e.fail("not supported")
    site = cls(ins, space, count, "trans" in ins.mods, offset, DECOMPRESS.get(type_.split(".")[-1]))
    if len(registers) != cls.registers * count:
        e.fail(f"expected {cls.registers * count} registers")
    return e.constant(site, "matrix"), base


@handles("ldmatrix")
def handle_ldmatrix(e, ins):
    emit_warp_sync(e)
    site, base = matrix_site(e, ins, ins.args[1], vector_items(ins.args[0]))
    e.set_tuple(vector_items(ins.args[0]), "u32", f"{site}.load(g, {base})")


@handles("stmatrix")
def handle_stmatrix(e, ins):
    emit_warp_sync(e)
    site, base = matrix_site(e, ins, ins.args[0], vector_items(ins.args[1]))
    values = ", ".join(e.use(v, "u32") for v in vector_items(ins.args[1]))
    e.line(f"{site}.store(g, {base}, [{values}])")


@helper
def transpose_matrix(group, value):
    """movmatrix: transpose the 8 x 8 b16 matrix distributed over a warp."""
    words = np.ascontiguousarray(group.to_warps(value)).reshape(-1, 8, 4).view(np.uint16)
    return group.from_warps(np.ascontiguousarray(words.swapaxes(1, 2)).view(np.uint32).reshape(-1, 32))


@handles("movmatrix")
def handle_movmatrix(e, ins):
    emit_warp_sync(e)
    e.set(ins.args[0], "u32", f"transpose_matrix(g, {e.use(ins.args[1], 'u32')})")
