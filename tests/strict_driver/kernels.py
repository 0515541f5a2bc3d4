"""Every kernel that goes through the strict driver, with a launch of it: the examples, and what benchmarks/gpu measures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module

from tests.examples.example_library import CASES, bytecode_of, inputs_of
from tests.strict_driver.gpu_run import RUNNER
from tests.strict_driver.launch_case import WithLayout
from tileiras_build.frontend.export_cutile import export_kernels, list_cases, load_cases
from tileiras_build.verify import find_faults

VARIANT, BLOCKS = "tail", 2  # of benchmark kernels: odd sizes; blocks or clusters of one that takes many tiles


@dataclass(frozen=True)
class Kernel:
    """How a kernel is compiled, launched and checked. ``inputs`` makes the same arguments at each call; ``faults`` says
    what is wrong with them after a launch."""

    bytecode: Callable[[], bytes]
    inputs: Callable[[], list]
    grid: Callable[[Sequence], Sequence[int]]
    faults: Callable[[Sequence], list[str]]


def find(name: str) -> Kernel:
    """A kernel by its name."""
    if name not in CASES:
        return _benchmark(name)
    return Kernel(
        partial(bytecode_of, name), lambda: list(inputs_of(name).values()), partial(_grid, name), partial(_faults, name)
    )


def names() -> list[str]:
    """Of examples, then of benchmarks."""
    return [*CASES, *_benchmarks()]


def _named(name: str, values: Sequence) -> dict:
    return dict(zip(inputs_of(name), values, strict=True))


def _grid(name: str, values: Sequence) -> Sequence[int]:
    return CASES[name].grid(_named(name, values))


def _faults(name: str, values: Sequence) -> list[str]:
    return find_faults(CASES[name], inputs_of(name), _named(name, values))


# ---- benchmarks ------------------------------------------------------------------------------------------------------
@cache
def _modules() -> tuple:
    """benchmarks/gpu's ``variants`` and ``problems``, which stand beside each other."""
    sys.path.insert(0, str(RUNNER))
    try:
        return import_module("variants"), import_module("problems")
    finally:
        sys.path.remove(str(RUNNER))


@cache
def _benchmarks() -> dict:
    """File of each kernel."""
    return {name: path for path in _modules()[0].KERNELS for name in list_cases(path)}


def _benchmark(name: str) -> Kernel:
    variants, problems = _modules()
    path = _benchmarks()[name]
    [case] = [case for case in load_cases(path) if case.name == name]
    row = {**variants.problem(case, small=True), **variants.arrays_of(case)}
    variant = row["variants"][VARIANT]
    grid = [BLOCKS, 1, 1] if row["persistent"] else variant["grid"]
    make = partial(problems.make_arrays, row, variant)

    def inputs() -> list:
        shown = [WithLayout(one.view, *one.told) if one.format.told > 1 else one.view for one in make()]
        return [*shown, *variant["scalars"]]

    def faults(values: Sequence) -> list[str]:
        before = make()
        after = [value.array if isinstance(value, WithLayout) else value for value in values[: len(before)]]
        changed = any(one.view.tobytes() != other.tobytes() for one, other in list(zip(before, after))[:-1])
        return problems.Reference(row, variant, before).faults(after[-1]) + ["an input was written"] * changed

    return Kernel(lambda: export_kernels(path, [name])[name], inputs, lambda values: grid, faults)
