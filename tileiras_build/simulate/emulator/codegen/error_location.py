"""Finds the PTX instruction of an unexpected Python error in generated code."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ..errors import name_internal_errors

if TYPE_CHECKING:
    from ..ptx.program import Program
    from ..simt.thread_group import ThreadGroup


def raise_at_instruction(error: Exception, program: Program, group: ThreadGroup) -> NoReturn:
    """Raise an internal error for ``error`` that names the instruction of the traceback's generated line."""
    found = _generated_line(error)
    ins = program.code[min(group.pc, len(program.code) - 1)] if found is None else _instruction_at(program, *found)
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


def _instruction_at(program: Program, start: int, line: int):
    for (pc, _, _), function in program.cache.items():
        if pc == start and line <= len(function.origin):
            return program.code[function.origin[line - 1]]
    return None
