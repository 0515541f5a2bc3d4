"""LLVM target machines: one per process for each triple, chip, feature set and level."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from ...core.errors import InternalError, InvalidInput
from ...target.isa.serializer_options import DATA_LAYOUTS, TRIPLE
from ...target.targets import TARGETS, Target

# Both share one back end; the triple selects the pointer size. ("nvptx64-nvidia-gpulibs" marks the origin of a bitcode
# library, not a target.) ptxas 13 assembles the 64-bit form only.
TRIPLES = tuple(DATA_LAYOUTS)
_HUGE_FUNCTION_BLOCKS = 100
# Straight-line strength reduction compares each expression with all others: it takes 58 % of LLVM's time where a
# thread has hundreds of addresses, and changes 4 of 120 kernels by an instruction or two.
_LEFT_OUT = "slsr"
# LLVM expects some 30 iterations of a loop: a block that one in 2,000 reaches (control_flow) is 60 times as rare as what is before the
# loop. LLVM moves out of such a block what the loop does not change, as far as it counts registers free: a mask's comparisons,
# whose predicates ptxas then lacks in the whole loop.
_RARE_RATIO = 50


@dataclass(frozen=True)
class MachineRequest:
    """All parameters of a target machine; equal requests share one."""

    triple: str
    chip: str  # in LLVM's spelling: "sm_90a"
    features: str  # "+ptx90"
    opt_level: int = 3  # of the code generator, 0..3


@cache
def initialize_llvm() -> None:
    """Register the NVPTX back end, both triples, with 32-bit shared, constant and local pointers.

    Short pointers need no conversion for "r" operands of inline assembly with shared addresses. The option is global to
    the process and must be set before the first target machine exists. In functions with more blocks than the second
    option, CodeGenPrepare revisits only the blocks that it changed; by default it revisits all of up to 10,000 blocks
    each time. The third names passes of the code generator that do not run. By the others nothing moves out of a loop
    from a block that is so much rarer than what is before the loop.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.set_option("tileiras", "-nvptx-short-ptr")
    llvm.set_option("tileiras", f"-cgpp-huge-func={_HUGE_FUNCTION_BLOCKS}")
    llvm.set_option("tileiras", f"-opt-disable={_LEFT_OUT}")
    llvm.set_option("tileiras", "-disable-hoisting-to-hotter-blocks=all")
    llvm.set_option("tileiras", f"-block-freq-ratio-threshold={_RARE_RATIO}")


@cache
def target_machine(request: MachineRequest) -> llvm.TargetMachine:
    """The target machine of a request, cached; reusable across modules and contexts.

    Raises InvalidInput[target-triple] for a triple other than NVPTX's, InternalError[target-machine] if LLVM has none.
    """
    if request.triple not in TRIPLES:
        raise InvalidInput(
            "target-triple",
            f"failed to look up NVPTX target for requested triple {request.triple!r}",
            remedy=f"use {TRIPLE}",
        )
    initialize_llvm()
    target = llvm.Target.from_triple(request.triple)
    try:
        return target.create_target_machine(cpu=request.chip, features=request.features, opt=request.opt_level)
    except RuntimeError as error:
        raise InternalError("target-machine", "target machine unavailable; cannot optimize with LLVM") from error


def target_machine_for(target: Target, opt_level: int = 3, triple: str = TRIPLE) -> llvm.TargetMachine:
    """The target machine of a GPU."""
    return target_machine(MachineRequest(triple, target.llvm_cpu, target.llvm_features, opt_level))


def library_machine(triple: str = TRIPLE) -> llvm.TargetMachine:
    """The machine that optimizes libdevice subsets: that of the oldest GPU, so that all GPUs can share them."""
    return target_machine_for(TARGETS["sm_80"], 3, triple)


@cache
def data_layout(triple: str = TRIPLE) -> str:
    """The data layout of modules of this triple."""
    return str(library_machine(triple).target_data)
