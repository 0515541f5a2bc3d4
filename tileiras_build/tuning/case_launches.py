"""The launches that the cases of a Python file name, as far as the cost model needs them: lengths, strides, scalars and grid.

They are the first problem of a ``Tune``, whose sizes are those of the application, or else the sizes of ``inputs``.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..core.errors import Location
from ..frontend.export_cutile import opened_cases
from ..frontend.import_kernel_file import folder_of
from ..frontend.kernel_case import Case
from ..frontend.tuning_choices import chosen_case
from ..frontend.users_errors import users_code
from ..simulate.estimate.described_launch import DescribedLaunch
from ..verify.estimate_settings import describe
from .problem_launches import problem_launches

Launches = dict[tuple[str, str], DescribedLaunch]  # by case and target ("sm_90")


def launches_of_file(path: str, targets: Iterable[str]) -> Launches:
    """The launches of the cases that have sizes, with the constants that each target has. Runs the user's code.

    Raises InvalidInput[export] where that fails.
    """
    found: Launches = {}
    with opened_cases(path) as cases:
        for case in filter(has_launch, cases):
            with users_code(folder_of(path), Location(path), f"case {case.name!r}: "):
                found |= {(case.name, target): _launch(chosen_case(case, path, target)[0]) for target in targets}
    return found


def has_launch(case: Case) -> bool:
    """Whether a case names a grid and sizes."""
    return case.grid is not None and (case.inputs is not None or bool(case.tune and case.tune.problems))


def _launch(case: Case) -> DescribedLaunch:
    first = problem_launches(case)[0]
    return DescribedLaunch(tuple(map(describe, first.values.values())), first.grid)
