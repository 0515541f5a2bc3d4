"""The resources of an SM that its resident CTAs share: threads, registers, shared memory. One row for each
architecture.

Sources: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; ``cuda_occupancy.h`` of CUDA 13.5.
"""

from __future__ import annotations

from dataclasses import dataclass

WARP = 32
# Bytes of shared memory that every kernel may use, static or dynamic; more must be dynamic, and the launcher opts in (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" and "Shared Memory").
COMMON_SHARED_MEMORY = 48 * 1024
# Bytes of an SM's shared memory that are reserved for each CTA (the same table's notes).
RESERVED_SHARED_MEMORY = 1024
# Columns of tensor memory of an SM, where it has one; an allocation blocks until as many are free (PTX ISA 9.0, 9.7.16.1
# and 9.7.16.7.1).
TENSOR_MEMORY_COLUMNS = 512


@dataclass(frozen=True)
class SmLimits:
    """Resources that the resident CTAs of one SM share; ``shared_memory`` in bytes.

    A thread has a multiple of ``register_unit`` registers: a warp allocates 256 at a time, in one of the ``partitions``, which
    have equal register files (NVIDIA A100 and H100 whitepapers: four processing blocks of 64 KiB each).
    """

    threads: int
    ctas: int
    shared_memory: int
    registers: int = 65536
    register_unit: int = 8
    partitions: int = 4
    # CTAs that saturate DRAM if each loads a row, waits for it, and stores: some load while others compute. From the
    # model of `tileiras-build estimate`, in which DRAM delivers 28 bytes a clock to an SM of sm_100, 10 and 14 on sm_80
    # and sm_90, 4 on sm_120.
    memory_bound_ctas_per_sm: int = 2

    def __post_init__(self) -> None:
        if self.threads % WARP or self.shared_memory % 1024:
            raise ValueError(f"{self.threads} threads, {self.shared_memory} bytes of shared memory")

    @property
    def has_fast_dram(self) -> bool:
        """Whether it takes more CTAs than on most GPUs to saturate DRAM."""
        return self.memory_bound_ctas_per_sm > SmLimits.memory_bound_ctas_per_sm

    def registers_of(self, warps: int) -> int:
        """Registers per thread with ``warps`` resident warps, limited by the partition with the most warps."""
        fullest = -(-warps // self.partitions)
        return self.registers // self.partitions // (WARP * fullest) // self.register_unit * self.register_unit


_KIB = 1024
# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; cuda_occupancy.h of CUDA 13.5. Values
# that neither has for 88 and 107 are those of the similar 86 and 103.
SM_LIMITS = {
    80: SmLimits(2048, 32, 164 * _KIB),
    86: SmLimits(1536, 16, 100 * _KIB, memory_bound_ctas_per_sm=1),
    87: SmLimits(1536, 16, 164 * _KIB),
    88: SmLimits(1536, 16, 100 * _KIB, memory_bound_ctas_per_sm=1),
    89: SmLimits(1536, 24, 100 * _KIB, memory_bound_ctas_per_sm=1),
    90: SmLimits(2048, 32, 228 * _KIB),
    100: SmLimits(2048, 32, 228 * _KIB, memory_bound_ctas_per_sm=3),
    103: SmLimits(2048, 32, 228 * _KIB, memory_bound_ctas_per_sm=3),
    107: SmLimits(2048, 16, 328 * _KIB, memory_bound_ctas_per_sm=3),
    110: SmLimits(1536, 24, 228 * _KIB),
    120: SmLimits(1536, 24, 100 * _KIB, memory_bound_ctas_per_sm=1),
    121: SmLimits(1536, 24, 100 * _KIB, memory_bound_ctas_per_sm=1),
}
