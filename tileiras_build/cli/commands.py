"""COMMANDS: every command of ``tileiras-build``, in the order in which ``--help`` lists them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from . import command_options

_HANDLERS = "tileiras_build.cli"


@dataclass(frozen=True)
class Command:
    """One command: ``run`` is the function that does it ("module:function"), given the parsed options.

    ``help`` is half a sentence without its full stop; ``examples`` are command lines without the program's name, each
    with what it does.
    """

    name: str
    run: str
    help: str
    add_options: Callable[[argparse.ArgumentParser], None]
    examples: tuple[tuple[str, str], ...]


def _handler(module: str, name: str) -> str:
    return f"{_HANDLERS}.{module}:{name}"


COMMANDS: tuple[Command, ...] = (
    Command(
        "init", _handler("cmd_export", "init_project"), "write a small project that builds, verifies and packages at once", command_options.add_init,
        (
            ("init my_kernels", "a project in cuTile Python, in the new folder my_kernels"),
            ("init my_kernels --tilecpp", "the same in CUDA Tile C++"),
        ),
    ),
    Command(
        "lower", "tileiras_build.cli.cmd_lower:lower_files", "lower a file of any stage to a later stage", command_options.add_lower,
        (
            ("lower k.tilebc --to cubin --sm sm_90", "k.cubin, and its launch manifest k.json"),
            ("lower kernels/add.py --to ptx --sm sm_80,sm_90 -o out", "every kernel of the file for two targets"),
            ("lower k.tilebc --to ptx --sm sm_90 -o -", "PTX on the screen"),
            ("lower k.tilebc --until convert-tile-as-to-llvm --sm sm_90", "stop after a pass; `opt` goes on"),
        ),
    ),
    Command(
        "as", "tileiras_build.cli.cmd_as:main", "compile bytecode to a cubin with the options of NVIDIA's tileiras (as --help)",
        command_options.add_nothing,
        (("as --gpu-name=sm_90 -O3 k.tilebc -o k.cubin", "what cuTile Python asks of tileiras"),),
    ),
    Command(
        "export", _handler("cmd_export", "export_file"), "write the bytecode of the kernels of a cuTile Python or CUDA Tile C++ file",
        command_options.add_export,
        (
            ("export kernels/add.py -o out", "out/NAME.tilebc of every row of the file's CASES"),
            ("export kernels/add.py --kernel add_f32", "one of them"),
        ),
    ),
    Command(
        "dis", _handler("cmd_export", "disassemble_file"), "print Tile IR bytecode as text", command_options.add_dis,
        (("dis k.tilebc", "the module"), ("dis -g k.tilebc", "with source locations")),
    ),
    Command(
        "asm", _handler("cmd_export", "assemble_file"), "write Tile IR text as bytecode", command_options.add_asm,
        (("asm k.mlir", "k.tilebc"), ("asm k.mlir -o new.tilebc --bytecode 13.5", "of a certain version")),
    ),
    Command(
        "opt", "tileiras_build.pipeline.opt:run_file", "run passes by name over MLIR text and print the result", command_options.add_opt,
        (
            ("opt k.mlir --pass convert-math-to-libdevice --sm sm_90", "one pass"),
            (
                "opt k.mlir --pass nv-tile-ir-convert-target-to-nvvm --pass convert-nvgpu-and-gpu-to-nvvm --ll",
                "down to LLVM IR; the module says its target: nv_tileaa.compute_capability = 90 : i32",
            ),
        ),
    ),
    Command(
        "run", _handler("cmd_run", "run_file"), "run a kernel in the reference interpreter, or a cuTile script", command_options.add_run,
        (
            ("run k.tilebc --grid 4 --arg float32:1000 --arg float32:1000", "a kernel, on arrays of random numbers"),
            ("run script.py --device cpu --sm sm_90 -- --size 64", "a script that calls ct.launch, without a GPU"),
        ),
    ),
    Command(
        "verify", _handler("cmd_run", "verify_file"), "compare compiled kernels with the reference interpreter", command_options.add_verify,
        (
            ("verify k.tilebc --sm sm_90", "on inputs that are derived from the kernel"),
            ("verify k.tilebc --sm sm_90 --grid 4 --json", "the same for programs"),
        ),
    ),
    Command(
        "watch", "tileiras_build.build.watch.watch_session:watch_project", "build on every save, and show what has changed in the machine code",
        command_options.add_watch,
        (
            ("watch sm=sm_90", "registers, spills, shared memory, stack and instructions that a save has changed"),
            ("watch sm=sm_90 --grid 32,32 --set a=4096x4096 --set b=4096x4096", "and the estimated time of kernels with these arrays"),
        ),
    ),
    Command(
        "report", "tileiras_build.reports.report_command:run", "show registers, shared memory and spills of built kernels", command_options.add_report,
        (
            ("report build", "the table of the last build"),
            ("report build --html page.html", "the HTML report"),
            ("report build --html pages/index.html --pages", "the same, with a page for each kernel"),
            ("report build --html page.html --label v1", "and remember this build as v1"),
            ("report build --json", "for programs, and what later reports are compared with"),
            ("report build --against main.json", "what has changed since, kernel by kernel"),
            ("report build --html page.html --grid 32,32 --set a=4096x4096", "and the estimated time of kernels with this array"),
        ),
    ),
    Command(
        "estimate", "tileiras_build.simulate.estimate.estimate_command:run", "estimate by a model how long a cubin's kernel takes", command_options.add_estimate,
        (
            ("estimate build/sm_90/add_f32.cubin --set x=4096x4096 --grid 32,32", "bounds, and what limits it"),
            ("estimate ours.cubin --set n=4096 --grid 32 --against theirs.cubin", "beside another compiler's"),
        ),
    ),
    Command(
        "libdevice", _handler("cmd_passes", "list_libdevice"), "list what a kernel links from libdevice", command_options.add_libdevice,
        (
            ("libdevice k.tilebc", "the functions, and what each brings along"),
            ("libdevice k.tilebc --pin k.ll", "an .ll that needs no toolkit"),
        ),
    ),
    Command(
        "passes", _handler("cmd_passes", "list_passes"), "list the passes of each stage and what they remove", command_options.add_json,
        (("passes", "in the order in which they run"), ("passes --json", "the same for programs")),
    ),
    Command(
        "targets", _handler("cmd_passes", "list_targets"), "list the GPU targets", command_options.add_json,
        (("targets", "the GPUs that --sm and sm= name"), ("targets --json", "the same for programs")),
    ),
    Command(
        "cache", _handler("cmd_passes", "inspect_cache"), "show what a folder for cache= holds, check it or make it smaller", command_options.add_cache,
        (
            ("cache ~/.cache/kernels", "how much it holds"),
            ("cache ~/.cache/kernels --verify", "name what is damaged"),
            ("cache ~/.cache/kernels --trim 20GiB", "remove what was used longest ago"),
        ),
    ),
    Command(
        "server", _handler("cmd_passes", "list_servers"), "show the warm servers of this user, or end them", command_options.add_server,
        (("server", "those that run"), ("server stop", "end them; the next command starts one")),
    ),
    Command(
        "completion", _handler("cmd_completion", "print_completion"), "print what completes this program's commands in a shell", command_options.add_completion,
        (
            ("completion bash", "for ~/.local/share/bash-completion/completions/tileiras-build"),
            ("completion zsh", "for a file _tileiras-build in a folder of fpath"),
            ("completion fish", "for ~/.config/fish/completions/tileiras-build.fish"),
        ),
    ),
    Command(
        "man", _handler("cmd_man", "print_manual"), "print the manual page", command_options.add_nothing,
        (("man", "for ~/.local/share/man/man1/tileiras-build.1; `tileiras-build man | man -l -` shows it"),),
    ),
)  # fmt: skip


def find(name: str) -> Command | None:
    """The command called ``name``."""
    return next((row for row in COMMANDS if row.name == name), None)
