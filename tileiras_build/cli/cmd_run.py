"""``tileiras-build run``: run a kernel in the reference interpreter, or a script that launches kernels."""

from __future__ import annotations

import argparse
import atexit
from pathlib import Path

from ..core.errors import InvalidInput
from ..core.file_io import read_file
from .command_options import (
    DEFAULT_TARGET,
    add_kernel_inputs,
    add_tuning,
    positive_processes,
    positive_seconds,
    positive_sizes,
    tuning_of,
)
from .kernel_and_inputs import make_inputs, read_kernels


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``run``."""
    from ..cutile.run_script_settings import TUNE

    add_kernel_inputs(parser, "FILE", "Tile IR bytecode (.tilebc), or a script (.py)")
    parser.add_argument("-m", "--module", action="store_true", help="run FILE as a module, like python -m")
    parser.add_argument("-o", "--output", metavar="DIR", help="save the output arrays as .npy files")
    script = parser.add_argument_group("a script that calls ct.launch", "arguments after -- go to the script")
    script.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="the emulator (default), or a GPU")
    what = f"target (default: {DEFAULT_TARGET} on the CPU; the installed GPU otherwise)"
    script.add_argument("--sm", metavar="SM", help=what)
    add_tuning(script)
    what = "detect data races, like compute-sanitizer racecheck (CPU)"
    script.add_argument("--race-check", action="store_true", help=what)
    what = "detect uses of uninitialized memory, like compute-sanitizer initcheck (CPU)"
    script.add_argument("--init-check", action="store_true", help=what)
    what = "how ct.tune treats configurations on the CPU (default: launch each once)"
    script.add_argument("--tune", choices=TUNE, default=TUNE[0], help=what)
    what = "run only the first N sizes of triton.testing benchmarks (CPU; default: all)"
    script.add_argument("--keep", type=positive_sizes, metavar="N", help=what)
    what = "time limit per launch (CPU; default: none)"
    script.add_argument("--time-limit", type=positive_seconds, metavar="SECONDS", help=what)
    what = "maximum worker processes per launch (CPU; default: chosen automatically)"
    script.add_argument("--jobs", type=positive_processes, metavar="N", help=what)
    script.add_argument("--profile", action="store_true", help="profile: print per-kernel counters (CPU)")
    script.add_argument("--json", metavar="FILE", help="also write the profile as JSON")


def run(options: argparse.Namespace) -> int:
    """Run a kernel in the interpreter and print the resulting memory, or run a script; returns the exit code."""
    if not options.module and options.file.endswith(".ipynb"):
        remedy = (
            f"run -m nbconvert -- --to notebook --execute {options.file}, "
            "or call tileiras_build.cutile.enable(...) in its first cell"
        )
        raise InvalidInput("run-script", f"{options.file} is a notebook", remedy=remedy)
    if options.module or _is_script(Path(options.file)):
        return _run_script(options)
    _run_kernel(options)
    return 0


def _run_kernel(options: argparse.Namespace) -> None:
    from ..simulate.interpreter import run_inputs
    from ..simulate.interpreter.parse_arguments import save_buffers

    module, entries = read_kernels(options, read_file(options.file))
    if len(entries) != 1:
        message = f"{len(entries)} kernels in this file"
        raise InvalidInput("run-entry", message, remedy=f"choose one with --entry: {', '.join(entries)}")
    interpret = lambda inputs: run_inputs(module, entries[0], inputs, options.max_steps)
    inputs, shown = make_inputs(options, module, entries[0], interpret)
    print(*shown, sep="\n")
    if options.output:
        print(*save_buffers(inputs, Path(options.output)), sep="\n")


def _is_script(path: Path) -> bool:
    """Whether the file is a script, by its suffix or by its first line (``#!``)."""
    if path.suffix == ".py" or not path.is_file():
        return path.suffix == ".py"
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def _run_script(options: argparse.Namespace) -> int:
    """Run a script whose kernels are compiled by this package; its exit code."""
    from ..cutile.run_script import module, run_program, script
    from ..cutile.run_script_settings import Settings

    _reject_kernel_options(options)
    program = (module if options.module else script)(options.file, options.script_arguments)
    sm = options.sm or (DEFAULT_TARGET if options.device == "cpu" else None)
    settings = Settings(
        options.device, sm, options.race_check, options.time_limit, options.jobs, options.profile or bool(options.json),
        options.json, options.tune, options.init_check, tuning_of(options), options.keep,
    )  # fmt: skip
    return run_program(program, settings, atexit.register if options.ends_process else None)


def _reject_kernel_options(options: argparse.Namespace) -> None:
    """Raise InvalidInput[run-script] for options of a bytecode kernel: a script would ignore them silently."""
    for name in ("entry", "grid", "arg", "output"):
        if getattr(options, name):
            message = f"--{name} applies to bytecode kernels, but {options.file} is a script"
            raise InvalidInput("run-script", message, remedy="pass script arguments after --")
    if options.json and not (folder := Path(options.json).absolute().parent).is_dir():
        message = f"cannot write the profile: folder {Path(options.json).parent} does not exist"
        raise InvalidInput("run-script", message, remedy=f"create {folder}")
