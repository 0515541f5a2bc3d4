"""Our LLVM passes compared with LLVM's own pipelines at the same levels, over the example library.

    python benchmarks/llvm_pipelines.py [--sm 90] [--levels 2,3,s,z] [--each]

For each level: CPU seconds from .ll to cubin, machine instructions, registers, spill instructions, and in how many
kernels LLVM's default pipeline gives fewer, more, or as many instructions and registers as ours. Everything after the
passes (code generator, ptxas) is the same. What ``pipeline/ll_to_ptx/llvm_passes.py`` says about the two rests on this.

``--each`` adds single passes of LLVM's default pipeline to ours, each with the cleanup that follows it there, and takes single
passes of ours away.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace

from compile_speed import export_examples, freeze, usage

from tileiras_build import driver
from tileiras_build.core.terminal import table_text
from tileiras_build.pipeline import ll_to_ptx, ptx_to_cubin
from tileiras_build.pipeline.job import LLVM_PIPELINES, Job
from tileiras_build.target import sass_listing
from tileiras_build.target.cubin_reader import read_cubin
from tileiras_build.target.isa.serializer_options import LEVELS, read_level
from tileiras_build.target.targets import Target, find_target

# Passes of LLVM's O3 pipeline that ours leaves out and that llvmlite can add alone, in LLVM's order.
LEFT_OUT = (
    "sccp",
    "jump_threading",
    "aggressive_instcombine",
    "reassociate",
    "loop_rotate",
    "loop_unroll",
    "dead_store_elimination",
    "aggressive_dce",
)
CLEANUP = ("instruction_combine", "simplify_cfg")
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
    parser.add_argument("--each", action="store_true", help="single passes in place of whole pipelines")
    options = parser.parse_args()
    target = find_target(options.sm)
    kernels = export_examples()
    freeze()
    rows_of = rows_of_passes if options.each else rows_of_pipelines
    rows: list[tuple[str, ...]] = []
    for level in map(read_level, options.levels.split(",")):
        ll = {
            name: driver.compile(data, target.name, opt_level=level, stop_at="ll").ll for name, data in kernels.items()
        }
        rows += rows_of(ll, target, level)
    print(table_text(HEADER, rows))


def rows_of_pipelines(ll: dict[str, str], target: Target, level: int | str) -> list[tuple[str, ...]]:
    """Our pipeline of a level and LLVM's."""
    ours, theirs = (measure(ll, Job(target, level, llvm_pipeline=name)) for name in LLVM_PIPELINES)
    return [_row(level, "ours", ours, ours), _row(level, "LLVM's", theirs, ours)]


def rows_of_passes(ll: dict[str, str], target: Target, level: int | str) -> list[tuple[str, ...]]:
    """Our pipeline of a level, with one more pass or one less."""
    row, ours = LEVELS[level], measure(ll, Job(target, level))
    rows = [_row(level, "ours", ours, ours)]
    for name, passes in _variations(row.passes):
        LEVELS[level] = replace(row, passes=passes)
        rows.append(_row(level, name, measure(ll, Job(target, level)), ours))
    LEVELS[level] = row
    return rows


def _variations(passes: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The pass that is added or taken away, and the passes."""
    at = passes.index("dead_code_elimination")
    yield "+ cleanup", (*passes[:at], *CLEANUP, *passes[at:])
    for name in LEFT_OUT:
        yield f"+ {name}", (*passes[:at], name, *CLEANUP, *passes[at:])
    for i in range(1, len(passes)):
        yield f"- {passes[i]} ({i + 1})", passes[:i] + passes[i + 1 :]


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
