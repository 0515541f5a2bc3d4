"""COMMANDS: one row per command of ``tileiras-build``, in the order in which ``--help`` lists them.

The command NAME is implemented in ``cmd_NAME.py``: ``add_options(parser)`` adds its options, ``run(options)`` executes it.
The module is imported only when its command is parsed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

_PACKAGE = "tileiras_build.cli"


@dataclass(frozen=True)
class Command:
    """A command: ``help`` is a phrase without a full stop; ``examples`` are pairs of a command line, without the name of
    the program, and its description. Without ``has_options`` it takes none, or parses its own command line.
    """

    name: str
    help: str
    examples: tuple[tuple[str, str], ...]
    has_options: bool = True

    @property
    def module(self) -> ModuleType:
        """The module that implements the command."""
        return import_module(f"{_PACKAGE}.cmd_{self.name}")

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        if self.has_options:
            self.module.add_options(parser)

    @property
    def run(self) -> Callable[[argparse.Namespace], int | None]:
        """The function that executes the command; it returns an exit code, or None for 0."""
        return self.module.run


COMMANDS: tuple[Command, ...] = (
    Command(
        "init", "create a small project that builds, verifies and packages",
        (
            ("init my_kernels", "a project in cuTile Python, in the new folder my_kernels"),
            ("init my_kernels --tilecpp", "the same in CUDA Tile C++"),
        ),
    ),
    Command(
        "lower", "compile a file of any stage to a later stage",
        (
            ("lower k.tilebc --to cubin --sm sm_90", "k.cubin, and its launch manifest k.json"),
            ("lower kernels/add.py --to ptx --sm sm_80,sm_90 -o out", "every kernel of the file for two targets"),
            ("lower k.tilebc --to ptx --sm sm_90 -o -", "print PTX to standard output"),
            ("lower k.tilebc --explain-schedule --json --sm sm_90", "how it uses an SM; edit it, and give it to --schedule"),
            ("lower k.tilebc --until convert-tile-as-to-llvm --sm sm_90", "stop after a pass; `opt` resumes from there"),
        ),
    ),
    Command(
        "show", "print source lines with their optimization remarks and SASS, and an estimate",
        (
            ("show kernels/add.py --sm h100", "every kernel of the file"),
            ("show kernels/add.py --html add.html", "a page with source and every stage side by side"),
            ("show k.tilebc --sm sm_90,sm_100 --counts", "instructions for each line, on two targets"),
        ),
    ),
    Command(
        "as", "drop-in tileiras: compile bytecode to a cubin with NVIDIA's options (as --help)",
        (("as --gpu-name=sm_90 -O3 k.tilebc -o k.cubin", "the call that cuTile Python makes"),),
        has_options=False,
    ),
    Command(
        "export", "export Tile IR bytecode from a cuTile Python or CUDA Tile C++ file",
        (
            ("export kernels/add.py -o out", "one out/NAME.tilebc per case in CASES"),
            ("export kernels/add.py --kernel add_f32", "one kernel only"),
        ),
    ),
    Command(
        "dis", "disassemble bytecode to Tile IR text",
        (("dis k.tilebc", "the module"), ("dis -g k.tilebc", "with source locations")),
    ),
    Command(
        "asm", "assemble Tile IR text to bytecode",
        (("asm k.mlir", "k.tilebc"), ("asm k.mlir -o new.tilebc --bytecode 13.5", "choose the bytecode version")),
    ),
    Command(
        "opt", "run named passes on MLIR text (like mlir-opt)",
        (
            ("opt k.mlir --pass convert-math-to-libdevice --sm sm_90", "one pass"),
            (
                "opt k.mlir --pass nv-tile-ir-convert-target-to-nvvm --pass convert-nvgpu-and-gpu-to-nvvm --ll",
                "lower to LLVM IR; the target is the module attribute nv_tileaa.compute_capability = 90 : i32",
            ),
        ),
    ),
    Command(
        "run", "run a kernel in the interpreter, or a cuTile script without a GPU",
        (
            ("run k.tilebc --grid 4 --arg float32:1000 --arg float32:1000", "a kernel on random inputs"),
            ("run script.py --device cpu --sm sm_90 -- --size 64", "a script that calls ct.launch, without a GPU"),
        ),
    ),
    Command(
        "verify", "check compiled kernels (PTX emulator) against the interpreter",
        (
            ("verify kernels/add.py --sm sm_90,sm_100", "every kernel of the file, on inputs derived from its signature"),
            ("verify k.tilebc --sm sm_90 --grid 4 --json", "the same, as JSON"),
        ),
    ),
    Command(
        "watch", "rebuild on save and show what changed in the machine code",
        (
            ("watch sm=sm_90", "show changes of registers, spills, shared memory, stack and instructions"),
            ("watch sm=sm_90 --grid 32,32 --set a=4096x4096 --set b=4096x4096", "also estimate run time for these array shapes"),
        ),
    ),
    Command(
        "report", "report registers, shared memory and spills of built kernels",
        (
            ("report build", "the table of the last build"),
            ("report build --html page.html", "the HTML report"),
            ("report build --html pages/index.html --pages", "the same, with a page for each kernel"),
            ("report build --html page.html --label v1", "and label this build v1"),
            ("report build --json", "the same, as JSON; later reports can be compared with it"),
            ("report build --against main.json", "per-kernel differences from a saved report"),
            ("report build --html page.html --grid 32,32 --set a=4096x4096", "also estimate run time for this array shape"),
        ),
    ),
    Command(
        "estimate", "estimate a kernel's run time from its cubin (analytical model)",
        (
            ("estimate build/sm_90/add_f32.cubin --set x=4096x4096 --grid 32,32", "bounds and the limiting resource"),
            ("estimate ours.cubin --set n=4096 --grid 32 --against theirs.cubin", "compare with another compiler's cubin"),
        ),
    ),
    Command(
        "tune", "choose constants and hints of a kernel from its space (cost model)",
        (
            ("tune kernels/matmul.py --sm sm_90,sm_100", "rank the points, and keep the best in kernels/matmul.tune.json"),
            ("tune kernels/matmul.py --kernel matmul_f16 -n", "print the ranking only"),
        ),
    ),
    Command(
        "libdevice", "list what a kernel links from libdevice",
        (
            ("libdevice k.tilebc", "the functions and their dependencies"),
            ("libdevice k.tilebc --pin k.ll", "write a self-contained .ll"),
        ),
    ),
    Command(
        "passes", "list the passes of each stage and the ops each eliminates",
        (("passes", "in execution order"), ("passes --json", "the same, as JSON")),
    ),
    Command(
        "targets", "list the GPU targets",
        (("targets", "the GPUs that --sm and sm= name"), ("targets --json", "the same, as JSON")),
    ),
    Command(
        "explain", "explain an error, remark or finding by its id",
        (
            ("explain shared-memory", "what error[shared-memory] means, and how to fix it"),
            ("explain", "every id, with one sentence each"),
        ),
    ),
    Command(
        "cache", "show, verify or trim a build cache folder",
        (
            ("cache ~/.cache/kernels", "size and entry count"),
            ("cache ~/.cache/kernels --verify", "list damaged entries"),
            ("cache ~/.cache/kernels --trim 20GiB", "remove the least recently used entries"),
        ),
    ),
    Command(
        "server", "list or stop background compile servers",
        (("server", "list running servers"), ("server stop", "stop them (the next command starts a new one)")),
    ),
    Command(
        "completion", "print a shell completion script",
        (
            ("completion bash", "for ~/.local/share/bash-completion/completions/tileiras-build"),
            ("completion zsh", "for a file _tileiras-build in a folder of fpath"),
            ("completion fish", "for ~/.config/fish/completions/tileiras-build.fish"),
        ),
    ),
    Command(
        "man", "print the manual page",
        (("man", "for ~/.local/share/man/man1/tileiras-build.1; `tileiras-build man | man -l -` shows it"),),
        has_options=False,
    ),
)  # fmt: skip


def find(name: str) -> Command | None:
    """The command called ``name``."""
    return next((command for command in COMMANDS if command.name == name), None)
