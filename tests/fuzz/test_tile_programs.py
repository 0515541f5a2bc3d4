"""Random programs: the interpreter and the compiled code agree, at both optimization levels and on two tiers.

``benchmarks/differential_fuzz.py`` runs many more of them.
"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.compare_tile_programs import WAYS, compare_program, find_culprit, tuned_way
from tests.fuzz.grid_programs import random_grid_program
from tests.fuzz.tile_program_builder import ENTRY, FLOATS, INTEGERS, SeededChoices, difficult_elements
from tests.fuzz.tile_programs import LATER_STEPS, random_program
from tileiras_build.ir.bytecode import read_module
from tileiras_build.ir.dialects import cuda_tile
from tileiras_build.simulate.interpreter import run_inputs

TARGETS = ("sm_80", "sm_100")


class DrawnChoices:
    """Decisions that hypothesis makes, and can shrink."""

    def __init__(self, draw):
        self.draw = draw

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))


@st.composite
def programs(draw):
    """A well-typed kernel."""
    return random_program(DrawnChoices(draw))


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(0, 99))
def test_interpreter_and_compiled_code_agree(program, seed):
    outcomes = compare_program(program, seed, TARGETS)
    assert [str(outcome) for outcome in outcomes if outcome.kind in ("differs", "fails")] == []


# Those past the first six once differed.
@pytest.mark.parametrize("seed", [*range(6), 492, 1019, 4759])
def test_seeded_programs_agree(seed):
    outcomes = compare_program(random_program(SeededChoices(seed)), seed, TARGETS)
    assert [str(outcome) for outcome in outcomes if outcome.kind in ("differs", "fails")] == []


@pytest.mark.parametrize("seed", range(6))
def test_seeded_programs_of_later_steps_agree(seed):
    outcomes = compare_program(random_program(SeededChoices(seed), LATER_STEPS), seed, TARGETS)
    assert [str(outcome) for outcome in outcomes if outcome.kind in ("differs", "fails")] == []


@pytest.mark.parametrize(("seed", "target"), [(9, "sm_90"), (4, "sm_100"), (7, "sm_120"), (6, "sm_80")])
def test_seeded_programs_of_grids_agree(seed, target):
    program, ways = random_grid_program(SeededChoices(seed)), (WAYS[-1], tuned_way(seed))
    outcomes = compare_program(program, seed, (target,), ways, races=True)
    assert [str(outcome) for outcome in outcomes if outcome.kind in ("differs", "fails")] == []


def test_grid_programs_reach_tma_matmuls_and_several_blocks():
    seen, blocks = Counter(), Counter()
    for seed in range(60):
        program = random_grid_program(SeededChoices(seed))
        seen.update({type(op) for op in program.module.walk()})
        blocks[program.grid] += 1
    wanted = (
        cuda_tile.MmaFOp, cuda_tile.MmaIOp, cuda_tile.Exp2Op, cuda_tile.AssumeOp, cuda_tile.JoinTokensOp, cuda_tile.MakeGatherScatterViewOp,
        cuda_tile.AtomicRMWTkoOp, cuda_tile.ForOp,
    )  # fmt: skip
    assert all(seen[kind] for kind in wanted) and len(blocks) > 4


def test_programs_are_many_and_valid():
    """Together a few hundred programs use most operations, and all of them verify and run."""
    seen = set()
    for seed in range(400):
        program = random_program(SeededChoices(seed))
        seen |= {type(op) for op in program.module.walk()}
        if seed < 25:
            run_inputs(read_module(program.bytecode()), ENTRY, program.inputs(seed))
    arithmetic = {op for op in cuda_tile.ARITHMETIC_OPS if op not in (cuda_tile.MmaFScaledOp, cuda_tile.FPowIOp)}
    assert arithmetic - seen == set()
    assert {cuda_tile.ForOp, cuda_tile.LoopOp, cuda_tile.IfOp, cuda_tile.ReduceOp, cuda_tile.ScanOp} <= seen


def test_a_seed_gives_one_program():
    assert random_program(SeededChoices(5)).bytecode() == random_program(SeededChoices(5)).bytecode()


@pytest.mark.parametrize("element", [*FLOATS, *INTEGERS], ids=str)
def test_inputs_have_special_values(element):
    with np.errstate(invalid="ignore"):
        values = difficult_elements(np.random.default_rng(0), element, 4000).astype(np.float64)
    assert (values == 0).any() and (np.abs(values) > 100).any() and (values < 0).any()


def test_a_culprit_is_named_only_where_something_is_wrong():
    assert find_culprit(3, "sm_80", WAYS[-1]) == "none when every value is stored"
