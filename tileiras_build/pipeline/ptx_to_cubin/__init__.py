"""Assemble PTX to a cubin: run ptxas, and complete the launch manifest with the resources of the kernels."""

from __future__ import annotations

import re

from ...core.errors import InternalError
from ...manifest.manifest_constants import VERSION
from ...manifest.ptx_manifest import manifest_of_ptx
from ...target.cubin_reader import Cubin, KernelResources, read_cubin
from ...target.occupancy import occupancy
from ...target.sm_limits import WARP
from ...target.targets import Target
from ..job import Job
from .locate_ptxas import find_ptxas, ptxas_version
from .run_ptxas import Assembled, assemble

_BOUND = re.compile(r"\.(minnctapersm|maxnreg) (\d+)")
_THREADS = re.compile(r"\.reqntid (\d+)")
_MMA = re.compile(r"[\s.]mma[._]")
ENTRY, FEW_BYTES = ".entry ", 32  # of spills: for so few, as many CTAs share an SM as were asked for

__all__ = ["Cubin", "KernelResources", "complete_manifest", "find_ptxas", "lower", "ptxas_version", "read_cubin"]


def lower(ptx: str, job: Job) -> tuple[bytes, dict]:
    """(cubin, launch manifest with resources) of a PTX module.

    For a .ptx without a manifest comment the manifest has only the resources. Raises InvalidInput[ptxas, ptxas-missing,
    ptxas-crash, ptxas-io].
    """
    made = manifest_of_ptx(ptx)
    assembled = assemble(ptx, job, find_ptxas(job.ptxas)) if made is None else _with_few_spills(ptx, job)
    manifest = made or {"version": VERSION, "target": job.target.arch, "kernels": {}}
    complete_manifest(manifest, assembled, job)
    return assembled.cubin, manifest


def _with_few_spills(ptx: str, job: Job) -> Assembled:
    """The cubin. Kernels whose CTAs share an SM at the price of spills leave registers for fewer CTAs instead, if those spill less."""
    ptxas = find_ptxas(job.ptxas)
    found = last = assemble(ptx, job, ptxas)
    while (other := _for_fewer_ctas(ptx, last, job)) != ptx:
        ptx, last = other, assemble(other, job, ptxas)
        found = min(found, last, key=_spilled)
    return found


def _for_fewer_ctas(ptx: str, assembled: Assembled, job: Job) -> str:
    """The PTX with registers for fewer CTAs per SM in each kernel that spills."""
    head, *kernels = ptx.split(ENTRY)
    spills = [sum(assembled.spills.get(kernel.partition("(")[0], ())) for kernel in kernels]
    relieved = (_relieved(kernel, bytes, job.target) if bytes else kernel for kernel, bytes in zip(kernels, spills))
    return ENTRY.join((head, *relieved))


def _relieved(kernel: str, bytes: int, target: Target) -> str:
    """A kernel for one CTA where its stages are for several, or for one less than is asked for.

    Not where warps exchange the registers of those, or without MMAs: other kernels hide latencies by CTAs, which take less time by the model
    than without spills, up to three times.
    """
    directives, brace, body = kernel.partition("{")
    if (bound := _BOUND.search(directives)) is None:
        return kernel
    value, threads = 1, _THREADS.search(directives)
    if bound[1] == "maxnreg":
        if bytes <= FEW_BYTES or threads is None or "setmaxnreg" in body or _MMA.search(body) is None:
            return kernel
        value = _more_registers(int(bound[2]), -(-int(threads[1]) // WARP), target)
    return f"{directives[: bound.start(2)]}{value}{directives[bound.end(2) :]}{brace}{body}"


def _more_registers(limit: int, warps: int, target: Target) -> int:
    """The registers of a thread if an SM holds one CTA less than with ``limit``."""
    of_ctas = (target.sm_limits.registers_of(ctas * warps) for ctas in range(target.sm_limits.ctas, 0, -1))
    return min(next((registers for registers in of_ctas if registers > limit), limit), target.max_registers)


def _spilled(assembled: Assembled) -> int:
    return sum(map(sum, assembled.spills.values()))


def complete_manifest(manifest: dict, assembled: Assembled, job: Job) -> None:
    """Complete the manifest of the PTX to that of the cubin.

    Adds ``kernels[name]["resources"]`` and, if ptxas had remarks, ``notes``. Parameter offsets become those of the
    cubin: ptxas aligns a tensor map's address in the constant bank, where parameters do not start at a multiple of the
    map's size on every GPU. ``grid`` of a persistent kernel gets its CTAs per SM.
    """
    cubin = read_cubin(assembled.cubin)
    if cubin.number != job.target.number:
        raise InternalError("cubin-target", f"ptxas made code for sm_{cubin.number} instead of {job.target.name}")
    kernels = manifest.setdefault("kernels", {})
    for name in kernels.keys() - cubin.kernels.keys():
        raise InternalError("manifest-kernel", f"the manifest names kernel {name}, which the cubin lacks")
    for name, taken in cubin.kernels.items():
        stores, loads = assembled.spills.get(name, (0, 0))
        kernel = kernels.setdefault(name, {})
        _set_parameter_offsets(name, kernel.get("params", []), taken)
        _check_registers(name, kernel.get("threads_per_cta", 1), taken.registers, job)
        _max_ctas_per_sm(kernel, taken, job)
        kernel["resources"] = {
            "registers": taken.registers,
            "spill_stores": stores,
            "spill_loads": loads,
            "stack": taken.stack,
            "shared": taken.shared,
        }
    if assembled.notes:
        manifest["notes"] = list(assembled.notes)


def _check_registers(name: str, threads: int, registers: int, job: Job) -> None:
    """Reject a kernel whose CTA needs more registers than an SM has: its launch would fail."""
    if not occupancy(job.target, threads, registers, 0).ctas:
        message = f"an SM of {job.target.name} has too few registers for the {threads} threads of kernel {name}, {registers} each"
        raise InternalError("launch-registers", message)


def _max_ctas_per_sm(kernel: dict, resources: KernelResources, job: Job) -> None:
    if kernel.get("grid", {}).get("persistent"):
        shared = resources.shared + kernel["shared_memory"]["dynamic"]
        found = occupancy(job.target, kernel["threads_per_cta"], resources.registers, shared)
        kernel["grid"]["persistent"] = max(found.ctas, 1)


def _set_parameter_offsets(name: str, parameters: list[dict], resources: KernelResources) -> None:
    sizes = [parameter["size"] for parameter in parameters]
    if parameters and sizes != [placed.size for placed in resources.parameters]:
        message = f"the manifest gives the parameters of kernel {name} {sizes} bytes, the cubin {resources.parameters}"
        raise InternalError("manifest-parameters", message)
    for parameter, placed in zip(parameters, resources.parameters):
        parameter["offset"] = placed.offset
