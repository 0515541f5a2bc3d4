"""Options that several commands share, and parsers of option values.

Modules of the compiler are imported when a command's parser is built.
"""

from __future__ import annotations

import argparse
from contextlib import suppress

DEFAULT_TARGET = "sm_90"
MAX_STEPS = 1_000_000  # operations of one run in the interpreter: about ten seconds
LIBDEVICE_HELP = "libdevice bitcode (default: the nvidia-nvvm package's libdevice.10.bc)"


def add_json(parser: argparse.ArgumentParser) -> None:
    """``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_target(parser: argparse.ArgumentParser) -> None:
    """``--sm`` of commands for one target."""
    parser.add_argument("--sm", default=DEFAULT_TARGET, metavar="SM", help=f"target (default: {DEFAULT_TARGET})")


def add_compute_capability(parser: argparse.ArgumentParser) -> None:
    """``--compute-capability``, the alternative to ``--sm``."""
    what = "compute capability as an integer, e.g. 90; alternative to --sm"
    parser.add_argument("--compute-capability", nargs="?", const="", metavar="N", help=what)


def add_opt_level(parser: argparse.ArgumentParser) -> None:
    """``--opt``."""
    what = "optimization level: 0, 1, 2, 3, or s and z for size (default: 3)"
    parser.add_argument("--opt", "--opt-level", dest="opt", default="3", metavar="LEVEL", help=what)


def add_tuning(parser: argparse._ActionsContainer) -> None:
    """An option for each row of ``TUNING``."""
    from ..pipeline.tuning_parameters import TUNING

    for row in TUNING:
        what = f"{row.help}: {row.values_text} (default: {row.default})"
        parser.add_argument(row.flag, metavar=row.name.upper(), help=what)


def tuning_of(options: argparse.Namespace) -> dict[str, int]:
    """The tuning parameters that the options set. Raises InvalidInput for an invalid value."""
    from ..pipeline.tuning_parameters import parse_tuning

    return parse_tuning({name: value for name, value in vars(options).items() if value is not None})


def add_schedule(parser: argparse._ActionsContainer) -> None:
    """``--schedule``."""
    what = "JSON file of a schedule, as lower --explain-schedule --json prints it; each knob in it is checked"
    parser.add_argument("--schedule", metavar="FILE", help=what)


def schedule_of(options: argparse.Namespace) -> str:
    """The text of the schedule file; "" without one. Raises InvalidInput."""
    from ..core.errors import TileirasError
    from ..pipeline.schedule.schedule_file import read_schedule, with_file_name

    if options.schedule is None:
        return ""
    try:
        return read_schedule(options.schedule)
    except TileirasError as error:
        raise with_file_name(error, options.schedule) from error


def add_nvcc(parser: argparse.ArgumentParser) -> None:
    """Options of nvcc, which compiles CUDA Tile C++."""
    what = "nvcc for .cu files (default: the nvidia-cuda-nvcc package's)"
    parser.add_argument("--nvcc", metavar="PATH", help=what)
    parser.add_argument("--nvcc-flags", metavar="FLAGS", default="", help="extra nvcc flags, quoted as one argument")
    what = "template instantiation to compile, e.g. 'scale<float, 256>'; repeatable"
    parser.add_argument("--instantiate", action="append", default=[], metavar="KERNEL", help=what)


def add_kernel_inputs(
    parser: argparse.ArgumentParser, file: str = "FILE.tilebc", what: str = "Tile IR bytecode"
) -> None:
    """The kernel and its inputs, for commands that run one (``kernel_and_inputs.py``)."""
    parser.add_argument("file", metavar=file, help=what)
    parser.add_argument("--entry", metavar="NAME", help="kernel to run (default: the only one; verify: all)")
    what = "grid, in tile blocks per axis (default: 2 along each axis the kernel uses)"
    parser.add_argument("--grid", metavar="X[,Y,Z]", help=what)
    what = (
        "argument: DTYPE:SHAPE[:SEED], FILE.npy or a scalar; an array also supplies its sizes and strides "
        "(default: derived from the kernel)"
    )
    parser.add_argument("--arg", action="append", default=[], metavar="ARG", help=what)
    what = "random seed for derived arguments (default: 0)"
    parser.add_argument("--seed", type=int, default=0, metavar="N", help=what)
    what = f"stop interpreting after N operations (default: {MAX_STEPS})"
    parser.add_argument("--max-steps", type=positive_steps, metavar="N", default=MAX_STEPS, help=what)


def add_estimated_launch(parser: argparse.ArgumentParser) -> None:
    """The launch whose run time is estimated."""
    parser.add_argument("--grid", metavar="X[,Y,Z]", help="estimate run times for this grid")
    what = "for the estimate: array shape (a=4096x4096) or scalar value (n=4096); repeatable"
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="NAME=VALUE", help=what)


def positive_seconds(text: str) -> float:
    """A positive, finite number of seconds."""
    with suppress(ValueError):
        if 0 < (seconds := float(text)) < float("inf"):
            return seconds
    raise argparse.ArgumentTypeError(f"expected a positive number of seconds, got {text!r}")


def positive_steps(text: str) -> int:
    """A positive number of operations."""
    return _positive_int(text, "operations")


def positive_sizes(text: str) -> int:
    """A positive number of benchmark sizes."""
    return _positive_int(text, "sizes")


def positive_processes(text: str) -> int:
    """A positive number of processes."""
    return _positive_int(text, "processes")


def _positive_int(text: str, what: str) -> int:
    with suppress(ValueError):
        if (count := int(text)) > 0:
            return count
    raise argparse.ArgumentTypeError(f"expected a positive number of {what}, got {text!r}")
