"""Matrices in shared memory as descriptors describe them, compared with how the emulator reads a descriptor."""

import pytest

from tileiras_build.ir.layouts import SharedLayout, matrix_operand
from tileiras_build.ir.layouts.matrix_descriptor import UNSWIZZLED
from tileiras_build.simulate.emulator.isa.smem_matrix_descriptors import NONE, k_major_offsets, mn_major_offsets

CHUNK = 16


def unswizzled(shape, fastest, bits):
    return SharedLayout.boxed(shape, (fastest, 1 - fastest), bits, CHUNK)


@pytest.mark.parametrize(("bits", "k_major"), [(8, True), (16, True), (32, True), (8, False), (16, False)])
@pytest.mark.parametrize("rows", [8, 16, 64])
def test_lines_of_16_bytes_are_read_in_place(bits, k_major, rows):
    """The chunks of one instruction lie where the emulator looks for them."""
    bytes, k = bits // 8, 256 // bits
    shape = (k, max(rows, CHUNK * 8 // bits))
    placement = unswizzled(shape, 0 if k_major else 1, bits)
    operand = matrix_operand(placement, 0)
    assert (operand.swizzle, operand.k_major) == (UNSWIZZLED, k_major)
    leading, stride = operand.leading // CHUNK, operand.stride // CHUNK
    if k_major:
        chunks = k_major_offsets(NONE, leading, stride, shape[1])
        starts = [[(chunk * CHUNK // bytes, row) for chunk in range(2)] for row in range(shape[1])]
    else:
        chunks = mn_major_offsets(NONE, leading, stride, k, shape[1] * bytes // CHUNK)
        starts = [[(at, chunk * CHUNK // bytes) for chunk in range(chunks.shape[1])] for at in range(k)]
    for line, where in zip(starts, chunks.tolist(), strict=True):
        for start, chunk in zip(line, where, strict=True):
            assert placement.element(chunk * CHUNK // bytes) == start


def test_a_matrix_without_further_rows_repeats():
    """An instruction of 16 columns reads the 8 of this matrix twice."""
    assert matrix_operand(unswizzled((32, 8), 1, 16), 0).stride == 0
    assert matrix_operand(SharedLayout.boxed((32, 8), (0, 1), 16, 64), 0).stride == 0
