"""Options of the build: each reaches the stages that may read it, and no other."""

import pytest
import SCons.Script

from tileiras_build.build import settings as settings_module
from tileiras_build.build.incremental.sconscript_trace import SConscriptTrace
from tileiras_build.build.settings import DEFAULTS, read_settings
from tileiras_build.build.stage_actions import stage_signature
from tileiras_build.core.errors import InvalidInput
from tileiras_build.pipeline.stages import STAGES, find
from tileiras_build.target import native_gpus
from tileiras_build.target.targets import find_target

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
        ({"llvm_pipeline": "default"}, ["ptx"]),
        ({"fp8_promotion_interval": "64"}, ["tileas"]),
        ({"grid_swizzle": "8"}, ["tileaa"]),
        ({"exp2_polynomial": "4"}, ["ll"]),
        ({"persistent": "1"}, ["tileaa"]),
        ({"lineinfo": "yes"}, ["tileaa", "tileas", "ll"]),  # what later stages ask is in the text
        ({"build_dir": "elsewhere"}, []),
    ],
)
def test_an_option_changes_the_signatures_of_its_stages(options, stages):
    plain, changed = signatures(), signatures(**options)
    assert [name for name in plain if plain[name] != changed[name]] == stages


def test_targets_of_the_machine_are_asked_for_in_each_run(monkeypatch):
    trace = SConscriptTrace()
    monkeypatch.setattr(settings_module, "TRACE", trace)
    read_settings(Environment(sm="90"))
    assert trace.untraceable is None
    monkeypatch.setattr(native_gpus, "compute_capabilities", lambda: [80, 100])
    assert [target.name for target in read_settings(Environment(sm="native")).targets] == ["sm_80", "sm_100"]
    assert trace.untraceable == "sm=native asks the CUDA driver"


def test_choices_reach_the_job():
    settings = read_settings(Environment(strategy="unspecialize", serializer="libnvvm"))
    assert settings.job(TARGET, find("tileas")).strategy == "unspecialize"
    assert settings.job(TARGET, find("ptx")).serializer == "libnvvm"
    assert settings.job(TARGET, find("ll")).strategy == DEFAULTS["strategy"]


@pytest.mark.parametrize("option", ["strategy", "serializer", "llvm_pipeline"])
def test_a_wrong_choice_names_the_right_ones(option):
    with pytest.raises(InvalidInput, match=f"{option}=best is not a valid value; use one of"):
        read_settings(Environment({option: "best"}))


@pytest.mark.parametrize("level", ["0", "1", "2", "3", "s", "z"])
def test_each_level_reaches_the_job(level):
    settings = read_settings(Environment(opt=level))
    assert str(settings.job(TARGET, find("ptx")).opt_level) == level


def test_debugging_reaches_the_job():
    settings = read_settings(Environment(debug="1", opt="0"))
    assert settings.job(TARGET, find("ll")).debug


@pytest.mark.parametrize("level", ["3", "s"])
def test_optimized_debugging_is_refused(level):
    with pytest.raises(InvalidInput, match="optimized debugging is not supported, change optimization level to 0 or"):
        read_settings(Environment(debug="yes", opt=level))


@pytest.mark.parametrize(
    ("targets", "given", "lines"),
    [
        ([], "", False),
        (["report"], "", True),
        (["report", "package"], "", False),
        (["install", "report"], "", False),
        (["report"], "no", False),
        ([], "yes", True),
    ],
)
def test_a_report_has_source_lines_unless_it_is_packaged(targets, given, lines, monkeypatch):
    monkeypatch.setattr(SCons.Script, "COMMAND_LINE_TARGETS", targets)
    assert read_settings(Environment(lineinfo=given)).lineinfo is lines
