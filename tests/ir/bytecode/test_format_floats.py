"""Float literals. The expected text is what tileirdisasm 13.5 prints for these constants."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileiras_build.ir.bytecode.float_bits import float_bits, float_value
from tileiras_build.ir.bytecode.format_floats import float_text
from tileiras_build.ir.dialects.cuda_tile.attrs import DTYPE_NAMES
from tileiras_build.ir.dialects.cuda_tile.element_types import BF16, F4E2M1, F8E4M3, F8E5M2, F8E8M0, F16, F32, F64, TF32

LITERALS = [
    (0x3FB8AA3B, F32, "1.44269502"),
    (0x3F800000, F32, "1.000000e+00"),
    (0x7F800000, F32, "0x7F800000"),
    (0x4B7FFFFF, F32, "0x4B7FFFFF"),
    (0x80000000, F32, "-0.000000e+00"),
    (0x3FC9980000000000, F64, "0.199951171875"),
    (struct.unpack("<Q", struct.pack("<d", 1e-7 / 3))[0], F64, "3.3333333333333334E-8"),
    (struct.unpack("<Q", struct.pack("<d", 1e22 / 3))[0], F64, "3.3333333333333335E+21"),
    (0x1400, F16, "9.765620e-04"),
    (0x7E00, F16, "0x7E00"),
    (0x30555, TF32, "9.835860e+19"),
    (0x7F, F8E8M0, "1.000000e+00"),
    (0x05, F4E2M1, "3.000000e+00"),
]


@pytest.mark.parametrize("bits, type, expected", LITERALS, ids=[row[2] for row in LITERALS])
def test_literals(bits, type, expected):
    assert float_text(bits, type) == expected


TYPES = [BF16, F16, F32, F64, TF32, F8E4M3, F8E5M2, F8E8M0, F4E2M1]
WIDTHS = {BF16: 16, F16: 16, F32: 32, F64: 64, TF32: 19, F8E4M3: 8, F8E5M2: 8, F8E8M0: 8, F4E2M1: 4}


@given(st.data(), st.sampled_from(TYPES))
def test_literals_read_back(data, type):
    """Decimal text gives the same value, hexadecimal text the bits."""
    bits = data.draw(st.integers(0, (1 << WIDTHS[type]) - 1))
    text = float_text(bits, type)
    if text.startswith("0x"):
        assert int(text, 16) == bits
    else:
        assert float_bits(float(text), type) == bits


@given(st.data(), st.sampled_from(TYPES))
def test_values_keep_their_bits(data, type):
    bits = data.draw(st.integers(0, (1 << WIDTHS[type]) - 1))
    value = float_value(bits, type)
    assert value != value or float_bits(value, type) == bits


def test_every_type_with_values_has_a_width():
    assert {type for type in DTYPE_NAMES if type in WIDTHS} == set(WIDTHS)
