"""Run MLIR's own tests of its gpu and nvgpu conversions through ``tileiras-build opt``.

    python tools/mlir_suite.py llvm-project/mlir/test [--mlir-opt PATH]

takes the folder of a checkout or of a source package (LLVM 21), of which nothing is kept here. A unit is a function, with
what stands around it. Three questions are asked of each:

    operations   the conversion leaves the operations of nvvm, the assembly and the calls that the unit's CHECK lines name,
                 in their order, and none that a CHECK-NOT names; with ``--mlir-opt``, exactly those that MLIR leaves
    to LLVM      the unit goes on by ``--ll``, and LLVM makes PTX of it
    invalid      a module of which MLIR's test expects an error is refused, with a sentence

What differs is listed; the exit status is 1 where something does.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from xdsl.dialects.builtin import IntegerAttr

from tileiras_build.core.errors import InternalError, TileirasError
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx import lower as compile_llvm
from tileiras_build.pipeline.opt import find_pass, llvm_ir, parse_module, transform
from tileiras_build.pipeline.pass_manager import run_passes, verify
from tileiras_build.pipeline.tile_ir_text_format import render
from tileiras_build.pipeline.tileas_to_ll.attach_nvvm_target import CAPABILITY
from tileiras_build.target.targets import find_target

CONVERT, TARGET = "convert-nvgpu-and-gpu-to-nvvm", "nv-tile-ir-convert-target-to-nvvm"


@dataclass(frozen=True)
class Suite:
    """One test file: the pass of MLIR that it is about, and the width of an index."""

    path: str
    mlir_pass: str
    index_bits: int = 64


SUITES = (
    Suite("Conversion/NVGPUToNVVM/nvgpu-to-nvvm.mlir", "--convert-nvgpu-to-nvvm"),
    Suite("Conversion/GPUToNVVM/gpu-to-nvvm.mlir", "--convert-gpu-to-nvvm=has-redux=1"),
    Suite("Conversion/GPUToNVVM/gpu-to-nvvm-32b.mlir", "--convert-gpu-to-nvvm=index-bitwidth=32", index_bits=32),
    Suite("Conversion/GPUToNVVM/gpu-arith-ops-to-nvvm.mlir", "--convert-gpu-to-nvvm"),
    Suite("Conversion/GPUToNVVM/memref.mlir", "--convert-gpu-to-nvvm=use-bare-ptr-memref-call-conv=1"),
)
INVALID = "Dialect/NVGPU/invalid.mlir"
# The newest GPU of which MLIR's operations are; what the packed operations of sm_100 need, MLIR has not.
TARGET_NAME = "sm_90"


# Reading a test file --------------------------------------------------------------------------------------------------


@dataclass
class Unit:
    """A function of a test file: its name, the module that holds it alone, and what is written above and in it."""

    name: str
    module: str
    comments: str


SPLIT = "// -----"
FUNCTION = re.compile(r"^\s*(?:func\.func|gpu\.func|llvm\.func)\s+(?:private\s+)?@(\w+)", re.M)
CONTAINER = re.compile(r"^\s*(?:gpu\.module|builtin\.module|module)\b[^{\n]*(?:attributes\s*\{[^}]*\}\s*)?\{", re.M)
TRANSFORM = "transform.with_named_sequence"


def _bodies(text: str) -> str:
    """The text of the same length without comments and strings, so that its brackets are MLIR's."""
    blank = lambda match: " " * len(match[0])
    return re.sub(r"//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"", blank, text)


def _end(bare: str, start: int) -> int:
    """Behind the closing bracket of the region that begins at or behind ``start``; attributes are no region."""
    depth, at = 0, start
    while at < len(bare):
        if bare[at] == "{":
            depth += 1
        elif bare[at] == "}":
            depth -= 1
            if depth == 0 and not bare[at + 1 :].lstrip(" ").startswith(("{", "->")):
                return at + 1
        at += 1
    return len(bare)


def units(text: str) -> Iterator[Unit]:
    """The functions of a file, each with the aliases and globals before it, in the module that holds it."""
    for part in text.split(SPLIT):
        for written, read in STAND_INS.items():
            part = re.sub(written, read, part)
        yield from _units(part, "", ("", ""))


def _units(text: str, prelude: str, around: tuple[str, str]) -> Iterator[Unit]:
    bare, at = _bodies(text), 0
    while True:
        function, container = FUNCTION.search(bare, at), CONTAINER.search(bare, at)
        if function is None and container is None:
            return
        nested = container is not None and (function is None or container.start() < function.start())
        match = container if nested else function
        assert match is not None
        before, end = text[at : match.start()], _end(bare, match.start())
        prelude += _declarations(bare[at : match.start()], before)
        if not nested:
            body = text[match.start() : end]
            module = f"{prelude}\n{around[0]}\n{body}\n{around[1]}"
            yield Unit(match[1], _uncommented(module), f"{before}\n{body}")
        elif TRANSFORM not in match[0]:
            inner = text[match.end() : end - 1]
            for unit in _units(inner, "", ("", "")):
                module = f"{prelude}\n{text[match.start() : match.end()]}\n{unit.module}\n}}"
                yield Unit(unit.name, _uncommented(module), f"{before}\n{unit.comments}")
        at = end


def _declarations(bare: str, text: str) -> str:
    """Aliases and globals in front of a function."""
    lines = zip(bare.splitlines(), text.splitlines(), strict=True)
    return "".join(f"{line}\n" for code, line in lines if code.strip())


# MLIR's test dialect has a table of symbols that is no module; any other one serves.
STAND_INS = {
    r'"test\.symbol_scope"\(\) \(\{': "builtin.module {",
    r'"test\.finish" ?\(\) : \(\) -> \(\)\s*\}\) : \(\) -> \(\)': "}",
}


def _uncommented(text: str) -> str:
    return re.sub(r"^\s*//[^\n]*\n", "", text, flags=re.M)


# Operations -----------------------------------------------------------------------------------------------------------

# What the conversion is about; LLVM's arithmetic around it is written in more than one way.
OPERATION = re.compile(
    r"\bnvvm\.(?!mma_|shape|ld_st|wgmma_|load_|kernel|maxntid|reqntid|cluster_dim|target|tma_|redux_|shfl_|prox|shared_|minctasm|mem_scope|intr)[\w.]+|\bllvm\.inline_asm\b|\bllvm\.call @(?!mgpu)\w+"
)
CHECK = re.compile(r"//\s*CHECK(-NOT|-DAG|-NEXT|-SAME|-COUNT-\d+|)\s*:(.*)")
REGISTER = "nvvm.read.ptx.sreg."  # a register that is read once is read for all who ask for it
ALIASES = {"nvvm.barrier": "nvvm.barrier0"}


def operations(text: str) -> list[str]:
    """The operations that a text of MLIR names, in its order."""
    found = OPERATION.findall(text)
    return [ALIASES.get(name.rstrip("."), name.rstrip(".")) for name in found]


def missing(unit: Unit, output: str) -> list[str]:
    """What CHECK lines want and the output lacks, and what they forbid and it has."""
    have, at, wrong = operations(output), 0, []
    for kind, line in CHECK.findall(unit.comments):
        wanted = operations(re.sub(r"\{\{.*?\}\}", " ", line))
        if kind == "-NOT":
            wrong += [f"has {name}" for name in wanted if name in have]
        elif kind == "-DAG":
            wrong += [f"lacks {name}" for name in wanted if name not in have]
        else:
            for name in wanted * (int(kind[7:]) if kind.startswith("-COUNT") else 1):
                if name.startswith(REGISTER) and name in have:
                    continue
                if name in have[at:]:
                    at = have.index(name, at) + 1
                else:
                    wrong.append(f"lacks {name}")
    return wrong


def unlike(unit: Unit, output: str, program: str, mlir_pass: str) -> list[str]:
    """The operations of which MLIR's own conversion of the unit leaves another number."""
    ran = subprocess.run([program, mlir_pass, "-"], input=unit.module, capture_output=True, text=True, check=False)
    if ran.returncode:
        return [f"mlir-opt refuses: {ran.stderr.splitlines()[0]}"]
    ours, theirs = _counted(output, unit.name), _counted(ran.stdout, unit.name)
    return [
        f"{name}: {ours[name]}, MLIR {theirs[name]}" for name in sorted({*ours, *theirs}) if ours[name] != theirs[name]
    ]


def _counted(text: str, function: str) -> Counter[str]:
    """How often each operation is there; MLIR wraps functions in others for C, which call them."""
    found = Counter(name for name in operations(text) if name != f"llvm.call @{function}")
    return Counter({name: 1 if name.startswith(REGISTER) else count for name, count in found.items()})


# Asking ---------------------------------------------------------------------------------------------------------------


@dataclass
class Table:
    """What was counted of one file."""

    name: str
    units: int = 0
    right: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def note(self, question: str, unit: str, differences: list[str]) -> None:
        """Count an answer, or list what differs."""
        if differences:
            self.wrong += [f"{self.name}: {unit}: {question}: {text}" for text in differences]
        else:
            self.right[question] += 1

    def __str__(self) -> str:
        answers = ", ".join(f"{question} {count} of {self.units}" for question, count in self.right.items())
        return f"{self.name}: {answers}"


def convert(unit: Unit, suite: Suite) -> tuple[str, list[str]]:
    """What the pass makes of a unit, and why it makes nothing."""
    try:
        module = transform(unit.module, [CONVERT], _job(suite), unit.name)
        verify(module, "after the conversion")
        return render(module).decode(), []
    except TileirasError as error:
        return "", [str(error).replace("\n", " ")]


def _job(suite: Suite) -> Job:
    return Job(find_target(TARGET_NAME), index_width=suite.index_bits)


def to_ptx(unit: Unit, suite: Suite) -> list[str]:
    """Why LLVM does not make PTX of a unit."""
    job = _job(suite)
    try:
        module = parse_module(unit.module, unit.name)
        module.attributes[CAPABILITY] = IntegerAttr(find_target(TARGET_NAME).number, 32)
        run_passes([find_pass(name) for name in (CONVERT, TARGET)], module, job)
        ptx = compile_llvm(llvm_ir(module, job), job)
    except TileirasError as error:
        return [str(error).replace("\n", " ")]
    return [] if unit.name in ptx else ["the PTX has no such function"]


def check(test: Path, suite: Suite, program: str | None) -> Table:
    """One file of conversions."""
    table = Table(suite.path)
    for unit in units((test / suite.path).read_text()):
        table.units += 1
        output, refused = convert(unit, suite)
        table.note("operations", unit.name, refused or missing(unit, output))
        if program:
            table.note("as MLIR", unit.name, refused or unlike(unit, output, program, suite.mlir_pass))
        table.note("to LLVM", unit.name, refused or to_ptx(unit, suite))
    return table


def check_invalid(test: Path) -> Table:
    """The file of modules that MLIR's verifier refuses."""
    table = Table(INVALID)
    for number, part in enumerate((test / INVALID).read_text().split(SPLIT)):
        if "expected-error" not in part:
            continue
        table.units += 1
        table.note("refused", f"module {number}", _accepted(_uncommented(part)))
    return table


def _accepted(text: str) -> list[str]:
    try:
        parse_module(text)
    except InternalError as error:
        return [f"an error of ours: {error}"]
    except TileirasError:
        return []
    return ["accepted"]


def main() -> int:
    """Print the counts, then what differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("test", type=Path, help="the folder mlir/test of LLVM 21")
    parser.add_argument("--mlir-opt", help="MLIR's own program, as referee")
    options = parser.parse_args()
    tables = [check(options.test, suite, options.mlir_opt) for suite in SUITES] + [check_invalid(options.test)]
    print(*tables, sep="\n")
    print(*[line for table in tables for line in table.wrong], sep="\n")
    return any(table.wrong for table in tables)


if __name__ == "__main__":
    sys.exit(main())
