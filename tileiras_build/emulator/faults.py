"""What can go wrong while PTX is loaded or runs."""

from __future__ import annotations


class EmulatorError(Exception):
    """Base of the emulator's errors."""


class EmulatorWarning(UserWarning):
    """A finding (``findings.py``) in PTX that is not ours."""


class PtxSyntaxError(EmulatorError):
    """The PTX text cannot be read; the message names the line."""


class UnsupportedInstruction(EmulatorError):
    """An instruction (or a form of one) that the emulator does not execute; raised when a kernel is loaded."""


class EmulatorFault(EmulatorError):
    """The running kernel did something illegal.

    ``instruction`` is the PTX text, ``line`` its line in the PTX (from 1), ``thread`` the first offending
    ``((ctaid.x, .y, .z), (tid.x, .y, .z))`` and ``address`` the address, where each is known (else None).
    """

    def __init__(self, message: str, *, instruction=None, line=None, thread=None, address=None):
        self.message, self.instruction, self.line, self.thread, self.address = (
            message,
            instruction,
            line,
            thread,
            address,
        )
        where = f" at line {line}: {instruction}" if instruction is not None else ""
        who = f" [ctaid {thread[0]}, tid {thread[1]}]" if thread is not None else ""
        at = f" [address {address:#x}]" if address is not None else ""
        super().__init__(f"{message}{where}{who}{at}")
