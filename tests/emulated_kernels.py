"""Kernels of a test's own file, compiled by this project and run in the emulator with its race check on."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tests import compiled_once
from tileiras_build.frontend.export_cutile import export_point, load_cases, pack_arguments
from tileiras_build.ir.bytecode.reader import read_module
from tileiras_build.ir.casting import as_op
from tileiras_build.ir.dialects.op_definition import TableOp
from tileiras_build.ir.dialects.op_traits import is_function
from tileiras_build.pipeline import tileaa_to_tileas, tilebc_to_tileaa
from tileiras_build.pipeline.job import Job
from tileiras_build.simulate import emulator
from tileiras_build.target import sass_listing
from tileiras_build.target.targets import find_target

ALIGNMENT = 128


@cache
def cases(path: Path) -> dict:
    """The rows of a kernel file's CASES by name."""
    return {case.name: case for case in load_cases(path)}


@cache
def bytecode(path: Path, name: str) -> bytes:
    """The bytecode of one case: a run looks at few of some files."""
    return compiled_once.once(("bytecode", path, name), lambda: export_point(path, cases(path)[name], variants=False))


def compiled(path: Path, name: str, sm: str, **options):
    """The artifacts of one case, down to PTX; ``options`` are those of ``compile``."""
    return compiled_once.compiled(bytecode(path, name), sm, **options)


def scheduled_case(path: Path, name: str, sm: str, schedule: str = "") -> ModuleOp:
    """One case as scheduled tile IR, a new module at each call."""
    return scheduled_module(bytecode(path, name), sm, schedule)


def scheduled_kernel(path: Path, name: str, sm: str) -> TableOp:
    """The only kernel of ``scheduled_case``."""
    [func] = filter(is_function, scheduled_case(path, name, sm).body.block.ops)
    return as_op(func)


def scheduled_module(data: bytes, sm: str, schedule: str = "") -> ModuleOp:
    """The same of bytecode. Printing this module and reading it again would cost four times as much as making it."""
    return _scheduled(data, sm, schedule).clone()


@lru_cache(maxsize=64)
def _scheduled(data: bytes, sm: str, schedule: str) -> ModuleOp:
    job = Job(find_target(sm), schedule=schedule)
    return tileaa_to_tileas.lower(tilebc_to_tileaa.lower(read_module(data), job), job)


def assembled(path: Path, name: str, sm: str, **options):
    """The artifacts of one case, down to machine code."""
    return compiled_once.compiled(bytecode(path, name), sm, stop_at="cubin", **options)


def disassembled(path: Path, name: str, sm: str, **options) -> str:
    """What nvdisasm says of one case."""
    cubin = assembled(path, name, sm, **options).cubin
    return compiled_once.once(("disassembled", cubin), lambda: sass_listing.disassemble(cubin))


def aligned(values: np.ndarray) -> np.ndarray:
    """A copy that starts on ALIGNMENT bytes; one stored by columns stays so."""
    if not values.size:
        return values  # nothing to copy; its strides are parameters of the kernel
    order = "F" if np.isfortran(values) else "C"
    raw = np.zeros(values.nbytes + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    array = raw[start : start + values.nbytes].view(values.dtype).reshape(values.shape, order=order)
    array[...] = values
    return array


def run(
    path: Path, name: str, sm: str, values, grid=(1, 1, 1), counters: emulator.Counters | None = None, **options
) -> list:
    """Launch a case on copies of ``values``; the copies afterwards. Only the arrays themselves are mapped."""
    copies = [aligned(value) if isinstance(value, np.ndarray) else value for value in values]
    memory = emulator.Memory()
    for array in copies:
        if isinstance(array, np.ndarray):
            memory.map(array.ctypes.data, max(array.nbytes, 1))
    parameters = pack_arguments(cases(path)[name], copies)
    artifacts = compiled(path, name, sm, **options)
    emulator.launch(artifacts, name, grid, parameters, memory=memory, check_races=True, counters=counters)
    return copies
