"""The options of each command. What they may be asked from the compiler is imported when a command's parser is made."""

from __future__ import annotations

import argparse
from contextlib import suppress

MAX_STEPS = 1_000_000  # operations of one run in the interpreter: some ten seconds
DEFAULT_TARGET = "sm_90"
SHELLS = ("bash", "zsh", "fish")  # whose completion is made
_NVCC = "of a .cu file: default: the nvidia-cuda-nvcc package's nvcc"
_LIBDEVICE = "default: the nvidia-nvvm package's libdevice.10.bc"


def add_nothing(parser: argparse.ArgumentParser) -> None:
    """A command without options, or one that reads its own."""


def add_json(parser: argparse.ArgumentParser) -> None:
    """``--json`` of the commands that list something."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text for people")


def add_init(parser: argparse.ArgumentParser) -> None:
    """The options of ``init``."""
    parser.add_argument("folder", metavar="NAME", nargs="?", default=".", help="its folder (default: this one)")
    kind = parser.add_mutually_exclusive_group()
    for name, what in (("cutile", "kernels in cuTile Python (default)"), ("tilecpp", "kernels in CUDA Tile C++")):
        kind.add_argument(f"--{name}", dest="kind", action="store_const", const=name, help=what)


def add_lower(parser: argparse.ArgumentParser) -> None:
    """The options of ``lower``."""
    from ..pipeline.job import SERIALIZERS
    from ..pipeline.stages import STAGES
    from ..pipeline.tuning_parameters import BY_NAME

    suffixes = ", ".join(stage.suffix for stage in STAGES[:-1])
    what = f"its suffix names its stage: {suffixes}; or a cuTile Python file, or CUDA Tile C++ (.cu)"
    parser.add_argument("file", metavar="FILE", help=what)
    goal = parser.add_mutually_exclusive_group(required=True)
    goal.add_argument("--to", metavar="STAGE", help=f"one of {', '.join(stage.name for stage in STAGES[1:])}")
    goal.add_argument("--until", metavar="PASS", help="stop after this pass, and write MLIR that `opt` takes up again")
    what = (
        "targets: sm_90, 90 and 90a mean the same; sm_80,sm_90 are two, all is every "
        "(default, here and below: what [tool.tileiras] of pyproject.toml says)"
    )
    parser.add_argument("--sm", metavar="SM", help=what)
    _add_capability(parser)
    what = "default: FILE with the new suffix; a folder where several files are made; - is standard output"
    parser.add_argument("-o", "--output", metavar="OUT", help=what)
    what = "of a Python or CUDA Tile C++ file this kernel only; may be repeated (default: all)"
    parser.add_argument("--kernel", action="append", metavar="NAME", help=what)
    _add_tilecpp(parser)
    _add_level(parser)
    what = "keep source lines for profilers and debuggers"
    parser.add_argument("--lineinfo", action=argparse.BooleanOptionalAction, help=what)
    what = "keep source lines and variables; needs --opt 0"
    parser.add_argument("--device-debug", action=argparse.BooleanOptionalAction, help=what)
    parser.add_argument("--libdevice", metavar="PATH", help=_LIBDEVICE)
    parser.add_argument("--ptxas", metavar="PATH", help="default: the nvidia-cuda-nvcc package's ptxas")
    parser.add_argument(
        "--serializer", choices=SERIALIZERS, default=SERIALIZERS[0], help="what makes the PTX (default: nvptx)"
    )
    _add_strategy(parser)
    _add_tuning(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="end it after this time (default: never)")
    how.add_argument("--in-process", action="store_true", help="without a guard against crashes of LLVM")
    # Not said, which the project may say.
    parser.set_defaults(**dict.fromkeys(("opt", "serializer", "strategy", "nvcc_flags", *BY_NAME)))


def _add_strategy(parser: argparse.ArgumentParser) -> None:
    from ..pipeline.pipelining_strategies import AUTO, NAMES

    what = f"how copies overlap computation: {', '.join(NAMES)}"
    parser.add_argument("--strategy", default=AUTO, metavar="STRATEGY", help=what)


def _add_tuning(parser: argparse._ActionsContainer) -> None:
    from ..pipeline.tuning_parameters import TUNING

    for row in TUNING:
        what = f"{row.help}: {row.values_text} (default: {row.default})"
        parser.add_argument(row.flag, metavar=row.name.upper(), help=what)


def _seconds(text: str) -> float:
    """A positive, finite number of seconds."""
    with suppress(ValueError):
        if 0 < (seconds := float(text)) < float("inf"):
            return seconds
    raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of seconds")


def _positive(text: str, what: str) -> int:
    with suppress(ValueError):
        if (number := int(text)) > 0:
            return number
    raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of {what}")


def _steps(text: str) -> int:
    """A positive number of operations."""
    return _positive(text, "operations")


def _processes(text: str) -> int:
    """A positive number of processes."""
    return _positive(text, "processes")


def add_dis(parser: argparse.ArgumentParser) -> None:
    """The options of ``dis``."""
    parser.add_argument("file", metavar="FILE.tilebc", help="Tile IR bytecode")
    parser.add_argument("-g", dest="locations", action="store_true", help="print source locations")


def add_export(parser: argparse.ArgumentParser) -> None:
    """The options of ``export``."""
    parser.add_argument("file", metavar="FILE", help="a Python file, or CUDA Tile C++ (.cu)")
    parser.add_argument("-o", "--output", default=".", metavar="DIR", help="default: this folder")
    parser.add_argument(
        "--kernel", action="append", metavar="NAME", help="this one only; may be repeated (default: all)"
    )
    what = "what paths in debug info are relative to (default: FILE's folder; of a .cu file this one)"
    parser.add_argument("--root", metavar="DIR", help=what)
    what = f"the target that nvcc compiles a .cu file for (default: {DEFAULT_TARGET})"
    parser.add_argument("--sm", metavar="SM", default=DEFAULT_TARGET, help=what)
    _add_tilecpp(parser)


def _add_tilecpp(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nvcc", metavar="PATH", help=_NVCC)
    parser.add_argument("--nvcc-flags", metavar="FLAGS", default="", help="more flags for nvcc, as one word")
    what = "a kernel, as C++ names it, that nvcc makes of a template; may be repeated"
    parser.add_argument("--instantiate", action="append", default=[], metavar="KERNEL", help=what)


def _add_capability(parser: argparse.ArgumentParser) -> None:
    what = "the target as major * 10 + minor, instead of --sm"
    parser.add_argument("--compute-capability", nargs="?", const="", metavar="N", help=what)


def _add_level(parser: argparse.ArgumentParser) -> None:
    what = "optimization level: 0, 1, 2, 3, or s and z for size (default: 3)"
    parser.add_argument("--opt", "--opt-level", dest="opt", default="3", metavar="LEVEL", help=what)


def add_opt(parser: argparse.ArgumentParser) -> None:
    """The options of ``opt``."""
    parser.add_argument("file", metavar="FILE.mlir", help="MLIR text; - is standard input")
    parser.add_argument("--pass", dest="passes", action="append", default=[], metavar="PASS", help="in order")
    what = "print LLVM IR; what is left of func, cf, scf, arith, vector and memref is converted first"
    parser.add_argument("--ll", action="store_true", help=what)
    what = "bits of an index: 32 or 64 (default: 64)"
    parser.add_argument("--index-bitwidth", type=int, choices=(32, 64), default=64, metavar="N", help=what)
    _add_target(parser)
    _add_capability(parser)
    _add_level(parser)
    parser.add_argument("--lineinfo", action="store_true", help="keep source lines")
    parser.add_argument("--device-debug", action="store_true", help="keep source lines and variables; needs --opt 0")


def _add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sm", default=DEFAULT_TARGET, metavar="SM", help=f"the target (default: {DEFAULT_TARGET})")


def add_asm(parser: argparse.ArgumentParser) -> None:
    """The options of ``asm``."""
    parser.add_argument("file", metavar="FILE.mlir", help="Tile IR text as dis and NVIDIA's tools print it")
    parser.add_argument("-o", "--output", metavar="OUT", help="default: FILE with the suffix .tilebc")
    what = "the version to write, such as 13.5; default: one that tools a release older still read"
    parser.add_argument("--bytecode", type=_version, metavar="VERSION", help=what)


def _version(text: str) -> tuple[int, int]:
    """A bytecode version such as 13.4."""
    from ..ir.bytecode.opcodes import VERSIONS

    known = {".".join(map(str, version)): version for version in VERSIONS}
    if text not in known:
        raise argparse.ArgumentTypeError(f"{text} is not one of {', '.join(known)}")
    return known[text]


def _add_launch(parser: argparse.ArgumentParser, file: str = "FILE.tilebc", what: str = "Tile IR bytecode") -> None:
    parser.add_argument("file", metavar=file, help=what)
    parser.add_argument("--entry", metavar="NAME", help="the kernel (default: the only one, or all to verify)")
    parser.add_argument("--grid", metavar="X[,Y,Z]", help="tile blocks per axis (default: two where the kernel asks)")
    what = "DTYPE:SHAPE[:SEED], FILE.npy or a number; an array also fills the sizes and strides after it; without any " \
           "they are derived"  # fmt: skip
    parser.add_argument("--arg", action="append", default=[], metavar="ARG", help=what)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of derived arguments (default: 0)")
    what = f"operations after which one run of the kernel is given up (default: {MAX_STEPS})"
    parser.add_argument("--max-steps", type=_steps, metavar="N", default=MAX_STEPS, help=what)


def add_run(parser: argparse.ArgumentParser) -> None:
    """The options of ``run``."""
    from ..cutile.run_settings import TUNE

    _add_launch(parser, "FILE", "Tile IR bytecode (.tilebc), or a script (.py)")
    parser.add_argument("-m", "--module", action="store_true", help="FILE is a module's name, as of python -m")
    parser.add_argument("-o", "--output", metavar="DIR", help="write the arrays after the run as .npy files")
    script = parser.add_argument_group("a script that calls ct.launch", "its own arguments follow after --")
    script.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="the emulator (default), or a GPU")
    what = f"the target (default: {DEFAULT_TARGET} on the CPU, what the GPU is on one)"
    script.add_argument("--sm", metavar="SM", help=what)
    _add_tuning(script)
    script.add_argument("--race-check", action="store_true", help="find accesses that nothing orders (CPU)")
    what = "find results that depend on memory that nobody has written (CPU)"
    script.add_argument("--init-check", action="store_true", help=what)
    what = "what ct.tune does with each configuration (CPU; default: launch it once)"
    script.add_argument("--tune", choices=TUNE, default=TUNE[0], help=what)
    what = "the first N sizes of each benchmark that triton.testing reports (CPU; default: all)"
    script.add_argument("--keep", type=_steps, metavar="N", help=what)
    what = "end a launch that takes longer (CPU; default: never)"
    script.add_argument("--time-limit", type=_seconds, metavar="SECONDS", help=what)
    what = "processes that share the blocks of a launch at most (CPU; default: as many as make it shorter)"
    script.add_argument("--jobs", type=_processes, metavar="N", help=what)
    script.add_argument("--profile", action="store_true", help="show what each kernel did (CPU)")
    script.add_argument("--json", metavar="FILE", help="the same, and write it as JSON")


def add_verify(parser: argparse.ArgumentParser) -> None:
    """The options of ``verify``."""
    _add_launch(parser)
    parser.add_argument("--sm", required=True, metavar="SM", help="the target whose code is emulated")
    _add_tuning(parser)
    what = "do not fail for one of the things that the ISA leaves open (docs/emulator.md, Findings); may be repeated"
    parser.add_argument("--silence", action="append", default=[], metavar="FINDING", help=what)
    _add_level(parser)
    add_json(parser)


def add_libdevice(parser: argparse.ArgumentParser) -> None:
    """The options of ``libdevice``."""
    parser.add_argument("file", metavar="FILE", help="bytecode, or a file of any stage up to .ll")
    _add_target(parser)
    parser.add_argument("--libdevice", metavar="PATH", help=_LIBDEVICE)
    parser.add_argument("--pin", metavar="OUT.ll", help="write the .ll with the library inline: no toolkit needed")


def add_report(parser: argparse.ArgumentParser) -> None:
    """The options of ``report``."""
    parser.add_argument("folder", metavar="DIR", help="a build folder; every .json beside a .cubin in it is read")
    form = parser.add_mutually_exclusive_group()
    what = "write the HTML report, with the last build's timeline, instead"
    form.add_argument("--html", metavar="PAGE", help=what)
    form.add_argument("--json", action="store_true", help="print JSON instead of text for people; sizes in bytes")
    form.add_argument("--csv", action="store_true", help="print CSV, with the same columns")
    what = "with --html: write a page for each kernel too, into a folder beside it, instead of all into one file"
    parser.add_argument("--pages", action="store_true", help=what)
    what = "with --html: name this build, so that later reports can be compared with it"
    parser.add_argument("--label", "--keep", dest="label", metavar="NAME", help=what)
    what = "show what has changed since a report's --json was kept, or a build was by --keep: in the table, the page, or as JSON"
    parser.add_argument("--against", metavar="BASELINE", help=what)
    what = "show how long kernels take, by the model of `estimate`, on the arguments that `scons verify` has compared them with"
    parser.add_argument("--estimate", action="store_true", help=what)
    _add_problem(parser)


def _add_problem(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--grid", metavar="X[,Y,Z]", help="show how long kernels take on this grid, by the model of `estimate`"
    )
    what = "for the estimate: an array's lengths (a=4096x4096), a parameter or a number; may be repeated"
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="NAME=VALUE", help=what)


def add_estimate(parser: argparse.ArgumentParser) -> None:
    """The options of ``estimate``."""
    from ..simulate.estimate.command_options import add_options

    add_options(parser)


def add_watch(parser: argparse.ArgumentParser) -> None:
    """The options of ``watch``."""
    what = "what scons is asked: targets, options such as sm=sm_90; after -- also its own, such as -j2"
    parser.add_argument("words_of_scons", metavar="WORD", nargs="*", default=[], help=what)
    parser.add_argument(
        "-C", dest="directory", metavar="DIR", default=".", help="the project's folder (default: this one)"
    )
    _add_problem(parser)


def add_cache(parser: argparse.ArgumentParser) -> None:
    """The options of ``cache``."""
    parser.add_argument("folder", metavar="DIR", help="the folder that builds name with cache=")
    parser.add_argument("--verify", action="store_true", help="read everything, and name what is damaged")
    parser.add_argument("--repair", action="store_true", help="the same, and remove what is damaged")
    what = "remove what was used longest ago until SIZE (20GiB, 500MiB) is left"
    parser.add_argument("--trim", metavar="SIZE", help=what)
    add_json(parser)


def add_server(parser: argparse.ArgumentParser) -> None:
    """The options of ``server``."""
    actions = ("status", "stop")
    parser.add_argument("what", metavar="ACTION", nargs="?", choices=actions, default="status", help="status or stop")


def add_completion(parser: argparse.ArgumentParser) -> None:
    """The options of ``completion``."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")
