"""Operations of cuda_tile that print, trap, and depend on other grids."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, i1
from xdsl.irdl import operand_def, opt_operand_def, opt_result_def, prop_def, result_def, var_operand_def

from .memory_checks import TOKENS
from .op_base import SEGMENTED, TileOperation, define, elements, fail, tile_type


class DependentLaunch(TileOperation):
    """Grid dependency control, ordered by tokens (since bytecode 13.4)."""

    token = opt_operand_def()
    result_token = result_def()
    CHECKS: ClassVar = (TOKENS,)


@define
class GdcLaunchDependentsTkoOp(DependentLaunch):
    """Let dependent grids start."""

    name = "cuda_tile.gdc_launch_dependents_tko"


@define
class GdcWaitTkoOp(DependentLaunch):
    """Wait for the grids that this one depends on."""

    name = "cuda_tile.gdc_wait_tko"


@define
class AssertOp(TileOperation):
    """Trap with ``message`` unless all elements of the condition hold."""

    name = "cuda_tile.assert"
    condition = operand_def()
    message = prop_def(StringAttr)
    CHECKS: ClassVar = (elements((i1,), "condition"),)


def format_expressions(text: str) -> int:
    """How many arguments a printf-like format consumes; VerifyException if an expression does not end."""
    count = position = 0
    while (position := text.find("%", position)) >= 0:
        end = position + 1
        while end < len(text) and text[end] not in "%diuxXofFeEgGaAcspn":
            end += 1
        if end == len(text):
            fail("found unterminated format expression")
        count += text[position : end + 1] != "%%"
        position = end + 1
    return count


@define
class PrintTkoOp(TileOperation):
    """Print ``args`` formatted by ``str``; the token result exists since bytecode 13.2."""

    name = "cuda_tile.print_tko"
    str = prop_def(StringAttr)
    args = var_operand_def()
    token = opt_operand_def()
    result_token = opt_result_def()
    irdl_options = SEGMENTED

    def _arguments(self) -> None:
        expected = format_expressions(self.str.data)
        if expected != len(self.args):
            fail(f"incorrect number of operands: expected {expected}, found {len(self.args)}")
        for value in self.args:
            tile_type(value, "args")

    CHECKS: ClassVar = (TOKENS, _arguments)
