"""Optimization remarks on a lowered module: which instructions were selected, and why not better ones.

They are read from the ``.tileas`` artifact. Layout assignment has annotated its operations with the vector width of each
memory access, the dimensions that need no bounds check, and the MMA atom of each dot. Both output formats are those of
NVIDIA's ``tileiras`` 13.5; cuTile Python stores the YAML next to its cached cubins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from ..core.errors import Location
from ..ir.casting import int_array_attr, int_attr, str_attr, tile_type
from ..ir.dialects.cuda_tile.attrs import OptimizationHintsAttr
from ..ir.dialects.cuda_tile.check_optimization_hints import HINTS
from ..ir.dialects.cuda_tile.location import source_location
from ..ir.dialects.op_definition import TableOp
from ..pipeline.analysis.access_vectorization import VECTOR_BYTES, ViewAccessInfo
from ..pipeline.analysis.axis_info import AxisAnalysis
from ..pipeline.analysis.tma_operands import control_flow_obstacles
from ..pipeline.analysis.tma_tensor_maps import TMA_ALIGNMENT, alignment_faults
from ..pipeline.common.llvm_element_types import element_of
from ..pipeline.common.optimization_hints import hint
from ..pipeline.job import Job
from ..pipeline.mma.family import family_of, fastest_family
from ..pipeline.schedule.schedule_attribute import schedule_of
from ..target.targets import Target

PASSED, MISSED, FAILED, ANALYSIS = "passed", "missed", "failed", "analysis"
MEMORY, TENSORCORE = "memory", "tensorcore"
TITLES = {MEMORY: "Memory", TENSORCORE: "Tensor-core"}
YAML_TAGS = {PASSED: "Passed", MISSED: "Missed", FAILED: "Failure", ANALYSIS: "Analysis"}


@dataclass(frozen=True)
class Remark:
    """One remark: ``notes`` are (key, text) pairs, ``reasons`` state why nothing better was selected."""

    kind: str
    category: str
    name: str
    message: str
    function: str
    location: Location | None
    notes: tuple[tuple[str, str], ...] = ()
    reasons: tuple[str, ...] = ()


def collect(module: ModuleOp, target: Target) -> list[Remark]:
    """The remarks on the kernels of a ``.tileas`` module, in program order, without the duplicates of unrolled loops."""
    kernels = [func for func in module.body.block.ops if func.name == "nv_tileaa.func"]
    return list(dict.fromkeys(remark for func in kernels for remark in _Kernel(func, target).remarks()))


class _Kernel:
    def __init__(self, func: Any, target: Target):
        self.func, self.target = func, target
        self.name = func.attributes["sym_name"].data
        self.analysis = AxisAnalysis()
        self.num_warps = func.attributes["num_warps"].value.data

    def remarks(self) -> Iterator[Remark]:
        yield from self._cluster()
        yield from self._order()
        yield from self._persistent()
        yield from self._occupancy()
        yield from self._shared_memory()
        for op in self.func.walk():
            yield from self._hints(op)
            if (describe := DESCRIBE.get(op.name)) is not None:
                yield from describe(self, op)

    def _cluster(self) -> Iterator[Remark]:
        """Whether the hint num_cta_in_cga was applied, or neighbours of the grid form clusters."""
        if (ctas := self.func.attributes.get("num_ctas")) is not None:
            together = "grid_cluster" in self.func.attributes
            how = "neighbouring tile blocks share loads" if together else "tiles split across CTAs"
            message, notes = f"CTA cluster used: {how}", (("CTAs", ctas.value.data),)
            yield self.remark(self.func, PASSED, MEMORY, "RemarkMemoryCluster", message, notes)
        if (reason := self.func.attributes.get("num_ctas_declined")) is not None:
            message = "No CTA cluster: tiles not split across CTAs"
            yield self.remark(self.func, MISSED, MEMORY, "RemarkMemoryCluster", message, (), (reason.data,))

    def _order(self) -> Iterator[Remark]:
        """Whether tile programs have another order than that of the grid."""
        group, longest = (self.func.attributes.get(name) for name in ("grid_swizzle", "grid_reversed"))
        if (group, longest) != (None, None):
            message = "Grouped (swizzled) block order" if longest is None else "Longest tile blocks first"
            notes = () if group is None else (("Rows", group.value.data),)
            yield self.remark(self.func, PASSED, MEMORY, "RemarkMemoryTileOrder", message, notes)
        if (reason := self.func.attributes.get("grid_swizzle_declined")) is not None:
            message = "Row-major block order"
            yield self.remark(self.func, MISSED, MEMORY, "RemarkMemoryTileOrder", message, (), (reason.data,))

    def _persistent(self) -> Iterator[Remark]:
        """Whether the option persistent was applied."""
        if "persistent_axes" in self.func.attributes:
            message = "Persistent grid: CTAs loop over tile blocks"
            yield self.remark(self.func, PASSED, MEMORY, "RemarkMemoryPersistent", message)
        if (reason := self.func.attributes.get("persistent_declined")) is not None:
            message = "Not persistent: one CTA per tile block"
            yield self.remark(self.func, MISSED, MEMORY, "RemarkMemoryPersistent", message, (), (reason.data,))

    def _occupancy(self) -> Iterator[Remark]:
        """Whether the hint occupancy was applied."""
        requested, schedule = hint(self.func, Job(self.target), "occupancy") or 0, schedule_of(self.func)
        if schedule.occupancy and schedule.occupancy < requested and not schedule.spill:
            notes = (("Requested", requested), ("CTAs", schedule.occupancy))
            reasons = ("the tiles of dots do not fit in so many shares of registers, tensor memory or shared memory",)
            message = "Requested occupancy reduced"
            yield self.remark(self.func, MISSED, MEMORY, "RemarkMemoryOccupancy", message, notes, reasons)

    def _hints(self, op: Operation) -> Iterator[Remark]:
        """The optimization hints of an operation that have invalid values."""
        hints = op.attributes.get("optimization_hints")
        values = hints.for_target(self.target.generation) if isinstance(hints, OptimizationHintsAttr) else {}
        for name, value in values.items():
            if name in HINTS and not HINTS[name].accepts(value):
                reason = f"the value must be {HINTS[name].values()}"
                yield self.remark(op, MISSED, MEMORY, "RemarkHint", "Hint ignored", ((name, value),), (reason,))

    def _shared_memory(self) -> Iterator[Remark]:
        """The fallback of a kernel whose tiles exceed shared memory."""
        if (reason := self.func.attributes.get("shared_memory_fallback")) is not None:
            message = "Tiles exceed shared memory; fallback used"
            yield self.remark(self.func, MISSED, MEMORY, "RemarkMemoryShared", message, (), (reason.data,))

    def remark(self, op: Operation, kind: str, category: str, name: str, message: str, notes=(), reasons=()) -> Remark:
        """A remark on ``op``; ``notes`` are (key, value) pairs of any printable values."""
        texts = tuple((key, str(value)) for key, value in notes)
        return Remark(kind, category, name, message, self.name, source_location(op), texts, tuple(reasons))


# ---- memory --------------------------------------------------------------------------------------
def _tiled(kernel: _Kernel, op: TableOp) -> Iterator[Remark]:
    """A load or store of a tile of a view."""
    shape, bytes = list(op.view.type.tile), element_of(op.view.type.source.element_type).bytes
    yield from _selected(kernel, op, shape, bytes, _tiled_reasons(kernel, op))
    unchecked = list(int_array_attr(op, "in_bounds"))
    if not all(unchecked):
        dims = [dim for dim, safe in enumerate(unchecked) if not safe]
        reason = f"extents of dimensions {dims} not known to be multiples of the tile size"
        yield kernel.remark(op, MISSED, MEMORY, "RemarkMemoryBoundsCheck", "Bounds checks kept", (), (reason,))
    if kernel.target.has("tma"):
        what = "store" if _is_store(op) else "load"
        yield kernel.remark(
            op, MISSED, MEMORY, f"RemarkMemoryTma{what.capitalize()}Failed", f"TMA not used for this {what}",
            (), (*_misalignments(kernel, op), TENSOR_COPY_LIMITS[what]),
        )  # fmt: skip


def _misalignments(kernel: _Kernel, op: TableOp) -> list[str]:
    """The alignments that TMA requires and the access does not have."""
    return [
        f"{what} is aligned to {bytes} bytes only; TMA requires {TMA_ALIGNMENT}"
        for what, bytes in alignment_faults(ViewAccessInfo(op.view, kernel.analysis))
    ]


def _tma_copy(kernel: _Kernel, op: TableOp) -> Iterator[Remark]:
    """A tile that TMA copies to or from shared memory."""
    shape, element = list(op.view.type.tile), element_of(op.view.type.source.element_type)
    what = "store" if _is_store(op) else "load"
    bytes = prod(shape) * element.bytes
    notes = [("Instruction", TENSOR_COPIES[what]), ("Shape", shape), ("Width", f"{bytes} bytes")]
    name, message = f"RemarkMemory{what.capitalize()}InstructionSelected", f"{what.capitalize()} instruction selected"
    yield kernel.remark(op, PASSED, MEMORY, name, message, notes)


def _pointers(kernel: _Kernel, op: TableOp) -> Iterator[Remark]:
    """A load or store through pointers."""
    if isinstance(op.value.type, TensorType):
        reason = "pointer contiguity and alignment are not known beyond this width"
        yield from _selected(kernel, op, list(op.value.type.get_shape()), element_of(op.value.type).bytes, [reason])


def _selected(kernel: _Kernel, op: TableOp, shape: list[int], bytes: int, reasons: Iterable[str]) -> Iterator[Remark]:
    what = "Store" if _is_store(op) else "Load"
    held = int_attr(op, "vector") * bytes
    instruction = INSTRUCTIONS.get(op.name, f"Global-memory {what.lower()} instruction")
    notes = [("Instruction", instruction), ("Shape", shape), ("Width", f"{held} bytes")]
    if "has_boundary_tile" in op.attributes:
        notes.append(("Boundary tiles", "scalar accesses"))
    yield kernel.remark(
        op, PASSED, MEMORY, f"RemarkMemory{what}InstructionSelected", f"{what} instruction selected", notes
    )
    if held < VECTOR_BYTES:
        yield kernel.remark(
            op, MISSED, MEMORY, "RemarkMemoryVectorWidth",
            f"{what} vectorized to {held} bytes (maximum {VECTOR_BYTES})", (), reasons,
        )  # fmt: skip


def _is_store(op: Operation) -> bool:
    return op.name.endswith("store")


def _tiled_reasons(kernel: _Kernel, op: TableOp) -> list[str]:
    """Each fact that by itself limits the access to its vector width."""
    vector = int_attr(op, "vector")
    if "mem_semantic" in op.attributes and (semantic := str_attr(op, "mem_semantic")) != "weak":
        return [f"the access is {semantic}, not weak"]
    return [reason for most, reason in width_limits(op, kernel.analysis) if most <= vector]


def width_limits(op: TableOp, analysis: AxisAnalysis) -> list[tuple[int, str]]:
    """(elements, reason) for each fact that limits the width of a tiled access; the minimum is the width."""
    facts = ViewAccessInfo(op.view, analysis)
    in_bounds = list(int_array_attr(op, "in_bounds"))
    fastest = facts.order[0] if facts.order else 0
    source = facts.type.dim_map[fastest] if facts.order else 0
    if not facts.order or facts.type.source.strides[source] != 1 or facts.type.sparse.data == fastest:
        return [(1, "no unit-stride dimension")]
    base = analysis(facts.memref.operands[0]).divisibility
    start = (facts.type.steps[fastest] & -facts.type.steps[fastest]) * analysis(op.coords[fastest]).divisibility
    limits = [
        (facts.type.tile[fastest], f"the tile has {facts.type.tile[fastest]} elements along dimension {fastest}"),
        (max(base // facts.element.bytes, 1), f"the tensor's address {_multiple(base)} (bytes)"),
        (start, f"the first element of a tile {_multiple(start)}"),
    ]
    if not in_bounds[fastest] and not _may_end_inside(op):
        size = facts.sizes[source]
        limits.append((size, f"the extent of dimension {fastest} {_multiple(size)}: an access may cross the boundary"))
    for dim in range(len(facts.type.tile)):
        if dim != fastest and (stride := facts.strides[facts.type.dim_map[dim]]):
            limits.append((stride, f"the stride of dimension {dim} {_multiple(stride)}"))
    return limits


def _may_end_inside(op: Operation) -> bool:
    """Whether the access handles a tensor boundary inside it, so that only alignment limits its width."""
    return "has_boundary_tile" in op.attributes or op.name == "nv_tileas.async_tiled_load"


def _multiple(known: int) -> str:
    return f"has divisibility {known}" if known > 1 else "has no known divisibility"


def _conversion(kernel: _Kernel, op: TableOp) -> Iterator[Remark]:
    """A layout conversion through shared memory."""
    if "scratch_bytes" in op.attributes:
        notes = (("SharedBytes", int_attr(op, "scratch_bytes")), ("Tiles", len(op.results)))
        yield kernel.remark(
            op, ANALYSIS, MEMORY, "RemarkMemoryLayoutConversion", "Layout conversion through shared memory", notes
        )


# ---- tensor cores --------------------------------------------------------------------------------
def _dot(kernel: _Kernel, op: TableOp) -> Iterator[Remark]:
    types = [str(_element(value)) for value in (op.lhs, op.rhs, op.result)]
    if op.mma is None:
        reason = "no Tensor Core instruction for {} x {} -> {} on {}; using FMA".format(*types, kernel.target.name)
        yield kernel.remark(
            op, FAILED, TENSORCORE, "RemarkTensorCoreMMAFailed", "MMA operation does not use Tensor Cores",
            (("Instruction", "fma"),), (reason,),
        )  # fmt: skip
        return
    yield _uses_tensor_cores(kernel, op)
    best = fastest_family(kernel.target)
    if best is not family_of(op):
        yield kernel.remark(
            op, MISSED, TENSORCORE, "RemarkTensorCoreMMAGeneration", f"MMA operation does not use {best.name}", (),
            (f"{best.name} requires {WARPGROUP_MMA_LIMIT}", *control_flow_obstacles(op)),
        )  # fmt: skip


def _async_dot(kernel: _Kernel, op: TableOp) -> Iterator[Remark]:
    """An asynchronous MMA, with operands in shared or tensor memory."""
    yield _uses_tensor_cores(kernel, op)


def _uses_tensor_cores(kernel: _Kernel, op: TableOp) -> Remark:
    instruction, more = family_of(op).description(op)
    message = "MMA operation successfully optimized to use Tensor Cores"
    notes = (("Instruction", f"Tensor-core {instruction}"), *more.items())
    return kernel.remark(op, PASSED, TENSORCORE, "RemarkTensorCoreMMA", message, notes)


def _element(value: SSAValue) -> object:
    return tile_type(value).element_type


TENSOR_COPIES = {
    "load": "Tensor copy to shared memory (cp.async.bulk.tensor)",
    "store": "Tensor copy from shared memory (cp.async.bulk.tensor)",
}
TENSOR_COPY_LIMITS = {
    "load": "TMA loads are used for MMA operands with strategy warp-specialize, if the launcher encodes the "
    "manifest's tensor maps",
    "store": "TMA stores are used for 16-byte aligned tensors staged through shared memory, in kernels with TMA "
    "loads (strategy warp-specialize)",
}
WARPGROUP_MMA_LIMIT = "tiles of whole warpgroups with operands loaded by TMA (strategy warp-specialize)"
INSTRUCTIONS = {"nv_tileas.async_tiled_load": "Asynchronous copy to shared memory (cp.async)"}
DESCRIBE = {
    "nv_tileas.tiled_load": _tiled,
    "nv_tileas.async_tiled_load": _tiled,
    "nv_tileas.tiled_store": _tiled,
    "nv_tileas.load": _pointers,
    "nv_tileas.store": _pointers,
    "nv_tileas.convert_layout": _conversion,
    "nv_tileas.dot": _dot,
    "nv_tileas.async.tiled_tma_load": _tma_copy,
    "nv_tileas.async.tiled_tma_store": _tma_copy,
    "nv_tileas.async.dot": _async_dot,
    "nv_tileas.async.umma": _async_dot,
}


# ---- output --------------------------------------------------------------------------------------
def select(remarks: Iterable[Remark], categories: Mapping[str, Sequence[str]]) -> list[Remark]:
    """The remarks whose kind maps to their category, or to "all"."""
    return [remark for remark in remarks if {"all", remark.category} & set(categories.get(remark.kind, ()))]


def render_text(remarks: Sequence[Remark]) -> str:
    """The remarks as text, by function, then by category."""
    lines: list[str] = []
    for function in dict.fromkeys(remark.function for remark in remarks):
        lines += [f"in function: {function}:", ""]
        for category, title in TITLES.items():
            chosen = [remark for remark in remarks if (remark.function, remark.category) == (function, category)]
            if chosen:
                lines += [f"  category: {title}", *(line for remark in chosen for line in _text(remark)), ""]
    return "\n".join(lines)


def _text(remark: Remark) -> Iterator[str]:
    yield f"    remark[{remark.kind}]: {remark.message}"
    if remark.location is not None and remark.location.line:
        yield f'      --> "{remark.location.file}":{remark.location.line}:{remark.location.column}'
    yield "       |"
    yield f"       = name: {remark.name}"
    yield from (f"       = note: {key} = {value}" for key, value in remark.notes)
    yield from (f"       = reason: {reason}" for reason in remark.reasons)
    yield ""


def render_yaml(remarks: Sequence[Remark]) -> str:
    """The remarks in LLVM's YAML format: one document per remark."""
    return "".join(_yaml(number, remark) for number, remark in enumerate(remarks, 1))


def _yaml(number: int, remark: Remark) -> str:
    where, place = remark.location, ""
    if where is not None:
        place = f"DebugLoc:        {{ File: {_quoted(where.file)}, Line: {where.line}, Column: {where.column} }}\n"
    arguments = [
        ("RemarkId", str(number)), ("Remark", remark.message), *remark.notes, *(("Reason", r) for r in remark.reasons)
    ]  # fmt: skip
    lines = "".join(f"  - {key + ':':<12} {_scalar(value)}\n" for key, value in arguments)
    return (
        f"--- !{YAML_TAGS[remark.kind]}\nPass:            {TITLES[remark.category]}\nName:            {remark.name}\n"
        f"{place}Function:        {remark.function}\nArgs:\n{lines}...\n"
    )


def _quoted(text: str | None) -> str:
    return "'" + (text or "").replace("'", "''") + "'"


def _scalar(text: str) -> str:
    plain = all(character.isalnum() or character in " _-./" for character in text) and text[:1] not in "-."
    return text if plain else _quoted(text)
