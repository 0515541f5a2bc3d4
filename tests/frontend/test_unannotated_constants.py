"""Numbers that a row gives for parameters which a launch passes at run time."""

import textwrap

import cuda.tile as ct
import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.frontend.export_cutile import export_kernels
from tileiras_build.frontend.kernel_case import Array, Scalar
from tileiras_build.frontend.unannotated_constants import unannotated_constants

X = Array("float32", 1)


def plain(x, scale, n: int): ...
def constant(x, scale: ct.Constant[float], n: ct.Constant[int]): ...
def in_tuples(x, pair: tuple[ct.Constant[int], int], rest: ct.Constant[tuple[int, ...]]): ...


@pytest.mark.parametrize(
    ("function", "arguments", "found"),
    [
        (plain, (X, 0.125, 4), [("scale", 0.125), ("n", 4)]),
        (plain, (X, Scalar("float32"), Scalar("int32")), []),
        (constant, (X, 0.125, 4), []),
        (in_tuples, (X, (1, 2), (3, 4)), [("pair", 2)]),
        (in_tuples, (X, (1, Scalar("int32")), (3, 4)), []),
    ],
)
def test_only_annotated_parameters_are_constants(function, arguments, found):
    assert list(unannotated_constants(function, arguments)) == found


def test_an_export_is_refused_with_what_to_write(tmp_path):
    path = tmp_path / "k.py"
    path.write_text(
        textwrap.dedent(
            """
            import cuda.tile as ct
            from tileiras_build.frontend.cases_api import Array, Case

            @ct.kernel
            def scaled(x, scale: float):
                ct.store(x, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)) * scale)

            CASES = [Case("scaled", scaled, (Array("float32", 1), 0.125))]
            """
        )
    )
    with pytest.raises(InvalidInput) as refused:
        export_kernels(path)
    assert "the value 0.125 for the parameter scale of scaled, which a launch passes at run time" in str(refused.value)
    assert 'write Scalar("float32") in its place, or annotate scale: ct.Constant' in str(refused.value)
