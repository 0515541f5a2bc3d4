"""Convert a linked and optimized LLVM module to the NVVM IR of GPUs before Blackwell: the IR of LLVM 7.

In that IR pointers are typed (every one becomes a pointer to bytes), bfloat does not exist (its bits are an i16), and
few intrinsics are supported: others become inline assembly of their instructions. Launch bounds are annotations.

    %g = getelementptr inbounds nuw i32, ptr addrspace(1) %p, i64 %i
    %nvvm7.0 = bitcast i8 addrspace(1)* %p to i32 addrspace(1)*
    %nvvm7.1 = getelementptr i32, i32 addrspace(1)* %nvvm7.0, i64 %i
    %g = bitcast i32 addrspace(1)* %nvvm7.1 to i8 addrspace(1)*

Lines without a matching rule are unchanged; libNVVM reports what it cannot parse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from ...target.isa.libnvvm_substitutions import (
    CACHE_HINT,
    CONSTANTS,
    CONSTRAINT_LETTERS,
    EFFECTS,
    INSTRUCTIONS,
    MEMORY,
    TO_BFLOAT,
    predicate,
)
from .nvvm_ir import metadata, rewritten, split_operands
from .regex_matches import require_match

_POINTER = re.compile(r"\bptr\b(?: addrspace\((\d+)\))?")
_GLOBAL = re.compile(r"^@([\w.$]+) = .*?(?:addrspace\((\d+)\) )?(?:global|constant) (\[[^\]]*\]|\S+)")
_GEP = re.compile(
    r"^(\s*)(%\S+) = getelementptr (?:(?:inbounds|nuw|nusw) )*(\w+), (ptr(?: addrspace\(\d+\))?) (\S+), (.+)$"
)
_ANY = r"(?:<[^>]*>|\{[^}]*\}|\[[^\]]*\]|\w+)"
_REST = r"(?:, (?:align \d+|![\w.]+ !\d+))*"
_LOAD = re.compile(rf"^(\s*)(%\S+ = load (?:volatile )?)({_ANY}), (ptr(?: addrspace\(\d+\))?) (.+?)({_REST})$")
_STORE = re.compile(rf"^(\s*)(store (?:volatile )?)({_ANY}) (.+), (ptr(?: addrspace\(\d+\))?) (.+?)({_REST})$")
_ALLOCA = re.compile(rf"^(\s*)(%\S+) = alloca ({_ANY})(.*)$")
_CONSTANT_GEP = re.compile(r"getelementptr (?:(?:inbounds|nuw|nusw) )*\(i8, ")
_CALL = re.compile(r"^(\s*)(?:(%\S+) = )?(?:tail )?call (.*?)@(llvm\.[\w.]+)\((.*)\)[^()]*$")
_FNEG = re.compile(r"= fneg (?:\w+ )*?(half|float|double) (\S+)")
_FREEZE = re.compile(r"= freeze (\S+(?: addrspace\(\d+\))?) ([^\s,]+)")
_EXTEND = re.compile(r"^(\s*)(%\S+) = fpext bfloat (\S+) to float")
_BFLOAT = re.compile(
    r"^(\s*)(%\S+) = (fadd|fsub|fmul|fdiv|fcmp)((?: [a-z]+)*) bfloat (\S+), ([^\s,]+)(?:, !dbg !\d+)?$"
)
_PREDICATED = re.compile(r'^(.*? asm .*?")([^"]*)(", ?")([^"]*)("\()(.*)(\)[^()]*)$')
_TRUNCATE = re.compile(r"^(\s*)(%\S+) = fptrunc float (\S+) to bfloat")
_DROPPED = re.compile(
    r"\b(?:disjoint|nneg|samesign|noundef|immarg|captures\([^)]*\)|range\([^)]*\)|nocreateundeforpoison) | (?:immarg|captures\([^)]*\))(?=[,)])"
)
_BITS = re.compile(r"\b0xR([0-9A-Fa-f]{4})\b")
_NARROWING = re.compile(r"= trunc (?:(?:nuw|nsw) )+")
_TO_BFLOAT = re.compile(r"^(\s*)(%\S+) = (sitofp|uitofp) (?:nneg )?(i1|i8|i16) (\S+) to bfloat")
_FROM_BFLOAT = re.compile(r"^(\s*)(%\S+) = (fptosi|fptoui) bfloat (\S+) to (i\d+)")
# LLVM 7 assigns different ids to unnamed values; named values are not affected.
_NUMBER, _LABEL = re.compile(r"%(\d+)\b"), re.compile(r"^(\d+):")
_DEFINITION = re.compile(r"^define (?:(?:dso_local|internal) )?ptx_kernel ")
_GROUP = re.compile(r"^attributes (#\d+) = \{(.*)\}$")
_BOUND = re.compile(r'"nvvm\.(reqntid|maxntid|minctasm|maxnreg)"="([\d, ]+)"')
# Syntax of debug information that is newer than LLVM 7.
_DEBUG = (
    ("spFlags: DISPFlagDefinition | DISPFlagOptimized", "isDefinition: true, isOptimized: true"),
    ("spFlags: DISPFlagDefinition", "isDefinition: true"),
    ("emissionKind: DebugDirectivesOnly", "emissionKind: LineTablesOnly"),
)
_TYPED = re.compile(r"^(.+?) (\S+)$")


def nvvm_ir_7(text: str, version: tuple[int, int, int, int]) -> str:
    """Convert a module that LLVM printed after optimization to the LLVM 7 dialect."""
    dialect = _Dialect7(rewritten("\n".join(map(_instruction, text.splitlines()))))
    body = list(dialect.convert())
    return "\n".join((*body, metadata(text, dialect.annotations, version)))


def _instruction(line: str) -> str:
    """A call of an intrinsic of the table as inline assembly of its instruction; any other line unchanged."""
    call = _CALL.match(line) if "@llvm." in line else None
    if call is None or call[4] not in INSTRUCTIONS:
        return line
    indent, result, head, name, operands = call.groups()
    text = INSTRUCTIONS[name]
    type = _result_type(head)
    values = [require_match(_TYPED.match(operand)).groups() for operand in split_operands(operands)]
    registers = [] if type == "void" else split_operands(type.strip("{} "))
    # Operands that the instruction lacks are hints for LLVM only.
    values = values[: len(set(re.findall(r"\$\d+", text))) - len(registers)]
    letters = [f"={CONSTRAINT_LETTERS[register]}" for register in registers]
    letters += ["n" if text.startswith(CONSTANTS) else CONSTRAINT_LETTERS[_words(kind)] for kind, _ in values]
    effects = "sideeffect " if text.startswith(EFFECTS) else ""
    memory = [MEMORY] if type == "void" else []
    given = ", ".join(f"{_words(kind)} {value}" for kind, value in values)
    assign = f"{result} = " if result else ""
    return f'{indent}{assign}call {type} asm {effects}"{text}", "{",".join(letters + memory)}"({given}) {CONVERGENT}'


class _Dialect7:
    """Rewrites one module line by line; ``annotations`` are collected from kernels."""

    def __init__(self, lines: list[str]):
        self.lines = lines
        self.ids = count()
        self.annotations: list[str] = []
        self.groups = {match[1]: match[2] for line in lines if (match := _GROUP.match(line))}
        self.globals = {match[1]: (match[2], match[3]) for line in lines if (match := _GLOBAL.match(line))}
        self._use = re.compile(r"\bptr(?: addrspace\(\d+\))? @(" + "|".join(map(re.escape, self.globals)) + r")\b")

    def convert(self) -> Iterator[str]:
        for line in self.lines:
            if line.startswith("attributes "):
                yield self._group(line)
            elif (
                CACHE_HINT in line or line.startswith("declare ") and any(f"@{name}(" in line for name in INSTRUCTIONS)
            ):
                continue
            else:
                yield from self._line(_older_debug(line) if " !DI" in line else line)

    def _line(self, line: str) -> Iterator[str]:
        if not line.startswith(("@", "!")):
            line = _LABEL.sub(r"n\1:", _NUMBER.sub(r"%n\1", line))
        if _DEFINITION.match(line):
            line = self._kernel(line)
        if (gep := _GEP.match(line)) is not None:
            yield from (self._plain(entry) for entry in self._address(gep))
        elif (access := _LOAD.match(line) or _STORE.match(line)) is not None:
            yield from (self._plain(entry) for entry in self._access(access))
        elif (storage := _ALLOCA.match(line)) is not None:
            indent, result, type, rest = storage.groups()
            typed = self._name()
            yield self._plain(f"{indent}{typed} = alloca {type}{rest}")
            yield self._plain(f"{indent}{result} = bitcast {type}* {typed} to i8*")
        elif (extend := _EXTEND.match(line)) is not None:
            yield from self._extend(extend)
        elif (truncate := _TRUNCATE.match(line)) is not None:
            yield _narrowed(*truncate.groups())
        elif (conversion := _TO_BFLOAT.match(line)) is not None:
            indent, result, name, type, operand = conversion.groups()
            exact = self._name()
            yield f"{indent}{exact} = {name} {type} {operand} to float"
            yield _narrowed(indent, result, exact)
        elif (conversion := _FROM_BFLOAT.match(line)) is not None:
            indent, result, name, operand, type = conversion.groups()
            exact = self._name()
            yield from self._extend_to(indent, exact, _constant_bits(operand))
            yield f"{indent}{result} = {name} float {exact} to {type}"
        elif (operation := _BFLOAT.match(line)) is not None:
            yield from self._bfloat(operation)
        elif " asm " in line and "i1 " in line and (asm := _PREDICATED.match(line)) is not None:
            yield from (self._plain(entry) for entry in self._predicated(asm))
        else:
            yield self._plain(line)

    def _name(self) -> str:
        return f"%nvvm7.{next(self.ids)}"

    def _plain(self, line: str) -> str:
        """A line in LLVM 7's syntax."""
        line = _NARROWING.sub("= trunc ", _DROPPED.sub("", line))
        line = _FNEG.sub(lambda match: f"= fsub {match[1]} -0.000000e+00, {match[2]}", line)
        line = _FREEZE.sub(r"= bitcast \1 \2 to \1", line)
        if self.globals:
            line = self._use.sub(self._global, line)
        line = _CONSTANT_GEP.sub("getelementptr (i8, ", line)
        line = _BITS.sub(lambda constant: str(int(constant[1], 16)), line)
        return _POINTER.sub(_bytes, line).replace("bfloat", "i16").replace("poison", "undef")

    def _global(self, use: re.Match) -> str:
        space, type = self.globals[use[1]]
        pointer = f"addrspace({space})*" if space else "*"
        spaced = f" {pointer}" if space else pointer
        return f"i8{spaced} bitcast ({type}{spaced} @{use[1]} to i8{spaced})"

    def _address(self, gep: re.Match) -> list[str]:
        indent, result, type, pointer, base, index = gep.groups()
        type = "i16" if type == "bfloat" else type
        if type == "i8":
            return [f"{indent}{result} = getelementptr i8, {pointer} {base}, {index}"]
        typed = _bytes(require_match(_POINTER.match(pointer))).replace("i8", type, 1)
        cast, moved = self._name(), self._name()
        return [
            f"{indent}{cast} = bitcast {pointer} {base} to {typed}",
            f"{indent}{moved} = getelementptr {type}, {typed} {cast}, {index}",
            f"{indent}{result} = bitcast {typed} {moved} to {pointer}",
        ]

    def _access(self, access: re.Match) -> list[str]:
        """A load or store through a pointer to its type."""
        indent, head, type, *value, pointer, base, rest = access.groups()
        typed, cast = _bytes(require_match(_POINTER.match(pointer))).replace("i8", type, 1), self._name()
        moved = f"{type} {value[0]}" if value else type
        return [
            f"{indent}{cast} = bitcast {pointer} {base} to {typed}",
            f"{indent}{head}{moved}, {typed} {cast}{rest}",
        ]

    def _bfloat(self, operation: re.Match) -> Iterator[str]:
        """Compute in float and round once: 24 bits are at least twice 8 plus 2, so the result is correctly rounded."""
        indent, result, name, flags, *operands = operation.groups()
        wide = [self._name() for _ in operands]
        for target, operand in zip(wide, operands, strict=True):
            yield from self._extend_to(indent, target, _constant_bits(operand))
        if name == "fcmp":
            yield f"{indent}{result} = fcmp{flags} float {wide[0]}, {wide[1]}"
            return
        value = self._name()
        yield f"{indent}{value} = {name}{flags} float {wide[0]}, {wide[1]}"
        yield _narrowed(indent, result, value)

    def _predicated(self, asm: re.Match) -> Iterator[str]:
        """Inline assembly with predicates as 0 or 1 in a register: LLVM 7 has no i1 operand."""
        head, text, middle, constraints, opening, operands, tail = asm.groups()
        indent = head[: len(head) - len(head.lstrip())]
        letters, values = constraints.split(","), split_operands(operands)
        results = sum(letter.startswith("=") for letter in letters)
        setup = ""
        for position, value in enumerate(values):
            if value.startswith("i1 "):
                number, word = results + position, self._name()
                yield f"{indent}{word} = zext {value} to i32"
                values[position], letters[number] = f"i32 {word}", "r"
                name, line = predicate(number)
                text = re.sub(rf"\${number}(?!\d)", name, text)
                setup += line
        if setup:
            text = f"{{ {setup}{text} }}"
        yield f"{head}{text}{middle}{','.join(letters)}{opening}{', '.join(values)}{tail}"

    def _extend(self, extend: re.Match) -> Iterator[str]:
        indent, result, operand = extend.groups()
        yield from self._extend_to(indent, result, operand)

    def _extend_to(self, indent: str, result: str, operand: str) -> Iterator[str]:
        wide, shifted = self._name(), self._name()
        yield f"{indent}{wide} = zext i16 {operand} to i32"
        yield f"{indent}{shifted} = shl i32 {wide}, 16"
        yield f"{indent}{result} = bitcast i32 {shifted} to float"

    def _kernel(self, line: str) -> str:
        """The definition without its calling convention; its attributes become annotations."""
        name, group = require_match(re.search(r"@([\w.$]+)\(", line))[1], re.search(r"\) .*?(#\d+)", line)
        types = [
            operand.rpartition(" ")[0]
            for operand in split_operands(line[line.index("(", line.index("@")) + 1 : line.rindex(")")])
        ]
        signature = _POINTER.sub(_bytes, ", ".join(_DROPPED.sub("", f"{type} ").strip() for type in types))
        function = f"void ({signature})* @{name}"
        self.annotations.append(f'{function}, !"kernel", i32 1')
        for bound, values in _BOUND.findall(self.groups.get(group[1], "") if group else ""):
            axes = "xyz" if bound.endswith("ntid") or bound == "reqntid" else [""]
            for axis, value in zip(axes, values.split(","), strict=False):
                self.annotations.append(f'{function}, !"{bound}{axis}", i32 {value.strip()}')
        return line.replace("ptx_kernel ", "", 1)

    def _group(self, line: str) -> str:
        number, words = require_match(_GROUP.match(line)).groups()
        kept = [word for word in ("alwaysinline", "convergent", "noinline", "nounwind") if word in words.split()]
        return f"attributes {number} = {{ {' '.join(kept) or 'nounwind'} }}"


CONVERGENT = "convergent nounwind"


def _older_debug(line: str) -> str:
    for new, old in _DEBUG:
        line = line.replace(new, old)
    return line


def _narrowed(indent: str, result: str, value: str) -> str:
    return f'{indent}{result} = call i16 {TO_BFLOAT}(float {value})'


def _constant_bits(operand: str) -> str:
    """A bfloat constant, 0xR3F80, as its bits."""
    return str(int(operand[3:], 16)) if operand.startswith("0xR") else operand


def _bytes(pointer: re.Match) -> str:
    return f"i8 addrspace({pointer[1]})*" if pointer[1] else "i8*"


def _words(type: str) -> str:
    """The operand's type without attributes."""
    return _DROPPED.sub("", f"{type} ").strip()


def _result_type(head: str) -> str:
    """The type before a callee, without flags and attributes."""
    return re.sub(r"^(?:(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*", "", _words(head)).strip()
