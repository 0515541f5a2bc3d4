"""Options of the build: each reaches the stages that may read it, and no other."""

import pytest

from tileiras_build.errors import InvalidInput
from tileiras_build.pipeline.stages import STAGES, find
from tileiras_build.scons_tool.actions import stage_signature
from tileiras_build.scons_tool.settings import DEFAULTS, read_settings
from tileiras_build.targets import find_target

TARGET = find_target("sm_90")


class Environment(dict):
    """A construction environment as far as settings read one."""


def signatures(**options: str) -> dict[str, dict]:
    """What decides the bytes of each stage."""
    settings = read_settings(Environment(options))
    return {stage.name: stage_signature(stage, settings.job(TARGET, stage)) for stage in STAGES[1:]}


@pytest.mark.seed("lowering-overview", "option-strategy", "option-serializer")
@pytest.mark.parametrize(
    ("options", "stages"),
    [
        ({"strategy": "none"}, ["tileas"]),
        ({"serializer": "libnvvm"}, ["tileas", "ptx"]),
        ({"lineinfo": "yes"}, ["tileaa", "tileas", "ll"]),  # what later stages ask is in the text
        ({"build_dir": "elsewhere"}, []),
    ],
)
def test_an_option_changes_the_signatures_of_its_stages(options, stages):
    plain, changed = signatures(), signatures(**options)
    assert [name for name in plain if plain[name] != changed[name]] == stages


def test_choices_reach_the_job():
    settings = read_settings(Environment(strategy="unspecialize", serializer="libnvvm"))
    assert settings.job(TARGET, find("tileas")).strategy == "unspecialize"
    assert settings.job(TARGET, find("ptx")).serializer == "libnvvm"
    assert settings.job(TARGET, find("ll")).strategy == DEFAULTS["strategy"]


@pytest.mark.parametrize("option", ["strategy", "serializer"])
def test_a_wrong_choice_names_the_right_ones(option):
    with pytest.raises(InvalidInput, match=f"{option}=best is not a valid value; use one of"):
        read_settings(Environment({option: "best"}))
