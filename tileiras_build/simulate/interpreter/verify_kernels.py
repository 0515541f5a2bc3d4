"""Verify the compiled kernels of a file against the interpreter, on inputs derived from their operations."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ...core.errors import InternalError
from ...ir.bytecode import read_module
from . import entry_names
from .compare_with_compiled import ExpectedMemory, run_in_emulator
from .derive_inputs import usable_inputs
from .interpreter_errors import InterpreterFault


@dataclass(frozen=True)
class KernelVerification:
    """The result for one kernel; ``share`` is the largest difference divided by its tolerance (0: bit-identical).

    If the interpreter accepts no derived inputs, nothing was compared: ``reason`` is set and ``grid`` is empty.
    """

    entry: str
    grid: tuple[int, ...] = ()
    arrays: int = 0
    elements: int = 0
    share: float = 0.0
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


def verify_against_interpreter(
    bytecode: bytes, artifacts: Any, target: str, name: str | None = None, seed: int = 0
) -> list[KernelVerification]:
    """One KernelVerification per kernel of ``bytecode``; ``artifacts`` has its ``ptx`` and ``manifest`` for ``target``.

    Raises InternalError if a kernel's results differ from the interpreter's, or the emulator fails.
    """
    module = read_module(bytecode, name)
    return [_verify_kernel(module, entry, artifacts, target, seed) for entry in compiled_entries(module, artifacts)]


def compiled_entries(module: Any, artifacts: Any) -> list[str]:
    """The kernels of a module without variants that the compiler has dropped."""
    compiled = artifacts.manifest.get("kernels")
    return [entry for entry in entry_names(module) if not compiled or entry in compiled]


def _verify_kernel(module: Any, entry: str, artifacts: Any, target: str, seed: int) -> KernelVerification:
    from ..emulator import EmulatorError

    try:
        inputs, expected = usable_inputs(module, entry, lambda inputs: ExpectedMemory(module, entry, inputs), seed)
    except InterpreterFault as problem:
        return KernelVerification(entry, reason=str(problem))
    try:
        actual = run_in_emulator(artifacts, entry, inputs, steps=expected.steps)
    except EmulatorError as problem:
        raise InternalError("verify-emulator", f"{entry} on {target}: {problem}") from problem
    if wrong := expected.compare(actual):
        raise InternalError("verify-mismatch", f"{entry} on {target}: {'; '.join(map(str, wrong))}")
    elements = sum(array.size for array in actual)
    return KernelVerification(entry, tuple(inputs.grid), len(actual), elements, expected.share(actual))
