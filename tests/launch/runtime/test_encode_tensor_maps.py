"""Descriptors from parameters: values, and everything that the driver would refuse."""

import msgspec
import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.launch.runtime import encode_tensor_maps
from tileiras_build.launch.runtime.encode_tensor_maps import TensorMap
from tileiras_build.manifest.launch_manifest import TensorMapSpec

ROW = {
    "param": 4, "element": "f16", "base": {"param": 0}, "shape": [{"param": 1}, {"param": 2}, 3],
    "strides": [{"param": 3, "times": 2}, 4096], "box": [64, 128, 1], "element_strides": [1, 1, 1],
    "swizzle": "128B", "interleave": "none", "fill": "zero", "l2_promotion": "256B",
}  # fmt: skip


def resolve(entry, index, row, values):
    return encode_tensor_maps.resolve(entry, index, msgspec.convert(row, TensorMapSpec), values)


def params(base=0x1000, width=640, height=480, stride=1024):
    return [base, width, height, stride]


def test_values_come_from_the_parameters():
    assert resolve("k", 0, ROW, params()) == TensorMap(
        "f16", 0x1000, (640, 480, 3), (2048, 4096), (64, 128, 1), (1, 1, 1), "128B", "none", "zero", "256B"
    )


def test_a_value_may_be_divided():
    row = ROW | {
        "shape": [{"param": 1, "over": 2}, {"param": 2}, 3],
        "strides": [{"param": 3, "times": 3, "over": 4}, 4096],
    }
    made = resolve("k", 0, row, params())
    assert (made.shape, made.strides) == ((320, 480, 3), (768, 4096))


def test_an_empty_tensor_is_encoded_as_one_element():
    assert resolve("k", 0, ROW, params(width=0, height=0)).shape == (1, 1, 3)


@pytest.mark.parametrize(
    ("row", "values", "sentence"),
    [
        ({}, {"base": 0x1008}, "its address 0x1008 is not a multiple of 16"),
        ({}, {"width": -2}, "dimension 0 has -2 elements"),
        ({}, {"height": -1}, "dimension 1 has -1 elements"),
        ({"shape": [1, 1, (1 << 32) + 1]}, {}, "dimension 2 has 4294967297 elements"),
        ({}, {"stride": 1020}, "the stride of dimension 1 is 2040 bytes, not a multiple of 16"),
        ({"strides": [16, 1 << 40]}, {}, "the stride of dimension 2 is 1099511627776 bytes"),
        ({"box": [64, 257, 1]}, {}, "its box has 257 elements along dimension 1"),
        ({"element_strides": [1, 9, 1]}, {}, "at steps of 9"),
        ({"box": [65, 1, 1]}, {}, "its box has 130 bytes along dimension 0, more than the swizzle's 128"),
        ({"box": [4, 1, 1], "swizzle": "none"}, {}, "its box has 8 bytes along dimension 0, not a multiple of 16"),
        ({"shape": [], "strides": []}, {}, "its rank is 0"),
        ({"shape": [1] * 6, "strides": [16] * 5}, {}, "its rank is 6"),
    ],
)
def test_what_the_driver_would_refuse_names_kernel_and_descriptor(row, values, sentence):
    with pytest.raises(InvalidInput, match="cannot encode tensor map 7 of kernel k") as caught:
        resolve("k", 7, ROW | row, params(**values))
    assert sentence in str(caught.value)
