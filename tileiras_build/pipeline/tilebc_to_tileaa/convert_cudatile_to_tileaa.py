"""Convert the public tile dialect to alias-aware tile IR.

In:    cuda_tile.* as the bytecode reader builds it.
Out:   nv_tileaa + arith + math; no cuda_tile operation or type remains. Rank-0 tiles are scalars, tiles are tensors.
After: nothing (first pass). Before: every other pass.
Sound: one operation becomes one operation of the same meaning, or a short sequence listed in a row here; what has no
       row is reported as unsupported, all of a module at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import math
from xdsl.dialects.builtin import (
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects import arith
from ...dialects import nv_tileaa as aa
from ...dialects.cuda_tile.location import source_location
from ...dialects.nv_tileaa import ops
from ...errors import Diagnostics, Unsupported
from ..contracts import EdgePass
from ..job import Job
from .constants import convert_constant, scalar_constant

# cuda_tile operation -> operation with the same operands and no attributes.
SAME_OPERANDS: dict[str, type[Operation]] = {
    "absf": math.AbsFOp,
    "absi": math.AbsIOp,
    "atan2": math.Atan2Op,
    "ceil": math.CeilOp,
    "cos": math.CosOp,
    "cosh": math.CoshOp,
    "exp": math.ExpOp,
    "floor": math.FloorOp,
    "log": math.LogOp,
    "log2": math.Log2Op,
    "pow": math.PowFOp,
    "fpowf": math.PowFOp,
    "fpowi": math.FPowIOp,
    "sin": math.SinOp,
    "sinh": math.SinhOp,
    "tan": math.TanOp,
    "tanh": math.TanhOp,
    "addi": arith.AddiOp,
    "subi": arith.SubiOp,
    "muli": arith.MuliOp,
    "andi": arith.AndIOp,
    "ori": arith.OrIOp,
    "xori": arith.XOrIOp,
    "shli": arith.ShLIOp,
    "negf": arith.NegfOp,
    "select": arith.SelectOp,
    "trunci": arith.TruncIOp,
    "addf": ops.AddFOp,
    "subf": ops.SubFOp,
    "mulf": ops.MulFOp,
    "divf": ops.DivFOp,
    "remf": ops.RemFOp,
    "fma": ops.FmaOp,
    "sqrt": ops.SqrtOp,
    "rsqrt": ops.RsqrtOp,
    "exp2": ops.Exp2Op,
    "mulhii": ops.MulHiUIOp,
    "ftof": ops.FpToFpOp,
    "offset": ops.AddPtrOp,
    "int_to_ptr": ops.IntToPtrOp,
    "ptr_to_int": ops.PtrToIntOp,
    "ptr_to_ptr": ops.BitcastOp,
    "bitcast": ops.BitcastOp,
    "pack": ops.ReinterpretOp,
    "unpack": ops.ReinterpretOp,
    "iota": ops.MakeRangeOp,
    "make_token": ops.CreateMemTokenOp,
    "memory_fence_alias_tko": ops.FenceAliasOp,
    "get_tensor_shape": ops.GetDimSizeOp,
    "get_index_space_shape": ops.GetTileCountOp,
    "make_partition_view": ops.BlockTileOp,
    "make_strided_view": ops.BlockTileOp,
    "make_gather_scatter_view": ops.BlockTileOp,
}

# (operation, signedness) -> operation; the signedness is an attribute of the public operation.
BY_SIGNEDNESS: dict[str, tuple[type[Operation], type[Operation]]] = {
    "remi": (arith.RemUIOp, arith.RemSIOp),
    "maxi": (arith.MaxUIOp, arith.MaxSIOp),
    "mini": (arith.MinUIOp, arith.MinSIOp),
    "shri": (arith.ShRUIOp, arith.ShRSIOp),
    "exti": (arith.ExtUIOp, arith.ExtSIOp),
    "itof": (arith.UIToFPOp, arith.SIToFPOp),
    "ftoi": (arith.FPToUIOp, arith.FPToSIOp),
}

# (rounding, signed) -> integer division (reference: public dialect, divi).
DIVISIONS: dict[tuple[str, bool], type[Operation]] = {
    ("zero", False): arith.DivUIOp,
    ("zero", True): arith.DivSIOp,
    ("negative_inf", False): arith.DivUIOp,
    ("negative_inf", True): arith.FloorDivSIOp,
    ("positive_inf", False): arith.CeilDivUIOp,
    ("positive_inf", True): arith.CeilDivSIOp,
}

# propagate_nan -> maximum and minimum (IEEE 754-2019 maximum / maximumNumber).
MIN_MAX: dict[tuple[str, bool], type[Operation]] = {
    ("maxf", True): arith.MaximumfOp,
    ("maxf", False): arith.MaxnumfOp,
    ("minf", True): arith.MinimumfOp,
    ("minf", False): arith.MinnumfOp,
}

# Comparison predicates: of arith.cmpi as (unsigned, signed), of arith.cmpf as (unordered, ordered).
CMPI = {"equal": ("eq", "eq"), "not_equal": ("ne", "ne"), "less_than": ("ult", "slt")}
CMPI |= {"less_than_or_equal": ("ule", "sle"), "greater_than": ("ugt", "sgt"), "greater_than_or_equal": ("uge", "sge")}
CMPF = {"equal": ("ueq", "oeq"), "not_equal": ("une", "one"), "less_than": ("ult", "olt")}
CMPF |= {"less_than_or_equal": ("ule", "ole"), "greater_than": ("ugt", "ogt"), "greater_than_or_equal": ("uge", "oge")}

# Attributes carried over by name, as strings or units.
ENUM_ATTRIBUTES = ("rounding_mode", "mode")
UNIT_ATTRIBUTES = ("flush_to_zero", "propagate_nan", "fast_acc", "saturating")
MEMORY_ATTRIBUTES = {"memory_ordering_semantics": "mem_semantic", "memory_scope": "mem_scope"}


class ConvertCudaTileToTileAA(EdgePass):
    """The first lowering: one translation unit of kernels."""

    name = "convert-cudatile-to-tileaa"
    removes = frozenset({"cuda_tile."})

    def run(self, module: ModuleOp, job: Job) -> None:
        public = next(op for op in module.body.block.ops if op.name == "cuda_tile.module")
        converter = _Converter()
        for op in public.regions[0].blocks[0].ops:
            converter.convert(op, module.body.block)
        converter.diagnostics.raise_if_any()
        public.detach()
        public.erase(safe_erase=False)
        module.attributes["nv_tileaa.compute_capability"] = IntegerAttr(job.target.number, i32)
        module.attributes["nv_tileaa.target_spec"] = StringAttr(job.target.arch)


class _Converter:
    """Walks the public module once, building the new one at the end of the same builtin module."""

    def __init__(self):
        self.values: dict[SSAValue, SSAValue] = {}
        self.types: dict[Attribute, Attribute] = {}
        self.diagnostics = Diagnostics()

    # ---- types ---------------------------------------------------------------------------------
    def type(self, source: Attribute) -> Attribute:
        if (known := self.types.get(source)) is None:
            known = self.types[source] = TYPES.get(source.name, lambda _, same: same)(self, source)
        return known

    def value(self, source: SSAValue) -> SSAValue:
        return self.values[source]

    # ---- operations ----------------------------------------------------------------------------
    def convert(self, op: Operation, block: Block) -> None:
        name = op.name.removeprefix("cuda_tile.")
        handler = HANDLERS.get(name, _convert_by_table)
        try:
            handler(self, op, block)
        except Unsupported as error:
            error.location = error.location or source_location(op)
            self.diagnostics.add(error)
            self._poison(op)

    def _poison(self, op: Operation) -> None:
        """Stand-ins for the results of an operation already reported, so that its users raise no further error."""
        for result in op.results:
            self.values.setdefault(
                result, ops.CreateMemTokenOp.create(result_types=[self.type(result.type)]).results[0]
            )

    def emit(self, op: Operation, new: Operation, block: Block, *, bind: bool = True) -> Operation:
        if (location := op.attributes.get("loc")) is not None:
            new.attributes["loc"] = location
        block.add_op(new)
        if bind:
            for old, result in zip(op.results, new.results):
                self.values[old] = result
        return new

    def build(self, op: Operation, block: Block, target: type[Operation], operands, attributes=None, types=None):
        result_types = [self.type(result.type) for result in op.results] if types is None else types
        return self.emit(op, make(target, operands, result_types, attributes), block, bind=types is None)

    def region(self, source: Region, *, argument_types=None) -> Region:
        if not source.blocks:
            return Region(Block([], arg_types=[]))
        old = source.blocks[0]
        new = Block(arg_types=[self.type(arg.type) for arg in old.args])
        for before, after in zip(old.args, new.args):
            self.values[before] = after
        for op in old.ops:
            self.convert(op, new)
        return Region(new)


def make(target: type[Operation], operands, result_types, attributes=None) -> Operation:
    """An operation of a table row or of an xDSL dialect from flat operands."""
    if hasattr(target, "make"):
        return target.make(operands, result_types, attributes)
    return target.create(operands=operands, result_types=result_types, attributes=attributes or {})


def enum_text(attribute: Any) -> str:
    """The public spelling of an enumeration attribute."""
    return str(getattr(attribute, "data", attribute).value if hasattr(attribute, "data") else attribute)


def _attributes(op: Operation) -> dict[str, Attribute]:
    carried: dict[str, Attribute] = {}
    for key, value in op.properties.items():
        if key in ENUM_ATTRIBUTES:
            carried[key] = StringAttr(enum_text(value))
        elif key in MEMORY_ATTRIBUTES:
            carried[MEMORY_ATTRIBUTES[key]] = StringAttr(enum_text(value))
        elif key in UNIT_ATTRIBUTES:
            carried[key] = UnitAttr()
        elif key == "optimization_hints":
            carried["optimization_hints"] = value
    return carried


def _convert_by_table(cv: _Converter, op: Operation, block: Block) -> None:
    name = op.name.removeprefix("cuda_tile.")
    if (target := SAME_OPERANDS.get(name)) is None:
        raise Unsupported(
            "operation-unsupported",
            f"operation {name} ({_types_text(op)}) has no lowering yet",
            remedy="see docs/coverage.md for what is supported (convert_cudatile_to_tileaa.py has no row for it)",
        )
    cv.build(op, block, target, [cv.value(operand) for operand in op.operands], _attributes(op))


def _types_text(op: Operation) -> str:
    return ", ".join(str(operand.type) for operand in op.operands) or "no operands"


def _convert_by_signedness(cv: _Converter, op: Operation, block: Block) -> None:
    target = BY_SIGNEDNESS[op.name.removeprefix("cuda_tile.")][_is_signed(op)]
    cv.build(op, block, target, [cv.value(operand) for operand in op.operands], _attributes(op))


def _is_signed(op: Operation, key: str = "signedness") -> bool:
    return enum_text(op.properties[key]) == "signed"


def _convert_divi(cv: _Converter, op: Operation, block: Block) -> None:
    rounding = enum_text(op.properties["rounding"]) if "rounding" in op.properties else "zero"
    target = DIVISIONS[rounding, _is_signed(op)]
    cv.build(op, block, target, [cv.value(operand) for operand in op.operands])


def _convert_min_max(cv: _Converter, op: Operation, block: Block) -> None:
    target = MIN_MAX[op.name.removeprefix("cuda_tile."), "propagate_nan" in op.properties]
    cv.build(op, block, target, [cv.value(operand) for operand in op.operands], _attributes(op))


def _convert_compare(cv: _Converter, op: Operation, block: Block) -> None:
    predicate = enum_text(op.properties["comparison_predicate"])
    if op.name.endswith("cmpi"):
        target, code = arith.CmpiOp, CMPI[predicate][_is_signed(op)]
    else:
        ordered = enum_text(op.properties["comparison_ordering"]) == "ordered"
        target, code = arith.CmpfOp, CMPF[predicate][ordered]
    cv.build(op, block, target, [cv.value(operand) for operand in op.operands], {"predicate": StringAttr(code)})


def _convert_negi(cv: _Converter, op: Operation, block: Block) -> None:
    source = cv.value(op.operands[0])
    zero = _constant_like(cv, op, block, source.type, 0)
    cv.build(op, block, arith.SubiOp, [zero, source])


def _constant_like(cv: _Converter, op: Operation, block: Block, type: Attribute, value: int) -> SSAValue:
    element = type.element_type if isinstance(type, TensorType) else type
    scalar = cv.emit(op, scalar_constant(value, element), block, bind=False).results[0]
    if not isinstance(type, TensorType):
        return scalar
    return cv.build(op, block, ops.SplatOp, [scalar], types=[type]).results[0]


def _convert_constant(cv: _Converter, op: Operation, block: Block) -> None:
    for new in convert_constant(op.properties["value"], cv.type(op.results[0].type)):
        cv.emit(op, new, block)


def _convert_reshape(cv: _Converter, op: Operation, block: Block) -> None:
    source = cv.value(op.operands[0])
    result_type = cv.type(op.results[0].type)
    if source.type == result_type:
        cv.values[op.results[0]] = source
        return
    if not isinstance(result_type, TensorType):
        cv.build(op, block, ops.ExtractSliceOp, [source, _zero_indices(cv, op, block, source)])
        return
    target = ops.ViewOp if isinstance(source.type, TensorType) else ops.SplatOp
    cv.build(op, block, target, [source])


def _zero_indices(cv: _Converter, op: Operation, block: Block, source: SSAValue) -> list[SSAValue]:
    zero = cv.emit(op, scalar_constant(0, i32), block, bind=False).results[0]
    return [zero] * len(source.type.get_shape())


def _convert_broadcast(cv: _Converter, op: Operation, block: Block) -> None:
    source = cv.value(op.operands[0])
    result_type = cv.type(op.results[0].type)
    if source.type == result_type:
        cv.values[op.results[0]] = source
        return
    cv.build(op, block, ops.BroadcastOp if isinstance(source.type, TensorType) else ops.SplatOp, [source])


def _convert_permute(cv: _Converter, op: Operation, block: Block) -> None:
    cv.build(op, block, ops.PermuteOp, [cv.value(op.operands[0])], {"permutation": op.properties["permutation"]})


def _convert_cat(cv: _Converter, op: Operation, block: Block) -> None:
    cv.build(op, block, ops.CatOp, [cv.value(o) for o in op.operands], {"dim": op.properties["dim"]})


def _convert_extract(cv: _Converter, op: Operation, block: Block) -> None:
    operands = [cv.value(operand) for operand in op.operands]
    cv.build(op, block, ops.ExtractSliceOp, [operands[0], operands[1:]])


def _convert_insert(cv: _Converter, op: Operation, block: Block) -> None:
    operands = [cv.value(operand) for operand in op.operands]
    cv.build(op, block, ops.InsertSliceOp, [operands[0], operands[1], operands[2:]])


def _convert_assume(cv: _Converter, op: Operation, block: Block) -> None:
    cv.build(op, block, ops.AssumeOp, [cv.value(op.operands[0])], {"predicate": op.properties["predicate"]})


def _convert_join_tokens(cv: _Converter, op: Operation, block: Block) -> None:
    cv.build(op, block, ops.JoinMemTokenOp, [[cv.value(operand) for operand in op.operands]])


def _convert_block_id(cv: _Converter, op: Operation, block: Block) -> None:
    target = ops.GetProgramIdOp if op.name.endswith("id") else ops.GetNumProgramsOp
    for axis, result in enumerate(op.results):
        new = target.make([], [i32], {"axis": IntegerAttr(axis, i32)})
        cv.values[result] = cv.emit(op, new, block, bind=False).results[0]


def _convert_make_tensor_view(cv: _Converter, op: Operation, block: Block) -> None:
    values = [cv.value(operand) for operand in op.operands]
    type = cv.type(op.results[0].type)
    sizes = sum(extent is None for extent in type.shape)
    cv.build(op, block, ops.MakeMemRefOp, [values[0], values[1 : 1 + sizes], values[1 + sizes :]])


def _optional(cv: _Converter, value: SSAValue | None) -> SSAValue | None:
    return None if value is None else cv.value(value)


def _convert_load_view(cv: _Converter, op: Any, block: Block) -> None:
    coords = [cv.value(index) for index in op.index]
    cv.build(op, block, ops.TiledLoadOp, [cv.value(op.view), coords, _optional(cv, op.token)], _attributes(op))


def _convert_store_view(cv: _Converter, op: Any, block: Block) -> None:
    coords = [cv.value(index) for index in op.index]
    operands = [cv.value(op.view), cv.value(op.tile), coords, _optional(cv, op.token)]
    cv.build(op, block, ops.TiledStoreOp, operands, _attributes(op))


def _convert_atomic_red_view(cv: _Converter, op: Any, block: Block) -> None:
    coords = [cv.value(index) for index in op.index]
    operands = [cv.value(op.view), cv.value(op.value), coords, _optional(cv, op.token)]
    cv.build(op, block, ops.TiledAtomicRmwOp, operands, _attributes(op))


def _convert_load_ptr(cv: _Converter, op: Any, block: Block) -> None:
    operands = [cv.value(op.source), _optional(cv, op.mask), _optional(cv, op.padding_value), _optional(cv, op.token)]
    cv.build(op, block, ops.LoadOp, operands, _attributes(op))


def _convert_store_ptr(cv: _Converter, op: Any, block: Block) -> None:
    operands = [cv.value(op.destination), cv.value(op.value), _optional(cv, op.mask), _optional(cv, op.token)]
    cv.build(op, block, ops.StoreOp, operands, _attributes(op))


def _convert_atomic_rmw(cv: _Converter, op: Any, block: Block) -> None:
    operands = [cv.value(op.pointers), cv.value(op.arg), _optional(cv, op.mask), _optional(cv, op.token)]
    cv.build(op, block, ops.AtomicRmwOp, operands, _attributes(op))


def _convert_atomic_cas(cv: _Converter, op: Any, block: Block) -> None:
    operands = [cv.value(op.pointers), cv.value(op.cmp), cv.value(op.val), _optional(cv, op.mask)]
    cv.build(op, block, ops.AtomicCasOp, [*operands, _optional(cv, op.token)], _attributes(op))


def _convert_mmaf(cv: _Converter, op: Any, block: Block) -> None:
    operands = [cv.value(op.lhs), cv.value(op.rhs), cv.value(op.acc), None, None]
    cv.build(op, block, ops.DotOp, operands, _attributes(op))


def _convert_mmaf_scaled(cv: _Converter, op: Any, block: Block) -> None:
    operands = [cv.value(value) for value in (op.lhs, op.rhs, op.acc, op.lhs_scale, op.rhs_scale)]
    cv.build(op, block, ops.DotOp, operands, _attributes(op))


def _convert_mmai(cv: _Converter, op: Any, block: Block) -> None:
    signs = {key: StringAttr(enum_text(op.properties[key])) for key in ("signedness_lhs", "signedness_rhs")}
    cv.build(op, block, ops.DotOp, [cv.value(op.lhs), cv.value(op.rhs), cv.value(op.acc), None, None], signs)


def _convert_collective(cv: _Converter, op: Any, block: Block) -> None:
    target = ops.ReduceOp if op.name.endswith("reduce") else ops.ScanOp
    sources = [cv.value(operand) for operand in op.operands]
    attributes = {"axis": IntegerAttr(op.properties["dim"].value.data, i32)}
    if target is ops.ScanOp and bool(op.properties["reverse"].value.data):
        attributes["reverse"] = UnitAttr()
    body = cv.region(op.regions[0])
    new = target.make([sources], [cv.type(result.type) for result in op.results], attributes, [body])
    cv.emit(op, new, block)


def _convert_for(cv: _Converter, op: Any, block: Block) -> None:
    values = [cv.value(operand) for operand in op.operands]
    attributes = {"unsigned": UnitAttr()} if "unsigned_cmp" in op.properties or "unsignedCmp" in op.properties else {}
    types = [cv.type(result.type) for result in op.results]
    new = ops.ForOp.make([*values[:3], values[3:]], types, attributes, [cv.region(op.regions[0])])
    cv.emit(op, new, block)


def _convert_loop(cv: _Converter, op: Any, block: Block) -> None:
    initial = [cv.value(operand) for operand in op.operands]
    types = [cv.type(result.type) for result in op.results]
    cv.emit(op, ops.LoopOp.make([initial], types, {}, [cv.region(op.regions[0])]), block)


def _convert_if(cv: _Converter, op: Any, block: Block) -> None:
    types = [cv.type(result.type) for result in op.results]
    regions = [cv.region(region) for region in op.regions]
    for region in regions:
        if not region.blocks[0].ops:
            region.blocks[0].add_op(ops.YieldOp.make([[]], []))
    cv.emit(op, ops.IfOp.make([cv.value(op.operands[0])], types, {}, regions), block)


def _convert_terminator(cv: _Converter, op: Any, block: Block) -> None:
    target = TERMINATORS[op.name.removeprefix("cuda_tile.")]
    cv.emit(op, target.make([[cv.value(operand) for operand in op.operands]], []), block)


def _convert_return(cv: _Converter, op: Any, block: Block) -> None:
    if op.operands:
        raise Unsupported("kernel-returns", "Kernel functions do not support return with operands")
    cv.emit(op, ops.ReturnOp.make([], []), block)


def _convert_assert(cv: _Converter, op: Any, block: Block) -> None:
    cv.build(op, block, ops.AssertOp, [cv.value(op.operands[0])], {"message": op.properties["message"]})


def _convert_print(cv: _Converter, op: Any, block: Block) -> None:
    text = op.properties.get("str") or op.properties["format"]
    values = [cv.value(value) for value in op.args]
    cv.build(op, block, ops.PrintOp, [values, _optional(cv, op.token)], {"format": text})


def _convert_get_global(cv: _Converter, op: Any, block: Block) -> None:
    name = op.properties["name"]
    symbol = name.root_reference.data if isinstance(name, SymbolRefAttr) else name.data
    cv.build(op, block, ops.GetGlobalOp, [], {"symbol": StringAttr(symbol)})


def _convert_global(cv: _Converter, op: Any, block: Block) -> None:
    attributes = {"sym_name": StringAttr(op.properties["sym_name"].data), "value": op.properties["value"]}
    for key in ("alignment", "constant"):
        if key in op.properties:
            attributes[key] = op.properties[key]
    cv.emit(op, ops.GlobalOp.make([], [], attributes), block)


def _convert_alloca(cv: _Converter, op: Any, block: Block) -> None:
    attributes = {key: op.properties[key] for key in ("num_elem", "alignment", "global") if key in op.properties}
    cv.build(op, block, ops.AllocaOp, [], attributes)


def _convert_grid_dependency(cv: _Converter, op: Any, block: Block) -> None:
    action = "launch_dependents" if "launch" in op.name else "wait"
    token = cv.value(op.operands[0]) if op.operands else None
    cv.build(op, block, ops.GridDependencyOp, [token], {"action": StringAttr(action)})


def _convert_entry(cv: _Converter, op: Any, block: Block) -> None:
    attributes = {"sym_name": StringAttr(op.properties["sym_name"].data)}
    if (hints := op.properties.get("optimization_hints")) is not None:
        attributes["optimization_hints"] = hints
    cv.emit(op, ops.FuncOp.make([], [], attributes, [cv.region(op.regions[0])]), block)


# ---- types -------------------------------------------------------------------------------------
def _tile_type(cv: _Converter, type: Any) -> Attribute:
    element = cv.type(type.element_type)
    shape = tuple(type.shape)
    return TensorType(element, shape) if shape else element


def _memref_type(cv: _Converter, type: Any) -> Attribute:
    return aa.MemRefType.of(cv.type(type.element_type), tuple(type.shape), tuple(type.strides))


def _padding(type: Any) -> str:
    return type.padding_value.value if type.padding_value is not None else "none"


def _view_type(cv: _Converter, type: Any, kind: str, steps, dim_map, sparse: int = -1) -> Attribute:
    source = cv.type(type.tensor_view)
    return aa.TiledViewType.of(
        kind, source, tuple(type.tile_shape), dim_map, steps, sparse=sparse, padding=_padding(type)
    )


def _partition_type(cv: _Converter, type: Any) -> Attribute:
    return _view_type(cv, type, "partition", tuple(type.tile_shape), tuple(type.dim_map))


def _strided_type(cv: _Converter, type: Any) -> Attribute:
    return _view_type(cv, type, "strided", tuple(type.traversal_strides), tuple(type.dim_map))


def _gather_type(cv: _Converter, type: Any) -> Attribute:
    rank = len(type.tile_shape)
    return _view_type(cv, type, "gather", (1,) * rank, tuple(range(rank)), int(type.sparse_dim))


TYPES: dict[str, Callable[[_Converter, Any], Attribute]] = {
    "cuda_tile.tile": _tile_type,
    "cuda_tile.ptr": lambda cv, type: aa.PointerType(cv.type(type.pointee_type)),
    "cuda_tile.token": lambda cv, type: aa.TokenType(),
    "cuda_tile.tensor_view": _memref_type,
    "cuda_tile.partition_view": _partition_type,
    "cuda_tile.strided_view": _strided_type,
    "cuda_tile.gather_scatter_view": _gather_type,
}

TERMINATORS = {"yield": ops.YieldOp, "break": ops.BreakOp, "continue": ops.ContinueOp}

HANDLERS: dict[str, Callable[[_Converter, Any, Block], None]] = {
    **dict.fromkeys(BY_SIGNEDNESS, _convert_by_signedness),
    **dict.fromkeys(TERMINATORS, _convert_terminator),
    **dict.fromkeys(("maxf", "minf"), _convert_min_max),
    **dict.fromkeys(("cmpi", "cmpf"), _convert_compare),
    **dict.fromkeys(("reduce", "scan"), _convert_collective),
    **dict.fromkeys(("get_tile_block_id", "get_num_tile_blocks"), _convert_block_id),
    **dict.fromkeys(("gdc_launch_dependents_tko", "gdc_wait_tko"), _convert_grid_dependency),
    "divi": _convert_divi,
    "negi": _convert_negi,
    "constant": _convert_constant,
    "reshape": _convert_reshape,
    "broadcast": _convert_broadcast,
    "permute": _convert_permute,
    "cat": _convert_cat,
    "extract": _convert_extract,
    "insert": _convert_insert,
    "assume": _convert_assume,
    "join_tokens": _convert_join_tokens,
    "make_tensor_view": _convert_make_tensor_view,
    "load_view_tko": _convert_load_view,
    "store_view_tko": _convert_store_view,
    "load_ptr_tko": _convert_load_ptr,
    "store_ptr_tko": _convert_store_ptr,
    "atomic_rmw_tko": _convert_atomic_rmw,
    "atomic_cas_tko": _convert_atomic_cas,
    "atomic_red_view_tko": _convert_atomic_red_view,
    "mmaf": _convert_mmaf,
    "mmaf_scaled": _convert_mmaf_scaled,
    "mmai": _convert_mmai,
    "for": _convert_for,
    "loop": _convert_loop,
    "if": _convert_if,
    "return": _convert_return,
    "assert": _convert_assert,
    "print_tko": _convert_print,
    "get_global": _convert_get_global,
    "global": _convert_global,
    "alloca": _convert_alloca,
    "entry": _convert_entry,
}
