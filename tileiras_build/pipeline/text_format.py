"""The text form of ``.tileaa`` and ``.tileas``: MLIR syntax, read and written by xDSL.

Source locations are written too (``loc("k.py":3:4)``), so that a stage entered from its file gives the same
diagnostics and line tables as the whole pipeline in memory.
"""

from __future__ import annotations

import io
import re
from functools import cache
from importlib import import_module

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

from ..errors import InvalidInput, Location, TileirasError
from .text_files import decode

# "module:dialect" of everything that a text artifact may hold.
DIALECTS = (
    "xdsl.dialects.builtin:Builtin",
    "xdsl.dialects.arith:Arith",
    "xdsl.dialects.math:Math",
    "xdsl.dialects.scf:Scf",
    "xdsl.dialects.func:Func",
    "xdsl.dialects.gpu:GPU",
    "tileiras_build.dialects.cuda_tile:CudaTile",
    "tileiras_build.dialects.nv_tileaa:NvTileAA",
    "tileiras_build.dialects.nv_tileas:NvTileAS",
    "tileiras_build.dialects.cute:Cute",
)


@cache
def context() -> Context:
    """The xDSL context in which our text artifacts parse. It is shared: load nothing more into it."""
    result = Context()
    for entry in DIALECTS:
        module, name = entry.split(":")
        result.load_dialect(getattr(import_module(module), name))
    return result


def parse(data: bytes, name: str | None = None) -> ModuleOp:
    """The verified module that ``data`` (UTF-8 text) holds; raises InvalidInput with the line and column."""
    text = decode(data, name)
    try:
        module = Parser(context(), text, name or "<input>").parse_module()
        module.verify()
    except TileirasError:
        raise
    except ParseError as error:
        raise _parse_failure(error, text, name) from error
    except VerifyException as error:
        raise InvalidInput(
            "ir-invalid", f"the module does not verify: {_reason(error)}", location=Location(name)
        ) from error
    return module


def render(module: ModuleOp) -> bytes:
    """``module`` as UTF-8 text, with source locations, ending in a newline."""
    stream = io.StringIO()
    Printer(stream=stream, print_debuginfo=True).print_op(module)
    return (stream.getvalue() + "\n").encode()


def _parse_failure(error: ParseError, text: str, name: str | None) -> InvalidInput:
    start = error.span.start
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    return InvalidInput("parse-failed", f"cannot parse: {_reason(error.msg)}", location=Location(name, line, column))


def _reason(error: object) -> str:
    """The last line of a message with xDSL's source excerpts, which is where the reason stands."""
    lines = [line.strip() for line in str(error).splitlines() if re.search(r"\w", line)]
    return lines[-1] if lines else "unknown reason"
