"""Names of GPUs in place of targets."""

from collections import Counter

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.target.gpu_models import GPUS
from tileiras_build.target.gpu_names import GPU_NAMES, plain_name
from tileiras_build.target.targets import TARGETS, find_target, parse_targets


def test_each_name_stands_once_and_is_plain():
    names = [name for row in GPU_NAMES.values() for name in row]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert [name for name in names if plain_name(name) != name] == []
    assert {f"sm_{number}" for number in GPU_NAMES} <= set(TARGETS)


@pytest.mark.parametrize("gpu", GPUS)
def test_names_agree_with_the_models_of_estimates(gpu):
    assert find_target(gpu.partition("-")[0]).number == GPUS[gpu].number


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("h100", "sm_90"),
        ("NVIDIA GeForce RTX 5090", "sm_120"),
        ("rtx-4090", "sm_89"),
        ("GB300", "sm_103"),
        ("l4", "sm_89"),
    ],
)
def test_spellings(text, name):
    assert find_target(text).name == name


def test_lists_mix_names_of_gpus_and_targets():
    assert [row.name for row in parse_targets("h100, a100,rtx5090,90,h200")] == ["sm_90", "sm_80", "sm_120"]


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("h10", "h100"),
        ("rtx509", "rtx5090"),
        ("sm90", "sm_90"),
        ("b20", "b200"),
        ("sm_120_f", "sm_120f"),
        ("90f", "sm_90"),
    ],
)
def test_a_wrong_name_has_the_nearest_as_remedy(text, near):
    with pytest.raises(InvalidInput, match=f"unknown target sm={text}; did you mean {near}\\?"):
        find_target(text)
