"""LLVM itself: one target machine per (cpu, features, level), set up once per process."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

from ...targets import TARGETS, Target

TRIPLE = "nvptx64-nvidia-cuda"


@cache
def initialize_llvm() -> None:
    """Register the NVPTX back end with 32-bit shared, constant and local pointers.

    Short pointers need no conversion where inline assembly takes a shared address in an "r" operand. The option is
    global to the process and must be set before the first target machine exists.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.set_option("tileiras", "-nvptx-short-ptr")


@cache
def _machine(cpu: str, features: str, opt_level: int) -> llvm.TargetMachine:
    initialize_llvm()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=cpu, features=features, opt=opt_level)


def machine_for(target: Target, opt_level: int = 3) -> llvm.TargetMachine:
    """The cached target machine of a GPU; reusable across modules and contexts."""
    return _machine(target.llvm_cpu, target.llvm_features, opt_level)


def library_machine() -> llvm.TargetMachine:
    """The machine libdevice closures are optimized with: the oldest GPU's, so that all GPUs can share them."""
    return machine_for(TARGETS["sm_80"], 3)


def data_layout() -> str:
    """The data layout string every module gets."""
    return str(library_machine().target_data)
