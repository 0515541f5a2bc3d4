"""Emit one module as a ``gpu.module`` of per-thread code: globals, kernels, the launch manifest."""

from __future__ import annotations

import json
from collections.abc import Iterable
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
from ....core.symbols.check_symbol_names import quoted_name
from ....frontend.argument_names_in_producer import Programs
from ....ir.casting import cast, int_attr, str_attr
from ....ir.dialects.cuda_tile.attrs import DenseConstantAttr
from ....ir.dialects.cuda_tile.location import source_location
from ....ir.dialects.gpu_ext import GPUModuleOp
from ....ir.dialects.llvm_ext import make_function, make_global
from ....ir.dialects.op_definition import TableOp
from ....manifest.manifest_constants import TENSOR_MAP, VERSION
from ....target.targets import PARAMETER_MEMORY
from ...analysis.kernel_parameters import Parameters, describe
from ...analysis.tma_tensor_maps import MAP_BYTES, map_entry
from ...common.llvm_element_types import POINTER, element_of
from ...common.llvm_type_constructors import GLOBAL, I1, I8, array, integer, pointer
from ...job import Job
from .global_symbols import GlobalSymbols
from .handler_table import handlers
from .kernel_emitter import KernelEmitter
from .source_locations import SourceLocations

# A tensor map (PTX ISA 9.0, section 5.5.8): a parameter that is not copied, as TMA receives its address.
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
    """Emits the kernels of a module one by one, with the symbols and the manifest that they share."""

    def __init__(self, module: ModuleOp, job: Job):
        self.module, self.job = module, job
        self.symbols, self.locations = GlobalSymbols(module), SourceLocations(job)
        self.manifest: dict[str, Any] = {"version": VERSION, "target": job.target.arch, "kernels": {}}

    def _fills_sm(self, kernel: Operation) -> bool:
        """Whether a kernel's shared memory limits an SM to one CTA."""
        return 2 * self.symbols.shared_bytes_of(kernel) > self.job.target.sm_limits.shared_memory

    def emit(self) -> GPUModuleOp:
        """The device module of all kernels."""
        bodies: list[Operation] = []
        for op in self.module.body.block.ops:
            if op.name == "nv_tileaa.global":
                self._emit_global(op)
            elif op.name == "func.func":
                bodies.append(self._emit_kernel(op))
        symbols = self.symbols
        if symbols.shared_bytes:
            symbols.globals.append(symbols.shared_global())
        body = Block([*symbols.globals, *bodies, *symbols.declarations.values()])
        device_module = GPUModuleOp(DEVICE_MODULE, Region(body))
        device_module.attributes[MANIFEST] = StringAttr(json.dumps(self.manifest))
        return device_module

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
        self.symbols.globals.append(make_global(type, name, "external", GLOBAL, value=value, alignment=alignment))

    def _emit_kernel(self, op: Operation) -> llvm.FuncOp:
        name = cast(StringAttr, op.properties["sym_name"]).data
        warps, producers = int_attr(op, "num_warps"), int_attr(op, "producer_warps", 0)
        e = KernelEmitter(self.symbols, self.locations, self.job, handlers(), warps, producers)
        e.name = name
        e.max_registers = int_attr(op, "nvvm.maxnreg") if "nvvm.maxnreg" in op.attributes else None
        e.ctas = e.threads.ctas = int_attr(op, "num_ctas", 1)
        known = describe(op, name)
        block = op.regions[0].blocks[0]
        descriptors = [inner for inner in block.ops if inner.name == "nv_tileas.make_tiled_tma_desc"]
        self._bind_parameters(e, block.args, len(descriptors))
        self.locations.start_function(op)
        self.locations.show_parameters(e.values, block.args)
        e.emit_body(op)
        manifest = self._kernel_manifest(op, known, descriptors, warps + producers)
        _check_parameters(op, name, manifest["params"])
        manifest["grid"] |= {"group": group} if (group := int_attr(op, "grid_swizzle", 1)) > 1 else {}
        manifest["grid"] |= {"reversed": axis} if (axis := int_attr(op, "grid_reversed", -1)) >= 0 else {}
        manifest["grid"] |= {"persistent": 1} if known.extents else {}
        manifest |= {"variant_of": known.variant_of} if known.variant_of else {}
        manifest |= {"tuning": dict(known.tuning)} if known.tuning else {}
        splits = [{"ctas": ctas, "programs": _programs(rows)} for ctas, rows in known.split_k]
        manifest |= {"split_k": splits} if splits else {}
        neighbours = int_attr(op, "grid_cluster", 1)
        manifest["grid"] |= {"cluster": neighbours} if neighbours > 1 else {}
        manifest["grid"] |= {"programs": programs} if (programs := _programs(known.programs)) else {}
        self.manifest["kernels"][name] = manifest | {"cluster": [1, 1, 1] if neighbours > 1 else cluster_of(op)}
        return self._function(e, op, 32 * (warps + producers))

    def _bind_parameters(self, e: KernelEmitter, arguments: tuple[SSAValue, ...], maps: int) -> None:
        """Bind the function's parameters: those of the kernel, then its tensor maps."""
        types = [_parameter_type(argument) for argument in arguments]
        block = e.b.prologue
        for position, type in enumerate([*types, *[pointer()] * maps]):
            block.insert_arg(type, position)
        given, e.pipelines.map_parameters = block.args[: len(types)], list(block.args[len(types) :])
        for prefix, values in (("a", given), ("map", e.pipelines.map_parameters)):
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
        if e.pipelines.map_parameters:
            plain = [DictionaryAttr({})] * (len(types) - len(e.pipelines.map_parameters))
            made.properties["arg_attrs"] = ArrayAttr([*plain, *[MAP_ATTRIBUTES] * len(e.pipelines.map_parameters)])
        alone = self.symbols.dynamic_shared and e.max_registers is None and (e.producer_warps > 0 or self._fills_sm(op))
        made.attributes |= {"nvvm.kernel": UnitAttr(), "nvvm.reqntid": DenseArrayBase.from_list(i32, [threads])}
        made.attributes |= launch_attributes(op, alone) | self.locations.function_attributes()
        return made

    def _kernel_manifest(
        self, op: Operation, known: Parameters, descriptors: list[TableOp], warps: int
    ) -> dict[str, Any]:
        parameters, offset, arguments = [], 0, op.regions[0].blocks[0].args
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
            maps.append(map_entry(descriptor, len(parameters)))
            placed = {"name": f"map{index}", "kind": TENSOR_MAP, "size": MAP_BYTES, "offset": offset}
            parameters.append(placed | {"role": TENSOR_MAP})
            offset += MAP_BYTES
        shared = self.symbols.shared_bytes_of(op)
        static = 0 if self.symbols.dynamic_shared else shared
        return {
            "params": parameters,
            "param_sizes": [parameter["size"] for parameter in parameters[: len(arguments) - known.extents]],
            "arguments": known.argument_rows(),
            "grid": {"axes": known.axes} | ({"meaning": list(known.grid)} if known.grid else {}),
            "threads_per_cta": 32 * warps,
            "shared_memory": {"static": static, "dynamic": shared - static},
            "cluster": [1, 1, 1],
            "tensor_maps": maps,
        }


def _programs(rows: Iterable[Programs]) -> list[dict[str, int]]:
    """The grids of a variant as rows of the manifest."""
    of_parameter = lambda one: {} if one.parameter is None else {"param": one.parameter, "minimum": one.minimum}
    return [{"least": one.least, "most": one.most} | of_parameter(one) for one in rows]


def _check_parameters(op: Operation, name: str, parameters: list[dict[str, Any]]) -> None:
    taken = max((parameter["offset"] + parameter["size"] for parameter in parameters), default=0)
    if taken > PARAMETER_MEMORY:
        message = f"the {len(parameters)} parameters of kernel {quoted_name(name)} take {taken} bytes; a launch passes {PARAMETER_MEMORY} at most"
        raise InvalidInput("kernel-parameters", message, location=source_location(op), remedy="pass them in an array")


def _parameter_type(argument: SSAValue) -> Attribute:
    """The type of a parameter in the launch: an i1 is passed as a byte."""
    type = element_of(argument.type).type
    return I8 if type == I1 else type


def cluster_of(kernel: Operation) -> list[int]:
    """The CTAs of a cluster in x, y and z."""
    found = kernel.attributes.get("nvvm.cluster_dim")
    return [1, 1, 1] if found is None else list(cast(DenseArrayBase, found).get_values())


# Launch attributes of a kernel besides its threads, in output order.
_LAUNCH = ("nvvm.maxnreg", "nvvm.minctasm", "nvvm.cluster_dim", "nvvm.blocksareclusters")


def launch_attributes(kernel: Operation, one_cta_per_sm: bool) -> dict[str, Attribute]:
    """The launch attributes of a kernel besides its threads.

    One CTA per SM is the default, so ``minctasm`` of 1 is dropped. ``one_cta_per_sm`` keeps it for kernels with dynamic
    shared memory: ptxas does not know its size, would limit registers for CTAs that do not fit, and would ignore
    ``setmaxnreg`` without a register count at entry.
    """
    found = {name: kernel.attributes[name] for name in _LAUNCH if name in kernel.attributes}
    if "nvvm.minctasm" in found and int_attr(kernel, "nvvm.minctasm") <= 1 and not one_cta_per_sm:
        del found["nvvm.minctasm"]
    return found
