"""Counts the instructions of a cubin's kernels."""

from __future__ import annotations

from ..target.cubin_reader import read_info

_INSTRUCTION = 16  # bytes of an instruction, since sm_70
_NOP = 0x918  # the low twelve bits of NOP, which pads code


def count_instructions(cubin: bytes, name: str) -> int | None:
    """The instructions of one kernel, by its symbol, without padding; None if it is not in the cubin.

    Raises InvalidInput[cubin] for a damaged cubin.
    """
    code = read_info(cubin, name)[0].get(f".text.{name}")
    if code is None:
        return None
    words = zip(code[::_INSTRUCTION], code[1::_INSTRUCTION], strict=False)
    return sum((low | high << 8) & 0xFFF != _NOP for low, high in words)
