"""verify_pipelines refuses threads that access tensor memory or operands of MMAs in flight of another partition."""

from pathlib import Path

import pytest
from xdsl.ir import Operation

from tests.emulated_kernels import scheduled_case
from tileiras_build.core.errors import InternalError
from tileiras_build.ir.casting import as_op
from tileiras_build.ir.dialects.fast_xdsl import walk
from tileiras_build.ir.dialects.nv_tileas.ops import ConsumerWaitOp, TmemLoadOp, TmemStoreOp
from tileiras_build.ir.dialects.op_traits import is_agent_switch, is_loop
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

FOLDER = Path(__file__).parents[1]
ROTATED = FOLDER / "tileaa_to_tileas" / "rotated_dots.py", "of_two"
TRANSPOSED = FOLDER / "schedule" / "gradient_kernels.py", "transposed_gradients"


def computing(module):
    """The operations of the warps that compute beside the one that issues MMAs."""
    [switch] = filter(is_agent_switch, walk(module))
    return list(walk(as_op(switch).regions[-1]))


def wait_behind(op: Operation):
    """Move the last wait before an operation behind it."""
    wait = op.prev_op
    while not any(isinstance(inner, ConsumerWaitOp) for inner in walk(wait)):
        wait = wait.prev_op
    wait.detach()
    op.parent.insert_op_after(wait, op)


def refused(module):
    with pytest.raises(InternalError, match="pipeline-verifier.*accesses what an MMA of other threads accesses"):
        verify_pipelines(module)


def test_a_delayed_wait_behind_the_store_of_an_operand():
    """The threads still wait for each MMA once, in order."""
    module = scheduled_case(*ROTATED, "sm_100")
    wait_behind(next(op for op in computing(module) if isinstance(op, TmemStoreOp) and is_loop(op.parent_op())))
    refused(module)


@pytest.mark.parametrize(("path", "name"), [ROTATED, TRANSPOSED])
def test_a_result_that_is_read_before_the_wait_for_its_mma(path, name):
    module = scheduled_case(path, name, "sm_100")
    wait_behind(next(op for op in computing(module) if isinstance(op, TmemLoadOp) and is_loop(op.parent_op())))
    refused(module)
