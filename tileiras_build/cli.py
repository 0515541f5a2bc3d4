"""The command ``tileiras-build``: lower files, look at them, list passes and targets, report on a build.

Exit codes: 0 done, 1 invalid input, 2 unsupported or wrong usage, 3 internal error, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from .errors import InternalError, InvalidInput, Location, TileirasError
from .files import read_file, write_files
from .pipeline.job import SERIALIZERS
from .pipeline.stages import STAGES, Stage
from .pipeline.strategies import AUTO, NAMES
from .pipeline.text_files import decode

MAX_STEPS = 1_000_000  # operations of one run in the interpreter: some ten seconds
_NAMES = ", ".join(stage.name for stage in STAGES[1:])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; diagnostics go to standard error, one line each. Returns the exit code.

    ``as`` reads its own command line, and so does a link to this program that is named ``tileiras``.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    called_tileiras = arguments is None and Path(sys.argv[0]).name == "tileiras"
    if called_tileiras or words[:1] == ["as"]:
        from .tileiras_command import main as assemble

        return assemble(words if called_tileiras else words[1:], sys.argv[0] if called_tileiras else "tileiras")
    words, of_script = _split_run(words)
    options = _parser().parse_args(words)
    options.words = of_script
    try:
        code = options.command(options)
        sys.stdout.flush()
    except TileirasError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output has seen enough; Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code or 0


def _split_run(words: list[str]) -> tuple[list[str], list[str]]:
    """The words of the command, and those of the script that ``run`` is to run: what stands after ``--``."""
    if words[:1] != ["run"] or "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tileiras-build", description="An open compiler for CUDA Tile IR.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_lower(_add(commands, "lower", lower_file, "lower a file of any stage to a later stage"))
    _add(commands, "as", _never, "compile bytecode to a cubin with the options of NVIDIA's tileiras (as --help)")
    libdevice = _add(commands, "libdevice", list_libdevice, "list what a kernel links from libdevice")
    libdevice.add_argument("file", metavar="FILE", help="bytecode, or a file of any stage up to .ll")
    libdevice.add_argument("--sm", default="90", metavar="SM", help="the target (default: 90)")
    libdevice.add_argument("--libdevice", metavar="PATH", help="default: the nvidia-nvvm package's libdevice.10.bc")
    libdevice.add_argument("--pin", metavar="OUT.ll", help="write the .ll with the library inline: no toolkit needed")
    _add_dis(_add(commands, "dis", disassemble_file, "print Tile IR bytecode as text"))
    _add_opt(_add(commands, "opt", run_opt, "run passes by name over MLIR text and print the result"))
    _add(commands, "passes", list_passes, "list the passes of each stage and what they remove")
    _add(commands, "targets", list_targets, "list the GPU targets")
    _add_asm(_add(commands, "asm", assemble_file, "write Tile IR text as bytecode"))
    _add_run(_add(commands, "run", run_file, "run a kernel in the reference interpreter, or a cuTile script"))
    _add_verify(_add(commands, "verify", verify_file, "compare compiled kernels with the reference interpreter"))
    _add_export(
        _add(
            commands,
            "export",
            export_file,
            "write the bytecode of the kernels of a cuTile Python or CUDA Tile C++ file",
        )
    )
    _add_init(_add(commands, "init", init_project, "write a small project that builds, verifies and packages at once"))
    report = _add(commands, "report", report_folder, "show registers, shared memory and spills of built kernels")
    report.add_argument("folder", metavar="DIR", help="a build folder; every .json beside a .cubin in it is read")
    report.add_argument("--html", metavar="PAGE", help="write the HTML report, with the last build's timeline, instead")
    _add_estimate(_add(commands, "estimate", estimate_cubin, "estimate by a model how long a cubin's kernel takes"))
    _add_cache(
        _add(commands, "cache", look_at_cache, "show what a folder for cache= holds, check it or make it smaller")
    )
    return parser


def _add_init(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="NAME", nargs="?", default=".", help="its folder (default: this one)")
    kind = parser.add_mutually_exclusive_group()
    for name, what in (("cutile", "kernels in cuTile Python (default)"), ("tilecpp", "kernels in CUDA Tile C++")):
        kind.add_argument(f"--{name}", dest="kind", action="store_const", const=name, help=what)


def _add(commands, name: str, command: Callable, help: str) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".")
    parser.set_defaults(command=command)
    return parser


def _add_estimate(parser: argparse.ArgumentParser) -> None:
    from .estimate.options import add_options

    add_options(parser)


def _add_cache(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", type=Path, help="the folder that builds name with cache=")
    parser.add_argument("--verify", action="store_true", help="read everything, and name what is damaged")
    parser.add_argument("--repair", action="store_true", help="the same, and remove what is damaged")
    parser.add_argument(
        "--trim", metavar="SIZE", help="remove what was used longest ago until SIZE (20G, 500M) is left"
    )


def _add_lower(parser: argparse.ArgumentParser) -> None:
    suffixes = ", ".join(stage.suffix for stage in STAGES[:-1])
    what = f"its suffix names its stage: {suffixes}; or a cuTile Python file, or CUDA Tile C++ (.cu)"
    parser.add_argument("file", metavar="FILE", help=what)
    goal = parser.add_mutually_exclusive_group(required=True)
    goal.add_argument("--to", metavar="STAGE", help=f"one of {_NAMES}")
    goal.add_argument("--until", metavar="PASS", help="stop after this pass, and write MLIR that `opt` takes up again")
    parser.add_argument(
        "--sm", metavar="SM", help="targets: 90, sm_90 and 90a mean the same; 80,90 are two, all is every"
    )
    _add_capability(parser)
    what = "default: FILE with the new suffix; a folder where several files are made; - is standard output"
    parser.add_argument("-o", "--output", metavar="OUT", help=what)
    what = "of a Python or CUDA Tile C++ file this kernel only; may be repeated (default: all)"
    parser.add_argument("--kernel", action="append", metavar="NAME", help=what)
    _add_tilecpp(parser)
    _add_level(parser)
    parser.add_argument("--lineinfo", action="store_true", help="keep source lines for profilers and debuggers")
    parser.add_argument("--device-debug", action="store_true", help="keep source lines and variables; needs --opt 0")
    parser.add_argument("--libdevice", metavar="PATH", help="default: the nvidia-nvvm package's libdevice.10.bc")
    parser.add_argument("--ptxas", metavar="PATH", help="default: the nvidia-cuda-nvcc package's ptxas")
    parser.add_argument(
        "--serializer", choices=SERIALIZERS, default=SERIALIZERS[0], help="what makes the PTX (default: nvptx)"
    )
    _add_strategy(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="end it after this time (default: never)")
    how.add_argument("--in-process", action="store_true", help="without a guard against crashes of LLVM")


def _seconds(text: str) -> float:
    """A positive, finite number of seconds."""
    with suppress(ValueError):
        if 0 < (seconds := float(text)) < float("inf"):
            return seconds
    raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of seconds")


def _steps(text: str) -> int:
    """A positive number of operations."""
    with suppress(ValueError):
        if (steps := int(text)) > 0:
            return steps
    raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of operations")


def _add_strategy(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(NAMES)
    parser.add_argument("--strategy", default=AUTO, metavar="NAME", help=f"how copies overlap computation: {names}")


def _add_dis(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("-g", dest="locations", action="store_true", help="print source locations")


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a Python file, or CUDA Tile C++ (.cu)")
    parser.add_argument("-o", "--output", default=".", metavar="DIR", help="default: this folder")
    parser.add_argument(
        "--kernel", action="append", metavar="NAME", help="this one only; may be repeated (default: all)"
    )
    parser.add_argument(
        "--root",
        metavar="DIR",
        help="what paths in debug info are relative to (default: FILE's folder; of a .cu file this one)",
    )
    parser.add_argument(
        "--sm", metavar="SM", default="90", help="the target that nvcc compiles a .cu file for (default: 90)"
    )
    _add_tilecpp(parser)


def _add_tilecpp(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nvcc", metavar="PATH", help="of a .cu file: default: the nvidia-cuda-nvcc package's nvcc")
    parser.add_argument("--nvcc-flags", metavar="FLAGS", default="", help="more flags for nvcc, as one word")
    what = "a kernel, as C++ names it, that nvcc makes of a template; may be repeated"
    parser.add_argument("--instantiate", action="append", default=[], metavar="KERNEL", help=what)


def _never(options: argparse.Namespace) -> None:
    """``main`` hands this command over before it reads options; the row is for --help."""


def _add_capability(parser: argparse.ArgumentParser) -> None:
    what = "the target as major * 10 + minor, instead of --sm"
    parser.add_argument("--compute-capability", nargs="?", const="", metavar="N", help=what)


def _add_level(parser: argparse.ArgumentParser) -> None:
    what = "optimization level: 0, 1, 2, 3, or s and z for size (default: 3)"
    parser.add_argument("--opt", "--opt-level", dest="opt", default="3", metavar="LEVEL", help=what)


def _add_opt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.mlir", help="MLIR text; - is standard input")
    parser.add_argument("--pass", dest="passes", action="append", default=[], metavar="NAME", help="in order")
    parser.add_argument("--ll", action="store_true", help="print LLVM IR, where all is of the llvm dialect by then")
    parser.add_argument("--sm", default="90", metavar="SM", help="the target (default: 90)")
    _add_capability(parser)
    _add_level(parser)
    parser.add_argument("--lineinfo", action="store_true", help="keep source lines")
    parser.add_argument("--device-debug", action="store_true", help="keep source lines and variables; needs --opt 0")


def run_opt(options: argparse.Namespace) -> None:
    """``opt FILE.mlir --pass NAME …``: print the module after the passes."""
    from .pipeline.opt import run_file

    run_file(options)


def _add_asm(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.mlir", help="text as dis prints it")
    parser.add_argument("-o", "--output", metavar="OUT", help="default: FILE with the suffix .tilebc")
    parser.add_argument(
        "--bytecode",
        type=_version,
        metavar="VERSION",
        help="the version to write, such as 13.5; default: one that tools a release older still read",
    )


def _version(text: str) -> tuple[int, int]:
    """A bytecode version such as 13.4."""
    from .bytecode.opcodes import VERSIONS

    known = {".".join(map(str, version)): version for version in VERSIONS}
    if text not in known:
        raise argparse.ArgumentTypeError(f"{text} is not one of {', '.join(known)}")
    return known[text]


def _add_launch(parser: argparse.ArgumentParser, file: str = "FILE.tilebc") -> None:
    parser.add_argument("file", metavar=file)
    parser.add_argument("--entry", metavar="NAME", help="default: the only one, or all to verify")
    parser.add_argument("--grid", metavar="X[,Y,Z]", help="tile blocks per axis (default: two where the kernel asks)")
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="ARG",
        help="DTYPE:SHAPE[:SEED], FILE.npy or a "
        "number; an array also fills the sizes and strides after it; without any they are derived",
    )
    parser.add_argument("--seed", type=int, default=0, help="of derived arguments (default: 0)")
    parser.add_argument(
        "--max-steps",
        type=_steps,
        metavar="N",
        default=MAX_STEPS,
        help=f"operations after which one run of the kernel is given up (default: {MAX_STEPS})",
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    from .cutile.settings import TUNE

    _add_launch(parser, "FILE.tilebc | SCRIPT.py")
    parser.add_argument("-o", "--output", metavar="DIR", help="write the arrays after the run as .npy files")
    script = parser.add_argument_group("a script that calls ct.launch", "its own arguments follow after --")
    script.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="the emulator (default), or a GPU")
    script.add_argument("--sm", metavar="SM", help="the target (default: 90 on the CPU, what the GPU is on one)")
    script.add_argument("--race-check", action="store_true", help="find accesses that nothing orders (CPU)")
    what = "find results that depend on memory that nobody has written (CPU)"
    script.add_argument("--init-check", action="store_true", help=what)
    what = "end a launch that takes longer (CPU; default: never)"
    script.add_argument("--time-limit", type=_seconds, metavar="SECONDS", help=what)
    what = "processes that share the blocks of a launch (CPU; default: 1)"
    script.add_argument("--jobs", type=_steps, default=1, metavar="N", help=what)
    what = "what ct.tune does with each configuration (CPU; default: launch it once)"
    script.add_argument("--tune", choices=TUNE, default=TUNE[0], help=what)
    script.add_argument("--profile", action="store_true", help="show what each kernel did (CPU)")
    script.add_argument("--json", metavar="FILE", help="write the profile as JSON")


def _add_verify(parser: argparse.ArgumentParser) -> None:
    _add_launch(parser)
    parser.add_argument("--sm", required=True, metavar="SM", help="the target whose code is emulated")
    parser.add_argument(
        "--silence",
        action="append",
        default=[],
        metavar="FINDING",
        help="do not fail for one of the things that the ISA leaves open (docs/emulator.md, Findings)",
    )
    _add_level(parser)


def lower_file(options: argparse.Namespace) -> None:
    """``lower FILE --to STAGE --sm SM``: write the stage's file, and the manifest beside a cubin."""
    from .lowering import lower_files

    lower_files(options)


def disassemble_file(options: argparse.Namespace) -> None:
    """``dis FILE [-g]``: print the public dialect's textual form."""
    from .bytecode import disassemble

    text = disassemble(read_file(options.file), locations=options.locations, name=options.file)
    print(text.rstrip("\n"))


def assemble_file(options: argparse.Namespace) -> None:
    """``asm FILE.mlir -o OUT``: the bytecode of the public dialect's textual form."""
    from .bytecode.text_parser import parse_text
    from .bytecode.writer import write_module
    from .pipeline.text_files import decode

    module = parse_text(decode(read_file(options.file), options.file), options.file)
    data = write_module(module, version=options.bytecode)
    write_files({Path(options.output or Path(options.file).with_suffix(STAGES[0].suffix)): data})


def _launches(options: argparse.Namespace):
    """The module of a file, and the entries that the options name."""
    from .bytecode import read_module
    from .interpreter import entry_names

    module = read_module(read_file(options.file), options.file)
    return module, [options.entry] if options.entry else entry_names(module)


def _inputs(options: argparse.Namespace, module, entry: str, run: Callable):
    """The first inputs, of those that the options describe, that ``run`` accepts, and what it returns."""
    from .interpreter.arguments import bind_arguments, parse_grid
    from .interpreter.inputs import usable_inputs

    grid = parse_grid(options.grid) if options.grid else None
    if not options.arg:
        return usable_inputs(module, entry, run, options.seed, grid)
    inputs = bind_arguments(module, entry, options.arg, grid or (1, 1, 1))
    return inputs, run(inputs)


def run_file(options: argparse.Namespace) -> int:
    """``run FILE --grid X,Y,Z --arg A ...``: run a kernel in the interpreter and show what it leaves in memory."""
    if Path(options.file).suffix == ".py":
        return run_script(options)
    from .interpreter import run_inputs
    from .interpreter.arguments import save_buffers

    module, entries = _launches(options)
    if len(entries) != 1:
        raise InvalidInput(
            "run-entry", f"the file has {len(entries)} kernels", remedy=f"name one: {', '.join(entries)}"
        )
    run = lambda inputs: run_inputs(module, entries[0], inputs, options.max_steps)
    inputs, shown = _inputs(options, module, entries[0], run)
    print(*shown, sep="\n")
    if options.output:
        print(*save_buffers(inputs, Path(options.output)), sep="\n")
    return 0


def run_script(options: argparse.Namespace) -> int:
    """``run SCRIPT.py --device cpu --sm 90 [-- ARG …]``: run a script whose kernels are compiled here; its exit code."""
    from .cutile.run import run_script
    from .cutile.settings import Settings

    sm = options.sm or ("90" if options.device == "cpu" else None)
    settings = Settings(
        options.device, sm, options.race_check, options.time_limit, options.jobs, options.profile, options.json,
        options.tune, options.init_check,
    )  # fmt: skip
    return run_script(options.file, options.words, settings)


def verify_file(options: argparse.Namespace) -> None:
    """``verify FILE --sm SM``: emulate the compiled kernels and compare with the interpreter, on the same inputs."""
    from .book.serializers import read_level
    from .driver import compile
    from .interpreter.verify import emulate

    silenced, level = _silenced(options.silence), read_level(options.opt)
    module, entries = _launches(options)
    artifacts = compile(read_file(options.file), options.sm, opt_level=level, stop_at="ptx", name=options.file)
    for entry in entries:
        inputs, expected = _inputs(options, module, entry, _expectation(module, entry, options.max_steps))
        wrong = expected.compare(emulate(artifacts, entry, inputs, silenced))
        if wrong:
            raise InternalError("verify-mismatch", f"{entry} on {options.sm}: {'; '.join(map(str, wrong))}")
        print(f"{entry}: {len(inputs.buffers)} arrays agree on {options.sm}, grid {inputs.grid}")


def _expectation(module, entry: str, steps: int) -> Callable:
    from .interpreter.verify import Expectation

    return lambda inputs: Expectation(module, entry, inputs, limit=steps)


def _silenced(names: list[str]) -> dict[str, str]:
    """How to treat findings of the emulator that are to be silent. Raises InvalidInput[finding-unknown]."""
    from .emulator.findings import FINDINGS, SILENT

    for name in names:
        if name not in FINDINGS:
            raise InvalidInput(
                "finding-unknown", f"the emulator has no finding {name!r}", remedy=f"use {', '.join(FINDINGS)}"
            )
    return dict.fromkeys(names, SILENT)


def list_passes(options: argparse.Namespace) -> None:
    """``passes``: what runs between the stages, in order, with the contracts."""
    for source, stage in pairwise(STAGES):
        print(f"{source.suffix} -> {stage.suffix}")
        print(*_pass_lines(stage), sep="\n")
    from .pipeline.opt import PASSES, find_pass

    print("opt: over MLIR text, by name")
    print(*_contract_lines(find_pass(name) for name in PASSES), sep="\n")


def _pass_lines(stage: Stage) -> Iterator[str]:
    if not stage.passes:
        yield f"    one step: {stage.edge}"
    yield from _contract_lines(stage.passes)


def _contract_lines(passes: Iterable) -> Iterator[str]:
    from .pipeline.contracts import promises

    for edge_pass in passes:
        summary = (edge_pass.__doc__ or "").strip().partition("\n")[0]
        yield f"    {edge_pass.name:40} {summary}"
        for head, text in promises(edge_pass).items():
            yield f"    {'':40} {head + ':':5}{text}"


def list_targets(options: argparse.Namespace) -> None:
    """``targets``: one line per GPU generation."""
    from .reports.table import align
    from .targets import TARGETS

    rows = [
        (target.name, target.arch, ".".join(map(str, target.ptx_version)), f"{target.max_shared_memory // 1024} KiB")
        for target in TARGETS.values()
    ]
    print(align(("target", "arch", "PTX", "shared memory per CTA"), rows))


def list_libdevice(options: argparse.Namespace) -> None:
    """``libdevice FILE``: the table of functions, with what each brings along; ``--pin`` writes a self-contained .ll."""
    from .driver import lower
    from .executor.forked import ForkedExecutor
    from .libdevice.blob import pin
    from .lowering import stage_of_file
    from .pipeline.job import Job
    from .targets import find_target

    source, target = stage_of_file(options.file), find_target(options.sm)
    data = read_file(options.file)
    if source.name != "ll":
        data = lower(data, source.name, "ll", Job(target), name=options.file)[".ll"]
    arguments = decode(data, options.file), options.libdevice, target.number
    print(ForkedExecutor().run("tileiras_build.reports.libdevice:linked_table", *arguments))
    if options.pin:
        write_files({Path(options.pin): pin(data.decode(), options.libdevice).encode()})


def export_file(options: argparse.Namespace) -> None:
    """``export FILE -o DIR``: one .tilebc per case of a Python file, or one of a CUDA Tile C++ file."""
    from .lowering import export_kernels
    from .targets import find_target

    read_file(options.file)
    kernels = export_kernels(options, find_target(options.sm), options.root)
    write_files({Path(options.output) / f"{name}{STAGES[0].suffix}": data for name, data in kernels.items()})


def init_project(options: argparse.Namespace) -> None:
    """``init [NAME]``: a project of one kernel with its reference, a helper and tests."""
    from .new_project.write_project import CUTILE, write_project

    for path in write_project(Path(options.folder), options.kind or CUTILE):
        print(path)
    print("now: scons -j8 sm=80,90 verify package; README.md says more")


def report_folder(options: argparse.Namespace) -> None:
    """``report DIR``: the table of resources; ``--html PAGE``: the page that ``scons report`` writes."""
    if options.html:
        from .reports.page import write_report

        print(write_report(Path(options.folder), Path(options.html)))
        return
    from .reports.resources import read_folder, resource_table

    print(resource_table(read_folder(options.folder)))


def estimate_cubin(options: argparse.Namespace) -> None:
    """``estimate K.cubin --set a=4096x4096 --grid 32,32``: bounds, their clocks and the limit, by a model."""
    from .estimate.command import run

    run(options)


def look_at_cache(options: argparse.Namespace) -> None:
    """``cache DIR``: how much a cache folder holds, after what it was asked to remove."""
    from .executor.cache import contents

    limit = None if options.trim is None else contents.parse_size(options.trim)
    contents.measure(options.folder)
    damaged = _verify_cache(options.folder, options.repair) if options.verify or options.repair else 0
    if limit is not None:
        contents.trim(options.folder, limit)
    print(contents.measure(options.folder))
    if damaged:
        what = f"{damaged} damaged {'entry' if damaged == 1 else 'entries'}"
        remedy = "make it writable for you, or remove them by hand" if options.repair else "remove them with --repair"
        raise InvalidInput("cache-damaged", what, location=Location(str(options.folder)), remedy=remedy)


def _verify_cache(folder: Path, repair: bool) -> int:
    """Name what is damaged, and remove it on request; how much is left of it."""
    from .executor.cache import contents

    left = 0
    for damage in contents.verify(folder):
        kept = contents.remove(damage) if repair else None
        left += kept is not None or not repair
        if not repair:
            print(f"damaged {damage}")
        else:
            print(f"removed {damage}" if kept is None else f"cannot remove {damage}; {kept}")
    return left
