"""Imports the code of all stages at once, for processes that are forked later."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

from ...pipeline.stages import STAGES, load

LATE = (
    "tileiras_build.driver",
    "tileiras_build.pipeline.ll_to_ptx.compile_module",
    "tileiras_build.pipeline.ll_to_ptx.link_blob",
    "tileiras_build.pipeline.tileas_to_ll.convert_cute_to_llvm.rewrite_operations",
)
# Functions that import what only some kernels need.
_OF_SOME_KERNELS = (
    "tileiras_build.pipeline.tileas_to_ll.emission.handler_table:import_all",
    "tileiras_build.pipeline.tileas_to_ll.convert_cute_to_llvm.passes:cute_rules",
    "tileiras_build.pipeline.tileas_to_ll.convert_nvgpu_and_gpu_to_nvvm.passes:import_rewrites",
)


def import_stages() -> None:
    """Import it. If a module cannot be imported, the step that needs it reports the error, with a location."""
    # Modules that the driver and edges import at their first use.
    for module in (*LATE, *(module for stage in STAGES[1:] for module in stage.modules)):
        with suppress(Exception):
            import_module(module)

    for stage in STAGES[1:]:
        for function in (stage.parse, stage.edge, stage.render):
            with suppress(Exception):
                load(function)

    with suppress(Exception):
        load(STAGES[0].parse)

    for function in _OF_SOME_KERNELS:
        with suppress(Exception):
            load(function)()
