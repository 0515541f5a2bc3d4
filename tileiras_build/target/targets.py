"""TARGETS: one frozen, validated row per GPU generation, from sm_80 to sm_121.

A family target ("sm_100f") is a row of its own: its code uses what all GPUs of the family have, and runs on each of them.

Only this folder compares architectures. All other code queries a row: ``target.has("tma")``,
``target.mma_atoms("f16", "f16", "f32")``. The underlying tables are ``capabilities.py``,
``mma_atoms.py``, ``copy_atoms.py`` and ``sm_limits.py``.

Sources: CUDA C++ Programming Guide ("Technical Specifications per Compute Capability"), PTX ISA 9.0 (``.target``, family-specific
architectures), and what LLVM 22 and ptxas 13.5 accept (tests/target/test_targets.py assembles every row).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

from ..core.errors import InvalidInput, nearest
from .capabilities import ARCH_SPECIFIC, CAPABILITIES, FAMILIES, SM_ARCHITECTURES
from .copy_atoms import COPY_ATOMS, CopyAtom
from .gpu_names import GPU_NAMES, plain_name
from .mma_atoms import MMA_ATOMS, MMA_ROWS, MmaAtom, MmaRow
from .sm_limits import COMMON_SHARED_MEMORY, RESERVED_SHARED_MEMORY, SM_LIMITS, SmLimits

NATIVE = "native"  # the targets of this machine's GPUs

# Bytes of parameters that a kernel may have (PTX ISA 9.0, section 11.2.1, ".entry").
PARAMETER_MEMORY = 32_764


@dataclass(frozen=True)
class Target:
    """One GPU generation, or the family that begins with it.

    ``name`` is the user's name ("sm_90", "sm_100f"), ``arch`` that of ptxas and the PTX ``.target`` line ("sm_90a"), ``llvm_cpu``
    and ``llvm_features`` are LLVM's, ``ptx_version`` is the printed (major, minor). ``max_shared_memory`` is the limit
    of a CTA in bytes, with opt-in dynamic shared memory.
    """

    number: int
    arch: str
    max_shared_memory: int
    llvm_cpu: str
    ptx_version: tuple[int, int] = (9, 0)
    llvm_features: str = "+ptx90"
    max_registers: int = 255
    max_threads: int = 1024

    def __post_init__(self) -> None:
        if self.number not in SM_ARCHITECTURES:
            raise ValueError(f"{self.name}: not one of {SM_ARCHITECTURES}")
        if self.number not in SM_LIMITS:
            raise ValueError(f"{self.name}: no row of SM_LIMITS (sm_limits.py)")
        if self.arch not in (self.generation, f"{self.generation}a", f"{self.generation}f"):
            raise ValueError(f"{self.name}: arch {self.arch} is another GPU")
        if not COMMON_SHARED_MEMORY < self.max_shared_memory <= 227 * 1024 or self.max_shared_memory % 1024:
            raise ValueError(f"{self.name}: {self.max_shared_memory} bytes of shared memory")
        if self.ptx_version < (9, 0) or not self.llvm_features.startswith("+ptx"):
            raise ValueError(f"{self.name}: PTX version {self.ptx_version}, features {self.llvm_features}")

    @property
    def name(self) -> str:
        """The user's name, e.g. "sm_90" or "sm_100f"."""
        return self.arch if self.is_family else self.generation

    @property
    def generation(self) -> str:
        """The GPU that the code is tuned for, e.g. "sm_100" of "sm_100f"."""
        return f"sm_{self.number}"

    @property
    def is_family(self) -> bool:
        """Whether the code is family-specific ("sm_100f")."""
        return self.arch.endswith("f")

    @cached_property
    def members(self) -> frozenset[int]:
        """The GPUs that the code may use all capabilities of: its own, or those of the family that are not older."""
        family = next((one for one in FAMILIES if self.is_family and self.number in one), (self.number,))
        return frozenset(number for number in family if number >= self.number)

    @cached_property
    def capabilities(self) -> frozenset[str]:
        """The CAPABILITIES of this GPU, or those of its family."""
        return frozenset(filter(self.has, CAPABILITIES))

    def shared_memory_of(self, ctas: int) -> int:
        """Bytes of shared memory per CTA with ``ctas`` resident CTAs per SM."""
        share = self.sm_limits.shared_memory // ctas - RESERVED_SHARED_MEMORY
        return max(0, min(self.max_shared_memory, share))

    def ctas_with(self, taken: int, most: int) -> int:
        """The CTAs that share an SM, at most ``most`` and at least one, where each takes ``taken`` bytes of shared memory."""
        return next((ctas for ctas in range(most, 1, -1) if taken <= self.shared_memory_of(ctas)), 1)

    @property
    def sm_limits(self) -> SmLimits:
        """Limits of one SM."""
        return SM_LIMITS[self.number]

    @property
    def portable(self) -> bool:
        """Whether code for this GPU also runs on later ones: neither architecture- nor family-specific ("sm_90a", "sm_100f")."""
        return self.arch == self.generation

    def runs_on(self, number: int) -> bool:
        """Whether a GPU with this compute capability (90 for 9.0) runs a cubin made for this target.

        Portable code runs on later GPUs of its major version, but embedded GPUs share cubins with no others.
        """
        if number in self.members or not self.portable:
            return number in self.members
        gpu = TARGETS.get(f"sm_{number}")
        later = self.number < number and self.number // 10 == number // 10
        return later and not self.has("embedded") and not (gpu is not None and gpu.has("embedded"))

    def has(self, capability: str) -> bool:
        """Whether this GPU has a capability; KeyError for an unknown name."""
        return self.members <= CAPABILITIES[capability] and not (self.is_family and capability in ARCH_SPECIFIC)

    @cached_property
    def mma_rows(self) -> tuple[MmaRow, ...]:
        """The matrix instructions of all families that this GPU has, in order of preference."""
        return tuple(row for row in MMA_ROWS if self.has(row.capability))

    @cached_property
    def all_mma_atoms(self) -> tuple[MmaAtom, ...]:
        """Every mma.sync row that this GPU accepts, in order of preference, without duplicates."""
        rows: dict[str, MmaAtom] = {}
        for atom in MMA_ATOMS:
            if self.has(atom.capability):
                rows.setdefault(atom.name, atom)
        return tuple(rows.values())

    def mma_atoms(
        self, a_type: str, b_type: str, accumulator_type: str, scale_type: str | None = None
    ) -> list[MmaAtom]:
        """mma.sync rows for the MLIR dtypes, best first; empty if the GPU has none.

        ``scale_type`` selects block-scaled rows ("f8E8M0FNU" or "f8E4M3FN").
        """
        wanted = (a_type, b_type, accumulator_type, scale_type)
        return [
            atom
            for atom in self.all_mma_atoms
            if (atom.a_type, atom.b_type, atom.accumulator_type, atom.scale_type) == wanted
        ]

    @cached_property
    def copy_atoms(self) -> dict[str, CopyAtom]:
        """The copy rows of this GPU, by name."""
        return {atom.name: atom for atom in COPY_ATOMS if self.has(atom.capability)}

    def __getstate__(self) -> dict:
        # Targets are pickled for worker processes: without the derived tables.
        return {field.name: getattr(self, field.name) for field in fields(self)}


_KIB = 1024
# sm_88 is in no published table; it has the smaller limit of the similar 86 and 89.
# LLVM 22 does not support sm_107: it is compiled as sm_103a, and the PTX header is rewritten (pipeline/ll_to_ptx).
_ROWS = (
    Target(80, "sm_80", 163 * _KIB, "sm_80"),
    Target(86, "sm_86", 99 * _KIB, "sm_86"),
    Target(87, "sm_87", 163 * _KIB, "sm_87"),
    Target(88, "sm_88", 99 * _KIB, "sm_88"),
    Target(89, "sm_89", 99 * _KIB, "sm_89"),
    Target(90, "sm_90a", 227 * _KIB, "sm_90a"),
    Target(100, "sm_100a", 227 * _KIB, "sm_100a"),
    Target(103, "sm_103a", 227 * _KIB, "sm_103a"),
    Target(107, "sm_107a", 227 * _KIB, "sm_103a", ptx_version=(9, 4)),
    Target(110, "sm_110a", 227 * _KIB, "sm_110a"),
    Target(120, "sm_120a", 99 * _KIB, "sm_120a"),
    Target(121, "sm_121a", 99 * _KIB, "sm_121a"),
)
TARGETS: dict[str, Target] = {row.name: row for row in _ROWS}
FAMILY_TARGETS: dict[str, Target] = {
    f"{row.name}f": replace(row, arch=f"{row.name}f", llvm_cpu=f"{row.llvm_cpu.rstrip('a')}f")
    for row in _ROWS
    if any(row.number in family for family in FAMILIES)
}
ALL_TARGETS = TARGETS | FAMILY_TARGETS
_SPELLINGS = {
    spelling: row
    for row in ALL_TARGETS.values()
    for full in (row.name, row.arch)
    for spelling in (full, full.removeprefix("sm_"))
}
_GPUS = {gpu: TARGETS[f"sm_{number}"] for number, gpus in GPU_NAMES.items() for gpu in gpus}


def find_target(text: str) -> Target:
    """The row of "90", "sm_90", "90a", "sm_90a" or "sm_100f", of a GPU, such as "h100" or "rtx-5090", or of this machine's: "native".

    Raises InvalidInput[unknown-target] with the valid values; InvalidInput[native-gpu] without a GPU, or with GPUs of two targets.
    """
    row = _SPELLINGS.get(str(text).strip().lower()) or _GPUS.get(plain_name(str(text)))
    if row is None and is_native(text):
        return _only_native_row()
    if row is None and len(words := str(text).split(",")) > 1:
        raise InvalidInput("unknown-target", f"one target is expected, not sm={text}", remedy=f"use {words[0].strip()}")
    if row is None:
        raise InvalidInput("unknown-target", f"unknown target sm={text}", remedy=_valid_values(str(text)))
    return row


def name_of(text: str) -> str:
    """The display name of the target of any spelling; the text itself if it is no target."""
    row = _SPELLINGS.get(text)
    return text if row is None else row.name


def target_of_options(sm: str | None, capability: str | None) -> Target:
    """The row of ``--sm``, or of ``--compute-capability`` (major * 10 + minor).

    Raises InvalidInput[unknown-target]; InvalidInput[capability-option] if neither is set or the latter matches no row.
    """
    if capability is None and sm is not None:
        return find_target(sm)
    if (target := TARGETS.get(f"sm_{capability}")) is None:
        supported = ", ".join(str(row.number) for row in TARGETS.values())
        raise InvalidInput(
            "capability-option",
            "invalid or missing --compute-capability option",
            remedy=f"use one of {supported}, here or as --sm",
        )
    return target


def parse_targets(text: str) -> list[Target]:
    """The rows of a comma-separated list, in order and without duplicates; "all" selects every row, "native" those of
    this machine's GPUs.

    Raises InvalidInput[unknown-target] for an unknown or missing value, InvalidInput[native-gpu] without a GPU.
    """
    words = [word for word in str(text).replace(" ", "").split(",") if word]
    if not words:
        raise InvalidInput("unknown-target", "no target is named in sm=", remedy=_valid_values())
    return list(dict.fromkeys(row for word in words for row in _rows_of(word.lower())))


def is_native(text: str) -> bool:
    """Whether the targets of the list are those of this machine."""
    return NATIVE in str(text).replace(" ", "").lower().split(",")


def _rows_of(word: str) -> tuple[Target, ...]:
    if word == "all":
        return _ROWS
    return _native_rows() if word == NATIVE else (find_target(word),)


def _native_rows() -> tuple[Target, ...]:
    from .native_gpus import compute_capabilities

    return tuple(find_target(str(number)) for number in compute_capabilities())


def _only_native_row() -> Target:
    rows = _native_rows()
    if len(rows) > 1:
        names = ", ".join(row.name for row in rows)
        raise InvalidInput(
            "native-gpu", f"this machine has GPUs of {len(rows)} targets, {names}", remedy="name one of them"
        )
    return rows[0]


def _valid_values(spelling: str = "") -> str:
    near = (
        nearest(plain_name(spelling), _GPUS)
        if spelling[:1].isalpha() and not spelling.lower().startswith("sm")
        else None
    )
    near = near or nearest(spelling, _SPELLINGS)
    meant = "" if near is None else f"did you mean {near if near in _GPUS else _SPELLINGS[near].name}? "
    return f"{meant}use one or more of {', '.join(TARGETS)} (also written 90, 90a or sm_90a), a family such as {next(iter(FAMILY_TARGETS))}, a GPU such as h100, native, or all"
