"""The table of element types: its formats are those of ml_dtypes and of the interpreter, number for number."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tileiras_build.ir.bytecode import format_floats
from tileiras_build.ir.bytecode.type_table import PLAIN_TYPES
from tileiras_build.ir.dialects.cuda_tile.attrs import DTYPE_NAMES
from tileiras_build.ir.dialects.cuda_tile.element_types import BITS, BY_NAME
from tileiras_build.launch.packages.c_function_signatures import SCALAR_TYPES
from tileiras_build.launch.runtime import launch_config_buffer, pack_arguments
from tileiras_build.manifest.validate_launch_manifest import ENUM_VALUES
from tileiras_build.pipeline.analysis.tma_tensor_maps import MAP_ELEMENTS
from tileiras_build.pipeline.common.llvm_element_types import ELEMENTS
from tileiras_build.pipeline.tileas_to_ll.arith.float_conversions import LLVM_FLOATS
from tileiras_build.pipeline.tileas_to_ll.arith.float_conversions import SMALL as SMALL_FLOATS
from tileiras_build.simulate.interpreter.element_types import FORMATS, STORAGE_DTYPES, fnv8_to_float
from tileiras_build.simulate.interpreter.parse_arguments import TYPE_NAMES
from tileiras_build.target.element_types import ELEMENT_TYPES, MAP_TYPES, OPERAND_TYPES
from tileiras_build.verify.pack_parameters import DTYPES

SMALL = [name for name, row in ELEMENT_TYPES.items() if row.format is not None and row.format.width <= 16 and row.numpy]


def dtype(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, ELEMENT_TYPES[name].numpy, ELEMENT_TYPES[name].numpy))


def patterns(name: str) -> np.ndarray:
    width = ELEMENT_TYPES[name].format.width
    return np.arange(1 << width, dtype=np.uint8 if width <= 8 else np.uint16)


@pytest.mark.parametrize("name", SMALL)
def test_every_pattern_has_its_value(name):
    with np.errstate(invalid="ignore"):
        known = patterns(name).view(dtype(name)).astype(np.float64)
    np.testing.assert_array_equal([ELEMENT_TYPES[name].format.value(bits) for bits in patterns(name).tolist()], known)


def test_the_type_that_no_library_has():
    form = ELEMENT_TYPES["fnv8E5M3FNU"].format
    known = fnv8_to_float(np.arange(256, dtype=np.uint8))
    np.testing.assert_array_equal([form.value(bits) for bits in range(256)], known)
    assert [form.nearest(number) for number in known[:255]] == list(range(255))
    assert [form.nearest(value) for value in (1e9, float("inf"), 1.0625, 1.1875, 2.0**-18, 2.0**-17)] == [
        255,
        255,
        120,
        122,
        0,
        1,
    ]


@pytest.mark.parametrize("name", SMALL)
def test_the_nearest_value(name):
    form, rng = ELEMENT_TYPES[name].format, np.random.default_rng(0)
    with np.errstate(all="ignore"):
        known = patterns(name).view(dtype(name)).astype(np.float64)
        values = np.concatenate(
            [rng.normal(size=500) * 10.0 ** rng.integers(-6, 6, 500), known, (known[1:] + known[:-1]) / 2]
        )
        values = values[~np.isnan(values)] if form.signed else np.abs(values[~np.isnan(values)])
        want = values.astype(dtype(name)).astype(np.float64)
    found = np.array([form.value(form.nearest(float(value))) for value in values])
    np.testing.assert_array_equal(found, want)


# ---- the tables that know element types ----------------------------------------------------------------------------
FOUR_BITS = {"i4": "in no array", "f4E2M1FN": "in pairs, each of which is a byte"}
INTEGERS = dict.fromkeys(("i1", "i4", "i8", "i16", "i32", "i64"), "no float")
# Table -> its element types, and those that it does not have, with the reason.
TABLES: dict[str, tuple[set[str], dict[str, str]]] = {
    "dialect": (set(BY_NAME), {}),
    "bytecode": ({_name for _name, type in BY_NAME.items() if type in {found for _, found in PLAIN_TYPES.values()}}, {}),
    "NumPy": ({_name for _name, type in BY_NAME.items() if type in DTYPE_NAMES}, {"fnv8E5M3FNU": "in no library"}),
    "literals": ({_name for _name, type in BY_NAME.items() if type in format_floats.PRECISION}, INTEGERS),
    "registers": (set(ELEMENTS), {}),
    "conversions": (
        {*LLVM_FLOATS, *SMALL_FLOATS},
        {**INTEGERS, "tf32": "converted as f32", "f8E8M0FNU": "converted by its exponent"},
    ),
    "tensor maps": (set(MAP_ELEMENTS), {"i1": "a byte of which one bit counts", **FOUR_BITS}),
    "C": (set(SCALAR_TYPES) - {"pointer"}, FOUR_BITS),
    "launches": (set(pack_arguments.ELEMENT_TYPES), FOUR_BITS),
    "scalars": ({name for name in ELEMENT_TYPES if pack_arguments.pack_number(name, 1) is not None}, FOUR_BITS),
    "fast launches": (
        set(launch_config_buffer.STRUCT_CODES) - {"pointer", "i1"},
        {**FOUR_BITS, "i1": "no number of Python's", **{row.name: "not of struct" for row in ELEMENT_TYPES.values() if row.format and not row.struct}},
    ),
    "references": (set(DTYPES), FOUR_BITS),
    "interpreter": ({_name for _name, type in BY_NAME.items() if type in STORAGE_DTYPES}, {}),
    "formats of the interpreter": ({_name for _name, type in BY_NAME.items() if type in FORMATS}, INTEGERS),
    "arguments of commands": (set(TYPE_NAMES), {}),
}  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_every_element_type(table):
    """A type that a table does not have stands beside it with the reason."""
    found, missing = TABLES[table]
    assert found - ELEMENT_TYPES.keys() == set()
    assert ELEMENT_TYPES.keys() - found == set(missing)


def test_what_tensor_maps_hold_is_known_to_launches():
    for name, element in MAP_ELEMENTS.items():
        assert MAP_TYPES[element].bytes * 8 == ELEMENT_TYPES[name].load_bits
    assert {**MAP_TYPES, **{name: None for name in ENUM_VALUES["element"]}}.keys() == MAP_TYPES.keys()


@pytest.mark.parametrize("name", [name for name, row in OPERAND_TYPES.items() if row.numpy and row.format])
def test_the_bits_of_operands_are_those_of_libraries(name):
    assert OPERAND_TYPES[name].load_bits == 8 * dtype(name).itemsize


def test_widths_and_formats_are_those_of_the_interpreter():
    """Which has a table of its own."""
    for name, type in BY_NAME.items():
        row = ELEMENT_TYPES[name]
        assert BITS[type] == row.bits
        if row.format is None:
            continue
        form, own = FORMATS[type], row.format
        assert (form.precision, form.min_exponent, form.max_value) == (
            own.precision,
            1 - own.bias - (not own.zero),
            own.largest,
        )
        assert (form.has_nan, form.signed) == (own.nan is not None, own.signed)
        assert form.has_infinity == (own.infinity is not None and own.infinity != own.nan)
