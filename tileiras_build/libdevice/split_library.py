"""Split libdevice: the functions and tables that each ``__nv_*`` function needs.

LLVM's linker can only link a whole module (libdevice's functions have external linkage, and llvmlite has no
link-only-needed mode), which costs a second per kernel. So the library is printed once and split into definitions, and
the closure of one function is assembled as a small module of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import llvmlite.binding as llvm

from .resolve_linked_library import Blob, broken_library

# Queries of the library by __nvvm_reflect. Subnormals are kept and sqrt is correctly rounded, as Tile IR requires.
REFLECT = {"__CUDA_FTZ": 0, "__CUDA_PREC_SQRT": 1, "__CUDA_PREC_DIV": 1}
ARCH = "__CUDA_ARCH"

# A name as LLVM prints it: quoted if it has other characters than these ("a$b").
_SYMBOL = r'@([-\w.]+|"[^"]*")'
_NAME = re.compile(_SYMBOL)
_LINKAGE = re.compile(r"\b(?:internal|private|linkonce_odr|weak)\s+")
_REFLECT_CALL = re.compile(rf"(?:tail )?call i32 @__nvvm_reflect\(ptr {_SYMBOL}\)(?: #\d+)?")
_STRING = re.compile(r'.*c"(\w+)\\00"')
_STRING_ATTRIBUTE = re.compile(r'"[\w-]+"="[^"]*" ?')
_PRODUCER_NOTES = ("!llvm.ident", "!nvvmir.version")


@dataclass(frozen=True)
class Closure:
    """One function with all its dependences, as LLVM IR text; ``reads_arch``: it differs between GPU generations."""

    symbol: str
    text: str
    reads_arch: bool


class Library:
    """The definitions of one bitcode library, by name; ``symbols`` are the functions that kernels may call.

    The text of a part of a library has fewer definitions than ``symbols``.
    """

    def __init__(self, text: str, symbols: Iterable[str]):
        self.definitions: dict[str, str] = {}
        self.globals: dict[str, str] = {}
        self.strings: dict[str, str] = {}
        self.symbols = frozenset(symbols)
        self._tail: list[str] = []
        self._types: list[str] = []
        self._split(text)

    @classmethod
    def from_file(cls, path: Path) -> Library:
        """Read a library; raises InvalidInput[libdevice-missing, libdevice-broken]."""
        return cls.from_blob(Blob.of_file(path))

    @classmethod
    def from_blob(cls, blob: Blob, reduce: Callable[[llvm.ModuleRef], None] | None = None) -> Library:
        """Read a library; ``reduce`` may remove functions first, as most of the time goes into printing them.

        Raises InvalidInput[libdevice-missing], and [libdevice-broken] if it is not LLVM bitcode.
        """
        data = blob.read()
        if data[:4] != b"BC\xc0\xde":
            raise broken_library(blob.location)
        try:
            # Its triple ("nvptx64-nvidia-gpulibs") is dropped: only definitions are used.
            with llvm.create_context() as context, llvm.parse_bitcode(data, context=context) as module:
                symbols = [f.name for f in module.functions if _is_exported(f)]
                if reduce is not None:
                    reduce(module)
                return cls(str(module), symbols)
        except RuntimeError as error:
            raise broken_library(blob.location) from error

    def closure(self, symbol: str, number: int) -> Closure:
        """``symbol`` with all its dependences, for the GPU sm_<number>, with every reflect call resolved."""
        needed = self.transitive_callees(symbol)
        bodies = "\n".join(self.definitions[name] for name in needed if name in self.definitions)
        values = REFLECT | {ARCH: 10 * number}
        queried = {self.strings.get(match) for match in _REFLECT_CALL.findall(bodies)}
        bodies = _REFLECT_CALL.sub(lambda call: f"add i32 0, {values.get(self.strings.get(call[1], ''), 0)}", bodies)
        tables = [self.globals[name] for name in needed if name in self.globals]
        text = "\n".join((*self._types, *tables, bodies, *self._tail))
        return Closure(symbol, text, ARCH in queried)

    def transitive_callees(self, symbol: str) -> list[str]:
        """``symbol`` and the functions and tables that it needs, itself first; strings of reflect calls do not count."""
        seen, queue = {symbol: None}, [symbol]
        while queue:
            for name in _NAME.findall(self.definitions.get(queue.pop(), "")):
                if name not in seen and (name in self.definitions or name in self.globals):
                    seen[name] = None
                    queue.append(name)
        return list(seen)

    def _split(self, text: str) -> None:
        lines = iter(text.splitlines())
        for line in lines:
            if line.startswith("define "):
                self._add_definition(line, lines)
            elif line.startswith("@"):
                self._add_global(line)
            elif line.startswith("attributes "):
                # Otherwise the kernels that inline the function would inherit the float options of the library's
                # producer.
                self._tail.append(_STRING_ATTRIBUTE.sub("", line).replace("{ }", "{ nounwind }"))
            elif line.startswith("!") and not line.startswith(_PRODUCER_NOTES):
                self._tail.append(line)
            elif line.startswith("%"):
                self._types.append(line)

    def _add_definition(self, head: str, lines) -> None:
        body = [_LINKAGE.sub("", head, count=1)]
        for line in lines:
            body.append(line)
            if line == "}":
                break
        name = _NAME.findall(head)[0]
        self.definitions[name] = "\n".join(body)

    def _add_global(self, line: str) -> None:
        name = _NAME.findall(line)[0]
        if string := _STRING.match(line):
            self.strings[name] = string[1]
        else:
            # The library does not write to its tables; equal copies from two closures are merged.
            table = _LINKAGE.sub("linkonce_odr ", line, count=1)
            self.globals[name] = table.replace("addrspace(1) global", "addrspace(1) constant", 1)


def _is_exported(function: llvm.ValueRef) -> bool:
    return not function.is_declaration and function.linkage.name not in ("internal", "private")
