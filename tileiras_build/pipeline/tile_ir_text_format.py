"""The text form of ``.tileaa`` and ``.tileas``: MLIR syntax, parsed and printed by xDSL.

Source locations are attributes of the operations, so a stage that starts from its file has the same diagnostics and
line tables as the whole pipeline in memory. Locations, layouts, views and tiles with layouts are defined once, at the
top, and referenced by alias in the operations (``loc = #loc3``, ``!tile_64x32xf16``): that halves the parsing time and
makes the text legible.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from functools import cache, partial
from importlib import import_module

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, NoneAttr, TensorType
from xdsl.ir import Attribute, Dialect, TypeAttribute
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import StringLiteral

from ..core.errors import InternalError, InvalidInput, Location, TileirasError
from ..core.symbols.check_symbol_names import check_names
from ..ir.dialects.checked_mlir_parser import error_reason, parse_or_raise
from .common.module_symbols import symbols
from .text_encoding import decode

# Dialect -> "module:dialect" for all dialects of text artifacts; each is imported at its first use.
DIALECTS = {
    "builtin": "xdsl.dialects.builtin:Builtin",
    "arith": "tileiras_build.ir.dialects.arith:TileArith",
    "math": "xdsl.dialects.math:Math",
    "scf": "xdsl.dialects.scf:Scf",
    "func": "xdsl.dialects.func:Func",
    "gpu": "xdsl.dialects.gpu:GPU",
    "cuda_tile": "tileiras_build.ir.dialects.cuda_tile:CudaTile",
    "nv_tileaa": "tileiras_build.ir.dialects.nv_tileaa:NvTileAA",
    "nv_tileas": "tileiras_build.ir.dialects.nv_tileas:NvTileAS",
    "cute": "tileiras_build.ir.dialects.cute:Cute",
    "llvm": "tileiras_build.ir.dialects.llvm_ext:LLVM",
    "nvvm": "tileiras_build.ir.dialects.nvvm:NVVM",
}

# Attributes that are printed once and then referenced by alias -> the stem of their aliases.
ALIASES = {
    "cuda_tile.di_file": "file",
    "cuda_tile.di_compile_unit": "unit",
    "cuda_tile.di_subprogram": "subprogram",
    "cuda_tile.di_lexical_block": "block",
    "cuda_tile.di_loc": "loc",
    "cuda_tile.call_site": "loc",
    "llvm.di_file": "di_file",
    "llvm.di_compile_unit": "di_unit",
    "llvm.di_subprogram": "di_subprogram",
    "llvm.di_lexical_block": "di_block",
    "llvm.di_lexical_block_file": "di_block",
    "llvm.di_local_variable": "di_variable",
    "llvm.di_basic_type": "di_type",
    "llvm.di_composite_type": "di_type",
    "llvm.di_derived_type": "di_type",
    "llvm.di_location": "di_loc",
    "cute.layout": "layout",
    "nv_tileaa.memref": "memref",
    "nv_tileaa.tiled_view": "view",
    "tensor": "tile",
}

_PLAIN = re.compile(r'[ !#-\[\]-~]*')  # text that a quoted string has as it is
_SYMBOL = re.compile(r'@("(?:[^"\\\n]|\\.)*"|[\w$.-]+)')


@cache
def context() -> Context:
    """The xDSL context for our text artifacts. It is shared: do not register more dialects in it."""
    result = Context()
    for name, entry in DIALECTS.items():
        result.register_dialect(name, partial(_load, *entry.split(":")))
    # Needed by the parser itself.
    result.load_registered_dialect("builtin")
    return result


def _load(module: str, name: str) -> Dialect:
    return getattr(import_module(module), name)


def parse(data: bytes, name: str | None = None) -> ModuleOp:
    """The verified module of ``data`` (UTF-8 text); raises InvalidInput with the line and column."""
    text = decode(data, name)
    module = parse_or_raise(lambda: StringParser(context(), text, name or "<input>"), Parser.parse_module, text, name)
    verify_user_ir(module, name)
    check_names((kind, symbol, partial(_location_of, symbol, text, name)) for kind, symbol in symbols(module))
    return module


def verify_user_ir(module: ModuleOp, name: str | None = None) -> None:
    """Raise InvalidInput with the reason if a module that was parsed from a file does not verify."""
    try:
        module.verify()
    except TileirasError:
        raise
    except VerifyException as error:
        message = f"the module does not verify: {error_reason(error)}"
        raise InvalidInput("ir-invalid", message, location=Location(name)) from error
    except Exception as error:
        # A verifier may access what an earlier check should have rejected.
        message = f"the module does not verify: {type(error).__name__}: {error_reason(error)}"
        raise InvalidInput("ir-invalid", message, location=Location(name)) from error


class StringParser(Parser):
    """Parses strings with escaped bytes as UTF-8: xDSL parses them as bytes, although its printer escapes them in all
    strings.
    """

    def parse_optional_str_literal(self) -> str | None:
        """Parse an optional string; raises ParseError if it is not UTF-8."""
        if (text := super().parse_optional_str_literal()) is not None:
            return text
        if (data := self.parse_optional_bytes_literal()) is None:
            return None
        try:
            return data.decode()
        except UnicodeDecodeError:
            self.raise_error("the string is not UTF-8")


def _location_of(symbol: str, text: str, name: str | None) -> Location:
    """The first location of a symbol in the text; the file for a string that is not a symbol."""
    starts = (match.start() for match in _SYMBOL.finditer(text) if _symbol_name(match[1]) == symbol)
    if (offset := next(starts, None)) is None:
        return Location(name)
    return Location(name, text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def _symbol_name(spelled: str) -> str:
    if not spelled.startswith('"'):
        return spelled
    return StringLiteral(0, len(spelled), Input(spelled, "")).bytes_contents.decode(errors="replace")


def render(module: ModuleOp) -> bytes:
    """``module`` as UTF-8 text, ending in a newline; raises InternalError for a module that does not verify.

    A custom format may omit what a verifier implies (``arith.cmpi`` its result type): invalid IR could be parsed back
    as something else, and compile.
    """
    try:
        module.verify()
    except Exception as error:
        raise InternalError("ir-invalid", f"cannot write IR that does not verify: {error_reason(error)}") from error
    printer = _AliasPrinter()
    printer.print_op(module)
    return "\n".join([*printer.definitions, printer.text.getvalue(), ""]).encode()


class _AliasPrinter(Printer):
    """Prints into ``text`` with the attributes of ALIASES by alias; ``definitions`` has one line each, before those that use it."""

    def __init__(self):
        super().__init__()
        self.stream = self.text = io.StringIO()
        self.definitions: list[str] = []
        self._aliases: dict[Attribute, str] = {}
        # By identity: hashing a location is slow, and most attributes are shared. The attribute is kept, and so its id.
        self._printed: dict[int, tuple[Attribute, str]] = {}
        self._counts: Counter[str] = Counter()

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        """Print ``text``; xDSL also counts columns, for messages that are never printed here."""
        if "\n" in text:
            super().print_string(text, indent=indent)
        else:
            self.text.write(text)

    def print_string_literal(self, string: str) -> None:
        """Print a quoted string; xDSL prints it byte by byte."""
        if _PLAIN.fullmatch(string):
            self.text.write(f'"{string}"')
        else:
            super().print_string_literal(string)

    def print_attribute(self, attribute: Attribute) -> None:
        """Print the attribute's alias if it has one, else its text."""
        if (printed := self._printed.get(id(attribute))) is None:
            printed = self._printed[id(attribute)] = attribute, self._text_of(attribute)
        self.text.write(printed[1])

    def _text_of(self, attribute: Attribute) -> str:
        if attribute.name not in ALIASES or not self._is_long(attribute):
            return self._written_out(attribute)
        return self._aliases.get(attribute) or self._define(attribute)

    def _is_long(self, attribute: Attribute) -> bool:
        """Whether an alias is shorter: not for a tile without a layout."""
        return not isinstance(attribute, TensorType) or not isinstance(attribute.encoding, NoneAttr)

    def _define(self, attribute: Attribute) -> str:
        text = self._written_out(attribute)
        alias = self._aliases[attribute] = self._fresh(attribute)
        self.definitions.append(f"{alias} = {text}")
        return alias

    def _written_out(self, attribute: Attribute) -> str:
        outer = self.text
        self.stream = self.text = inner = io.StringIO()
        super().print_attribute(attribute)
        self.stream = self.text = outer
        return inner.getvalue()

    def _fresh(self, attribute: Attribute) -> str:
        """``#loc0``, ``#loc1``, …; the first tile of a shape has no number."""
        stem = ALIASES[attribute.name]
        if isinstance(attribute, TensorType):
            element = re.sub(r"\W+", "_", str(attribute.element_type)).strip("_")
            stem += "_" + "x".join([*map(str, attribute.get_shape()), element])
        number, self._counts[stem] = self._counts[stem], self._counts[stem] + 1
        if isinstance(attribute, TensorType):
            stem += "_v" if number else ""
            return f"!{stem}{number or ''}"
        return f"{'!' if isinstance(attribute, TypeAttribute) else '#'}{stem}{number}"
