"""The LLVM passes of each optimization level, in order.

LLVM's own O1..O3 pipelines cost two to ten times as much and give worse code on tile kernels: loop-invariant code
motion hoists every index computation (70 more registers, measured) and runtime loops are unrolled. The NVPTX code
generator runs its own cleanups (address spaces, load/store vectorizer, GVN, LSR) afterwards.
"""

from __future__ import annotations

import llvmlite.binding as llvm

_CLEAN = (
    "always_inliner",  # libdevice bodies and helpers become part of the kernel
    "sroa",
    "instruction_combine",
    "simplify_cfg",
)
_FULL = (
    *_CLEAN,
    "new_gvn",  # index arithmetic that every chunk recomputes
    "instruction_combine",  # what value numbering exposed
    "simplify_cfg",
    "dead_code_elimination",
    "global_dead_code_eliminate",  # inlined helpers
)
PASSES: dict[int, tuple[str, ...]] = {
    0: ("always_inliner", "global_dead_code_eliminate"),  # no call ABI in PTX for inlinable math, even unoptimized
    1: (*_CLEAN, "dead_code_elimination", "global_dead_code_eliminate"),
    2: _FULL,
    3: _FULL,
}


def run_passes(module: llvm.ModuleRef, machine: llvm.TargetMachine, opt_level: int) -> None:
    """Run PASSES[opt_level] on the module in place."""
    # A pass manager cannot run twice (LLVM asserts); a new one costs 0.1 ms.
    manager = llvm.create_new_module_pass_manager()
    for name in PASSES[opt_level]:
        getattr(manager, f"add_{name}_pass")()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0))
    manager.run(module, builder)
