"""The verifier of peers accepts the code of clusters, and refuses it where a CTA may use one that does not run."""

from functools import lru_cache
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tests.emulated_kernels import scheduled_case
from tileiras_build.core.errors import InternalError
from tileiras_build.ir.casting import parent_block
from tileiras_build.pipeline import tileas_to_ll
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.pass_manager import run_passes
from tileiras_build.pipeline.tileas_to_ll.convert_nvgpu_and_gpu_to_nvvm import ConvertNVGPUAndGPUToNVVM
from tileiras_build.pipeline.verifiers.cluster_peer_lifetime import verify_peer_lifetime
from tileiras_build.target.targets import find_target

KERNELS = Path(__file__).parents[2] / "pipeline" / "tileaa_to_tileas" / "cluster_kernels.py"
PASSES = tileas_to_ll.PASSES[: tileas_to_ll.PASSES.index(ConvertNVGPUAndGPUToNVVM) + 1]


@lru_cache(maxsize=8)
def _thread_code(name: str, sm: str) -> ModuleOp:
    module = scheduled_case(KERNELS, name, sm)
    run_passes(PASSES, module, Job(find_target(sm)), edge="tileas_to_ll")
    return module


def thread_code(name: str, sm: str) -> ModuleOp:
    return _thread_code(name, sm).clone()


def found(module: ModuleOp, name: str) -> list[Operation]:
    return [op for op in module.walk() if op.name == f"nvvm.{name}"]


def refused(module: ModuleOp, message: str) -> None:
    with pytest.raises(InternalError, match=f"peer-verifier.*{message}"):
        verify_peer_lifetime(module)


@pytest.mark.parametrize(
    ("name", "sm", "count"),
    [
        ("matmul_2", "sm_90", 3),
        ("matmul_4", "sm_100", 2),
        ("pair_persistent_2", "sm_100", 12),
        ("row_reduction_2", "sm_90", 0),
    ],
)
def test_code_of_clusters_is_proved(name, sm, count):
    assert verify_peer_lifetime(thread_code(name, sm)) == count


@pytest.mark.parametrize(
    ("name", "sm", "first"),
    [("matmul_2", "sm_90", "nvvm.cp.async.bulk.tensor"), ("pair_persistent_2", "sm_100", "nvvm.tcgen05.alloc")],
)
def test_ctas_that_do_not_meet_first(name, sm, first):
    module = thread_code(name, sm)
    found(module, "cluster.wait")[0].detach()
    refused(module, "the other CTA may not have started")
    assert verify_peer_lifetime(thread_code(name, sm))


def test_tensor_memory_of_a_pair_that_is_allocated_before():
    module = thread_code("pair_persistent_2", "sm_100")
    [allocation], wait = found(module, "tcgen05.alloc"), found(module, "cluster.wait")[0]
    wait.detach()
    parent_block(allocation).insert_op_after(wait, allocation)
    refused(module, "the other CTA may not have started")


def test_pairs_that_end_alone():
    module = thread_code("pair_persistent_2", "sm_100")
    found(module, "cluster.arrive.relaxed")[-1].detach()
    refused(module, "the other CTA may have ended")


def test_ctas_that_wait_for_all_that_they_are_sent_need_no_barrier_at_their_end():
    module = thread_code("matmul_4", "sm_100")
    assert len(found(module, "cluster.arrive.relaxed")) == 1 and not found(module, "cluster.arrive")


def test_an_arrival_at_an_mbarrier_of_another_cta():
    module = thread_code("matmul_2", "sm_90")
    for op in found(module, "cp.async.bulk.tensor.shared.cluster.global"):
        op.detach()
    assert verify_peer_lifetime(module) == 2
    found(module, "cluster.wait")[0].detach()
    refused(module, "nvvm.mbarrier.arrive.* accesses another CTA")


def test_the_verifier_runs_after_its_pass(monkeypatch):
    def run(self: ConvertNVGPUAndGPUToNVVM, module: ModuleOp, job: Job) -> None:
        ConvertNVGPUAndGPUToNVVM.run(self, module, job)
        found(module, "cluster.wait")[0].detach()

    monkeypatch.setenv("TILEIRAS_CHECK", "2")
    broken = type("Broken", (ConvertNVGPUAndGPUToNVVM,), {"run": run, "__doc__": ConvertNVGPUAndGPUToNVVM.__doc__})
    with pytest.raises(
        InternalError, match="peer-verifier.*after pass convert-nvgpu-and-gpu-to-nvvm, verify_peer_lifetime found"
    ):
        run_passes((*PASSES[:-1], broken), scheduled_case(KERNELS, "matmul_2", "sm_90"), Job(find_target("sm_90")))
