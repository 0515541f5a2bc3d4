"""The opcode table agrees with the dialect's operations."""

import pytest

from tileiras_build.bytecode.opcodes import OPCODES, POINTER_ATTRIBUTES, SECTION_OPCODES, Opcode, row
from tileiras_build.dialects.cuda_tile import OPERATIONS, PtrAttr
from tileiras_build.dialects.cuda_tile.base import SEGMENTS

CLASSES = {cls.name.removeprefix("cuda_tile."): cls for cls in OPERATIONS}


def test_every_operation_has_one_opcode():
    names = [entry.name for entry in OPCODES.values()] + list(SECTION_OPCODES.values())
    assert sorted(names) == sorted(CLASSES)


@pytest.mark.parametrize("entry", OPCODES.values(), ids=lambda entry: entry.name)
def test_a_row_names_what_the_operation_has(entry: Opcode):
    definition = CLASSES[entry.name].get_irdl_definition()
    assert [name for name, _ in definition.operands] == [operand.name for operand in entry.operands]
    properties = {attribute.name for attribute in entry.attributes} | set(entry.units)
    assert set(definition.properties) - {SEGMENTS} == properties
    assert (SEGMENTS in definition.properties) == entry.segmented
    assert len(definition.regions) == entry.regions
    if entry.results is not None:
        assert len(definition.results) == entry.results


def test_pointer_attributes_have_the_numbers_of_the_dialect():
    assert list(POINTER_ATTRIBUTES) == [member.value for member in PtrAttr]


def test_rows_check_themselves():
    with pytest.raises(AssertionError):
        row(0x7FFF, "bad", "mask?")
    with pytest.raises(AssertionError):
        row(0x7FFF, "bad", attributes="x:unknown_kind")
