"""Tokens of pipelines: one i32 with the stage in the upper bits and the phase in the lowest."""

from types import SimpleNamespace

import pytest
from xdsl.dialects.builtin import i1, i32
from xdsl.dialects.llvm import ConstantOp

from tests.examples.example_library import bytecode_of
from tileiras_build import driver
from tileiras_build.pipeline import tile_ir_text_format
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.pass_manager import run_passes
from tileiras_build.pipeline.tileas_to_ll import PASSES
from tileiras_build.pipeline.tileas_to_ll.convert_tile_as_to_llvm import ConvertTileASToLLVM
from tileiras_build.pipeline.tileas_to_ll.pipelines.warp_partitions_and_mbarriers import (
    emit_advance,
    phase_of,
    stage_of,
)
from tileiras_build.target.targets import find_target

STAGES = 3


class Evaluator:
    """A builder that computes the results of its instructions."""

    def add(self, a, b):
        return a + b

    def and_(self, a, b):
        return a & b

    def xor(self, a, b):
        return a ^ b

    def shift(self, a, left):
        return a >> -left

    def compare(self, predicate, a, b):
        return {"uge": a >= b}[predicate]

    def select(self, condition, then, otherwise, type):
        return then if condition else otherwise


class Scalars(dict):
    """A value map in which each token is an int."""

    b = Evaluator()
    scalar = staticmethod(int)


PIPELINE = SimpleNamespace(type=SimpleNamespace(stages=SimpleNamespace(data=STAGES)))


def advanced(token: int) -> int:
    """The token after ``token``."""
    e = SimpleNamespace(b=Evaluator(), values=Scalars())
    emit_advance(e, SimpleNamespace(token=token, pipeline=PIPELINE, result="result"))
    return e.values["result"]


@pytest.mark.seed("lowering-overview", "abi-token", "token-i32")
def test_a_token_wraps_around_the_stages_and_flips_its_phase():
    tokens = [0]
    for _ in range(2 * STAGES):
        tokens.append(advanced(tokens[-1]))
    values = Scalars()
    ops = [SimpleNamespace(token=token, pipeline=PIPELINE) for token in tokens]
    assert [stage_of(values, op) for op in ops] == [0, 1, 2, 0, 1, 2, 0]
    assert [phase_of(values, op) for op in ops] == [0, 0, 0, 1, 1, 1, 0]
    assert tokens == [0, 2, 4, 1, 3, 5, 0]


def parities(target: str):
    """The i32 whose phase bit each wait of a matmul's thread code tests."""
    job = Job(find_target(target))
    tileas = driver.lower(bytecode_of("matmul_f16_nt"), "tilebc", "tileas", job)[".tileas"]
    passes = PASSES[: PASSES.index(ConvertTileASToLLVM) + 1]
    module = run_passes(passes, tile_ir_text_format.parse(tileas), job)
    for op in module.walk():
        if op.name == "nvgpu.mbarrier.try_wait.parity":
            assert op.phaseParity.type == i1
            [word] = op.phaseParity.owner.operands
            yield word


@pytest.mark.seed("lowering-overview", "abi-token", "token-i32", "phase-6-async")
@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
def test_every_wait_tests_the_low_bit_of_a_token(target):
    words = list(parities(target))
    assert len(words) > 1
    for word in words:
        if isinstance(word.owner, ConstantOp):
            continue  # of a token that never advances
        turned = word.owner.name == "llvm.xor"
        low = word.owner.operands[0].owner if turned else word.owner
        token, one = low.operands
        assert low.name == "llvm.and" and token.type == i32 and one.owner.value.value.data == 1
