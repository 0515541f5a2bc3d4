"""The words of atoms name rows of the table, and rows name words."""

import pytest

from tileiras_build.ir.dialects.cute_nvgpu.atom_mnemonics import MMA, SIGNS, TENSOR, mma_of, tensor_atom
from tileiras_build.target.mma_atoms import MMA_ATOMS, TCGEN05_ATOMS


@pytest.mark.parametrize("signs", SIGNS)
def test_the_spelling_of_a_row_is_that_of_its_instruction(signs):
    for row in MMA_ATOMS:
        _, atom = mma_of(row, *signs)
        found = MMA[atom.data]
        assert found.row.intrinsic_name(found.a, found.b) == row.intrinsic_name(*signs)


@pytest.mark.parametrize("signs", SIGNS)
def test_the_spelling_of_a_tcgen05_row_finds_it(signs):
    for row in TCGEN05_ATOMS:
        found = TENSOR[" ".join(tensor_atom(row, 128, 64, *signs).parameters[1:])]
        assert found.row == row
        size = 128, 64, False, False
        assert row.descriptor(*size, (found.a, found.b)) == row.descriptor(*size, signs)


def test_spellings():
    row = next(row for row in MMA_ATOMS if row.name == "mma_m16n8k32_i8_i8_i32")
    assert mma_of(row, True, False)[1].data == "16x8x32 s8 u8 s32"
    scaled = next(row for row in TCGEN05_ATOMS if row.scale_type == "f8E4M3FN")
    assert tensor_atom(scaled, 128, 64).data == "128x64x64 e2m1 e2m1 f32 ue4m3 16"
