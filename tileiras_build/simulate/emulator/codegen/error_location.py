"""Finds the PTX instruction of an unexpected Python error in generated code."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ..errors import name_internal_errors

if TYPE_CHECKING:
    from ..simt.thread_group import ThreadGroup
    from .function_cache import FunctionCache


def raise_at_instruction(error: Exception, functions: FunctionCache, group: ThreadGroup) -> NoReturn:
    """Raise an internal error for ``error`` that names the instruction of the traceback's generated line."""
    found, program = _generated_line(error), functions.program
    ins = program.code[min(group.pc, len(program.code) - 1)] if found is None else _instruction_at(functions, *found)
    if ins is None:
        raise error
    with name_internal_errors(f"at line {ins.line}: {ins.text}"):
        raise error


def _generated_line(error: Exception) -> tuple[int, int] | None:
    """(pc of the generated function, line in its source) of the innermost frame of generated code."""
    traceback, found = error.__traceback__, None
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if name.startswith("<ptx "):
            found = (int(name[:-1].rsplit(":", 1)[1]), traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def _instruction_at(functions: FunctionCache, start: int, line: int):
    for (pc, _, _), function in functions.cache.items():
        if pc == start and line <= len(function.origin):
            return functions.program.code[function.origin[line - 1]]
    return None
