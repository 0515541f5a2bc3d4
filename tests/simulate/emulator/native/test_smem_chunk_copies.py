"""Accesses of shared memory chunks in native code: NumPy's positions, and marks of copies in flight."""

import numpy as np
import pytest

from tests.simulate.emulator.native.gates import use_kernels
from tileiras_build.simulate.emulator.isa.tma_box_copies import rounded_to_tf32
from tileiras_build.simulate.emulator.isa.tma_box_layout import chunks_of_boxes
from tileiras_build.simulate.emulator.native import smem_chunk_copies
from tileiras_build.simulate.emulator.tensor_map import CHUNK_XOR, TensorMap

CTAS, PER_CTA = 3, 64


@pytest.fixture(autouse=True)
def kernels(monkeypatch):
    use_kernels(monkeypatch)


def memory() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, CTAS * PER_CTA * smem_chunk_copies.CHUNK, np.uint8)


def test_boxes_are_written_and_their_marks_cleared():
    tensor = TensorMap("f16", 0, (64, 40), (128,), (64, 5), (1, 2), "128B")
    source, shared = memory(), np.zeros(CTAS * PER_CTA * smem_chunk_copies.CHUNK, np.uint8)
    marks = np.full(CTAS * PER_CTA * 4, 7, np.uint8)
    targets, corners = np.array([PER_CTA, 0]), np.array([256, 3])
    steps = np.arange(tensor.rows) * 256
    smem_chunk_copies.write_boxes(shared, marks, source.ctypes.data, corners, steps, targets, 8, 8, CHUNK_XOR["128B"])
    places = chunks_of_boxes(tensor, np.array([8, 8])) + targets[:, None, None]
    expected, left = np.zeros_like(shared), np.full(CTAS * PER_CTA, True)
    for box, corner in zip(places, corners):
        rows = np.stack([source[corner + step : corner + step + 128] for step in steps])
        expected.reshape(-1, 16)[box.reshape(-1)] = rows.reshape(-1, 16)
        left[box.reshape(-1)] = False
    np.testing.assert_array_equal(shared, expected)
    np.testing.assert_array_equal(marks.reshape(-1, 4), np.where(left, 7, 0)[:, None].repeat(4, axis=1))


def test_chunks_are_gathered_and_compared():
    shared, places = memory(), np.array([[5, 60], [0, 7]])
    starts = np.array([2 * PER_CTA, 0])
    out = np.empty((2, 2, 2), np.complex128)
    assert smem_chunk_copies.gather(shared, None, starts, places, out)
    wide = shared.view(np.complex128)
    assert out.tobytes() == wide[starts[:, None, None] + places].tobytes()
    assert smem_chunk_copies.chunks_equal(shared, starts, places, out)
    shared[(2 * PER_CTA + 60) * smem_chunk_copies.CHUNK + 15] ^= 1
    assert not smem_chunk_copies.chunks_equal(shared, starts, places, out)


def test_marked_chunk_is_reported():
    shared, places, starts = memory(), np.array([3, 9]), np.array([0, PER_CTA])
    marks, out = np.zeros(CTAS * PER_CTA * 4, np.uint8), np.empty((2, 2), np.complex128)
    assert smem_chunk_copies.gather(shared, marks, starts, places, out)
    marks[(PER_CTA + 9) * 4 + 2] = 1
    assert not smem_chunk_copies.gather(shared, marks, starts, places, out)


def test_tf32_boxes_are_rounded():
    rng = np.random.default_rng(4)
    source = rng.integers(0, 1 << 32, 64, np.uint32)
    source[:6] = 0x7F800000, 0xFFC01234, 0x7F7FFFFF, 0x3F801000, 0x3F803000, 0x00001001
    shared, marks = np.zeros(256, np.uint8), np.ones(64, np.uint8)
    zero = np.zeros(1, np.int64)
    smem_chunk_copies.write_boxes(shared, marks, source.ctypes.data, zero, zero, zero, 16, 0, (0, 0), True)
    expected = rounded_to_tf32(source.view(np.complex128)).view(np.uint32)
    np.testing.assert_array_equal(shared.view(np.uint32), expected)
    assert not marks.any()
