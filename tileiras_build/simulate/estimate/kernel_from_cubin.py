"""A kernel as the model needs it: SASS, SM resources, constant banks and parameter offsets, read from a cubin."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from ...core.errors import InvalidInput, Location
from ...target.cubin_reader import KernelResources, read_cubin, read_info
from ...target.gpu_rates import CONSTANT_BANK_LAYOUTS, BankLayout
from ...target.sass_listing import disassemble
from ...target.targets import Target, find_target
from .constant_bank_values import Shape
from .sass_parser import MachineCode, read_machine_code

# Attribute numbers of .nv.info records, as `cuobjdump -elf` names them: EIATTR_PARAM_CBANK, EIATTR_REQNTID,
# EIATTR_CTA_PER_CLUSTER.
_PARAMETERS, _REQUIRED, _CLUSTER = 0x0A, 0x10, 0x3D


@dataclass(frozen=True)
class KernelModel:
    """One kernel of a cubin; ``threads`` is its required block size (.reqntid), None if it has none."""

    name: str
    target: Target
    cubin: bytes
    resources: KernelResources
    layout: BankLayout
    banks: dict[int, bytes]
    threads: int | None
    cluster: Shape = (1, 1, 1)

    @cached_property
    def code(self) -> MachineCode:
        """Its SASS instructions. Raises InvalidInput[nvdisasm]."""
        found = _codes(self.cubin).get(self.name)
        if found is None:
            raise InvalidInput("nvdisasm", f"nvdisasm shows no kernel {self.name!r}")
        return found


def read_kernels(cubin: bytes, file: str | None = None) -> dict[str, KernelModel]:
    """The kernels of a cubin by name.

    Raises InvalidInput[cubin], or InvalidInput[estimate-no-kernel] if the cubin has no kernel.
    """
    found = read_cubin(cubin)
    target = find_target(str(found.number))
    kernels = {name: _kernel(cubin, name, target, used) for name, used in found.kernels.items()}
    if not kernels:
        raise InvalidInput("estimate-no-kernel", "cubin contains no kernels", location=Location(file))
    return kernels


@lru_cache(maxsize=4)
def _codes(cubin: bytes) -> dict[str, MachineCode]:
    return read_machine_code(disassemble(cubin, "-hex"))


def _kernel(cubin: bytes, name: str, target: Target, resources: KernelResources) -> KernelModel:
    sections, records = read_info(cubin, name)
    facts = dict(records)
    layout = CONSTANT_BANK_LAYOUTS.get(target.number, CONSTANT_BANK_LAYOUTS[100])
    if len(place := facts.get(_PARAMETERS, b"")) >= 8:
        layout = replace(layout, parameters=struct.unpack_from("<H", place, 4)[0])
    banks = {n: sections[f".nv.constant{n}.{name}"] for n in range(1, 8) if f".nv.constant{n}.{name}" in sections}
    block, cluster = _extents(facts, _REQUIRED), _extents(facts, _CLUSTER)
    threads = None if block is None else block[0] * block[1] * block[2]
    return KernelModel(name, target, cubin, resources, layout, banks, threads, cluster or (1, 1, 1))


def _extents(facts: dict[int, bytes], attribute: int) -> Shape | None:
    """The x, y and z extents of a .nv.info record; None if it is absent."""
    record = facts.get(attribute, b"")
    return struct.unpack_from("<III", record) if len(record) >= 12 else None
