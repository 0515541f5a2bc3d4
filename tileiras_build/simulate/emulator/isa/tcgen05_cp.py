"""tcgen05.cp: copies from shared to tensor memory."""

from __future__ import annotations

import numpy as np

from ..errors import fault_at
from ..memory import tensor_memory
from ..memory.tensor_memory import Span, rows_of
from . import smem_matrix_descriptors
from .handler_registry import helper
from .ldmatrix_stmatrix import DECOMPRESS
from .tcgen05_addresses_and_issuers import ROWS32, Issuers, mask_of, operation_ctas, require_usable, tensor_address
from .tcgen05_async_queue import Operation, SharedSource, async_queue_of
from .tcgen05_pipeline_order import require_order

# Shape and multicast -> lanes of each source row, (copies, rows) (section 9.7.16.9.2).
CP_SHAPES = {
    ("128x256b", None): np.arange(128)[None],
    ("128x128b", None): np.arange(128)[None],
    ("4x256b", None): np.arange(4)[None] * 32,
    ("64x128b", "warpx2::02_13"): np.arange(64)[None] + np.array([[0], [64]]),
    ("64x128b", "warpx2::01_23"): np.concatenate([ROWS32, ROWS32 + 64])[None] + np.array([[0], [32]]),
    ("32x128b", "warpx4"): ROWS32[None] + np.array([[0], [32], [64], [96]]),
}


class TensorMemoryCopy(Operation):
    """A tcgen05.cp in some CTAs: from ``chunks`` (rows, columns) of shared memory to ``lanes`` (copies, rows)."""

    def __init__(self, group, ins, ctas, chunks, lanes, column: int, change, issuers):
        self.issuers = issuers
        self.ins, self.ctas, self.lanes, self.column, self.change = ins, ctas, lanes, column, change
        self.source = SharedSource(group, ins, "the copied matrix", ctas, chunks, issuers)
        self.writes = (Span(rows_of(ctas), column, chunks.shape[1] * 4),)

    def run(self, memory):
        data = self.source.read()
        words = np.ascontiguousarray(self.change(data) if self.change else data).view(np.uint32)
        words = words.reshape(*data.shape[:2], -1).transpose(0, 2, 1)  # (CTAs, columns, rows)
        columns = np.arange(self.column, self.column + words.shape[1])
        for lanes in self.lanes:
            memory.cells[self.ctas[:, None, None], columns[None, :, None], lanes[None, None]] = words


def handle_cp(e, ins):
    shape = next((m for m in ins.mods if "x" in m and m.endswith("b") and m[0].isdigit()), None)
    multicast = next((m for m in ins.mods if m.startswith("warpx")), None)
    formats = [m for m in ins.mods if m.startswith(("b4x16", "b6x16"))]
    if (shape, multicast) not in CP_SHAPES or ("b8x16" in ins.mods) != bool(formats):
        e.fail("unsupported form of tcgen05.cp")
    form = e.constant((ins, shape, multicast, DECOMPRESS[formats[0]] if formats else None), "copy")
    e.line(f"tcgen05_cp({form}, g, {tensor_address(e, ins.args[0])}, {e.use(ins.args[1], 'u64')}, {mask_of(e)})")


@helper
def tcgen05_cp(form, group, address, descriptor_word, mask):
    ins, shape, multicast, change = form
    queue = async_queue_of(group)
    for ctas, tid, (place, source) in Issuers(group, mask, address, descriptor_word).batches():
        lanes = CP_SHAPES[shape, multicast] + (place >> 16)
        if int(lanes.max()) >= tensor_memory.LANES:
            fault_at(group.geometry, ins, (ctas[0], tid), f"lane {place >> 16}: the copy exceeds tensor memory")
        chunks = source_chunks(group, ins, source, lanes.shape[1], 2 if shape.endswith("256b") else 1, ctas, tid)
        for side in operation_ctas(group, ins, ctas):
            copy = TensorMemoryCopy(group, ins, side, chunks, lanes, place & 0xFFFF, change, (ctas, tid))
            require_usable(queue.memory, copy)
            require_order(queue, copy, side, tid)
            if group.observers.racecheck is not None:
                group.observers.racecheck.tensor_memory.issue(ins, copy.writes, (), [side], ctas, tid)
            queue.issue(copy)


def source_chunks(group, ins, descriptor_word: int, rows: int, columns: int, ctas, tid: int) -> np.ndarray:
    """The chunks of a K-major matrix, checked to be inside the CTA's shared memory."""
    fields = read_fields(group, ins, descriptor_word, ctas, tid)
    return inside_shared(group, ins, smem_matrix_descriptors.k_major_chunks(fields, rows, columns), ctas, tid)


def read_fields(group, ins, descriptor_word: int, ctas, tid: int) -> smem_matrix_descriptors.Descriptor:
    fields = smem_matrix_descriptors.read_descriptor(descriptor_word)
    if isinstance(fields, str):
        fault_at(group.geometry, ins, (ctas[0], tid), fields)
    return fields


def inside_shared(group, ins, chunks: np.ndarray, ctas, tid: int) -> np.ndarray:
    end = (int(chunks.max()) + 1) * smem_matrix_descriptors.CHUNK
    if end > group.memories.shared_limit:
        limit = f"the shared memory ({group.memories.shared_limit} bytes)"
        fault_at(
            group.geometry, ins, (ctas[0], tid), f"the matrix exceeds {limit}", end - smem_matrix_descriptors.CHUNK
        )
    return chunks
