"""The pipeline strategy: other schedules of the same program, with the same results."""

import re

import numpy as np
import pytest

from tests.compiled_once import compiled
from tests.examples.example_library import bytecode_of, launch
from tileiras_build.build.stage_actions import stage_signature
from tileiras_build.cli.dispatch import main
from tileiras_build.core.errors import InvalidInput, Unsupported
from tileiras_build.pipeline import tileaa_to_tileas
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.pipelining_strategies import AUTO, NAMES, SCHEDULING, STRATEGIES, choose, is_enabled
from tileiras_build.pipeline.stages import find
from tileiras_build.target.targets import TARGETS, find_target

KERNEL = "matmul_f16_nt"
AMPERE = find_target("sm_80")


def available(target: str) -> list[str]:
    """The strategies that compile for a target."""
    return [row.name for row in STRATEGIES if row.has(find_target(target))]


def artifacts(target: str, strategy: str):
    return compiled(bytecode_of(KERNEL), target, strategy=strategy)


@pytest.mark.seed("lowering-overview", "option-strategy")
@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_strategies_change_the_schedule_and_not_the_results(target):
    names = available(target)
    made = {name: artifacts(target, name) for name in names}
    assert len({made[name].tileas for name in names}) == len(names) >= 2
    results = [launch(KERNEL, made[name]) for name in names]
    for key, value in results[0].items():
        if isinstance(value, np.ndarray):
            assert all(np.array_equal(value, other[key]) for other in results[1:]), key


@pytest.mark.seed("lowering-overview", "option-strategy")
def test_rings_of_buffers_come_with_the_software_pipeline():
    waiting, ahead = (artifacts("sm_80", name).tileas for name in ("none", "unspecialize"))
    operations = "alloc_tensor|async_tiled_load|async_commit|async_wait"
    assert re.search(operations, ahead) and not re.search(operations, waiting)


@pytest.mark.seed("lowering-overview", "option-strategy")
def test_the_strategy_is_part_of_the_signature_of_the_schedule_alone():
    def signatures(stage: str) -> set[str]:
        return {str(stage_signature(find(stage), Job(AMPERE, strategy=name))) for name in NAMES}

    assert len(signatures("tileas")) == len(NAMES)
    assert [len(signatures(stage)) for stage in ("tileaa", "ll", "ptx", "cubin")] == [1, 1, 1, 1]


def test_the_default_overlaps_as_much_as_the_target_can():
    for target in TARGETS.values():
        assert choose(Job(target)).name == available(target.name)[-1]
        assert choose(Job(target, opt_level=0)).name == "none"


def test_only_scheduling_passes_depend_on_the_strategy():
    names = {entry.name for entry in tileaa_to_tileas.PASSES}
    assert names >= SCHEDULING
    none, *_, most = STRATEGIES[:2]
    assert all(is_enabled(name, none) == (name not in SCHEDULING) for name in names)
    assert all(is_enabled(name, most) for name in names - SCHEDULING | most.passes)


def test_an_unknown_strategy_names_the_known_ones():
    with pytest.raises(InvalidInput, match="strategy-unknown.*use one of auto, none, unspecialize, warp-specialize"):
        choose(Job(AMPERE, strategy="fast"))


def test_a_target_without_the_feature_names_those_that_have_it():
    with pytest.raises(Unsupported, match="strategy-target.*sm_80 does not support.*these can: sm_90, sm_100"):
        choose(Job(AMPERE, strategy="warp-specialize"))


def test_the_serializer_must_know_what_the_strategy_makes():
    hopper = find_target("sm_90")
    assert choose(Job(hopper, serializer="libnvvm")).name == "unspecialize"
    with pytest.raises(Unsupported, match="strategy-serializer.*use the serializer nvptx"):
        choose(Job(hopper, serializer="libnvvm", strategy="warp-specialize"))


def test_the_command_takes_the_strategy(tmp_path):
    source = tmp_path / "k.tilebc"
    source.write_bytes(bytecode_of(KERNEL))
    for name in (AUTO, "none"):
        output = tmp_path / f"{name}.tileas"
        options = ("--to", "tileas", "--sm", "80", "--strategy", name, "--in-process", "-o", str(output))
        assert main(["lower", str(source), *options]) == 0
        assert output.read_text() == artifacts("sm_80", name).tileas
