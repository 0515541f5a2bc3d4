"""Parses PTX text to functions, instructions and variables (PTX ISA 9.0, sections 4, 5 and 7.1).

Registers, labels and variables have PTX's block scopes, which inline assembly in braces needs. Debug
directives (.loc, .file, .section) are skipped. Names are resolved to objects; literals keep the type of their spelling.
"""

from __future__ import annotations

import re

from ..errors import PtxSyntaxError
from .ast import (
    SINK,
    TYPE_BITS,
    Address,
    Arguments,
    Function,
    Immediate,
    Instruction,
    Module,
    Name,
    Negated,
    Pair,
    Register,
    Scope,
    Special,
    Variable,
    Vector,
)
from .literals import count, integer, number, scalar_bytes

_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_SPACE = re.compile(r"\s*")
_LABEL = re.compile(r"([A-Za-z_$%][\w$]*)\s*:(?!:)")
_LINE_DIRECTIVES = {".version", ".target", ".address_size", ".file", ".loc"}
_DIRECTIVE = re.compile(r"\.[a-zA-Z_]\w*")
_STATEMENT = re.compile(r'(?:[^;"]|"(?:\\.|[^"\\])*")*;')
_INSTRUCTION = re.compile(r"(?:@\s*(!?)\s*([%\w$]+)\s+)?([a-z_][\w.:]*)\s*(.*)", re.DOTALL)
# Most statements: an instruction without strings, with the groups of _INSTRUCTION.
_PLAIN = re.compile(r"\s*((?:@(!?)([%\w$]+)\s+)?([a-z_][\w.]*(?:::[\w.]+)*)(?:\s+(?!:)([^;\"]*[^;\"\s]))?)\s*;")
_RANGE = re.compile(r"(.+)<(\d+)>$")
_DIGITS = "0123456789"
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_NAME = re.compile(r"[\w$%.]+")
_LONG_NAME = 1000
# Limits of the hardware: bytes of local memory per thread, of shared memory per CTA, of parameters, of constants (CUDA C++
# Programming Guide, compute capabilities); of the emulator: bytes of a variable in global memory.
MAX_BYTES = {
    "local": 512 << 10,
    "shared": 228 << 10,
    "param": 512 << 10,
    "const": 64 << 10,
    "global": 1 << 30,
    "tex": 1 << 20,
}
_MAX_REGISTERS = 1 << 24
_MAX_LAUNCH_EXTENT = 1 << 31
_MAX_ALIGNMENT = 1 << 20
_FUNCTION_TUNING = re.compile(r"\.(reqntid|maxntid|minnctapersm|maxnreg|reqnctapercluster|maxclusterrank)\s+([\d,\s]+)")
_VARIABLE = re.compile(
    r"(?:\.(?P<link>visible|extern|weak|common)\s+)?\.(?P<space>param|local|shared|global|const|tex)\b(?P<attrs>[^=]*?)"
    r"\.(?P<type>pred|[bsuf]\d+(?:x2)?|bf16(?:x2)?|texref|samplerref|surfref)\s+(?P<rest>.*)$",
    re.DOTALL,
)


def parse(text: str) -> Module:
    """Parse PTX text. Raises PtxSyntaxError with the line number."""
    parser = _Parser(text)
    try:
        parser.run()
    except ValueError as error:  # an invalid literal
        parser.fail(str(error))
    return parser.module


class _Parser:
    def __init__(self, text: str):
        blank = lambda m: m.group() if m.group()[0] == '"' else "\n" * m.group().count("\n") or " "
        self.text = _COMMENT.sub(blank, text)
        self.module = Module()
        self.function: Function | None = None
        self.root = Scope()
        self.scope = self.root
        self.depth = 0
        self.line, self.line_at = 1, 0

    def fail(self, what: str):
        raise PtxSyntaxError(f"line {self.line}: {what}")

    # -- statements ----------------------------------------------------------------------------------
    def run(self):
        text, position, end = self.text, 0, len(self.text)
        while True:
            while plain := _PLAIN.match(text, position):
                self.advance(plain.start(1))
                self.instruction(*plain.groups())
                position = plain.end()
            position = _SPACE.match(text, position).end()
            if position >= end:
                return self.end()
            self.advance(position)
            first = text[position]
            if first == "{":
                self.open_scope()
                position += 1
            elif first == "}":
                self.close_scope()
                position += 1
            elif first == ".":
                position = self.directive(position)
            elif label := _LABEL.match(text, position):
                if self.function is None:
                    self.fail(f"the label {label.group(1)} is outside of a function")
                self.scope.labels[label.group(1)] = self.function.last_label = len(self.function.body)
                position = self.label_tail(label)
            else:
                match = _STATEMENT.match(text, position)
                if match is None:
                    self.fail(f"no semicolon after {text[position : position + 40]!r}")
                self.read_instruction(match.group()[:-1].strip())
                position = match.end()

    def end(self):
        if self.function is not None:
            self.fail(f"function {self.function.name} has no end: a }} is missing")

    def advance(self, position: int):
        """Advance the line number to a later position."""
        self.line += self.text.count("\n", self.line_at, position)
        self.line_at = position

    def open_scope(self):
        self.depth += 1
        self.scope = Scope(self.scope)
        if self.function is None:
            self.fail("a block outside a function")

    def close_scope(self):
        self.depth -= 1
        if self.depth < 0:
            self.fail("unbalanced }")
        self.scope = self.scope.parent
        if self.depth == 0:
            self.function, self.scope = None, self.root

    def label_tail(self, label) -> int:
        """Parse ``L: .branchtargets a, b;`` and ``P: .callprototype …;``, where the label names a list."""
        position = _SPACE.match(self.text, label.end()).end()
        word = _DIRECTIVE.match(self.text, position)
        if word is None or word.group() not in (".branchtargets", ".calltargets", ".callprototype"):
            return label.end()
        statement = _STATEMENT.match(self.text, position)
        if statement is None:
            self.fail(f"no semicolon after {word.group()}")
        body = statement.group()[len(word.group()) : -1]
        del self.scope.labels[label.group(1)]
        if word.group() != ".callprototype":
            names = [Name(n.strip(), self.scope) for n in body.split(",")]
            self.scope.names[label.group(1)] = Vector(names)
        else:
            self.scope.names[label.group(1)] = SINK
        return statement.end()

    def directive(self, position: int) -> int:
        text = self.text
        found = _DIRECTIVE.match(text, position)
        if found is None:
            self.fail(f"cannot read {text[position : position + 40]!r}")
        word = found.group()
        if word in _LINE_DIRECTIVES:
            end = text.find("\n", position)
            end = len(text) if end < 0 else end
            if word in (".version", ".target"):
                setattr(self.module, word[1:], text[position + len(word) : end].strip())
            return end
        if word == ".section":
            end = text.find("}", position)
            return end + 1 if end >= 0 else self.fail("a section without its }")
        header = re.compile(r"(?:\.(?:visible|extern|weak|common)\s+)?\.(entry|func)\b").match(text, position)
        if header:
            return self.function_header(header)
        statement = _STATEMENT.match(text, position)
        if statement is None:
            self.fail(f"directive without end: {text[position : position + 40]!r}")
        body = statement.group()[:-1].strip()
        if word == ".reg":
            self.declare_registers(body)
        elif word not in (".pragma", ".alias", ".explicitcluster", ".attribute"):
            self.declare_variable(body)
        return statement.end()

    # -- functions -----------------------------------------------------------------------------------
    def function_header(self, header) -> int:
        text = self.text
        if self.function is not None:
            self.fail(f"a function inside of {self.function.name}")
        brace, semicolon = text.find("{", header.end()), text.find(";", header.end())
        end = min(p for p in (brace, semicolon, len(text)) if p >= 0)
        head = text[header.end() : end]
        parts = re.match(r"\s*(?:\.attribute\([^)]*\)\s*)?(\(.*?\))?\s*([\w$]+)\s*(\(.*?\))?(.*)$", head, re.DOTALL)
        if parts is None:
            self.fail(f"cannot read the function header {head.strip()[:60]!r}")
        results, name, params, _ = parts.groups()
        self.scope = self.root
        function = Function(name, header.group(1) == "entry", self.formals(params), self.formals(results))
        for tuning in _FUNCTION_TUNING.finditer(head):
            counts = [n for n in tuning.group(2).split(",") if n.strip()]
            function.directives[tuning.group(1)] = tuple(count(n, _MAX_LAUNCH_EXTENT) for n in counts)
        if re.search(r"\.blocksareclusters\b", head):
            function.directives["blocksareclusters"] = ()
        if "reqntid" in function.directives:
            function.reqntid = (*function.directives["reqntid"], 1, 1)[:3]
        if end == semicolon:
            self.module.functions.setdefault(name, function)
            return end + 1
        function.defined = True
        self.module.functions[name] = function
        self.function = function
        self.depth, self.scope = 1, Scope(self.root)
        for variable in function.params + function.results:
            self.scope.names[variable.name] = variable
        return end + 1

    def formals(self, text: str | None) -> list[Variable]:
        if not text or not text.strip("() \n\t"):
            return []
        out = []
        for item in text.strip()[1:-1].split(","):
            item = item.strip()
            if item.startswith(".reg"):
                self.fail("register parameters of functions are not supported")
            out.append(self.variable(item))
        return out

    # -- declarations --------------------------------------------------------------------------------
    def declare_registers(self, body: str):
        words = body.split(None, 2)
        type_ = words[1].lstrip(".") if len(words) > 1 else ""
        names = words[2] if len(words) > 2 else ""
        if type_ in ("v2", "v4"):
            self.fail("vector registers are not supported")
        if type_ not in TYPE_BITS:
            self.fail(f"unknown register type .{type_}")
        for name in names.replace("\n", " ").split(","):
            name = name.strip()
            ranged = _RANGE.match(name)
            if ranged:
                self.scope.ranges[ranged.group(1)] = (count(ranged.group(2).lstrip("0") or "0", _MAX_REGISTERS), type_)
            else:
                self.scope.names[name] = self.new_register(name, type_)

    def new_register(self, name: str, type_: str) -> Register:
        register = Register(len(self.module.registers), name, type_)
        self.module.registers.append(register)
        return register

    def declare_variable(self, body: str):
        variable = self.variable(body)
        if self.function is None:
            self.module.variables[variable.name] = variable
            self.root.names[variable.name] = variable
        else:
            self.function.variables.append(variable)
            self.scope.names[variable.name] = variable

    def variable(self, body: str) -> Variable:
        match = _VARIABLE.match(body)
        if match is None:
            self.fail(f"cannot read the declaration {body[:60]!r}")
        rest = match["rest"]
        declarator, _, init = rest.partition("=")
        pointer = ".ptr" in declarator
        declarator = re.sub(r"\.ptr\b|\.(?:global|shared|const|local)\b|\.align\s+\d+", " ", declarator).strip()
        name = re.match(r"[\w$%.]+", declarator)
        if name is None:
            self.fail(f"a declaration without a name: {body[:60]!r}")
        bits = TYPE_BITS.get(match["type"], 64)
        width = max(bits // 8, 1)
        vector = re.search(r"\.v([248])\b", match["attrs"])
        align = re.search(r"\.align\s+(\d+)", match["attrs"])
        dimensions = re.findall(r"\[\s*(\d*)\s*\]", declarator)
        most = MAX_BYTES[match["space"]]
        elements = int(vector.group(1)) if vector else 1
        natural = width * elements
        for dimension in dimensions:
            elements *= count(dimension, most) if dimension else 0
        if elements * width > most:
            self.fail(f"{name.group()} has {elements * width} bytes, more than the {most} of .{match['space']}")
        alignment = count(align[1], _MAX_ALIGNMENT) if align else natural
        if alignment & (alignment - 1) or not alignment:
            self.fail(f"{name.group()} is aligned to {alignment}, which is not a power of two")
        variable = Variable(
            name.group(), match["space"], elements * width, alignment, extern=match["link"] == "extern", pointer=pointer
        )
        if init:
            self.initialise(variable, init, match["type"], width, bool(dimensions and dimensions[0] == ""))
        return variable

    def initialise(self, variable: Variable, text: str, type_: str, width: int, open_ended: bool):
        out = bytearray()
        for item in re.findall(r"[^\s{},]+(?:\s*\+\s*\d+)?", text):
            match = re.match(r"(?:(0[fdFD][0-9a-fA-F]+)|([-+]?\d\w*(?:\.\d*)?(?:[eE][-+]?\d+)?U?))$", item)
            if match is None:
                name = re.match(r"(generic\()?\s*([\w$]+)\)?\s*(?:\+\s*(\d+))?", item)
                if name is None:
                    self.fail(f"cannot read the initializer {item[:40]!r}")
                variable.relocations.append((len(out), name[2], integer(name[3] or "0"), name[1] is not None))
                out += bytes(width)
                continue
            out += scalar_bytes(item, type_, width)
        if open_ended:
            variable.size = len(out)
        variable.init = bytes(out)

    # -- instructions --------------------------------------------------------------------------------
    def read_instruction(self, text: str):
        match = _INSTRUCTION.match(text)
        if match is None:
            self.fail(f"cannot read the instruction {text[:60]!r}")
        self.instruction(text, *match.groups())

    def instruction(self, text: str, negated: str | None, predicate: str | None, opcode: str, rest: str | None):
        if self.function is None:
            self.fail(f"cannot read the instruction {text[:60]!r}")
        op, *mods = opcode.split(".")
        condition = None if predicate is None else self.operand(predicate)
        args = [self.operand(piece) for piece in self.pieces(rest)] if rest else []
        self.function.body.append(Instruction(op, tuple(mods), args, condition, negated == "!", self.line, text))

    def pieces(self, rest: str) -> list[str]:
        if "{" not in rest and "[" not in rest and "(" not in rest:
            return [piece.strip() for piece in rest.split(",")]
        return _split_top(rest)

    def operand(self, text: str):
        cached = self.scope.cache.get(text)
        if cached is None:
            cached = self.scope.cache[text] = self.read_operand(text)
        return cached

    def read_operand(self, text: str):
        if not text:
            self.fail("an operand is missing")
        first = text[0]
        if first in _CLOSING:
            if text[-1] != _CLOSING[first]:
                self.fail(f"no {_CLOSING[first]} after {text[:40]!r}")
            return self.grouped(first, text[1:-1].strip())
        if "|" in text:
            left, _, right = text.partition("|")
            return Pair(self.one(left), self.one(right))
        if first == "!":
            return Negated(self.one(text[1:]))
        if text == "_":
            return SINK
        if first.isdigit() or first in "+-":
            return number(text)
        return self.name(text)

    def grouped(self, bracket: str, inner: str):
        if bracket == "[":
            return self.address(inner)
        if bracket == "{":
            return Vector([self.one(part) for part in _split_top(inner)])
        return Arguments([self.one(part) for part in inner.split(",")] if inner else [])

    def one(self, text: str):
        """A simple operand, without parts."""
        text = text.strip()
        if text[:1] in _CLOSING or text[:1] == "!" or "|" in text:
            self.fail(f"cannot read the operand {text[:40]!r}")
        return self.operand(text)

    def name(self, text: str):
        scope, prefix = self.scope, text.rstrip(_DIGITS)
        while scope is not None:
            if text in scope.names:
                return scope.names[text]
            if prefix in scope.ranges and prefix != text:
                most, type_ = scope.ranges[prefix]
                if len(text) < _LONG_NAME and int(text[len(prefix) :]) < most:
                    register = scope.names[text] = self.new_register(text, type_)
                    return register
            scope = scope.parent
        if text.startswith("%"):
            return Special(text[1:])
        if text == "WARP_SZ":
            return Immediate("int", 32)
        if "+" in text:
            base, _, offset = text.partition("+")
            return Address(self.name(base.strip()), integer(offset.strip()))
        if not _NAME.fullmatch(text):
            self.fail(f"cannot read the operand {text[:40]!r}")
        return Name(text, self.scope)

    def address(self, text: str) -> Address:
        head, *extra = _split_top(text) or [""]
        match = re.match(r"([^+\s]+)\s*(?:\+\s*(-?\s*\w+))?$|(.+?)\s*(-\s*\d+)$", head)
        if match is None:
            self.fail(f"cannot read the address [{text}]")
        base = self.one(match[1] or match[3])
        offset = integer((match[2] or match[4] or "0").replace(" ", ""))
        if isinstance(base, Address):
            base, offset = base.base, base.offset + offset
        return Address(base, offset, tuple(map(self.coordinates, extra)))

    def coordinates(self, text: str):
        return self.operand(text) if text[:1] == "{" else self.one(text)


def _split_top(text: str) -> list[str]:
    """Split at commas outside brackets."""
    out, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c in "{[(":
            depth += 1
        elif c in "}])":
            depth -= 1
        elif c == "," and depth == 0:
            out.append(text[start:i].strip())
            start = i + 1
    out.append(text[start:].strip())
    return [p for p in out if p]
