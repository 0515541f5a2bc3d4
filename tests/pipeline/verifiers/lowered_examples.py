"""The examples as scheduled tile IR, for the checkers of programs."""

from xdsl.dialects.builtin import ModuleOp

from tests.emulated_kernels import scheduled_module
from tests.examples.example_library import CASES, bytecode_of

NAMES = sorted(CASES)


def scheduled(name: str, sm: str) -> ModuleOp:
    """An example as scheduled tile IR, a new module at each call."""
    return scheduled_module(bytecode_of(name), sm)
