"""How many instructions the kernels of a cubin have."""

from __future__ import annotations

from ..target.cubin_reader import read_info

_INSTRUCTION = 16  # bytes, since sm_70
_NOP = 0x918  # the low twelve bits of NOP, which fills code up


def count_instructions(cubin: bytes, name: str) -> int | None:
    """Those of one kernel, by its symbol, without what its code is filled up with; None where it is not in the cubin.

    Raises InvalidInput[cubin] for anything that is not a whole cubin.
    """
    code = read_info(cubin, name)[0].get(f".text.{name}")
    if code is None:
        return None
    words = zip(code[::_INSTRUCTION], code[1::_INSTRUCTION], strict=False)
    return sum((low | high << 8) & 0xFFF != _NOP for low, high in words)
