"""One module as LLVM IR text: globals, kernels, metadata, launch manifest."""

from __future__ import annotations

import json
from functools import cached_property
from itertools import chain, count
from typing import Any

import numpy
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...names import GLOBAL, llvm_string, llvm_symbol
from ...targets import COMMON_SHARED_MEMORY
from ..job import Job
from ..shared.element_types import POINTER, element_of
from ..shared.symbols import symbols
from .debug_info import DebugInfo
from .emit_global_smem import ALIGNMENT, SYMBOL, global_smem_bytes
from .handlers import HANDLERS
from .kernel_emitter import KernelEmitter
from .phases import convert_body
from .tensor_maps import descriptor_entry

# A tensor map (PTX ISA 9.0, section 5.5.8): a parameter that stays where it is, for its address goes to TMA.
MAP_BYTES, MAP_ALIGNMENT = 128, 64
TENSOR_MAP = f'ptr byval([{MAP_BYTES} x i8]) align {MAP_ALIGNMENT} "nvvm.grid_constant"'

# The attribute group of collective calls and inline assembly: LLVM must not duplicate or sink them.
ATTRIBUTES = "attributes #1 = { convergent nounwind }"


class ModuleEmitter:
    """Collects what kernels need at module level while they are written."""

    def __init__(self, module: ModuleOp, job: Job):
        self.module, self.job = module, job
        self.globals: list[str] = []
        self.declarations: dict[str, None] = {}
        self.strings: dict[str, str] = {}
        self.tables: dict[tuple, str] = {}
        self.needs_libdevice = False
        self.debug = DebugInfo(job)
        self.taken = {name: kind for kind, name in symbols(module)}
        self.variables = {name for name, kind in self.taken.items() if kind == GLOBAL}
        self.shared_memory_symbol = self._fresh(SYMBOL)
        self.manifest: dict[str, Any] = {"version": 1, "target": job.target.arch, "kernels": {}}

    # ---- services to kernels -----------------------------------------------------------------------
    def use_libdevice(self, name: str, result: str, arguments: tuple[str, ...]) -> None:
        self.needs_libdevice = True
        self.declarations[f"declare {result} @{name}({', '.join(arguments)})"] = None

    def use_function(self, signature: str) -> None:
        self.declarations[f"declare {signature}"] = None

    def _fresh(self, stem: str) -> str:
        """``stem``, or the first of stem_0, stem_1, … that the program has not named something else."""
        names = chain((stem,), (f"{stem}_{number}" for number in count()))
        return next(name for name in names if name not in self.taken)

    def string_constant(self, text: str) -> str:
        if text not in self.strings:
            name = self.strings[text] = self._fresh(f"str{len(self.strings)}")
            size = len(text.encode()) + 1
            self.globals.append(
                f'@{name} = internal addrspace(1) constant [{size} x i8] c"{llvm_string(text)}\\00", align 1'
            )
        return self.strings[text]

    def constant_table(self, numbers: list[int], bits: int) -> str:
        key = (tuple(numbers), bits)
        if key not in self.tables:
            name = self.tables[key] = self._fresh(f"table{len(self.tables)}")
            values = ", ".join(f"i{bits} {number}" for number in numbers)
            self.globals.append(
                f"@{name} = internal addrspace(1) constant [{len(numbers)} x i{bits}] [{values}], align {max(bits // 8, 16)}"
            )
        return self.tables[key]

    def debug_location(self, op: Operation) -> str:
        return self.debug.suffix(op) if self.debug.enabled else ""

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
    def fills_multiprocessor(self) -> bool:
        """Whether a second CTA of the kernels has no room beside the first."""
        return 2 * self.shared_bytes > self.job.target.multiprocessor.shared_memory

    def emit(self) -> str:
        bodies = []
        for op in self.module.body.block.ops:
            if op.name == "nv_tileaa.global":
                self._emit_global(op)
            elif op.name == "func.func":
                bodies.append(self._emit_kernel(op))
        if self.shared_bytes:
            self.globals.append(self._shared_global())
        metadata = ["!0 = !{}"] + self._metadata()
        sections = ["\n".join(self.globals), *bodies, "\n".join(self.declarations), ATTRIBUTES, "\n".join(metadata)]
        return 'target triple = "nvptx64-nvidia-cuda"\n\n' + "\n\n".join(s for s in sections if s) + "\n"

    def _shared_global(self) -> str:
        name = self.shared_memory_symbol
        if self.dynamic_shared:
            return f"@{name} = external addrspace(3) global [0 x i8], align {ALIGNMENT}"
        return f"@{name} = internal addrspace(3) global [{self.shared_bytes} x i8] undef, align {ALIGNMENT}"

    def _emit_global(self, op: Operation) -> None:
        value = op.attributes["value"]
        element = element_of(value.type.element_type)
        size = element.bytes
        data = numpy.ascontiguousarray(value.as_array()).tobytes()
        if element.per_byte > 1:
            data = bytes(low & 15 | high << 4 for low, high in zip(data[::2], data[1::2]))
        numbers = [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)]
        values = ", ".join(f"i{element.bits} {number}" for number in numbers)
        alignment = max(op.attributes["alignment"].value.data if "alignment" in op.attributes else 0, size)
        name = op.attributes["sym_name"].data
        self.globals.append(
            f"@{llvm_symbol(name)} = addrspace(1) global [{len(numbers)} x i{element.bits}] [{values}], align {alignment}"
        )

    def _emit_kernel(self, op: Operation) -> str:
        name = op.properties["sym_name"].data
        warps = op.attributes["num_warps"].value.data
        producers = op.attributes["producer_warps"].value.data if "producer_warps" in op.attributes else 0
        e = KernelEmitter(self, self.job, warps, HANDLERS, producers)
        e.name = name
        e.most_registers = op.attributes["nvvm.maxnreg"].value.data if "nvvm.maxnreg" in op.attributes else None
        if (ctas := op.attributes.get("num_ctas")) is not None:
            e.ctas = ctas.value.data
        block = op.regions[0].blocks[0]
        parameters = [self._parameter(e, argument, i) for i, argument in enumerate(block.args)]
        self.debug.start_function(name, op)
        self.debug.show_parameters(e, block.args)
        convert_body(e, op)
        descriptors = [inner for inner in block.ops if inner.name == "nv_tileas.make_tiled_tma_desc"]
        parameters += [f"{TENSOR_MAP} %map{index}" for index in range(len(descriptors))]
        self.manifest["kernels"][name] = self._kernel_manifest(block.args, descriptors, warps + producers)
        attributes = [f'"nvvm.reqntid"="{32 * (warps + producers)}"']
        alone = self.dynamic_shared and e.most_registers is None and (producers > 0 or self.fills_multiprocessor)
        if "nvvm.maxnreg" in op.attributes:
            attributes.append(f'"nvvm.maxnreg"="{op.attributes["nvvm.maxnreg"].value.data}"')
        head = f"define ptx_kernel void @{llvm_symbol(name)}({', '.join(parameters)}) {' '.join(attributes + launch_attributes(op, alone))}{self.debug.function_suffix()} {{"
        self.manifest["kernels"][name]["cluster"] = cluster_of(op)
        return "\n".join([head, "entry:", *e.prologue, *e.b.lines, "}"])

    def _parameter(self, e: KernelEmitter, argument: Any, index: int) -> str:
        element = element_of(argument.type)
        e.values[argument] = f"%a{index}"
        type = "i8" if element.register == "i1" else element.register
        if element.register == "i1":
            with e.in_prologue():
                e.values[argument] = e.b.value(f"icmp ne i8 %a{index}, 0")
        return f"{type} %a{index}"

    def _kernel_manifest(self, arguments: Any, descriptors: list[Any], warps: int) -> dict[str, Any]:
        parameters, offset = [], 0
        for index, argument in enumerate(arguments):
            element = element_of(argument.type)
            size = element.bytes
            offset = -(-offset // size) * size
            kind = "pointer" if element is POINTER else element.name
            parameters.append({"name": f"arg{index}", "kind": kind, "size": size, "offset": offset})
            offset += size
        maps = []
        for index, descriptor in enumerate(descriptors):
            offset = -(-offset // MAP_ALIGNMENT) * MAP_ALIGNMENT
            maps.append(descriptor_entry(descriptor, len(parameters)))
            parameters.append({"name": f"map{index}", "kind": "tensor_map", "size": MAP_BYTES, "offset": offset})
            offset += MAP_BYTES
        static = 0 if self.dynamic_shared else self.shared_bytes
        return {
            "params": parameters,
            "param_sizes": [parameter["size"] for parameter in parameters[: len(arguments)]],
            "threads_per_cta": 32 * warps,
            "shared_memory": {"static": static, "dynamic": self.shared_bytes - static},
            "cluster": [1, 1, 1],
            "tensor_maps": maps,
        }

    def _metadata(self) -> list[str]:
        number = 1
        lines = [f"!tileiras.manifest = !{{!{number}}}", f'!{number} = !{{!"{llvm_string(json.dumps(self.manifest))}"}}']
        number += 1
        if self.needs_libdevice:
            lines += [f"!tileiras.libdevice = !{{!{number}}}", f'!{number} = !{{!"libdevice.10.bc"}}']
        return lines + self.debug.metadata()


def cluster_of(kernel: Operation) -> list[int]:
    """The CTAs of a cluster in x, y and z."""
    found = kernel.attributes.get("nvvm.cluster_dim")
    return [1, 1, 1] if found is None else list(found.get_values())


def launch_attributes(kernel: Operation, alone: bool) -> list[str]:
    """What a kernel asks of its launch besides threads and registers.

    One CTA per multiprocessor is what all have. ``alone`` says it all the same, of kernels with dynamic shared memory:
    ptxas, which cannot see its size, would save registers for CTAs that have no room, and ignore ``setmaxnreg`` for want
    of a register count at entry.
    """
    found = []
    least = kernel.attributes.get("nvvm.minctasm")
    if least is not None and (least.value.data > 1 or alone):
        found.append(f'"nvvm.minctasm"="{least.value.data}"')
    if "nvvm.cluster_dim" in kernel.attributes:
        found.append(f'"nvvm.cluster_dim"="{",".join(map(str, cluster_of(kernel)))}"')
    if "nvvm.blocksareclusters" in kernel.attributes:
        found.append('"nvvm.blocksareclusters"')
    return found
