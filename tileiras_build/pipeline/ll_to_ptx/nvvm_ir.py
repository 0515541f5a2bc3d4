"""Convert a linked LLVM module to NVVM IR, libNVVM's input (NVVM IR Specification 2.0, "modern" dialect).

For Blackwell and later libNVVM reads the IR of LLVM 22, which is llvmlite's. The differences are small: kernels are
listed in ``!nvvm.annotations``, the IR's version in ``!nvvmir.version``, the data layout is fixed, a few intrinsics are
missing, and operands and results of inline assembly are integers, float and double only: half and bfloat are passed as
bits.

    %y = call half asm "mov.b16 $0, $1;", "=h,h"(half %x)
    %nvvm.0 = bitcast half %x to i16
    %nvvm.1 = call i16 asm "mov.b16 $0, $1;", "=h,h"(i16 %nvvm.0)
    %y = bitcast i16 %nvvm.1 to half
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from ...target.isa.libnvvm_substitutions import APPROXIMATE, RENAMED, SIGN_BIT

DATA_LAYOUT = (
    "e-p:64:64:64-p3:32:32:32-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-"
    "f128:128:128-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64-a:8:8"
)
BITS = {
    "half": "i16", "bfloat": "i16", "<2 x half>": "i32", "<2 x bfloat>": "i32", "<2 x i16>": "i32", "<4 x i8>": "i32",
}  # fmt: skip
# Intrinsics that libNVVM 13.5 rejects, and the lowering of the NVPTX back end.
SIGN_CLEARED = {"float": ("i32", 0x7FFFFFFF), "double": ("i64", (1 << 63) - 1)} | dict.fromkeys(
    ("half", "bfloat"), ("i16", 0x7FFF)
)
_TYPE = "|".join(map(re.escape, BITS))
_LAYOUT = re.compile(r'^target datalayout = "[^"]*"$', re.MULTILINE)
_KERNEL = re.compile(r'^define [^\n]*\bptx_kernel [^\n@]*@("[^"\n]*"|[\w.$]+)\(', re.MULTILINE)
_ASM = re.compile(
    r"^(?P<indent>\s*)(?:(?P<result>%\S+) = )?(?P<call>(?:tail )?call) (?P<type>.*?) asm (?P<text>.*?\"[^\"\n]*\", ?"
    r'"[^"\n]*")\((?P<operands>.*)\)(?P<rest>[^()\n]*)$'
)
_OPERAND = re.compile(rf"(?P<type>{_TYPE}) (?P<value>\S.*)")
_UNARY = re.compile(
    r"^(?P<indent>\s*)(?P<result>%\S+) = (?:tail )?call (?:\w+ )*(?P<type>float|double|half|bfloat) "
    r"(?P<name>@llvm\.[\w.]+)\((?:float|double|half|bfloat) (?P<operand>[^()]+)\)[^()\n]*$"
)
_EXTRACT = re.compile(r"^(\s*)(%\S+) = extractvalue (\{[^}]*\}) (%\S+), (\d+)([^\n]*)$")


def nvvm_ir(text: str, version: tuple[int, int, int, int]) -> str:
    """NVVM IR of a module that LLVM printed; ``version`` is ``libnvvm.ir_version()``."""
    kernels = [f'ptr @{name}, !"kernel", i32 1' for name in _KERNEL.findall(text)]
    return "\n".join((*rewritten(text), metadata(text, kernels, version)))


def rewritten(text: str) -> list[str]:
    """The module's lines with the fixed data layout, and without assembly and intrinsics that libNVVM rejects."""
    text = _LAYOUT.sub(f'target datalayout = "{DATA_LAYOUT}"', text, count=1)
    return list(_Converter(text.splitlines()).convert())


def metadata(text: str, annotations: list[str], version: tuple[int, ...]) -> str:
    """Metadata nodes of the NVVM IR version and of function annotations, under unused ids."""
    free = max((int(number) for number in re.findall(r"^!(\d+) = ", text, re.MULTILINE)), default=-1) + 1
    nodes = [*annotations, ", ".join(f"i32 {number}" for number in version)]
    lines = [f"!{number} = !{{{node}}}" for number, node in enumerate(nodes, free)]
    names = ", ".join(f"!{free + index}" for index in range(len(annotations)))
    lines.append(f"!nvvmir.version = !{{!{free + len(annotations)}}}")
    return "\n".join(lines + ([f"!nvvm.annotations = !{{{names}}}"] if annotations else [])) + "\n"


class _Converter:
    """Rewrites one module line by line: inline assembly with types that libNVVM rejects, and unsupported intrinsics."""

    def __init__(self, lines: list[str]):
        self.lines = lines
        self.ids = count()
        self.declared = {line.partition(")")[0] for line in lines if line.startswith("declare")}
        self.structs: dict[str, list[str]] = {}  # renamed result -> original types of its fields

    def convert(self) -> Iterator[str]:
        for line in self.lines:
            if " asm " in line and (call := _ASM.match(line)) is not None:
                yield from self._call(call)
            elif "@llvm." in line and (lines := self._intrinsic(line)) is not None:
                yield from lines
            elif self.structs and (extract := _EXTRACT.match(line)) is not None and extract[4] in self.structs:
                yield from self._extract(extract)
            else:
                if line.startswith("}"):
                    self.structs.clear()
                yield line

    def _intrinsic(self, line: str) -> list[str] | None:
        """The lines that replace a call of an unsupported intrinsic; None for all other lines."""
        name = next((name for name in (SIGN_BIT, *RENAMED, *APPROXIMATE) if name in line), None)
        if name is None:
            return None
        if name in RENAMED:
            return self._declare_once(line.replace(name, RENAMED[name]))
        if line.startswith("declare"):
            return []
        return self._replaced(line, _UNARY.match(line), name)

    def _declare_once(self, line: str) -> list[str]:
        """A line, unless it repeats a declaration."""
        if line.startswith("declare"):
            if (head := line.partition(")")[0]) in self.declared:
                return []
            self.declared.add(head)
        return [line]

    def _replaced(self, line: str, call: re.Match | None, name: str) -> list[str]:
        if call is None:
            return [line]
        indent, result, type, _, operand = call.groups()
        if name in APPROXIMATE:
            return [f"{indent}{result} = call float {APPROXIMATE[name]}(float {operand})"]
        bits, mask = SIGN_CLEARED[type]
        before, after = self._name(), self._name()
        return [
            f"{indent}{before} = bitcast {type} {operand} to {bits}",
            f"{indent}{after} = and {bits} {before}, {mask}",
            f"{indent}{result} = bitcast {bits} {after} to {type}",
        ]

    def _name(self) -> str:
        return f"%nvvm.{next(self.ids)}"

    def _call(self, call: re.Match) -> Iterator[str]:
        operands = []
        for operand in split_operands(call["operands"]):
            lines, text = self._operand(call["indent"], operand)
            yield from lines
            operands.append(text)
        type, result = call["type"], call["result"]
        head, after = f"{result} = " if result else "", []
        if result and type in BITS:
            bits = self._name()
            head, after = f"{bits} = ", [f"{call['indent']}{result} = bitcast {BITS[type]} {bits} to {type}"]
        elif result and type.startswith("{"):
            fields = [field.strip() for field in type.strip("{} ").split(",")]
            if any(field in BITS for field in fields):
                self.structs[result] = fields
        yield f"{call['indent']}{head}{call['call']} {_as_bits(type)} asm {call['text']}({', '.join(operands)}){call['rest']}"
        yield from after

    def _operand(self, indent: str, operand: str) -> tuple[list[str], str]:
        found = _OPERAND.fullmatch(operand)
        if found is None:
            return [], operand
        type, value = found["type"], found["value"]
        if not value.startswith("%"):
            return [], f"{BITS[type]} bitcast ({type} {value} to {BITS[type]})"
        bits = self._name()
        return [f"{indent}{bits} = bitcast {type} {value} to {BITS[type]}"], f"{BITS[type]} {bits}"

    def _extract(self, extract: re.Match) -> Iterator[str]:
        indent, result, type, struct, index, rest = extract.groups()
        field = self.structs[struct][int(index)]
        if field not in BITS:
            yield f"{indent}{result} = extractvalue {_as_bits(type)} {struct}, {index}{rest}"
            return
        bits = self._name()
        yield f"{indent}{bits} = extractvalue {_as_bits(type)} {struct}, {index}{rest}"
        yield f"{indent}{result} = bitcast {BITS[field]} {bits} to {field}"


def _as_bits(type: str) -> str:
    """A result type with every field in libNVVM's form."""
    if not type.startswith("{"):
        return BITS.get(type, type)
    return "{ " + ", ".join(BITS.get(field.strip(), field.strip()) for field in type.strip("{} ").split(",")) + " }"


def split_operands(operands: str) -> list[str]:
    """The operands of a call: commas inside brackets do not separate."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(operands):
        depth += (character in "(<[{") - (character in ")>]}")
        if character == "," and depth == 0:
            parts.append(operands[start:position].strip())
            start = position + 1
    return parts + [operands[start:].strip()] if operands.strip() else []
