"""Triton's code for a problem of ``compare_sass.py``: the best of a few usual configurations according to the model.

Each problem is a row of FAMILIES: the programs of ``triton_kernels.py`` that solve it, with pointers and, where a target has TMA,
with tensor descriptors, for blocks that share the tiles or blocks that take many. Triton compiles without a GPU.
"""

from __future__ import annotations

import math
import os
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import product
from typing import Any

from tileiras_build.core.errors import TileirasError
from tileiras_build.frontend.export_cutile import Array, Case
from tileiras_build.simulate.estimate.constant_bank_values import Argument, GlobalBuffer, Launch
from tileiras_build.simulate.estimate.kernel_from_cubin import read_kernels
from tileiras_build.simulate.estimate.performance_model import Estimate, estimate
from tileiras_build.target.cubin_reader import read_info
from tileiras_build.target.targets import Target

TYPES = {
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float8_e4m3fn": "fp8e4nv", "float8_e8m0fnu": "u8", "uint8": "u8",
}  # fmt: skip
BYTES = {"fp16": 2, "bf16": 2, "fp32": 4, "fp8e4nv": 1, "u8": 1}
_PARAMETER = 0x17  # EIATTR_KPARAM_INFO, as `cuobjdump -elf` calls it


@dataclass(frozen=True)
class Memory:
    """An array of a problem: its type as Triton writes it, and its shape as it is stored, where rows come first.

    ``turned``: the problem calls its rows columns.
    """

    type: str
    shape: tuple[int, ...]
    turned: bool = False

    @property
    def size(self) -> int:
        """Bytes."""
        return math.prod(self.shape) * BYTES[self.type]


@dataclass(frozen=True)
class Program:
    """A kernel and what it is launched with: a Memory with a ``box`` is a tensor descriptor, without one a pointer."""

    kernel: str
    arguments: dict[str, Memory | int | float]
    constants: dict[str, Any]
    grid: tuple[int, int, int]
    boxes: dict[str, tuple[int, ...]]
    is_persistent: bool = False


@dataclass(frozen=True)
class Family:
    """Problems of one kind: their programs, and (warps, stages) that users try."""

    programs: Callable[[Case, dict, Target], Iterator[Program]]
    configurations: tuple[tuple[int, int], ...]


def _memories(case: Case, variant: dict) -> list[Memory]:
    arrays = [argument for argument in case.arguments if isinstance(argument, Array)]
    found = []
    for array, shape in zip(arrays, variant["shapes"], strict=True):
        unit = array.unit_stride
        turned = unit is not None and unit % array.ndim != array.ndim - 1
        found.append(Memory(TYPES[array.dtype], tuple(reversed(shape) if turned else shape), turned))
    return found


def _sizes(case: Case) -> list[int]:
    return [argument for argument in case.arguments if isinstance(argument, int)]


def _grid(variant: dict) -> tuple[int, int, int]:
    x, y, z = variant["grid"]
    return x, y, z


def _apart(target: Target) -> tuple[bool, ...]:
    """Whether warps of their own load and multiply; on other targets Triton fails to divide such programs."""
    return (False, True) if target.has("tcgen05") else (False,)


# ---- families ----------------------------------------------------------------------------------------------------------
def _matmuls(case: Case, variant: dict, target: Target) -> Iterator[Program]:
    a, b, c = _memories(case, variant)
    m, n, k = _sizes(case)
    persistent, turned = "persistent" in case.name, b.turned
    sizes = {"m": c.shape[0], "n": c.shape[1], "k": a.shape[1]}
    constants = {"M": m, "N": n, "K": k, "TURNED": turned}
    strides = {"stride_a": a.shape[1], "stride_b": b.shape[1], "stride_c": c.shape[1]}
    arrays, head, grid = {"a": a, "b": b, "c": c}, "persistent_" * persistent, _grid(variant)
    yield Program(f"{head}matmul", arrays | sizes | strides, constants, grid, {}, persistent)
    if target.has("tma"):
        boxes = {"a": (m, k), "b": (n, k) if turned else (k, n), "c": (m, n)}
        for apart in _apart(target) if persistent else (None,):
            more = constants if apart is None else constants | {"APART": apart}
            yield Program(f"{head}matmul_tma", arrays | sizes, more, grid, boxes, persistent)


def _scaled(case: Case, variant: dict, target: Target) -> Iterator[Program]:
    a, a_scale, b, b_scale, c = _memories(case, variant)
    m, n, k, block = _sizes(case)
    kind, pair = ("e2m1", 2) if a.type == "u8" else ("e4m3", 1)
    arrays = {"a": a, "a_scale": a_scale, "b": b, "b_scale": b_scale, "c": c}
    sizes = {"m": c.shape[0], "n": c.shape[1], "k": a.shape[1] * pair}
    rows = {"stride_a": a, "stride_as": a_scale, "stride_b": b, "stride_bs": b_scale, "stride_c": c}
    strides = {name: memory.shape[1] for name, memory in rows.items()}
    constants = {"M": m, "N": n, "K": k, "BLOCK": block, "KIND": kind}
    yield Program("scaled_matmul", arrays | sizes | strides, constants, _grid(variant), {})


def _attention(case: Case, variant: dict, target: Target) -> Iterator[Program]:
    memories = _memories(case, variant)
    heads, length, dim = memories[0].shape
    arrays = dict(
        zip(("q", "k", "v", "out"), (replace(one, shape=(heads * length, dim)) for one in memories), strict=True)
    )
    more = {"length": length, "scale": dim**-0.5}
    # Tiles as Triton's users take them: a whole one of 256 rows does not fit.
    for n in (128, 64):
        m = 128
        constants = {"M": m, "N": n, "D": dim, "CAUSAL": "causal" in case.name}
        grid = (length // m, heads, 1)
        yield Program("attention", arrays | more, constants, grid, {})
        if target.has("tma"):
            boxes = {"q": (m, dim), "k": (n, dim), "v": (n, dim), "out": (m, dim)}
            for apart in _apart(target):
                yield Program("attention_tma", arrays | more, constants | {"APART": apart}, grid, boxes)


def _rows(names: tuple[str, ...]) -> Callable[[Case, dict, Target], Iterator[Program]]:
    def programs(case: Case, variant: dict, target: Target) -> Iterator[Program]:
        arguments: dict[str, Memory | int | float] = dict(zip(names, _memories(case, variant), strict=True))
        if variant["scalars"]:
            arguments["epsilon"] = variant["scalars"][0]
        kernel = next(name for name in FAMILIES if case.name.startswith(name))
        yield Program(kernel, arguments, {"N": _sizes(case)[0]}, _grid(variant), {})

    return programs


def _transpose(case: Case, variant: dict, target: Target) -> Iterator[Program]:
    x, out = _memories(case, variant)
    m, n = _sizes(case)
    arguments = {"x": x, "out": out, "stride_x": x.shape[1], "stride_out": out.shape[1]}
    yield Program("transpose", arguments, {"M": m, "N": n}, _grid(variant), {})


OF_MATMULS = ((4, 3), (4, 4), (8, 3), (8, 4))
OF_ROWS = ((4, 1), (8, 1), (16, 1))
FAMILIES = {
    "matmul": Family(_matmuls, OF_MATMULS),
    "scaled": Family(_scaled, OF_MATMULS),
    "attention": Family(_attention, ((4, 2), (8, 2), (8, 3))),
    "layer_norm": Family(_rows(("x", "gamma", "beta", "out")), OF_ROWS),
    "softmax": Family(_rows(("x", "out")), OF_ROWS),
    "transpose": Family(_transpose, OF_ROWS),
    "vector_add": Family(_rows(("a", "b", "c")), OF_ROWS),
}


def has_programs(case: Case) -> bool:
    """Whether there is a program for exactly this problem: nothing added to a matmul, and lengths that fill the tiles."""
    kinds = {"odd", "nan", "gelu", "residual"}
    arrays = [argument for argument in case.arguments if isinstance(argument, Array)]
    return not kinds & set(case.name.split("_")) and all(array.dtype in TYPES for array in arrays)


# ---- compiling ---------------------------------------------------------------------------------------------------------
def is_installed() -> bool:
    """Whether there is a Triton to compare with."""
    return find_spec("triton") is not None


def best(case: Case, variant: dict, target: Target, launched: Callable) -> Estimate | None:
    """The shortest of all programs and configurations; None where none compiles.

    ``launched(kernel, launch, persistent)`` gives a persistent kernel as many blocks as run together.
    """
    if not is_installed():
        return None
    family = next(row for name, row in FAMILIES.items() if case.name.startswith(name))
    tried = product(family.programs(case, variant, target), family.configurations)
    found = [one for program, (warps, stages) in tried if (one := _estimate(program, target, warps, stages, launched))]
    return min(found, key=lambda one: one.microseconds, default=None)


def _estimate(program: Program, target: Target, warps: int, stages: int, launched: Callable) -> Estimate | None:
    compiled = _compiled(program, target, warps, stages)
    if compiled is None or compiled.metadata.shared > target.max_shared_memory:
        return None
    [kernel] = read_kernels(compiled.asm["cubin"]).values()
    arguments = tuple(_arguments(program, compiled.asm["cubin"], kernel.name))
    threads = kernel.threads or 32 * warps
    launch = Launch(program.grid, (threads, 1, 1), arguments, kernel.cluster, compiled.metadata.shared)
    try:
        return estimate(kernel, launched(kernel, launch, program.is_persistent))
    except TileirasError:
        return None


def _compiled(program: Program, target: Target, warps: int, stages: int) -> Any:
    """What Triton makes; None where it cannot."""
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    import triton
    import triton_kernels
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = {name: _type(program, name, value) for name, value in program.arguments.items()}
    signature |= dict.fromkeys(program.constants, "constexpr")
    multiples = {
        (at,): [["tt.divisibility", 16]]
        for at, (name, value) in enumerate(program.arguments.items())
        if name not in program.boxes and (isinstance(value, Memory) or isinstance(value, int) and value % 16 == 0)
    }
    source = ASTSource(
        fn=getattr(triton_kernels, program.kernel), signature=signature, constexprs=program.constants, attrs=multiples
    )
    options = {"num_warps": warps, "num_stages": stages}
    try:
        return triton.compile(source, target=GPUTarget("cuda", target.number, 32), options=options)
    except Exception as error:  # of any kind: its passes, LLVM, ptxas
        print(f"triton: {program.kernel} for {target.name}, {options}: {type(error).__name__}", file=sys.stderr)
        return None


def _type(program: Program, name: str, value: Memory | float) -> str:
    if isinstance(value, Memory):
        box = program.boxes.get(name)
        return f"*{value.type}" if box is None else f"tensordesc<{value.type}[{','.join(map(str, box))}]>"
    return "i32" if isinstance(value, int) else "fp32"


def _arguments(program: Program, cubin: bytes, kernel: str) -> Iterator[Argument]:
    """Parameters as the kernel has them: a descriptor is a tensor map, its extents and its strides; scratch memory is last."""
    values: list[GlobalBuffer | int | float | None] = []
    for name, value in program.arguments.items():
        if not isinstance(value, Memory):
            values.append(value)
        elif name in program.boxes:
            values += [None, *value.shape, *(math.prod(value.shape[axis + 1 :]) for axis in range(len(value.shape)))]
        else:
            values.append(GlobalBuffer(name, value.size))
    places = _places(cubin, kernel)
    for (offset, size), value in zip(places, values + [0] * (len(places) - len(values)), strict=True):
        yield Argument(offset, size, value)


def _places(cubin: bytes, kernel: str) -> list[tuple[int, int]]:
    """Bytes to each parameter, and its bytes: a record has its number, place and, above 18 bits, size."""
    records = [
        struct.unpack("<IHHI", data[:12]) for attribute, data in read_info(cubin, kernel)[1] if attribute == _PARAMETER
    ]
    return [(offset, bits >> 18) for _, _, offset, bits in sorted(records, key=lambda record: record[1])]
