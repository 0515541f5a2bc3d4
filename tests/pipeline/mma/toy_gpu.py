"""Prints the LLVM IR of a matmul for a made-up GPU with a made-up matrix instruction: rows of ``target/``, and the folder ``toy``.

Runs in a process of its own, whose tables it changes.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tileiras_build.target import capabilities, mma_atoms, sm_limits, targets


@dataclass(frozen=True)
class ToyAtom:
    """The row of the instruction."""

    family: ClassVar[str] = "toy"
    name: str = "toy_m16n8k8_f32"
    k: int = 8
    a_type: str = "f32"
    b_type: str = "f32"
    accumulator_type: str = "f32"
    capability: str = "toy_mma"
    scale_type: str | None = None
    scale_block: int = 0


def add_rows() -> targets.Target:
    """The rows that a new GPU with a new family takes."""
    like, number = 80, 300
    for name, architectures in capabilities.CAPABILITIES.items():
        if like in architectures and name != "mma_sync":
            capabilities.CAPABILITIES[name] = architectures | {number}
    capabilities.CAPABILITIES["toy_mma"] = frozenset({number})
    targets.SM_ARCHITECTURES = (*targets.SM_ARCHITECTURES, number)
    sm_limits.SM_LIMITS[number] = sm_limits.SM_LIMITS[like]
    mma_atoms.MMA_ROWS = targets.MMA_ROWS = (ToyAtom(), *mma_atoms.MMA_ROWS)
    mma_atoms.MMA_FAMILIES = ("toy", *mma_atoms.MMA_FAMILIES)
    target = targets.Target(number, "sm_300", 163 * 1024, "sm_80")
    targets.TARGETS[target.name] = targets.ALL_TARGETS[target.name] = targets._SPELLINGS[target.name] = target
    return target


def main() -> None:
    target = add_rows()
    from tileiras_build import driver
    from tileiras_build.frontend.export_cutile import export_kernels
    from tileiras_build.pipeline import mma
    from tileiras_build.pipeline.job import Job

    mma.__path__.append(str(Path(__file__).parent))
    [bytecode] = export_kernels(Path(__file__).with_name("f32_matmul.py")).values()
    print(driver.lower(bytecode, "tilebc", "ll", Job(target))[".ll"].decode())


if __name__ == "__main__":
    main()
