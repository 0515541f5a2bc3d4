"""Write docs/coverage.md: the operations of Tile IR that the compiler lowers, found by compiling a small kernel of each.

    python tools/coverage.py            rewrites docs/coverage.md
    python tools/coverage.py --tables   only its tables of matmuls and refusals: at once
    python tools/coverage.py --check    fails where it differs

Each public operation (ir/bytecode/opcodes.py) is tried with every element type that its verifier accepts, for every
target. What the page says is what came out of ``lower`` down to PTX: supported, or the id of the refusal.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from tileiras_build.core.errors import TileirasError
from tileiras_build.ir.bytecode import disassemble, read_module
from tileiras_build.ir.bytecode.existing_tables import Tables
from tileiras_build.ir.bytecode.opcodes import DEFAULT_VERSION, NEWEST, OPCODES, VERSIONS, Version
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.pipeline import ll_to_ptx, tileaa_to_tileas, tileas_to_ll, tilebc_to_tileaa
from tileiras_build.pipeline.common.cse import Cse
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.pass_manager import run_passes
from tileiras_build.pipeline.tile_ir_text_format import context
from tileiras_build.target.targets import FAMILY_TARGETS, TARGETS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coverage.md"
PIPELINE = PAGE.parents[1] / "tileiras_build" / "pipeline"
INTEGERS = ("i1", "i4", "i8", "i16", "i32", "i64")
FLOATS = ("f16", "bf16", "tf32", "f32", "f64", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", "fnv8E5M3FNU")
# Types of the dialect, which its text spells in whole.
SPELLED = {"fnv8E5M3FNU": "!cuda_tile.fnv8E5M3FNU"}
TYPES = INTEGERS + FLOATS
ROUNDED = "rounding_mode = #cuda_tile.rounding<nearest_even>"
TO_ZERO = "rounding_mode = #cuda_tile.rounding<nearest_int_to_zero>"
WRAPS, SIGNED = "overflow = #cuda_tile.overflow<none>", "signedness = #cuda_tile.signedness<signed>"
SIGNS = "signedness_lhs = #cuda_tile.signedness<signed>, signedness_rhs = #cuda_tile.signedness<signed>"
WEAK = "memory_ordering_semantics = #cuda_tile.memory_ordering_semantics<weak>"
RELAXED = (
    "memory_ordering_semantics = #cuda_tile.memory_ordering_semantics<relaxed>, "
    "memory_scope = #cuda_tile.memory_scope<device>"
)
LESS = "comparison_predicate = #cuda_tile.comparison_predicate<less_than>"
ADDS = "mode = #cuda_tile.atomic_rmw_mode<ADD>"
REDUCTION = "reduction = #cuda_tile.multimem_reduction_kind<add>"
ORDERED = "comparison_ordering = #cuda_tile.comparison_ordering<ordered>"
VISIBLE = "symbol_visibility = #cuda_tile.symbol_visibility<public>"
MEMREF = "!cuda_tile.tensor_view<64x64xT, strides=[64,1]>"
MULTICAST = "#cuda_tile.ptr_attr<multicast>"
MULTICAST_MEMREF = f"!cuda_tile.tensor_view<64x64xT, strides=[64,1], {MULTICAST}>"
VIEWS = {
    "partition": f"!cuda_tile.partition_view<tile=(8x8), {MEMREF}>",
    "strided": f"!cuda_tile.strided_view<tile=(8x8), traversal_strides=[4,8], {MEMREF}>",
    "gather": f"!cuda_tile.gather_scatter_view<tile=(8x8), {MEMREF}, sparse_dim=0>",
    "multicast": f"!cuda_tile.partition_view<tile=(8x8), {MULTICAST_MEMREF}>",
}
# For these targets LLVM generates code too: it would find a fault in what was written for any.
GENERATED = ("sm_80", "sm_120")
# No kernel has a parameter of these types.
CONSTANTS_ONLY = ("f4E2M1FN",)
MAKERS = {"gather": "make_gather_scatter_view", "multicast": "make_partition_view"}


def segments(*sizes: int) -> str:
    """The property that says how operands are grouped."""
    return f", operandSegmentSizes = array<i32: {', '.join(map(str, sizes))}>"


# operation -> "operands -> results", properties. T: the element type; T:8x8 a tile; ptr: tile of 8 pointers to T.
UNARY, BINARY = "T:8 -> T:8", "T:8 T:8 -> T:8"
TRIALS: dict[str, tuple[str, str]] = {
    **dict.fromkeys("absf absi ceil cos cosh floor log log2 negf sin sinh tan rsqrt exp2".split(), (UNARY, "")),
    **dict.fromkeys("sqrt".split(), (UNARY, ROUNDED)),
    **dict.fromkeys("exp tanh".split(), (UNARY, "rounding_mode = #cuda_tile.rounding<full>")),
    **dict.fromkeys("addf subf mulf divf".split(), (BINARY, ROUNDED)),
    **dict.fromkeys("addi subi muli shli".split(), (BINARY, WRAPS)),
    **dict.fromkeys("andi ori xori mulhii remf fpowf atan2 maxf minf".split(), (BINARY, "")),
    **dict.fromkeys("maxi mini remi shri".split(), (BINARY, SIGNED)),
    "divi": (BINARY, f"{SIGNED}, rounding = #cuda_tile.rounding<zero>"),
    "negi": (UNARY, WRAPS),
    "fpowi": ("T:8 i32:8 -> T:8", ""),
    "fma": ("T:8 T:8 T:8 -> T:8", ROUNDED),
    "cmpi": ("T:8 T:8 -> i1:8", f"{LESS}, {SIGNED}"),
    "cmpf": ("T:8 T:8 -> i1:8", f"{LESS}, {ORDERED}"),
    "select": ("i1:8 T:8 T:8 -> T:8", ""),
    "exti": ("T:8 -> i64:8", SIGNED),
    "trunci": ("i64:8 -> T:8", WRAPS),
    "ftof": ("T:8 -> f32:8", ROUNDED),
    "itof": ("i32:8 -> T:8", f"{SIGNED}, {ROUNDED}"),
    "ftoi": ("T:8 -> i32:8", f"{SIGNED}, {TO_ZERO}"),
    "bitcast": ("T:8 -> T:8", ""),
    "pack": ("T:8 -> i8:BYTES", ""),
    "unpack": ("i8:BYTES -> T:8", ""),
    "iota": ("-> T:8", ""),
    "constant": ("-> T:8", 'value = #cuda_tile.dense<"ZERO" : !cuda_tile.tile<8xT>>'),
    "reshape": ("T:4x2 -> T:8", ""),
    "broadcast": ("T:1x8 -> T:8x8", ""),
    "permute": ("T:4x2 -> T:2x4", "permutation = array<i32: 1, 0>"),
    "cat": ("T:8 T:8 -> T:16", "dim = 0 : i64"),
    "extract": ("T:8 i32 -> T:2", ""),
    "insert": ("T:2 T:8 i32 -> T:8", ""),
    "assume": ("T -> T", "predicate = #cuda_tile.div_by<2>"),
    "reduce": ("T:8x8 -> T:8", "dim = 1 : i32, identities = [IDENTITY]"),
    "scan": ("T:8x8 -> T:8x8", "dim = 1 : i32, reverse = false, identities = [IDENTITY]"),
    "mmaf": ("T:16x32 T:32x16 ACC:16x16 -> ACC:16x16", ""),
    "mmai": ("T:16x32 T:32x16 i32:16x16 -> i32:16x16", SIGNS),
    "mmaf_scaled": ("T:16x64 T:64x16 f32:16x16 f8E8M0FNU:16x2 f8E8M0FNU:2x16 -> f32:16x16", ""),
    "offset": ("ptr i32:8 -> ptr", ""),
    "int_to_ptr": ("i64:8 -> ptr", ""),
    "ptr_to_int": ("ptr -> i64:8", ""),
    "ptr_to_ptr": ("ptr -> ptr", ""),
    "load_ptr_tko": ("ptr -> T:8 token", WEAK + segments(1, 0, 0, 0)),
    "store_ptr_tko": ("ptr T:8 -> token", WEAK + segments(1, 1, 0, 0)),
    "atomic_rmw_tko": ("ptr T:8 -> T:8 token", f"{RELAXED}, {ADDS}" + segments(1, 1, 0, 0)),
    "atomic_cas_tko": ("ptr T:8 T:8 -> T:8 token", RELAXED + segments(1, 1, 1, 0, 0)),
    "load_view_tko": ("partition i32 i32 -> T:8x8 token", WEAK + segments(1, 2, 0)),
    "store_view_tko": ("T:8x8 partition i32 i32 -> token", WEAK + segments(1, 1, 2, 0)),
    "atomic_red_view_tko": (
        "partition i32 i32 T:8x8 -> token",
        f"{RELAXED}, {ADDS}" + segments(1, 2, 1, 0),
    ),
    "multimem_load_reduce_view_tko": (
        "multicast i32 i32 -> T:8x8 token",
        f"{RELAXED}, {REDUCTION}" + segments(1, 2, 0),
    ),
    "multimem_reduce_view_tko": ("multicast T:8x8 i32 i32 -> token", f"{RELAXED}, {REDUCTION}" + segments(1, 1, 2, 0)),
    "multimem_store_view_tko": ("multicast T:8x8 i32 i32 -> token", RELAXED + segments(1, 1, 2, 0)),
    "make_tensor_view": ("scalar -> memref", segments(1, 0, 0)[2:]),
    "make_partition_view": ("memref -> partition", ""),
    "make_strided_view": ("memref -> strided", ""),
    "make_gather_scatter_view": ("memref -> gather", ""),
    "get_tensor_shape": ("memref -> i32 i32", ""),
    "get_index_space_shape": ("partition -> i32 i32", ""),
    "make_token": ("-> token", ""),
    "join_tokens": ("token token -> token", ""),
    "memory_fence_alias_tko": ("token -> token", ""),
    "gdc_wait_tko": ("token -> token", ""),
    "gdc_launch_dependents_tko": ("token -> token", ""),
    "get_tile_block_id": ("-> i32 i32 i32", ""),
    "get_num_tile_blocks": ("-> i32 i32 i32", ""),
    "print_tko": ("T:8 -> token", 'str = "%FORMAT"' + segments(1, 0)),
    "assert": ("i1:8 ->", 'message = "no"'),
    "alloca": ("-> scalar", "num_elem = 16 : i64, alignment = 16 : i64"),
    "get_global": ("-> scalar", "name = @table"),
    "for": ("i32 i32 i32 T:8 -> T:8", ""),
    "loop": ("T:8 -> T:8", ""),
    "if": ("i1 -> T:8", ""),
}
# Forms of operations that no row above tries: words for them, operation, element type, properties.
FORMS = (
    ("`alloca` with `global`: memory that other tile blocks access", "alloca", "f32",
     "num_elem = 16 : i64, alignment = 16 : i64, global"),
)  # fmt: skip
# Tried inside of others: the terminators of kernels, loops, branches and reductions.
TERMINATORS = {"return": "absf", "continue": "for", "break": "loop", "yield": "reduce"}
TYPED = {"T", "ptr", "scalar", "memref", *VIEWS}
TYPELESS = tuple(
    name
    for name, (signature, _) in TRIALS.items()
    if not TYPED & {word.partition(":")[0] for word in signature.split()}
)


# ---- the kernel of a trial -------------------------------------------------------------------------------------------
def _tile(element: str, shape: str = "") -> str:
    return f"!cuda_tile.tile<{shape + 'x' if shape else ''}{element}>"


class _Kernel:
    """The text of one entry, in MLIR's generic form."""

    def __init__(self, element: str):
        self.element = element
        self.parameters: list[tuple[str, str]] = []
        self.lines: list[str] = []

    def type(self, word: str) -> str:
        name, _, shape = word.partition(":")
        if name in ("ptr", "scalar"):
            return _tile(f"!cuda_tile.ptr<{self.element}>", "8" if name == "ptr" else "")
        if name == "token":
            return "!cuda_tile.token"
        if name == "memref" or name in VIEWS:
            return VIEWS.get(name, MEMREF).replace("T", self.element)
        acc = "f64" if self.element == "f64" else "f32"
        return _tile({"T": self.element, "ACC": acc}.get(name, name), shape.replace("BYTES", str(_bits(self.element))))

    def emit(self, name: str, operands: list[tuple[str, str]], result: str, properties: str = "") -> tuple[str, str]:
        value = f"%v{len(self.lines)}"
        types = ", ".join(type for _, type in operands)
        text = f'"cuda_tile.{name}"({", ".join(value for value, _ in operands)})'
        self.lines.append(f"{value} = {text} {f'<{{{properties}}}>' if properties else ''} : ({types}) -> {result}")
        return value, result

    def parameter(self, type: str) -> tuple[str, str]:
        self.parameters.append((f"%a{len(self.parameters)}", type))
        return self.parameters[-1]

    def memory(self, word: str) -> tuple[str, str]:
        """The types of the base and of the tensor view under a view."""
        if word == "multicast":
            pointer = _tile(f"!cuda_tile.ptr<{self.element}, <multicast>>")
            return pointer, MULTICAST_MEMREF.replace("T", self.element)
        return self.type("scalar"), self.type("memref")

    def operand(self, word: str) -> tuple[str, str]:
        """A value of the type that a word stands for, made from a parameter."""
        if word == "token":
            return self.emit("make_token", [], "!cuda_tile.token")
        if word == "memref" or word in VIEWS:
            pointer, memory = self.memory(word)
            memory = self.emit("make_tensor_view", [self.parameter(pointer)], memory, segments(1, 0, 0)[2:])
            if word == "memref":
                return memory
            return self.emit(MAKERS.get(word, f"make_{word}_view"), [memory], self.type(word))
        type = self.type(word)
        inner = type.removeprefix("!cuda_tile.tile<").removesuffix(">")
        *shape, element = inner.split("x", inner.partition("!")[0].count("x")) if inner[0].isdigit() else [inner]
        if element in CONSTANTS_ONLY:
            return self.emit("constant", [], type, f'value = #cuda_tile.dense<"{_zero(element)}" : {type}>')
        scalar = self.parameter(_tile(element))
        if not shape:
            return scalar
        one = self.emit("reshape", [scalar], _tile(element, "x".join("1" for _ in shape)))
        return self.emit("broadcast", [one], type)

    def text(self) -> str:
        types = ", ".join(type for _, type in self.parameters)
        parameters = ", ".join(f"{value}: {type}" for value, type in self.parameters)
        value = f'#cuda_tile.dense<"{_zero(self.element)}" : {_tile(self.element, "2")}>'
        properties = f'sym_name = "table", value = {value}, alignment = 16 : i64, {VISIBLE}'
        table = f'"cuda_tile.global"() <{{{properties}}}> : () -> ()'
        return "\n".join([
            'builtin.module {', '"cuda_tile.module"() <{sym_name = "m"}> ({', *([table] if self.uses_table else []),
            f'"cuda_tile.entry"() <{{sym_name = "k", function_type = ({types}) -> ()}}> ({{',
            *([f"^bb0({parameters}):"] if parameters else []), *self.lines, '"cuda_tile.return"() : () -> ()',
            "}) : () -> ()", "}) : () -> ()", "}",
        ])  # fmt: skip

    @property
    def uses_table(self) -> bool:
        return any("get_global" in line for line in self.lines)


def _bits(element: str) -> int:
    return int(re.search(r"\d+", element)[0])


def _zero(element: str) -> str:
    """The bytes of one zero, which stand for a whole tile: tf32 is stored in three."""
    return "00" * (3 if element == "tf32" else max(_bits(element) // 8, 1))


def _region(name: str, element: str) -> str:
    """The regions of a trial; a branch yields the operand made before its condition."""
    tile, scalar = _tile(element, "8"), _tile(element)
    if name == "for":
        return f"({{\n^bb1(%i: {_tile('i32')}, %x: {tile}):\n\"cuda_tile.continue\"(%x) : ({tile}) -> ()\n}})"
    if name == "loop":
        return f"({{\n^bb1(%x: {tile}):\n\"cuda_tile.break\"(%x) : ({tile}) -> ()\n}})"
    if name == "if":
        arm = f'{{\n"cuda_tile.yield"(%v1) : ({tile}) -> ()\n}}'
        return f"({arm}, {arm})"
    if name in ("reduce", "scan"):
        return f"({{\n^bb1(%x: {scalar}, %y: {scalar}):\n\"cuda_tile.yield\"(%x) : ({scalar}) -> ()\n}})"
    return ""


def trial_text(name: str, element: str, form: str | None = None) -> str:
    """A kernel with one operation of the given element type; ``form``: other properties than those of its row."""
    signature, properties = TRIALS[name]
    properties = properties if form is None else form
    operands, _, results = signature.partition("->")
    kernel = _Kernel(element)
    if name == "if":
        kernel.operand("T:8")
    values = [kernel.operand(word) for word in operands.split()]
    types = [kernel.type(word) for word in results.split()]
    is_float = element in FLOATS
    for key, text in {
        "ZERO": _zero(element),
        "xT>": f"x{element}>",
        "IDENTITY": f"0.0 : {element}" if is_float else f"{'false' if element == 'i1' else f'0 : {element}'}",
        "<ADD>": "<addf>" if is_float else "<add>",
        "%FORMAT": "%f" if is_float else "%d",
    }.items():
        properties = properties.replace(key, text)
    names = ", ".join(f"%r{number}" for number in range(len(types)))
    outputs = types[0] if len(types) == 1 else f"({', '.join(types)})"
    kernel.lines.append(
        f'{names + " = " if names else ""}"cuda_tile.{name}"({", ".join(value for value, _ in values)}) '
        f"{f'<{{{properties}}}>' if properties else ''} {_region(name, element)} : "
        f"({', '.join(type for _, type in values)}) -> {outputs}"
    )
    text = kernel.text()
    return text.replace(element, SPELLED[element]) if element in SPELLED else text


# ---- trying ----------------------------------------------------------------------------------------------------------
@cache
def trial(name: str, element: str, form: str | None = None) -> ModuleOp | None:
    """The module of a trial; None where Tile IR has no such operation."""
    try:
        module = Parser(context(), trial_text(name, element, form)).parse_module()
        module.verify()
    except (ParseError, VerifyException):
        return None
    return module


def outcome(name: str, element: str, target: str, form: str | None = None) -> str | None:
    """An empty text if the trial compiles for the target, the id of the refusal if not; None if Tile IR has no such operation."""
    if (module := trial(name, element, form)) is None:
        return None
    job = Job(TARGETS[target])
    try:
        code = _lowered(module.clone(), job)
        if target in GENERATED:
            ll_to_ptx.lower(code, job)
    except TileirasError as error:
        return error.id
    return ""


def _lowered(module: ModuleOp, job: Job) -> str:
    """LLVM IR. Nothing uses the results of a trial: what removes unused operations is left out."""
    tiles = run_passes([tilebc_to_tileaa.PASSES[0]], module, job)
    passes = [entry for entry in tileaa_to_tileas.PASSES if entry is not Cse]
    return tileas_to_ll.lower(run_passes(passes, tiles, job), job)


def outcomes(name: str, targets: Iterable[str]) -> dict[str, dict[str, str]]:
    """element type -> target -> outcome, for the element types that the operation may have."""
    elements = ("i32",) if name in TYPELESS else TYPES
    found = {element: {target: outcome(name, element, target) for target in targets} for element in elements}
    return {element: row for element, row in found.items() if None not in row.values()}


# ---- the page --------------------------------------------------------------------------------------------------------
HEAD = """# Coverage

The supported part of Tile IR bytecode 13.1 to 13.5. `tools/coverage.py` writes this page: it compiles a kernel of each operation
with each element type for every target. `tests/tools/test_coverage.py` checks it.

An unsupported operation is refused with the id below, its name and its source line.

## Operations

| operation | since | supported element types | refused |
|---|---|---|---|
"""


def since(name: str) -> str:
    """The first bytecode version that has an operation."""
    return _number(next(row.since for row in OPCODES.values() if row.name == name))


def _number(version: Version) -> str:
    return ".".join(map(str, version))


def operation_row(name: str, targets: Iterable[str]) -> str:
    """The line of one operation."""
    if name in TERMINATORS:
        return f"| `{name}` | {since(name)} | (with `{TERMINATORS[name]}`) | |"
    rows = outcomes(name, targets)
    supported = [element for element, row in rows.items() if not all(row.values())]
    refused: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for element, row in rows.items():
        for id in sorted({id for id in row.values() if id}):
            where = tuple(target for target in row if row[target] == id)
            refused[id, where if len(where) < len(row) else ()].append(element)
    texts = [
        f"{', '.join(elements)}{' on ' + ', '.join(where) if where else ''}: `{id}`"
        for (id, where), elements in refused.items()
    ]
    listed = "yes" if name in TYPELESS and supported else ", ".join(supported) or "none"
    return f"| `{name}` | {since(name)} | {listed} | {'; '.join(texts)} |"


TABLES = "## Matmuls"
TABLES_TARGET = "sm_90"
MATMULS = (
    ("f16", "f16", "f32"), ("f16", "f16", "f16"), ("bf16", "bf16", "f32"), ("tf32", "tf32", "f32"),
    ("f8E4M3FN", "f8E4M3FN", "f32"), ("f8E5M2", "f8E5M2", "f32"), ("f64", "f64", "f64"), ("i8", "i8", "i32"),
    ("f32", "f32", "f32"),
)  # fmt: skip


def matmul_cell(target: str, types: tuple[str, str, str]) -> str:
    """How a matmul of these types is computed."""
    rows = TARGETS[target].mma_atoms(*types)
    if rows:
        return f"m{rows[0].m}n{rows[0].n}k{rows[0].k}"
    return "as f16" if types[0].startswith("f8") else "fma"


def matmul_table() -> str:
    lines = [f"| a, b, accumulator | {' | '.join(TARGETS)} |", "|---|" + "---|" * len(TARGETS)]
    for types in MATMULS:
        lines.append(f"| {', '.join(types)} | {' | '.join(matmul_cell(target, types) for target in TARGETS)} |")
    return "\n".join(lines)


def family_table() -> str:
    lines = ["| family | cubins run on | what its GPU has and the family has not |", "|---|---|---|"]
    for name, family in FAMILY_TARGETS.items():
        gpus = ", ".join(f"sm_{number}" for number in sorted(family.members))
        lacking = ", ".join(
            f"`{need}`" for need in sorted(TARGETS[family.generation].capabilities - family.capabilities)
        )
        lines.append(f"| {name} | {gpus} | {lacking} |")
    return "\n".join(lines)


# What each version is tried with: text as the disassembler prints it.
VERSIONED = """entry @k(%arg0: tile<ptr<f32>>) optimization_hints=<default = {occupancy = 2}> {
  %tview = make_tensor_view %arg0, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %0 = iota : tile<8xi32>
  %reshape = reshape %arg0 : tile<ptr<f32>> -> tile<1xptr<f32>>
  %bcast = broadcast %reshape : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %1 = offset %bcast, %0 : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %result, %result_token = load_ptr_tko weak %1 : tile<8xptr<f32>> -> tile<8xf32>, token
  %2 = exp %result  : tile<8xf32>
  %3 = store_ptr_tko weak %1, %2 token=%result_token : tile<8xptr<f32>>, tile<8xf32> -> token
  return
}
"""
STEPS: dict[str, Callable[[bytes], bool]] = {
    "asm, written": lambda data: write_module(read_module(data), like=Tables(data)) == data,
    "read, verified": lambda data: parse_text(VERSIONED).is_structurally_equivalent(read_module(data)),
    "printed": lambda data: disassemble(data) == VERSIONED,
    "lowered": lambda data: bool(_lowered(read_module(data), Job(TARGETS[TABLES_TARGET]))),
}


def version_table() -> str:
    """What is done with each version of the bytecode."""
    lines = [f"| | {' | '.join(map(_number, VERSIONS))} |", "|---|" + "---|" * len(VERSIONS)]
    for step, check in STEPS.items():
        cells = ("yes" if check(write_module(parse_text(VERSIONED), version=version)) else "no" for version in VERSIONS)
        lines.append(f"| {step} | {' | '.join(cells)} |")
    return "\n".join(lines)


def refusal_ids() -> list[str]:
    """The id of everything in the pipeline that is refused as unsupported, from the source text."""
    found = set()
    for path in PIPELINE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            name = getattr(getattr(node, "func", None), "id", "")
            if name == "Unsupported" and node.args and isinstance(node.args[0], ast.Constant):
                found.add(node.args[0].value)
    return sorted(found)


def operation_names() -> list[str]:
    """The public operations in the order of their names."""
    rows = OPCODES.values() if hasattr(OPCODES, "values") else OPCODES
    return sorted(row.name for row in rows)


def form_line(words: str, name: str, element: str, form: str) -> str:
    """What comes of a form of an operation that its row does not try."""
    refusal = outcome(name, element, TABLES_TARGET, form)
    return f"- {words}: {f'`{refusal}`' if refusal else 'supported'}"


def tables() -> str:
    """What follows the operations: made from the source, at once."""
    refusals = "\n".join(f"- `{id}`" for id in refusal_ids())
    forms = "\n".join(form_line(*row) for row in FORMS)
    newest = _number(NEWEST)
    return f"""{TABLES}

The table has the shape of the mma.sync instruction. `as f16`: the operands are widened, which is exact. `fma`:
multiply-adds of each thread.

{matmul_table()}

## Family targets

Code for a family target uses the instructions that all its GPUs have (`tileiras_build/target/capabilities.py`), and is tuned for the
first one. The table of matmuls holds for it, too.

{family_table()}

## Other forms

{forms}

## Versions

{version_table()}

`export` writes bytecode {_number(DEFAULT_VERSION)}, and so does `asm` unless `--bytecode` names another version. For
CUDA Tile C++, nvcc 13.4 writes 13.4 and nvcc 13.5 writes 13.5 ([sources](sources.md)). A file newer
than {newest}, or with preview content, is refused with `bytecode-version`.

## Refusals

The ids of errors that refuse a valid program. The message has the operation, its source line and a remedy.

{refusals}
"""


def page(targets: Iterable[str] = tuple(TARGETS)) -> str:
    """The whole document."""
    operations = "\n".join(operation_row(name, targets) for name in operation_names())
    return f"{HEAD}{operations}\n\n{tables()}"


def main() -> int:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail where the page differs from what compiles")
    parser.add_argument(
        "--tables", action="store_true", help="keep the operations, which take minutes; rewrite the rest"
    )
    options = parser.parse_args()
    text = PAGE.read_text().partition(TABLES)[0] + tables() if options.tables else page()
    if options.check:
        return int(PAGE.read_text() != text)
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
