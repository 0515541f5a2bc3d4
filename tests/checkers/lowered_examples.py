"""The examples as scheduled tile IR, for the checkers of programs."""

import sys
from functools import cache
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from tileiras_build.bytecode.reader import read_module
from tileiras_build.pipeline import tileaa_to_tileas, tilebc_to_tileaa
from tileiras_build.pipeline.job import Job
from tileiras_build.targets import find_target

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from example_library import CASES, bytecode_of

NAMES = sorted(CASES)


@cache
def _scheduled(name: str, sm: str) -> ModuleOp:
    job = Job(find_target(sm))
    return tileaa_to_tileas.lower(tilebc_to_tileaa.lower(read_module(bytecode_of(name)), job), job)


def scheduled(name: str, sm: str) -> ModuleOp:
    """An example as scheduled tile IR, a new module at each call."""
    return _scheduled(name, sm).clone()
