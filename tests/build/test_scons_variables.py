"""Values passed to an environment take precedence over the command line and the project's file; invalid ones are refused."""

import pytest

from tests.build.test_build_session import Project

TOOL = "from tileiras_build import scons_tool\nDefaultEnvironment(tools=[])\n"
VARIABLES = "variables=scons_tool.variables(ARGUMENTS), "
SHOWN = 'print("told", env["build_dir"], env["opt"], env["sm"], env["lineinfo"], env["nvcc_flags"])\n'
SETTINGS = """
from tileiras_build.build.settings import read_settings
read = read_settings(env)
print("told", read.build_dir, read.opt_level, *(one.name for one in read.targets), read.lineinfo, *read.nvcc_flags)
"""


@pytest.fixture
def said(tmp_path):
    """What a run says of an environment that is made with ``words``."""
    project = Project(tmp_path)
    project.write("pyproject.toml", '[tool.tileiras]\nopt = 2\nlineinfo = true\nsm = "sm_120"\n')

    def said(words: str, *arguments: str, more: str = ""):
        made = f'env = Environment({words}, tools=["tileiras"])\n'
        project.write("SConstruct", TOOL + made + more + SHOWN)
        done = project.run("-n", *arguments, sm=None)
        assert "Traceback" not in done.stderr
        return next((line for line in done.stdout.splitlines() if line.startswith("told")), done.stderr)

    return said


@pytest.mark.parametrize("variables", [VARIABLES, ""], ids=["variables", "none"])
def test_what_an_environment_is_made_with_goes_before_all(said, variables):
    words = f'{variables}build_dir="out", opt=1, sm=["sm_90", "sm_100"], nvcc_flags=["-DA", "-DB"]'
    found = said(words, "opt=3", "build_dir=there", "sm=80", more=SETTINGS)
    assert found == "told out 1 sm_90 sm_100 True -DA -DB"


def test_other_variables_are_as_given(said):
    assert said(f"{VARIABLES}lineinfo=False, build_dir=Dir('out')", "opt=3") == "told out 3 sm_120 no "
    assert said(f"{VARIABLES}opt=None", "lineinfo=no") == "told build 2 sm_120 no "


def test_it_holds_when_the_script_adds_options_of_its_own(said):
    more = 'own = scons_tool.variables(ARGUMENTS)\nown.Add("mine", "", "1")\nown.Update(env)\n'
    assert said(f'{VARIABLES}opt=1, build_dir="out"', "opt=3", more=more) == "told out 1 sm_120 yes "


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "opt=1.5",
            "error[option-value]: construction variable opt has unsupported type float; use a string, integer, boolean or list",
        ),
        ("sm=object()", "error[option-value]: construction variable sm has unsupported type object"),
        ("opt=7", "error[opt-level]: invalid LLVM optimization level '7'; use one of 0, 1, 2, 3, s, z"),
        ('build_dir="a.tilebc"', "error[option-value]: build_dir=a.tilebc is not a folder"),
        (
            "tile_group=8",
            "error[option-unknown]: unknown option tile_group of an environment; tile_group was renamed to grid_swizzle",
        ),
        ('ptxas=File("nothing")', "error[option-value]: ptxas=nothing: no such file"),
    ],
)
def test_what_no_option_can_be_is_refused(said, words, sentence):
    found = said(VARIABLES + words)
    assert sentence in found and len(found.splitlines()) == 1
