"""Functions of the compiler that are never called, and their share of the lines of pipeline/, ir/dialects/ and target/isa/.

    python tools/uncalled_functions.py                    a sample of kernels and targets, which tests/meta/test_uncalled_functions.py runs
    python tools/uncalled_functions.py --whole            every example for four targets, and what the tests' kernels have besides
    python tools/uncalled_functions.py --functions 40     also the largest of these functions
    python tools/uncalled_functions.py --corpus FOLDER    also compiles the bytecode files below FOLDER
    python tools/uncalled_functions.py --rows             also writes which rows of the documents production runs (tools/seed_row_coverage.py)
    python tools/uncalled_functions.py --json             the figures and these rows, for programs

A function counts as called if Python enters it: while the package is imported, or while PRODUCTION or FRONT_ENDS run.
Its lines are those from its first decorator to its end; one inside of another that is not called counts once. What
stands beside functions, tables, classes and imports, counts as called where its module is imported. Verifiers run in
production under TILEIRAS_CHECK=2, and on whatever a front end reads. Printers run under TILEIRAS_DEBUG=6, parsers where
``opt`` takes up what they printed.
"""

from __future__ import annotations

import argparse
import ast
import cProfile
import gc
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from types import CodeType

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "tileiras_build"
TESTS = ROOT / "tests"
FOLDERS = ("pipeline", "ir/dialects", "target/isa")
# Verifiers of passes and of the families' layouts run for TILEIRAS_CHECK=2 and in tests only.
NOT_COUNTED = re.compile(r"pipeline/verifiers/|pipeline/mma/\w+/\w+_verifier\.py")
# One target of each way to multiply matrices and to copy.
TARGETS = ("sm_80", "sm_90", "sm_100", "sm_120")
for _path in (ROOT, TESTS / "ir/bytecode"):  # tests import what lies beside them
    sys.path.insert(0, str(_path))

from tileiras_build.workers.lazy_class_creation import COMPILER, enable
from tools import seed_row_coverage
from tools.seed_row_coverage import Evidence

# Of the examples and kernels of tests a sample that enters, but for a few lines, what all of them enter for all four targets.
SAMPLE = {
    "matmul_tf32_nn": ("sm_80", "sm_90"),
    **dict.fromkeys(
        ("batch_matmul_f16", "gelu_erf_f32", "layer_norm_f32", "matmul_f32_nn", "matmul_f8e4m3_nt"),
        ("sm_90",),
    ),
}
# What examples do not do, by the file of the kernels below tests/pipeline and the target: cuts of tiles, atomic updates,
# messages; conversions of small floats; tiles that the CTAs of a cluster share; tiles larger than shared memory; fp4 with
# scales; ping-pong of warpgroups, accumulators that stay in tensor memory; dots that load more than shared memory holds in
# one step, or accumulate more than registers hold; rows that are spilled to shared memory; loads behind stores;
# accumulators that are read again; accumulators of several loops, or operands of one, in the same columns of tensor memory; tiles that threads
# load beside scores; scans across warps; windows that end with an array; loops that scan sizes; tiles that dots read by slices; loops that fill
# one ring of stages; accumulators of a nest of loops, that are rescaled in registers, and that are stored by slices; rows of dots.
TILE_KERNELS = {
    "tilebc_to_tileaa/guarded_loops.py": {"sm_90": ["window"]},
    "tilebc_to_tileaa/unrolled_kernels.py": {"sm_90": ["matmul"]},
    "tileas_to_ll/tile_kernels.py": {
        "sm_80": ["slices_i32", "bytes_round_trip", "additions_bf16", "printing", "asserting"],
        "sm_90": ["compositions_i32_1x4096"],
    },
    "tileas_to_ll/arith/conversion_kernels.py": {"sm_80": ["f32_to_e8m0_up"], "sm_90": ["f64_to_e4m3"]},
    "tileas_to_ll/memory/atomic_kernels.py": {"sm_90": ["elements_f16"]},
    "tileas_to_ll/data_movement/spilling_kernels.py": {"sm_90": ["shares", "centered"]},
    "tileaa_to_tileas/block_scaled_dots.py": {
        "sm_100": ["fp4_pairs", "mxfp4_bytes_persistent", "nvfp4_bytes_onto", "nvfp4_bytes_large"],
        "sm_120": ["nvfp4_bytes_onto"],
    },
    "schedule/gradient_kernels.py": {"sm_100": ["group_gradients"]},
    "schedule/large_tiles.py": {"sm_80": ["transpose_f32", "matmul_f32", "part_small", "replaced_small"]},
    "tileaa_to_tileas/cluster_kernels.py": {
        "sm_100": ["persistent_2", "attention_2", "convolved_2", "summed_2"],
    },
    "tileaa_to_tileas/rotated_dots.py": {
        "sm_90": ["squared_persistent_tall"],
        "sm_100": ["weighted_short", "squared_persistent_tall"],
    },
    "tileaa_to_tileas/deep_k_dots.py": {"sm_90": ["attending"]},
    "tileaa_to_tileas/tall_dots.py": {"sm_90": ["weighing"]},
    "tileaa_to_tileas/dots_in_branches.py": {"sm_90": ["either"]},
    "tileaa_to_tileas/read_only_loads.py": {"sm_90": ["doubled"]},
    "tileaa_to_tileas/gated_gradients.py": {"sm_100": ["gated"]},
    "tileaa_to_tileas/shared_tmem.py": {"sm_100": ["twice"]},
    "tileaa_to_tileas/state_dots.py": {
        "sm_90": ["of_results"],
        "sm_100": ["linear_attention", "gradients", "decayed_in_tf32"],
    },
    "tileaa_to_tileas/biased_scores.py": {"sm_100": ["biased"]},
    "tileaa_to_tileas/scanned_sizes.py": {"sm_100": ["of_experts"]},
    "tileaa_to_tileas/sliced_tiles.py": {"sm_90": ["dots"]},
    "tileaa_to_tileas/newton_schulz.py": {"sm_100": ["orthogonalize"]},
    "tileas_to_ll/arith/reduction_kernels.py": {"sm_100": ["count_of_dot"]},
    "tileaa_to_tileas/united_rings.py": {"sm_90": ["scores_and_values"]},
    "tileaa_to_tileas/read_accumulators_late.py": {"sm_100": ["halved_from_0"]},
    "tileaa_to_tileas/sliced_results.py": {"sm_100": ["halves"]},
}
OPERAND_FORMS = {"sm_90": ["bitcast", "right_int8_scaled", "left_gathered"]}
SCHEDULED = {"matmul_f16_nn": "sm_90", "attention_f16": "sm_100"}
REFUSED_SCHEDULE, SPLIT = '{"num_stages": "many"}', '{"schedule": {"split_k": 2}}'
CHECKED = ("matmul_f16_nn", "histogram_i32")
RANDOM_PROGRAMS = range(4)


# ---- what is counted ---------------------------------------------------------------------------------------------
class Calls(Evidence):
    """The code that Python enters while it is heard."""

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Hear what runs inside, from the first import on."""
        profiler = cProfile.Profile(
            subcalls=False, builtins=False
        )  # counts in C: a trace function costs more than the calls
        profiler.enable()
        try:
            with self.watching():
                yield
        finally:
            profiler.disable()
            # Code objects compare by their contents, which costs more than the call.
            self.codes |= {id(row.code): row.code for row in profiler.getstats() if isinstance(row.code, CodeType)}

    def copy(self) -> Calls:
        """What was heard so far."""
        return Calls(dict(self.codes), set(self.operations), set(self.words))


@dataclass(frozen=True)
class Function:
    """A function that nobody called."""

    file: str
    name: str
    line: int
    lines: int


@dataclass(frozen=True)
class FileReach:
    """One file: its lines, and its functions that nobody called."""

    file: str
    lines: int
    imported: bool
    idle: tuple[Function, ...]

    @property
    def idle_lines(self) -> int:
        """Lines of functions that nobody called; all, where nobody imported the file."""
        return sum(function.lines for function in self.idle) if self.imported else self.lines


def idle_functions(file: str, text: str, called: set[int]) -> Iterator[Function]:
    """The outermost functions of a file whose first line is not in ``called``; overloads are declarations."""

    def visit(node: ast.AST, within: str) -> Iterator[Function]:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.FunctionDef | ast.ClassDef):
                yield from visit(child, within)
                continue
            name, decorators = f"{within}{child.name}", child.decorator_list
            start = min([child.lineno, *(decorator.lineno for decorator in decorators)])
            if isinstance(child, ast.ClassDef) or start in called:
                yield from visit(child, f"{name}.")
            elif not any(isinstance(decorator, ast.Name) and decorator.id == "overload" for decorator in decorators):
                yield Function(file, name, start, (child.end_lineno or start) - start + 1)

    yield from visit(seed_row_coverage.parsed(text), "")


def measure(called: Mapping[str, set[int]]) -> list[FileReach]:
    """What was reached of each file of FOLDERS, from ``Calls.by_file``."""
    rows = []
    for path in sorted(path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py")):
        text, name = path.read_text(), path.relative_to(PACKAGE).as_posix()
        if NOT_COUNTED.match(name):
            continue
        entered = called.get(str(path), set())
        idle = tuple(idle_functions(name, text, entered))
        rows.append(FileReach(name, len(text.splitlines()), bool(entered) or not text.strip(), idle))
    return rows


# ---- what runs ---------------------------------------------------------------------------------------------------
def _attempt(work: Callable[[], object]) -> None:
    """A program that a target refuses has been compiled as far as it goes."""
    from tileiras_build.core.errors import TileirasError

    try:
        work()
    except TileirasError as error:
        if error.id in ("stage-failed", "pass-failed"):
            raise


def _kernels(path: Path, names: list[str]) -> dict[str, bytes]:
    from tileiras_build.frontend.export_cutile import export_kernels

    return export_kernels(path, names, source_root=ROOT)


def examples(names: Iterable[str] | None = None) -> dict[str, bytes]:
    """The bytecode of some examples, or of all."""
    from tests.examples.example_library import CASES, bytecode_of

    return {name: bytecode_of(name) for name in (CASES if names is None else names)}


def _compile(kernels: Mapping[str, bytes], targets: tuple[str, ...] = TARGETS, stop_at: str = "ll", **options) -> None:
    from tileiras_build import driver

    for data in kernels.values():
        for target in targets:
            _attempt(lambda data=data, target=target: driver.compile(data, target, stop_at=stop_at, **options))


def _compile_for(path: Path, names: Mapping[str, list[str]]) -> None:
    """Kernels of a file, by target."""
    kernels = _kernels(path, sorted({name for inside in names.values() for name in inside}))
    for target, inside in names.items():
        _compile({name: kernels[name] for name in inside}, (target,))


def run_sample(kernels: Mapping[str, bytes]) -> None:
    """The kernels of SAMPLE, each for its targets."""
    for name, targets in SAMPLE.items():
        _compile({name: kernels[name]}, targets, "ptx")


def run_examples(kernels: Mapping[str, bytes]) -> None:
    """Every example for a target of each way to multiply."""
    _compile(kernels, stop_at="ptx")


def run_options(kernels: Mapping[str, bytes]) -> None:
    """Lines, debug values, libNVVM, a cubin, a swizzled or persistent grid, checks after each pass."""
    matmul, count = ({name: kernels[name]} for name in CHECKED)
    _compile(count, ("sm_90",), "ptx", lineinfo=True)
    _compile(matmul, ("sm_90",), "ptx", opt_level=0, debug=True)
    _compile(matmul, ("sm_90", "sm_100"), "ptx", serializer="libnvvm")
    _compile(matmul, ("sm_90",), "cubin", grid_swizzle=8, persistent=1)
    os.environ["TILEIRAS_CHECK"] = "2"
    _compile(matmul, ("sm_90",))
    del os.environ["TILEIRAS_CHECK"]


def run_files(kernels: Mapping[str, bytes]) -> None:
    """From the file of one stage to that of the next, as a build goes, and the parts of libdevice in a file."""
    from tileiras_build import driver
    from tileiras_build.libdevice import find_libdevice
    from tileiras_build.pipeline.job import Job
    from tileiras_build.pipeline.ll_to_ptx import cut_libdevice, libdevice_request
    from tileiras_build.pipeline.stages import STAGES
    from tileiras_build.target.targets import find_target

    for name in CHECKED:
        data, job = kernels[name], Job(find_target("sm_90"))
        for before, after in pairwise(STAGES):
            if after.name == "ptx" and (request := libdevice_request.request_of(data)):
                cut_libdevice.render(
                    cut_libdevice.cut(request, job.__class__(job.target, libdevice=find_libdevice(None)))
                )
            data = driver.lower(data, before.name, after.name, job)[after.suffix]


def run_tile_kernels(kernels: Mapping[str, bytes]) -> None:
    """Some kernels of the tests, for operations that no example has."""
    for path, names in TILE_KERNELS.items():
        _compile_for(TESTS / "pipeline" / path, names)


def run_test_kernels(kernels: Mapping[str, bytes]) -> None:
    """The kernels of the tests of the last two edges."""
    from tileiras_build.frontend.export_cutile import load_cases

    for folder in ("tileas_to_ll", "tileas_to_ll/arith", "mma/wgmma", "tileaa_to_tileas"):
        for path in sorted((TESTS / "pipeline" / folder).glob("*.py")):
            if "\nCASES" in path.read_text():
                _compile(_kernels(path, [case.name for case in load_cases(path)]))


def run_operand_forms(kernels: Mapping[str, bytes]) -> None:
    """Dots whose operands are bitcast, converted, computed or gathered."""
    _compile_for(ROOT / "benchmarks" / "operand_forms.py", OPERAND_FORMS)


def run_schedules(kernels: Mapping[str, bytes]) -> None:
    """The schedule of a kernel with its candidates as text and as JSON, which is given back; and parts of its loop."""
    from tileiras_build import driver
    from tileiras_build.pipeline.job import Job
    from tileiras_build.pipeline.schedule.explain import render_text
    from tileiras_build.target.targets import find_target

    for name, sm in SCHEDULED.items():
        explained = driver.explain_schedule(kernels[name], "tilebc", Job(find_target(sm)))
        render_text(explained)
        for schedule in (json.dumps(explained[0]), REFUSED_SCHEDULE, SPLIT):
            _compile({name: kernels[name]}, (sm,), schedule=schedule)


def run_variants(kernels: Mapping[str, bytes]) -> None:
    """A matmul with variants for grids that clusters divide, and for grids of few tile programs."""
    from tileiras_build.frontend.export_cutile import export_with_variants

    path, names = TESTS / "pipeline" / "variant_kernels.py", ["matmul"]
    _compile(export_with_variants(path, names, source_root=ROOT), ("sm_90",), variants=2)


def run_random_programs(kernels: Mapping[str, bytes]) -> None:
    """Random programs, whose operations have all element types."""
    from tests.fuzz.tile_program_builder import SeededChoices
    from tests.fuzz.tile_programs import LATER_STEPS, STEPS, random_program

    for steps in (STEPS, LATER_STEPS):
        programs = [random_program(SeededChoices(seed), steps) for seed in RANDOM_PROGRAMS]
        _compile({str(number): program.bytecode() for number, program in enumerate(programs)}, ("sm_90",))


def run_bytecode(kernels: Mapping[str, bytes]) -> None:
    """Every operation of the format through reader, verifiers, writer, printer and text parser."""
    from sample_modules import SAMPLES, sample

    from tests.ir.bytecode.round_trip_corpus import check

    samples = {name: sample(name) for name in SAMPLES}
    for data in samples.values():
        assert check(data) == []
    _compile(samples, ("sm_90",))


def run_looks_inside(kernels: Mapping[str, bytes]) -> None:
    """The module behind each pass as text (TILEIRAS_DEBUG=6), which ``opt`` takes up."""
    from tileiras_build.pipeline.opt import parse_module

    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"TILEIRAS_DEBUG": "6", "TILEIRAS_DUMP": folder}
        with redirect_stderr(io.StringIO()):
            _compile({"": kernels["matmul_f16_nn"]}, ("sm_90",))
        del os.environ["TILEIRAS_DEBUG"], os.environ["TILEIRAS_DUMP"]
        for path in sorted(Path(folder).rglob("*.mlir")):
            _attempt(lambda path=path: parse_module(path.read_text(), str(path)))


def run_opt(kernels: Mapping[str, bytes]) -> None:
    """The passes over thread code on the modules of their golden tests, whose IR is written by hand; opt --ll writes it."""
    from tests.golden import split_file
    from tileiras_build.pipeline import opt
    from tileiras_build.pipeline.tileas_to_ll.writer.write_llvm_dialect import write

    for path in sorted((TESTS / "pipeline" / "tileas_to_ll").rglob("*.mlir")):
        if path.parent.name.startswith(("convert_", "debug", "writer")):
            for case in split_file(path.read_text())[1]:
                _attempt(lambda case=case: write(opt.parse_module(opt.run(case.source, case.passes, sm=case.target))))


def run_opt_to_llvm(kernels: Mapping[str, bytes]) -> None:
    """IR of MLIR's standard dialects that is written by hand, down to PTX."""
    from tests.pipeline.tileas_to_ll.convert_to_llvm import test_convert_to_llvm as samples

    for body, _ in samples.COMPUTED.values():
        text = samples.module(f"{body}\n{samples.STORE.format('i32')}")
        _attempt(lambda text=text: samples.ptx_of(text))
    for type, reduction in _REDUCTIONS:
        body = f"%r = gpu.all_reduce {reduction} : ({type}) -> ({type})\n{samples.STORE.format(type)}"
        text = samples.module(body, f"%o: !llvm.ptr<1>, %x: {type}")
        _attempt(lambda text=text: samples.ptx_of(text))
    _attempt(lambda: samples.ptx_of(samples.FUNCTIONS, 32))
    for case in samples.OPERATIONS.values():
        _attempt(lambda case=case: samples.ptx_of(case.source, sm=case.target))


_REDUCTIONS = (
    *((type, "add %x uniform {}") for type in ("f32", "f64", "i8")),
    ("i32", "%x {\n^bb0(%a: i32, %b: i32):\n%c = arith.muli %a, %b : i32\ngpu.yield %c : i32\n}"),
)


def run_users_llvm(kernels: Mapping[str, bytes]) -> None:
    """LLVM IR of a user's that LLVM would compile to wrong code, on GPUs with and without bfloat."""
    from tests.pipeline.ll_to_ptx import test_miscompile_workarounds as samples

    bodies = [samples.read("x", "p", type) + samples.read("y", "q", type) + use for type, use in _USERS_LLVM]
    for body, sm, serializer in product(bodies, ("80", "90"), ("nvptx", "libnvvm")):
        _attempt(lambda given=(body, sm, serializer, _SATURATED): samples.compiled(*given))


_SATURATED = "declare i16 @llvm.ssub.sat.i16(i16, i16)"
_USERS_LLVM = (
    *(
        (type, f"%r = frem {type} %x, %y\nstore {type} %r, ptr addrspace(1) %o")
        for type in ("half", "bfloat", "float", "double")
    ),
    *((type, f"%b = fptosi {type} %x to i1\nstore i1 %b, ptr addrspace(1) %o") for type in ("half", "float")),
    *(
        (type, f"%r = sitofp {type} %x to bfloat\nstore bfloat %r, ptr addrspace(1) %o")
        for type in ("i1", "i32", "i64", "i24")
    ),
    ("i16", "%r = call i16 @llvm.ssub.sat.i16(i16 %x, i16 %y)\nstore i16 %r, ptr addrspace(1) %o"),
)

DEBUG_VALUES = """builtin.module { gpu.module @m {
  debuginfo.variable @total <name = "total", line = 4>
  gpu.func @k(%a: f32, %v: vector<2xf32>) kernel {
    %total = arith.addf %a, %a : f32 loc("k.py":3:5)
    debuginfo.value %total, @total, #llvm.di_expression : !debuginfo.value<f32> loc("k.py":4:5)
    debuginfo.value %v, #debuginfo.variable<name = "pair">, #llvm.di_expression : !debuginfo.value<vector<2xf32>>
    gpu.return loc("k.py":9:1)
  } loc("k.py":2:1)
} }"""


def run_debug_values(kernels: Mapping[str, bytes]) -> None:
    """Debug values that are written by hand; their intrinsics are read back."""
    from tileiras_build.pipeline import opt
    from tileiras_build.pipeline.job import Job
    from tileiras_build.target.targets import find_target

    job = Job(find_target("sm_90"), opt_level=0, debug=True)
    opt.parse_module(opt.run(DEBUG_VALUES, ["convert-debuginfo-to-llvm"], job=job))


PRODUCTION = (
    run_sample, run_options, run_files, run_tile_kernels, run_operand_forms, run_schedules, run_variants, run_random_programs,
)  # fmt: skip
WHOLE_PRODUCTION = (run_examples, *PRODUCTION, run_test_kernels)
FRONT_ENDS = (run_bytecode, run_looks_inside, run_opt, run_opt_to_llvm, run_users_llvm, run_debug_values)


def run_corpus(folder: Path) -> None:
    """Every bytecode file below ``folder``."""
    _compile({str(path): path.read_bytes() for path in sorted(folder.rglob("*.tilebc"))})


# ---- report ------------------------------------------------------------------------------------------------------
def share(rows: list[FileReach]) -> float:
    """Lines of functions that nobody called, in percent of all."""
    return 100 * sum(row.idle_lines for row in rows) / sum(row.lines for row in rows)


def table(rows: list[FileReach], functions: int) -> Iterator[str]:
    """The lines of the report."""
    folders: dict[str, list[FileReach]] = {}
    for row in rows:
        folders.setdefault(row.file.rpartition("/")[0], []).append(row)
    for name, inside in sorted(folders.items(), key=lambda item: -sum(row.idle_lines for row in item[1])):
        yield f"{sum(row.idle_lines for row in inside):6} of {sum(row.lines for row in inside):6}  {name}/"
    yield ""
    for row in sorted(rows, key=lambda row: -row.idle_lines):
        if row.idle_lines:
            yield f"{row.idle_lines:6} of {row.lines:6}  {row.file}{'' if row.imported else '  (not imported)'}"
    yield ""
    largest = sorted((function for row in rows for function in row.idle), key=lambda function: -function.lines)
    for function in largest[:functions]:
        yield f"{function.lines:6}  {function.file}:{function.line}  {function.name}"


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--functions", type=int, default=0)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    # Syntax trees and what was entered stay: looking at them again and again takes longer than making them.
    gc.set_threshold(100_000, 50, 1000)
    # As in processes that compile: what defines operations and attributes at their first use is entered, too.
    enable(*COMPILER)
    calls = Calls()
    with calls.heard():
        kernels = examples(None if options.whole else {*SAMPLE, *SCHEDULED, *CHECKED})
        for program in WHOLE_PRODUCTION if options.whole else PRODUCTION:
            program(kernels)
        if options.corpus:
            run_corpus(options.corpus)
    production, made = measure(calls.by_file()), calls.copy()
    with calls.heard():
        for program in FRONT_ENDS:
            program(kernels)
    rows = measure(calls.by_file())
    if options.rows:
        seed_row_coverage.write(seed_row_coverage.classes(made, calls))
    if options.json:
        unseen = [row.file for row in rows if not row.imported]
        figures = {"production": share(production), "all": share(rows), "not imported": unseen}
        print(json.dumps(figures | {"rows": seed_row_coverage.classes(made, calls)}))
        return 0
    print(f"{sum(row.lines for row in rows)} lines; of functions that nobody calls:")
    print(f"{share(production):5.1f} % in production, {share(rows):.1f} % with the front ends, which are")
    print("\n".join(table(rows, options.functions)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
