"""Every sample, written in MLIR's generic syntax, assembles to the program that it is."""

import pytest
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, FunctionType, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue

from tests.ir.bytecode.sample_modules import SAMPLES, sample
from tileiras_build.ir.bytecode import disassemble
from tileiras_build.ir.bytecode.attribute_text import TypeNames, identity_text
from tileiras_build.ir.bytecode.reader import read_module
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.ir.dialects.checked_mlir_parser import escape
from tileiras_build.ir.dialects.cuda_tile.attrs import DenseConstantAttr, OptimizationHintsAttr
from tileiras_build.ir.dialects.cuda_tile.enums import EnumAttr


class Generic:
    """Prints a module as ``mlir-opt --mlir-print-op-generic`` prints it; ``as_integers``: enumerations as integers."""

    def __init__(self, as_integers: bool):
        self.names: dict[SSAValue, str] = {}
        self.as_integers = as_integers

    def value(self, value: SSAValue) -> str:
        return self.names.setdefault(value, f"%{len(self.names)}")

    def attribute(self, value: Attribute) -> str:
        if isinstance(value, DenseConstantAttr):
            return f'dense<"0x{value.raw.hex().upper()}"> : {value.type}'
        if isinstance(value, EnumAttr):
            number = type(value).instances.index(value)
            return f"{number} : i32" if self.as_integers else f"#{value.name}<{value.data.value}>"
        if isinstance(value, OptimizationHintsAttr):
            return f"#cuda_tile.optimization_hints{value.text()}"
        if isinstance(value, StringAttr):
            return escape(value.data)
        if isinstance(value, DictionaryAttr):
            return str(value)
        if isinstance(value, ArrayAttr):
            typed = [
                self.attribute(one) if isinstance(one, DictionaryAttr) else identity_text(one, TypeNames())
                for one in value
            ]
            return f"[{', '.join(typed)}]"
        if isinstance(value, DenseArrayBase) and str(value.elt_type) == "i1":
            return f"array<i1: {', '.join('true' if flag else 'false' for flag in value.get_values())}>"
        return str(value)

    def attributes(self, op: Operation) -> str:
        texts = [
            name if isinstance(value, UnitAttr) else f"{name} = {self.attribute(value)}"
            for name, value in op.properties.items()
        ]
        return f" <{{{', '.join(texts)}}}>" if texts else ""

    def region(self, region: Region) -> str:
        if not region.blocks:
            return "{\n}"
        arguments = ", ".join(f"{self.value(argument)}: {argument.type}" for argument in region.block.args)
        label = f"^bb0({arguments}):\n" if arguments else ""
        return f"{{\n{label}{''.join(map(self.operation, region.block.ops))}}}"

    def operation(self, op: Operation) -> str:
        operands = ", ".join(map(self.value, op.operands))
        regions = f" ({', '.join(map(self.region, op.regions))})" if op.regions else ""
        types = FunctionType.from_lists([value.type for value in op.operands], [result.type for result in op.results])
        inputs, outputs = (", ".join(map(str, group.data)) for group in (types.inputs, types.outputs))
        base = f"%r{len(self.names)}"
        self.names |= {
            result: f"{base}#{index}" if len(op.results) > 1 else base for index, result in enumerate(op.results)
        }
        count = f":{len(op.results)}" if len(op.results) > 1 else ""
        left = f"{base}{count} = " if op.results else ""
        return f'{left}"{op.name}"({operands}){self.attributes(op)}{regions} : ({inputs}) -> ({outputs})\n'


@pytest.mark.parametrize("as_integers", [False, True], ids=["words", "integers"])
@pytest.mark.parametrize("name", SAMPLES)
def test_the_generic_syntax_of_every_operation(name, as_integers):
    module = read_module(sample(name))
    text = Generic(as_integers).operation(module.body.block.first_op)
    again = parse_text(text, "k.mlir")
    assert disassemble(write_module(again, version=(13, 5))) == disassemble(sample(name))
