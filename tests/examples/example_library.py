"""Every example of examples/kernels by name, its bytecode, and a launch of it in the emulator."""

from functools import cache
from pathlib import Path

import numpy as np

from tests.compiled_once import once
from tileiras_build.frontend.cases_table_from_ast import is_helper
from tileiras_build.frontend.export_cutile import Case, export_point, load_cases, pack_arguments

FOLDER = Path(__file__).parents[2] / "examples"
FILES = sorted(path for path in (FOLDER / "kernels").glob("*.py") if not is_helper(path))
CASES: dict[str, Case] = {}
FILE_OF: dict[str, Path] = {}
for _path in FILES:
    for _case in load_cases(_path):
        if _case.name in CASES:
            raise ValueError(f"{_case.name} is in {FILE_OF[_case.name].name} and in {_path.name}")
        CASES[_case.name], FILE_OF[_case.name] = _case, _path


# Cases that have the instructions of others: the same work in another layout, order or type.
LIKE_OTHERS = (
    "matmul_f16_nn", "matmul_f16_tn", "matmul_f16_tt", "matmul_f16_nn_f16", "attention_f16", "suffix_sum_f32", "gelu_tanh_f16",
)  # fmt: skip
DIFFERENT = tuple(name for name in CASES if name not in LIKE_OTHERS)


@cache
def bytecode_of(name: str) -> bytes:
    """The bytecode of a case, named relative to the project."""
    make = lambda: export_point(FILE_OF[name], CASES[name], FOLDER.parent, variants=False)
    return once(("bytecode of an example", name), make)


def inputs_of(name: str) -> dict:
    """The launch arguments of a case: the same numbers in new arrays at each call."""
    return CASES[name].inputs(np.random.default_rng(list(name.encode())))


def launch(name: str, artifacts) -> dict:
    """Run the case in the emulator; its arguments afterwards. Only the arrays themselves are mapped."""
    from tileiras_build.simulate import emulator

    case, values = CASES[name], inputs_of(name)
    memory = emulator.Memory()
    for array in values.values():
        if isinstance(array, np.ndarray):
            start, end = np.lib.array_utils.byte_bounds(array)
            memory.map(start, end - start)
    parameters = pack_arguments(case, list(values.values()))
    emulator.launch(artifacts, name, case.grid(values), parameters, memory=memory)
    return values
