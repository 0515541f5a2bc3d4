"""One module as a ``gpu.module`` of thread code: globals, kernels, the launch manifest."""

from __future__ import annotations

import json
from functools import cached_property
from itertools import chain, count
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....core.errors import InvalidInput
from ....core.symbols.symbol_names import GLOBAL as GLOBAL_NAME
from ....core.symbols.symbol_names import quoted_name
from ....ir.casting import cast, int_attr, str_attr
from ....ir.dialects.cuda_tile.attrs import DenseConstantAttr
from ....ir.dialects.cuda_tile.location import source_location
from ....ir.dialects.gpu_ext import GPUModuleOp
from ....ir.dialects.llvm_ext import make_function, make_global
from ....ir.dialects.op_definition import TableOp
from ....manifest.manifest_constants import TENSOR_MAP, VERSION
from ....target.sm_limits import COMMON_SHARED_MEMORY
from ....target.targets import PARAMETER_MEMORY
from ...analysis.kernel_parameters import Parameters, describe
from ...analysis.tma_tensor_maps import MAP_BYTES
from ...common.llvm_element_types import POINTER, element_of
from ...common.llvm_types import GLOBAL, I1, I8, SHARED, array, integer, pointer
from ...common.module_symbols import symbols
from ...job import Job
from ..emit_global_smem import ALIGNMENT, SYMBOL, global_smem_bytes
from ..pipelines.tma_copies import descriptor_entry
from .handler_table import HANDLERS
from .kernel_emitter import KernelEmitter
from .source_locations import SourceLocations

# A tensor map (PTX ISA 9.0, section 5.5.8): a parameter that stays where it is, for its address goes to TMA.
MAP_ALIGNMENT = 64
MAP_ATTRIBUTES = DictionaryAttr(
    {
        "llvm.byval": array(MAP_BYTES, I8),
        "llvm.align": IntegerAttr(MAP_ALIGNMENT, i64),
        "nvvm.grid_constant": UnitAttr(),
    }
)
DEVICE_MODULE = "kernels"
MANIFEST = "tileiras.manifest"


class ModuleEmitter:
    """Collects what kernels need at module level while they are written."""

    def __init__(self, module: ModuleOp, job: Job):
        self.module, self.job = module, job
        self.globals: list[llvm.GlobalOp] = []
        self.declarations: dict[str, llvm.FuncOp] = {}
        self.tables: dict[tuple[tuple[int, ...], int], str] = {}
        self.places = SourceLocations(job)
        self.taken = {name: kind for kind, name in symbols(module)}
        self.variables = {name for name, kind in self.taken.items() if kind == GLOBAL_NAME}
        self.shared_memory_symbol = self._fresh(SYMBOL)
        self.manifest: dict[str, Any] = {"version": VERSION, "target": job.target.arch, "kernels": {}}

    # ---- services to kernels -----------------------------------------------------------------------
    def use_function(self, name: str, result: Attribute | None, arguments: tuple[Attribute, ...]) -> None:
        """Declare a function that is linked later."""
        if name not in self.declarations:
            type = llvm.LLVMFunctionType(arguments, result)
            self.declarations[name] = make_function(name, type)

    def _fresh(self, stem: str) -> str:
        """``stem``, or the first of stem_0, stem_1, … that the program has not named something else."""
        names = chain((stem,), (f"{stem}_{number}" for number in count()))
        return next(name for name in names if name not in self.taken)

    def constant_table(self, numbers: list[int], bits: int) -> str:
        """The symbol of constant numbers in global memory."""
        key = (tuple(numbers), bits)
        if key not in self.tables:
            name = self.tables[key] = self._fresh(f"table{len(self.tables)}")
            self._add_constant(name, array(len(numbers), integer(bits)), _dense(numbers, bits), max(bits // 8, 16))
        return self.tables[key]

    def _add_constant(self, name: str, type: Attribute, value: Attribute, alignment: int) -> None:
        self.globals.append(
            make_global(type, name, "internal", GLOBAL, constant=True, value=value, alignment=alignment)
        )

    # ---- the module --------------------------------------------------------------------------------
    @cached_property
    def shared_bytes(self) -> int:
        """Shared memory of the kernel that needs most: one symbol serves all."""
        return global_smem_bytes(self.module)

    @property
    def dynamic_shared(self) -> bool:
        """More than a kernel may have in ``.shared`` variables: the launch must ask for it."""
        return self.shared_bytes > COMMON_SHARED_MEMORY

    @property
    def fills_sm(self) -> bool:
        """Whether a second CTA of the kernels has no room beside the first."""
        return 2 * self.shared_bytes > self.job.target.sm_limits.shared_memory

    def emit(self) -> GPUModuleOp:
        """The device module of all kernels."""
        bodies: list[Operation] = []
        for op in self.module.body.block.ops:
            if op.name == "nv_tileaa.global":
                self._emit_global(op)
            elif op.name == "func.func":
                bodies.append(self._emit_kernel(op))
        if self.shared_bytes:
            self.globals.append(self._shared_global())
        made = GPUModuleOp(DEVICE_MODULE, Region(Block([*self.globals, *bodies, *self.declarations.values()])))
        made.attributes[MANIFEST] = StringAttr(json.dumps(self.manifest))
        return made

    def _shared_global(self) -> llvm.GlobalOp:
        size, linkage = (0, "external") if self.dynamic_shared else (self.shared_bytes, "internal")
        return make_global(array(size, I8), self.shared_memory_symbol, linkage, SHARED, alignment=ALIGNMENT)

    def _emit_global(self, op: Operation) -> None:
        given = cast(DenseConstantAttr, op.attributes["value"])
        element = element_of(given.type.element_type)
        size = element.bytes
        data = given.as_array().tobytes()
        if element.per_byte > 1:
            data = bytes(low & 15 | high << 4 for low, high in zip(data[::2], data[1::2]))
        count = len(data) // size
        alignment = max(int_attr(op, "alignment", 0), size)
        value = DenseIntOrFPElementsAttr(TensorType(integer(element.bits), [count]), BytesAttr(data))
        name, type = str_attr(op, "sym_name"), array(count, integer(element.bits))
        self.globals.append(make_global(type, name, "external", GLOBAL, value=value, alignment=alignment))

    def _emit_kernel(self, op: Operation) -> llvm.FuncOp:
        name = cast(StringAttr, op.properties["sym_name"]).data
        warps, producers = int_attr(op, "num_warps"), int_attr(op, "producer_warps", 0)
        e = KernelEmitter(self, self.job, warps, HANDLERS, producers)
        e.name = name
        e.max_registers = int_attr(op, "nvvm.maxnreg") if "nvvm.maxnreg" in op.attributes else None
        e.ctas = int_attr(op, "num_ctas", 1)
        known = describe(op, name)
        block = op.regions[0].blocks[0]
        descriptors = [inner for inner in block.ops if inner.name == "nv_tileas.make_tiled_tma_desc"]
        self._bind_parameters(e, block.args, len(descriptors))
        self.places.start_function(op)
        self.places.show_parameters(e, block.args)
        e.emit_body(op)
        manifest = self._kernel_manifest(known, block.args, descriptors, warps + producers)
        _check_parameters(op, name, manifest["params"])
        manifest["grid"] |= {"group": group} if (group := int_attr(op, "grid_swizzle", 1)) > 1 else {}
        manifest["grid"] |= {"persistent": 1} if known.extents else {}
        self.manifest["kernels"][name] = manifest | {"cluster": cluster_of(op)}
        return self._function(e, op, 32 * (warps + producers))

    def _bind_parameters(self, e: KernelEmitter, arguments: tuple[SSAValue, ...], maps: int) -> None:
        """The function's parameters: those of the kernel, then its tensor maps."""
        types = [_parameter_type(argument) for argument in arguments]
        block = e.b.prologue
        for position, type in enumerate([*types, *[pointer()] * maps]):
            block.insert_arg(type, position)
        given, e.map_arguments = block.args[: len(types)], list(block.args[len(types) :])
        for prefix, values in (("a", given), ("map", e.map_arguments)):
            for number, value in enumerate(values):
                value.name_hint = f"{prefix}{number}"
        for argument, value in zip(arguments, given):
            e.values[argument] = value
            if element_of(argument.type).type == I1:
                with e.b.at_function_start():
                    e.values[argument] = e.b.compare("ne", value, 0, I8)

    def _function(self, e: KernelEmitter, op: Operation, threads: int) -> llvm.FuncOp:
        types = [value.type for value in e.b.prologue.args]
        made = make_function(e.name, llvm.LLVMFunctionType(types), e.b.finish())
        if e.map_arguments:
            plain = [DictionaryAttr({})] * (len(types) - len(e.map_arguments))
            made.properties["arg_attrs"] = ArrayAttr([*plain, *[MAP_ATTRIBUTES] * len(e.map_arguments)])
        alone = self.dynamic_shared and e.max_registers is None and (e.producer_warps > 0 or self.fills_sm)
        made.attributes |= {"nvvm.kernel": UnitAttr(), "nvvm.reqntid": DenseArrayBase.from_list(i32, [threads])}
        made.attributes |= launch_attributes(op, alone) | self.places.function_attributes()
        return made

    def _kernel_manifest(
        self, known: Parameters, arguments: tuple[SSAValue, ...], descriptors: list[TableOp], warps: int
    ) -> dict[str, Any]:
        parameters, offset = [], 0
        for argument, facts in zip(arguments, known.rows):
            element = element_of(argument.type)
            size = element.bytes
            offset = -(-offset // size) * size
            kind = "pointer" if element is POINTER else element.name
            placed = {"name": facts.name, "kind": kind, "size": size, "offset": offset}
            parameters.append(placed | facts.row())
            offset += size
        maps = []
        for index, descriptor in enumerate(descriptors):
            offset = -(-offset // MAP_ALIGNMENT) * MAP_ALIGNMENT
            maps.append(descriptor_entry(descriptor, len(parameters)))
            placed = {"name": f"map{index}", "kind": TENSOR_MAP, "size": MAP_BYTES, "offset": offset}
            parameters.append(placed | {"role": TENSOR_MAP})
            offset += MAP_BYTES
        static = 0 if self.dynamic_shared else self.shared_bytes
        return {
            "params": parameters,
            "param_sizes": [parameter["size"] for parameter in parameters[: len(arguments) - known.extents]],
            "arguments": known.argument_rows(),
            "grid": {"axes": known.axes} | ({"meaning": list(known.grid)} if known.grid else {}),
            "threads_per_cta": 32 * warps,
            "shared_memory": {"static": static, "dynamic": self.shared_bytes - static},
            "cluster": [1, 1, 1],
            "tensor_maps": maps,
        }


def _check_parameters(op: Operation, name: str, parameters: list[dict[str, Any]]) -> None:
    taken = max((parameter["offset"] + parameter["size"] for parameter in parameters), default=0)
    if taken > PARAMETER_MEMORY:
        message = f"the {len(parameters)} parameters of kernel {quoted_name(name)} take {taken} bytes; a launch passes {PARAMETER_MEMORY} at most"
        raise InvalidInput("kernel-parameters", message, location=source_location(op), remedy="pass them in an array")


def _parameter_type(argument: SSAValue) -> Attribute:
    """A parameter as the launcher passes it: a truth value is a byte."""
    type = element_of(argument.type).type
    return I8 if type == I1 else type


def _dense(numbers: list[int], bits: int) -> DenseIntOrFPElementsAttr:
    """Numbers of so many bits each."""
    data = b"".join(number.to_bytes(bits // 8, "little", signed=number < 0) for number in numbers)
    return DenseIntOrFPElementsAttr(TensorType(integer(bits), [len(numbers)]), BytesAttr(data))


def cluster_of(kernel: Operation) -> list[int]:
    """The CTAs of a cluster in x, y and z."""
    found = kernel.attributes.get("nvvm.cluster_dim")
    return [1, 1, 1] if found is None else list(cast(DenseArrayBase, found).get_values())


# What a kernel asks of its launch besides threads, in the order in which it is written.
_LAUNCH = ("nvvm.maxnreg", "nvvm.minctasm", "nvvm.cluster_dim", "nvvm.blocksareclusters")


def launch_attributes(kernel: Operation, one_cta_per_sm: bool) -> dict[str, Attribute]:
    """What a kernel asks of its launch besides threads.

    One CTA per multiprocessor is what all have. ``alone`` says it all the same, of kernels with dynamic shared memory:
    ptxas, which cannot see its size, would save registers for CTAs that have no room, and ignore ``setmaxnreg`` for want
    of a register count at entry.
    """
    found = {name: kernel.attributes[name] for name in _LAUNCH if name in kernel.attributes}
    if "nvvm.minctasm" in found and int_attr(kernel, "nvvm.minctasm") <= 1 and not one_cta_per_sm:
        del found["nvvm.minctasm"]
    return found
