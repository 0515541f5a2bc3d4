"""What an aligned variant promises, and which cases have one."""

import pytest

from tileiras_build.frontend.aligned_variant import aligned_arguments
from tileiras_build.frontend.cases_api import Array, Scalar

HALF, BYTES = Array("float16", 2), Array("int8", 3, None, alignment=1)
VECTOR = Array("float32", 1)


def test_strides_and_lengths_are_multiples_of_16_bytes():
    half, bytes, scalar, constant = aligned_arguments((HALF, BYTES, Scalar("int32"), 64))
    assert (half.stride_factors, half.shape_factors, half.unit_stride) == ((8, 1), (1, 8), 1)
    assert (bytes.stride_factors, bytes.shape_factors, bytes.unit_stride) == ((16, 16, 1), (1, 1, 16), 2)
    assert bytes.alignment == 16 and (scalar, constant) == (Scalar("int32"), 64)


def test_promises_of_the_case_are_kept():
    array = Array("float32", 2, 0, stride_divisible_by=6, shape_divisible_by=(2, 3), alignment=64)
    [aligned] = aligned_arguments((array,))
    assert (aligned.stride_factors, aligned.shape_factors) == ((1, 12), (4, 3))
    assert (aligned.unit_stride, aligned.alignment) == (0, 64)


def test_packed_elements_count():
    [aligned] = aligned_arguments((Array("float4_e2m1fn", 2),))
    assert aligned.stride_factors == (32, 1)


def test_arrays_in_tuples_have_promises_and_those_in_lists_have_none():
    (inner,), listed = aligned_arguments(((HALF,), [HALF]))
    assert inner.stride_factors == (8, 1) and listed == [HALF]


def test_vectors_promise_their_lengths_only_among_themselves():
    [vector] = aligned_arguments((VECTOR,))
    assert vector.shape_factors == (4,)
    _, bias = aligned_arguments((HALF, VECTOR))
    assert (bias.stride_factors, bias.shape_factors) == ((1,), (1,))


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (Scalar("int32"), 3),
        (Array("float16", 2, stride_divisible_by=8),),
        (Array("float16", 2, stride_divisible_by=16), VECTOR),
        (Array("float32", 1, shape_divisible_by=8),),
        (Array("float32", 0, None),),
        ([HALF],),
    ],
)
def test_cases_with_these_promises_have_no_variant(arguments):
    assert aligned_arguments(arguments) is None
