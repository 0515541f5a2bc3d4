"""Errors of loading and running PTX."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from ...core.errors import TileirasError, describe_exception

if TYPE_CHECKING:
    from .ptx.ast import Instruction
    from .simt.geometry import Geometry


class EmulatorError(Exception):
    """Base of the emulator's errors; ``id`` identifies the kind of error."""

    id = "emulator"


class EmulatorWarning(UserWarning):
    """A finding (``finding_severities.py``) in PTX that this compiler did not generate."""


class PtxSyntaxError(EmulatorError):
    """Invalid PTX text; the message names the line."""

    id = "ptx-syntax"


class UnsupportedInstruction(EmulatorError):
    """An unsupported instruction, or form of one; raised when a kernel is loaded."""

    id = "emulator-instruction"


class EmulatorFailure(EmulatorError):
    """An internal error of the emulator: an unexpected Python exception, which is the ``__cause__``."""

    id = "emulator-failed"


@contextmanager
def name_internal_errors(doing: str) -> Iterator[None]:
    """Convert unexpected Python exceptions to EmulatorFailure; ``doing`` describes the operation."""
    try:
        yield
    except (EmulatorError, EmulatorWarning, TileirasError):
        raise
    except MemoryError as error:
        raise EmulatorError(f"there is not enough memory {doing}") from error
    except Exception as error:
        raise EmulatorFailure(f"internal error in the emulator {doing}: {describe_exception(error)}") from error


class InvalidLaunch(EmulatorError, ValueError):
    """An invalid launch: wrong parameters, a missing block shape, too many threads per CTA."""

    id = "emulator-launch"


# Kinds of faults, for callers that report them with their own messages.
OUT_OF_BOUNDS, MISALIGNED, RACE, THREAD_RACE, BLOCK_RACE, DEADLOCK, ASSERTION, TIME_LIMIT, UNINITIALISED, OTHER = KINDS = (
    "out-of-bounds", "misaligned", "race", "thread-race", "block-race", "deadlock", "assertion", "time-limit", "uninitialised", "other",
)  # fmt: skip


class EmulatorFault(EmulatorError):
    """The running kernel did something illegal.

    ``instruction`` is the PTX text, ``line`` its line in the PTX (from 1), ``thread`` the first offending
    ``((ctaid.x, .y, .z), (tid.x, .y, .z))`` and ``address`` the address; each is None if unknown. ``kind`` is one of KINDS.
    For an access, ``size`` is its size in bytes, and ``writes`` says whether it is a write.
    """

    id = "emulator-fault"

    def __init__(
        self,
        message: str,
        *,
        instruction: str | None = None,
        line: int | None = None,
        thread: tuple | None = None,
        address: int | None = None,
        kind: str = OTHER,
        size: int = 0,
        writes: bool = False,
    ):
        self.message, self.instruction, self.line, self.thread = message, instruction, line, thread
        self.address, self.kind, self.size, self.writes = address, kind, size, writes
        where = f" at line {line}: {instruction}" if instruction is not None else ""
        who = f" [ctaid {thread[0]}, tid {thread[1]}]" if thread is not None else ""
        at = f" [address {address:#x}]" if address is not None else ""
        super().__init__(f"{message}{where}{who}{at}")


def fault_of(geometry: Geometry, ins: Instruction, thread, why: str, address=None, **details) -> EmulatorFault:
    """The fault of an instruction in a thread, given by its index in the batch or by (CTA, index in the CTA)."""
    name = geometry.thread_name(*thread) if isinstance(thread, tuple) else geometry.thread_at(thread)
    address = None if address is None else int(address)
    return EmulatorFault(why, instruction=ins.text, line=ins.line, thread=name, address=address, **details)


def fault_at(geometry: Geometry, ins: Instruction, thread, why: str, address=None, **details) -> NoReturn:
    """Raise the fault of an instruction in a thread, given as for ``fault_of``."""
    raise fault_of(geometry, ins, thread, why, address, **details)
