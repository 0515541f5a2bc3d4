"""What an older version lacks is refused by name, for every row of the opcode table and what stands beside it."""

from itertools import pairwise

import pytest
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Block, Region

from tests.ir.bytecode.sample_modules import V13_1, build
from tileiras_build.core.errors import InvalidInput
from tileiras_build.ir.bytecode import read_module
from tileiras_build.ir.bytecode.attribute_reader import ENUMS
from tileiras_build.ir.bytecode.opcodes import MEMBERS_SINCE, OPCODES, POINTER_ATTRIBUTES, SINCE, VERSIONS
from tileiras_build.ir.bytecode.reader import CLASSES
from tileiras_build.ir.bytecode.text_parser import assemble, parse_text
from tileiras_build.ir.bytecode.type_table import COMPOSITE_TYPES, PLAIN_TYPES
from tileiras_build.ir.bytecode.version_guards import guards_above
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.ir.dialects.cuda_tile.attrs import BoundedAttr, DenseConstantAttr, OptimizationHintsAttr
from tileiras_build.ir.dialects.cuda_tile.op_base import SEGMENTS
from tileiras_build.ir.dialects.cuda_tile.ops_control import ReturnOp, YieldOp
from tileiras_build.ir.dialects.cuda_tile.ops_module import EntryOp, ModuleOp
from tileiras_build.ir.dialects.cuda_tile.types import TOKEN, PointerType, TileType

BEFORE = {newer: older for older, newer in pairwise(VERSIONS)}
SCALAR = TileType((), i32)
PLAIN = {
    "i32": IntegerAttr(0, i32), "i64": IntegerAttr(0, i64), "bool": IntegerAttr(0, i1), "string": StringAttr(""),
    "symbol": SymbolRefAttr("g"), "dense": DenseConstantAttr(SCALAR, bytes(4)), "i32s": DenseArrayBase.from_list(i32, []),
    "bools": DenseArrayBase.from_list(i1, [0]), "array": ArrayAttr([]), "predicate": BoundedAttr(0, 1),
    "hints": OptimizationHintsAttr({}),
}  # fmt: skip


def neutral_value(attribute):
    """A value of an attribute that says nothing which older files do not mean."""
    if attribute.kind in PLAIN:
        return PLAIN[attribute.kind]
    members = ENUMS[attribute.kind]
    return members.of(attribute.default or next(iter(members.members)).value)


def changed(attribute):
    """Another one."""
    if attribute.kind == "bools":
        return DenseArrayBase.from_list(i1, [1])
    members = ENUMS[attribute.kind].members
    return ENUMS[attribute.kind].of(next(one.value for one in members if one.value != attribute.default))


def module_of(row, properties=(), groups=(), use_result=False):
    """A module whose only entry holds one operation of a row, with these properties and optional operands."""
    block = Block(arg_types=[SCALAR, TOKEN])
    sizes = [int(operand.arity == "1" or operand.name in groups) for operand in row.operands]
    known = {
        attribute.name: neutral_value(attribute) for attribute in row.attributes if attribute.name not in row.flags
    }
    if row.segmented:
        known[SEGMENTS] = DenseArrayBase.from_list(i32, sizes)
    regions = [Region(Block([YieldOp.create()])) for _ in range(row.regions)]
    results = [SCALAR] * (1 if row.results is None else row.results)
    op = CLASSES[row.name].create(
        operands=[block.args[0]] * sum(sizes),
        result_types=results,
        properties=known | dict(properties),
        regions=regions,
    )
    block.add_ops([op, ReturnOp.create(operands=op.results[:1] if use_result else [])])
    entry = EntryOp.create(
        properties={"sym_name": StringAttr("k"), "function_type": FunctionType.from_lists([SCALAR, TOKEN], [])},
        regions=[Region(block)],
    )
    return ModuleOp.create(properties={"sym_name": StringAttr("m")}, regions=[Region(Block([entry]))])


def cases():
    """(name, what, since, module) for all that the table says is newer than its operation, and for the operations."""
    for row in OPCODES.values():
        if row.since > VERSIONS[0]:
            yield row.name, row.name, row.since, module_of(row)
        for flag in row.flags if row.flags_since > row.since else ():
            with_flag = module_of(row, {flag: UnitAttr()} if flag in row.units else (), {flag})
            yield f"{row.name}.{flag}", f"'{flag}' of {row.name}", row.flags_since, with_flag
        if row.results_since is not None:
            yield f"{row.name}.result", f"the result of {row.name}", row.results_since, module_of(row, use_result=True)
        for attribute in row.attributes:
            if attribute.since > row.since:
                what = f"'{attribute.name}' of {row.name}"
                yield (
                    f"{row.name}.{attribute.name}",
                    what,
                    attribute.since,
                    module_of(row, {attribute.name: changed(attribute)}),
                )
            for (kind, member), since in MEMBERS_SINCE.items():
                if attribute.kind == kind and since > row.since and attribute.since < since:
                    what = f"'{member}' as '{attribute.name}' of {row.name}"
                    yield f"{row.name}.{member}", what, since, module_of(row, {attribute.name: ENUMS[kind].of(member)})


CASES = {name: rest for name, *rest in cases()}


def test_the_table_has_cases():
    assert {
        "negi.overflow",
        "for.unsignedCmp",
        "print_tko.result",
        "print_tko.token",
        "ftof.nearest_away",
        "pack",
    } <= CASES.keys()
    assert len(CASES) > 30


@pytest.mark.parametrize(("what", "since", "module"), CASES.values(), ids=CASES)
def test_what_a_version_lacks_is_refused(what, since, module):
    assert write_module(module, version=since)
    for older in (version for version in VERSIONS if version < since):
        with pytest.raises(InvalidInput) as caught:
            write_module(module, version=older)
        versions = ".".join(map(str, since)), ".".join(map(str, older))
        assert caught.value.id == "bytecode-version"
        assert caught.value.message == f"{what} needs bytecode {versions[0]}, not {versions[1]}"


def test_what_says_nothing_new_is_written():
    for row in OPCODES.values():
        assert write_module(module_of(row), version=row.since), row.name


def test_guards_are_of_newer_versions_only():
    assert not guards_above(VERSIONS[-1])
    assert all(guard.since > (13, 2) for guards in guards_above((13, 2)).values() for guard in guards)


NEW_TYPES = {str(type): (since, type) for since, type in PLAIN_TYPES.values() if since > VERSIONS[0]}


@pytest.mark.parametrize(("since", "type"), NEW_TYPES.values(), ids=NEW_TYPES)
def test_a_type_that_a_version_lacks_is_refused(since, type):
    name = str(type).replace("!cuda_tile.", "")
    text = f"\n  entry @k(%x: tile<{name if name == 'i4' else f'ptr<{name}>'}>) {{\n  }}\n"
    assert assemble(text, "k.mlir", since)
    with pytest.raises(
        InvalidInput, match=r"k.mlir:2:3: error\[bytecode-version\]: the type \w+ needs bytecode"
    ) as caught:
        assemble(text, "k.mlir", BEFORE[since])
    assert caught.value.remedy == f"write bytecode {'.'.join(map(str, since))} or newer"


def test_types_with_parameters_have_a_first_version_too():
    assert {cls.__name__ for since, cls, _ in COMPOSITE_TYPES.values() if since > VERSIONS[0]} == {
        "GatherScatterViewType", "StridedViewType",
    }  # fmt: skip
    text = """entry @k(%p: tile<ptr<f32>>) {
  %v = make_tensor_view %p, shape = [8], strides = [1] : tensor_view<8xf32, strides=[1]>
  %s = make_strided_view %v : strided_view<tile=(4), traversal_strides=[2], tensor_view<8xf32, strides=[1]>>
}
"""
    with pytest.raises(InvalidInput, match="k.mlir:3:8: .*make_strided_view needs bytecode 13.3, not 13.2"):
        assemble(text, "k.mlir", (13, 2))


@pytest.mark.parametrize("name", POINTER_ATTRIBUTES)
def test_a_pointer_attribute_that_a_version_lacks_is_refused(name):
    module = module_of(OPCODES[0x44])
    entry = module.body.block.first_op
    entry.body.block.args[0]._type = TileType((), PointerType(i32, name))
    entry.properties["function_type"] = FunctionType.from_lists([entry.body.block.args[0].type, TOKEN], [])
    assert write_module(module, version=POINTER_ATTRIBUTES[name])
    with pytest.raises(InvalidInput, match=f"the pointer attribute '{name}' needs bytecode"):
        write_module(module, version=BEFORE[POINTER_ATTRIBUTES[name]])


@pytest.mark.parametrize(("text", "message", "part"), [
    ("global constant @g <f32: 1.0> : tile<1xf32>", "the constant global @g", "global.visibility"),
    ("global private @g <f32: 1.0> : tile<1xf32>", "the private global @g", "global.visibility"),
    ("entry @k(%x: tile<i32> {a.b = 1}) {\n}", "an attribute of a parameter", "function.attributes"),
])  # fmt: skip
def test_parts_of_sections_that_a_version_lacks_are_refused(text, message, part):
    assert assemble(text, "k.mlir", SINCE[part])
    with pytest.raises(InvalidInput, match=f"k.mlir:1:1: .*{message} needs bytecode"):
        assemble(text, "k.mlir", BEFORE[SINCE[part]])


def test_the_program_that_wrote_the_text_is_not_named_in_older_files():
    """As NVIDIA's writer: it is no part of the program."""
    module = parse_text('cuda_tile.module @m attributes {producer = "me"} {\n}\n')
    for version in VERSIONS:
        inner = read_module(write_module(module, version=version)).body.block.first_op
        assert (inner.producer is not None) == (version >= SINCE["producer"])


def test_a_value_that_a_version_lacks_is_refused_in_a_file():
    module = parse_text(
        "entry @k(%x: tile<f32>) {\n %0 = ftoi %x signed rounding<nearest_int_to_zero> : tile<f32> -> tile<i32>\n}\n"
    )
    data = write_module(module, version=(13, 3))
    place = (
        data.index(bytes([0x2B, 2, 1, 6])) + 3 if bytes([0x2B, 2, 1, 6]) in data else data.rindex(bytes([1, 6, 0])) + 1
    )
    with pytest.raises(InvalidInput, match="nearest_away as a RoundingMode needs bytecode 13.4, the file is 13.3"):
        read_module(data[:place] + b"\x07" + data[place + 1 :])
    assert build(lambda *_: None, version=V13_1)
