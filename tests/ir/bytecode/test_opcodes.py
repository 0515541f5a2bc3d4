"""The opcode table agrees with the dialect's operations."""

import pytest

from tileiras_build.ir.bytecode.opcodes import OPCODES, POINTER_ATTRIBUTES, SECTION_OPCODES, Opcode, opcode
from tileiras_build.ir.dialects.cuda_tile import OPERATIONS, PtrAttr
from tileiras_build.ir.dialects.cuda_tile.op_base import SEGMENTS

CLASSES = {cls.name.removeprefix("cuda_tile."): cls for cls in OPERATIONS}


def test_every_operation_has_one_opcode():
    names = [entry.name for entry in OPCODES.values()] + list(SECTION_OPCODES.values())
    assert sorted(names) == sorted(CLASSES)


def signature_of_row(entry: Opcode) -> tuple:
    """What a row says of its operation: operands, properties, whether it has segments, regions and results."""
    properties = {attribute.name for attribute in entry.attributes} | set(entry.units)
    return [operand.name for operand in entry.operands], properties, entry.segmented, entry.regions, entry.results


def defined(entry: Opcode) -> tuple:
    """The same of its class; results where the row has a number of them."""
    definition = CLASSES[entry.name].get_irdl_definition()
    operands, properties = [name for name, _ in definition.operands], set(definition.properties)
    results = None if entry.results is None else len(definition.results)
    return operands, properties - {SEGMENTS}, SEGMENTS in properties, len(definition.regions), results


def test_a_row_names_what_the_operation_has():
    assert {entry.name: signature_of_row(entry) for entry in OPCODES.values()} == {
        entry.name: defined(entry) for entry in OPCODES.values()
    }


def test_pointer_attributes_have_the_codes_of_the_dialect():
    assert list(POINTER_ATTRIBUTES) == [member.value for member in PtrAttr]


def test_rows_check_themselves():
    with pytest.raises(AssertionError):
        opcode(0x7FFF, "bad", "mask?")
    with pytest.raises(AssertionError):
        opcode(0x7FFF, "bad", attributes="x:unknown_kind")
