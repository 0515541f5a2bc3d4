"""Commands that run kernels: ``run`` in the interpreter or a script, ``verify`` in the emulator against the interpreter."""

from __future__ import annotations

import argparse
import atexit
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import Diagnostics, InternalError, InvalidInput, suggest
from ..core.file_io import read_file

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def _launches(options: argparse.Namespace) -> tuple[ModuleOp, list[str]]:
    """The module of a file, and the entries that the options name."""
    from ..ir.bytecode import read_module
    from ..simulate.interpreter import entry_names

    module = read_module(read_file(options.file), options.file)
    return module, [options.entry] if options.entry else entry_names(module)


def _inputs(options: argparse.Namespace, module, entry: str, run: Callable):
    """The first inputs, of those that the options describe, that ``run`` accepts, and what it returns."""
    from ..simulate.interpreter.derive_inputs import usable_inputs
    from ..simulate.interpreter.parse_arguments import bind_arguments, parse_grid

    grid = parse_grid(options.grid) if options.grid else None
    if not options.arg:
        return usable_inputs(module, entry, run, options.seed, grid)
    inputs = bind_arguments(module, entry, options.arg, grid or (1, 1, 1))
    return inputs, run(inputs)


def run_file(options: argparse.Namespace) -> int:
    """``run FILE --grid X,Y,Z --arg A ...``: run a kernel in the interpreter and show what it leaves in memory."""
    if not options.module and options.file.endswith(".ipynb"):
        remedy = f"run -m nbconvert -- --to notebook --execute {options.file}, or say tileiras_build.cutile.enable(...) in its first cell"
        raise InvalidInput("run-script", f"{options.file} is a notebook", remedy=remedy)
    if options.module or _is_script(Path(options.file)):
        return run_script(options)
    from ..simulate.interpreter import run_inputs
    from ..simulate.interpreter.parse_arguments import save_buffers

    module, entries = _launches(options)
    if len(entries) != 1:
        message = f"the file has {len(entries)} kernels"
        raise InvalidInput("run-entry", message, remedy=f"name one with --entry: {', '.join(entries)}")
    run = lambda inputs: run_inputs(module, entries[0], inputs, options.max_steps)
    inputs, shown = _inputs(options, module, entries[0], run)
    print(*shown, sep="\n")
    if options.output:
        print(*save_buffers(inputs, Path(options.output)), sep="\n")
    return 0


def _is_script(path: Path) -> bool:
    """Whether it is Python's by its name, or by the first line that Unix runs it by."""
    if path.suffix == ".py" or not path.is_file():
        return path.suffix == ".py"
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def run_script(options: argparse.Namespace) -> int:
    """``run SCRIPT.py --device cpu --sm sm_90 [-- ARG …]``: run a script whose kernels are compiled here; its exit code."""
    from ..cutile.run_script import module, run_program, script
    from ..cutile.run_settings import Settings
    from .command_options import DEFAULT_TARGET

    _refuse_of_kernels(options)
    program = (module if options.module else script)(options.file, options.words)
    sm = options.sm or (DEFAULT_TARGET if options.device == "cpu" else None)
    settings = Settings(
        options.device, sm, options.race_check, options.time_limit, options.jobs, options.profile or bool(options.json),
        options.json, options.tune, options.init_check, _tuning(options), options.keep,
    )  # fmt: skip
    return run_program(program, settings, atexit.register if options.ends_process else None)


def _refuse_of_kernels(options: argparse.Namespace) -> None:
    """Raise InvalidInput[run-script] for options that are of a kernel's file, which a script would not notice."""
    for name in ("entry", "grid", "arg", "output"):
        if getattr(options, name):
            message = f"--{name} is of a kernel in bytecode, and {options.file} is a script"
            raise InvalidInput("run-script", message, remedy="give its own arguments after --")
    if options.json and not Path(options.json).absolute().parent.is_dir():
        message = f"the profile cannot be written: there is no folder {Path(options.json).parent}"
        raise InvalidInput("run-script", message, remedy="make the folder first")


def _tuning(options: argparse.Namespace) -> dict[str, int]:
    """The numbers of ``TUNING`` that the options name."""
    from ..pipeline.tuning_parameters import parse_tuning

    return parse_tuning({name: given for name, given in vars(options).items() if given is not None})


def verify_file(options: argparse.Namespace) -> None:
    """``verify FILE --sm SM``: emulate the compiled kernels and compare with the interpreter, on the same inputs."""
    from ..target.targets import find_target

    target = find_target(options.sm).name
    rows = []
    for row in _verified(options, target):
        rows.append(row)
        if row["agrees"] and not options.json:
            print(f"{row['kernel']}: {row['arrays']} arrays agree on {target}, grid {tuple(row['grid'])}")
        elif not options.json:
            raise _mismatch(row)
    if options.json:
        print(json.dumps(rows, indent=2))
    wrong = Diagnostics()
    for row in rows:
        if not row["agrees"]:
            wrong.add(_mismatch(row))
    wrong.raise_if_any()


def _verified(options: argparse.Namespace, target: str) -> Iterator[dict[str, Any]]:
    """One document for each kernel: its grid, how many arrays it has, and in what they differ."""
    from ..driver import compile
    from ..simulate.interpreter.compare_with_compiled import run_in_emulator
    from ..target.isa.serializer_options import read_level

    silenced, level = _silenced(options.silence), read_level(options.opt)
    module, entries = _launches(options)
    tuning: dict[str, Any] = _tuning(options)
    artifacts = compile(read_file(options.file), target, opt_level=level, stop_at="ptx", name=options.file, **tuning)
    for entry in entries:
        inputs, expected = _inputs(options, module, entry, _expectation(module, entry, options.max_steps))
        wrong = [
            str(one) for one in expected.compare(run_in_emulator(artifacts, entry, inputs, silenced, expected.steps))
        ]
        yield {
            "kernel": entry, "target": target, "grid": list(inputs.grid), "arrays": len(inputs.buffers),
            "agrees": not wrong, "differences": wrong,
        }  # fmt: skip


def _mismatch(row: dict[str, Any]) -> InternalError:
    return InternalError("verify-mismatch", f"{row['kernel']} on {row['target']}: {'; '.join(row['differences'])}")


def _expectation(module, entry: str, steps: int) -> Callable:
    from ..simulate.interpreter.compare_with_compiled import ExpectedMemory

    return lambda inputs: ExpectedMemory(module, entry, inputs, limit=steps)


def _silenced(names: list[str]) -> dict[str, str]:
    """How to treat findings of the emulator that are to be silent. Raises InvalidInput[finding-unknown]."""
    from ..simulate.emulator.sanitizers.unspecified_behavior import FINDINGS, SILENT

    for name in names:
        if name not in FINDINGS:
            raise InvalidInput(
                "finding-unknown", f"the emulator has no finding {name!r}", remedy=suggest(name, FINDINGS)
            )
    return dict.fromkeys(names, SILENT)
