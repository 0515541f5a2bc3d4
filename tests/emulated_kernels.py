"""Kernels of a test's own file, compiled by this project and run in the emulator with its race check on."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from tests import compiled_once
from tileiras_build import emulator
from tileiras_build.bytecode.export import export_kernels, load_cases, pack_arguments
from tileiras_build.reports import sass

ALIGNMENT = 128


@cache
def cases(path: Path) -> dict:
    """The rows of a kernel file's CASES by name."""
    return {case.name: case for case in load_cases(path)}


@cache
def bytecode(path: Path, name: str) -> bytes:
    """The bytecode of one case."""
    return exported(path)[name]


@cache
def exported(path: Path) -> dict[str, bytes]:
    """The bytecode of all cases of a file: importing it costs more than a case."""
    return compiled_once.once(("bytecode", path), lambda: export_kernels(path))


def compiled(path: Path, name: str, sm: str):
    """The artifacts of one case, down to PTX."""
    return compiled_once.compiled(bytecode(path, name), sm)


def assembled(path: Path, name: str, sm: str):
    """The artifacts of one case, down to machine code."""
    return compiled_once.compiled(bytecode(path, name), sm, stop_at="cubin")


def disassembled(path: Path, name: str, sm: str) -> str:
    """What nvdisasm says of one case."""
    cubin = assembled(path, name, sm).cubin
    return compiled_once.once(("disassembled", cubin), lambda: sass.disassemble(cubin))


def aligned(values: np.ndarray) -> np.ndarray:
    """A copy that starts on ALIGNMENT bytes; one stored by columns stays so."""
    if not values.size:
        return values  # nothing to copy; its strides are what the kernel is told
    order = "F" if np.isfortran(values) else "C"
    raw = np.zeros(values.nbytes + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    array = raw[start : start + values.nbytes].view(values.dtype).reshape(values.shape, order=order)
    array[...] = values
    return array


def run(path: Path, name: str, sm: str, values, grid=(1, 1, 1), counters: emulator.Counters | None = None) -> list:
    """Launch a case on copies of ``values``; the copies afterwards. Only the arrays themselves are mapped."""
    copies = [aligned(value) if isinstance(value, np.ndarray) else value for value in values]
    memory = emulator.Memory()
    for array in copies:
        if isinstance(array, np.ndarray):
            memory.map(array.ctypes.data, max(array.nbytes, 1))
    parameters = pack_arguments(cases(path)[name], copies)
    artifacts = compiled(path, name, sm)
    emulator.launch(artifacts, name, grid, parameters, memory=memory, check_races=True, counters=counters)
    return copies
