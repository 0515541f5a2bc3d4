"""TILEIRAS_CHECK=2 runs the pass verifiers: each finds IR that is broken right after its pass."""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Operation

from tests import emulated_kernels
from tests.examples.example_library import bytecode_of
from tileiras_build.core.errors import InternalError
from tileiras_build.ir.bytecode.reader import read_module
from tileiras_build.ir.layouts import NoOp
from tileiras_build.pipeline import pass_verifiers, tileaa_to_tileas, tilebc_to_tileaa, verifiers
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.pass_manager import EdgePass, run_passes
from tileiras_build.pipeline.stages import STAGES
from tileiras_build.pipeline.verifiers import layout_conversions
from tileiras_build.target.targets import find_target

KERNELS = Path(__file__).parent / "tileaa_to_tileas"
Damage = Callable[[ModuleOp], None]


def found(module: ModuleOp, name: str) -> list[Operation]:
    return [op for op in module.walk() if op.name == f"nv_tileas.{name}"]


def without(name: str) -> Damage:
    """The first operation of that name left out."""

    def leave_out(module: ModuleOp) -> None:
        op = found(module, name)[0]
        op.detach()
        op.erase()

    return leave_out


def unmarked(name: str, attribute: str) -> Damage:
    """All operations of that name without an attribute."""

    def unmark(module: ModuleOp) -> None:
        for op in found(module, name):
            op.attributes.pop(attribute, None)

    return unmark


def waits_for_too_few(module: ModuleOp) -> None:
    for load in found(module, "async.tiled_tma_load"):
        if "multicast" in load.attributes:
            load.pipeline.owner.attributes["ctas"] = IntegerAttr(1, i32)


def moved(module: ModuleOp) -> None:
    for store in found(module, "async.tiled_tma_store"):
        store.attributes["scratch_offset"] = IntegerAttr(128, i32)


def beyond(module: ModuleOp) -> None:
    for conversion in found(module, "convert_layout"):
        if "scratch_offset" in conversion.attributes:
            conversion.attributes["scratch_offset"] = IntegerAttr(1 << 20, i32)


# Kernel, GPU, pass, damage after it, the id of the verifier that finds it, and a part of its message.
BROKEN = [
    ("tma_stored_tiles.read_back", "sm_90", "tileas-insert-token-barriers", without("barrier"), "barrier-verifier", "no barrier on a"),
    ("dots_of_loaded_tiles.nested", "sm_90", "tileas-specialize-warps", without("async.pipeline.consumer_wait"),
     "pipeline-verifier", "item"),
    ("cluster_kernels.matmul_tall_2", "sm_100", "tileas-use-two-cta-mma", unmarked("async.umma", "pair"), "cluster-verifier",
     "not one dot of two CTAs"),
    ("cluster_kernels.matmul_2", "sm_90", "tileas-multicast-loads", waits_for_too_few, "cluster-verifier", "is waited for by"),
    ("rotated_dots.weighted_steps", "sm_90", "tileas-rotate-mma-loop", without("async.pipeline.consumer_release"),
     "pipeline-verifier", "released"),
    ("cluster_kernels.persistent_2", "sm_90", "tileas-hoist-async-mma-issue", without("async.pipeline.producer_acquire"),
     "pipeline-verifier", "item"),
    ("rotated_dots.of_two", "sm_100", "tileas-split-mma-issue", without("async.pipeline.producer_commit"), "pipeline-verifier", "items are"),
    ("rotated_dots.of_two", "sm_100", "tileas-delay-mma-waits", without("async.pipeline.consumer_wait"), "pipeline-verifier", "item"),
    ("matmul_f16_nn", "sm_80", "tileas-software-pipeline-loads", without("async_wait"), "cp-async-verifier", "is read before"),
    ("k_step_dots.f16_half_acc", "sm_80", "tileas-prefetch-fragments", without("async_wait"), "cp-async-verifier", "is read before"),
    ("tma_stored_tiles.read_back", "sm_90", "tileas-use-tma-stores", without("barrier"), "barrier-verifier", "no barrier on a"),
    ("matmul_f16_nn_f16", "sm_80", "tileas-allocate-shared-memory", unmarked("convert_layout", "sync_before"), "cp-async-verifier",
     "writes over stage"),
    ("matmul_f16_nn_f16", "sm_80", "tileas-allocate-shared-memory", beyond, "scratch-verifier", "is not placed"),
    ("tma_stored_tiles.f16", "sm_90", "tileas-allocate-shared-memory", moved, "tma-store-verifier", "not aligned to the swizzle"),
    ("tma_stored_tiles.f16", "sm_90", "tileas-ping-pong-warpgroups", without("async.tma_store_wait"), "tma-store-verifier",
     "may still read"),
]  # fmt: skip


def module_of(kernel: str, job: Job) -> ModuleOp:
    """A kernel ("file.case", or an example) as alias-aware tile IR."""
    file, dot, case = kernel.partition(".")
    code = emulated_kernels.bytecode(KERNELS / f"{file}.py", case) if dot else bytecode_of(kernel)
    return tilebc_to_tileaa.lower(read_module(code), job)


def followed_by(entry: type[EdgePass], damage: Damage) -> type[EdgePass]:
    """A pass that leaves broken IR."""

    def run(self: EdgePass, module: ModuleOp, job: Job) -> None:
        entry.run(self, module, job)
        damage(module)

    return type(entry.__name__, (entry,), {"run": run, "__doc__": entry.__doc__})


def refused(kernel: str, sm: str, name: str, damage: Damage) -> str:
    """What the passes say when one of them leaves broken IR."""
    job = Job(find_target(sm))
    passes = tileaa_to_tileas.passes_for(job)
    assert name in {entry.name for entry in passes}
    damaged = [followed_by(entry, damage) if entry.name == name else entry for entry in passes]
    with pytest.raises(InternalError) as caught:
        run_passes(damaged, module_of(kernel, job), job)
    return str(caught.value)


@pytest.mark.parametrize(("kernel", "sm", "name", "damage", "error_id", "message"), BROKEN,
                         ids=[f"{row[2]}-{row[4]}" for row in BROKEN])  # fmt: skip
def test_broken_ir_is_found_after_its_pass(monkeypatch, kernel, sm, name, damage, error_id, message):
    monkeypatch.setenv("TILEIRAS_CHECK", "2")
    said = refused(kernel, sm, name, damage)
    assert said.startswith(f"internal error[{error_id}]: after pass {name}, verify_") and message in said


def test_a_wrong_plan_is_found_after_layout_assignment(monkeypatch):
    monkeypatch.setenv("TILEIRAS_CHECK", "2")
    monkeypatch.setattr(layout_conversions, "conversion_plan", lambda *_: NoOp())
    said = refused("matmul_f16_nn_f16", "sm_80", "tileas-assign-layouts", lambda module: None)
    assert said.startswith(
        "internal error[layout-verifier]: after pass tileas-assign-layouts, verify_layout_conversions found:"
    )


def test_without_the_knob_no_verifier_runs(monkeypatch):
    def fail(name: str, module: ModuleOp) -> None:
        raise AssertionError(name)

    monkeypatch.setattr("tileiras_build.pipeline.pass_manager.run_verifiers", fail)
    job = Job(find_target("sm_80"))
    tileaa_to_tileas.lower(module_of("matmul_f16_nn", job), job)


def test_a_verifier_that_raises_is_named(monkeypatch):
    monkeypatch.setattr(pass_verifiers, "find_verifier", lambda name: lambda module: {}["x"])
    with pytest.raises(
        InternalError,
        match="verifier-failed.*after pass tileas-insert-token-barriers, verify_token_barriers failed: KeyE",
    ):
        pass_verifiers.run_verifiers("tileas-insert-token-barriers", ModuleOp([]))


def test_rows_name_passes_that_run():
    assert pass_verifiers.PASS_VERIFIERS.keys() <= {entry.name for stage in STAGES for entry in stage.passes}


def test_every_module_verifier_has_a_row():
    """Those of ``exhaustive_layout_checks`` take layouts: ``layout_conversions`` calls them for modules."""
    files = {path.stem for path in Path(verifiers.__path__[0]).glob("*.py")} - {"exhaustive_layout_checks"}
    modules = [import_module(f"tileiras_build.pipeline.verifiers.{name}") for name in files if name != "__init__"]
    checks = {
        value
        for module in modules
        for name, value in vars(module).items()
        if name.startswith("verify_") and value.__module__ == module.__name__
    }
    assert {
        pass_verifiers.find_verifier(name) for row in pass_verifiers.PASS_VERIFIERS.values() for name in row
    } == checks


# What verifiers share with the code that they check; docs/testing.md explains each.
SHARED_ANALYSES = {
    ("layout_conversions", "convert_layout_op_plans"),
    ("tma_stores", "disjoint_stores"),
}


def test_verifiers_share_no_other_analysis():
    """Of the packages that choose or generate code, verifiers import the analyses of ``SHARED_ANALYSES`` only."""
    generating = ("analysis.", "tileaa_to_tileas", "tileas_to_ll", "tilebc_to_tileaa", "mma.")
    found = {
        (path.stem, node.module.rpartition(".")[2])
        for path in Path(verifiers.__path__[0]).glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.level == 2 and (node.module or "").startswith(generating)
    }
    assert found == SHARED_ANALYSES
