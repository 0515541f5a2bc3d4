"""Our LLVM passes compared with LLVM's own pipelines at the same levels, over the example library.

    python benchmarks/llvm_pipelines.py [--sm 90] [--levels 2,3,s,z]

For each level: CPU seconds from .ll to cubin, machine instructions, registers, spill instructions, and in how many
kernels LLVM's default pipeline gives fewer, more, or as many instructions and registers as ours. Everything after the
passes (code generator, ptxas) is the same. What ``pipeline/ll_to_ptx/llvm_passes.py`` says about the two rests on this.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from compile_speed import export_examples, freeze, usage

from tileiras_build import driver
from tileiras_build.core.terminal import table_text
from tileiras_build.pipeline import ll_to_ptx, ptx_to_cubin
from tileiras_build.pipeline.job import LLVM_PIPELINES, Job
from tileiras_build.target import sass_listing
from tileiras_build.target.cubin_reader import read_cubin
from tileiras_build.target.isa.serializer_options import read_level
from tileiras_build.target.targets import find_target

HEADER = ("level", "passes", "CPU s", "instructions", "registers", "spills", "fewer / more instructions", "registers")


@dataclass(frozen=True)
class Measured:
    """One kernel by one pipeline."""

    seconds: float
    instructions: int
    registers: int
    spills: int


def measure(ll: dict[str, str], job: Job) -> dict[str, Measured]:
    """Each kernel's figures."""
    return {name: _measure(text, job) for name, text in ll.items()}


def _measure(text: str, job: Job) -> Measured:
    before = usage()
    cubin, _ = ptx_to_cubin.lower(ll_to_ptx.lower(text, job), job)
    seconds = usage() - before
    [listing] = sass_listing.read_listings(sass_listing.disassemble(cubin))
    registers = read_cubin(cubin).kernels[listing.name].registers
    return Measured(seconds, listing.total, registers, listing.count(*sass_listing.SPILL))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sm", default="90")
    parser.add_argument("--levels", default="2,3,s,z")
    options = parser.parse_args()
    target = find_target(options.sm)
    kernels = export_examples()
    freeze()
    rows: list[tuple[str, ...]] = []
    for level in map(read_level, options.levels.split(",")):
        ll = {
            name: driver.compile(data, target.name, opt_level=level, stop_at="ll").ll for name, data in kernels.items()
        }
        ours, theirs = (measure(ll, Job(target, level, llvm_pipeline=name)) for name in LLVM_PIPELINES)
        rows += [_row(level, "ours", ours, ours), _row(level, "LLVM's", theirs, ours)]
    print(table_text(HEADER, rows))


def _row(level: int | str, who: str, found: dict[str, Measured], ours: dict[str, Measured]) -> tuple[str, ...]:
    totals = [sum(getattr(one, field) for one in found.values()) for field in ("instructions", "registers", "spills")]
    seconds = sum(one.seconds for one in found.values())
    compared = [_compare(found, ours, field) for field in ("instructions", "registers")]
    return (str(level), who, f"{seconds:.2f}", *map(str, totals), *compared)


def _compare(found: dict[str, Measured], ours: dict[str, Measured], field: str) -> str:
    differences = [getattr(found[name], field) - getattr(ours[name], field) for name in ours]
    return f"{sum(one < 0 for one in differences)} / {sum(one > 0 for one in differences)}"


if __name__ == "__main__":
    main()
