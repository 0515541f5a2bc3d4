"""What views pad with: NVIDIA's compiler holds these values in these types and refuses the others; so do compiler and interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulated_kernels import aligned
from tileiras_build import compile
from tileiras_build.core.errors import InvalidInput
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.simulate import emulator, interpreter

VALUES = ("zero", "neg_zero", "nan", "pos_inf", "neg_inf")
# Type -> the bits of what it can hold, in the order of VALUES; None is refused. As tileiras 13.5 has them.
BITS = {
    "f16": (0, 0x8000, 0x7E00, 0x7C00, 0xFC00),
    "bf16": (0, 0x8000, 0x7FC0, 0x7F80, 0xFF80),
    "f32": (0, 0x80000000, 0x7FC00000, 0x7F800000, 0xFF800000),
    "tf32": (0, 0x80000000, 0x7FC00000, 0x7F800000, 0xFF800000),
    "f64": (0, 1 << 63, 0x7FF8 << 48, 0x7FF0 << 48, 0xFFF0 << 48),
    "f8E4M3FN": (0, 0x80, 0x7F, None, None),
    "f8E5M2": (0, 0x80, 0x7E, 0x7C, 0xFC),
    "f8E8M0FNU": (0, None, 0xFF, None, None),
    "fnv8E5M3FNU": (0, 0, 0xFF, 0xFF, None),
    "f4E2M1FN": (0, 0x88, None, None, None),  # of a pair
}
SIZES = {"f16": 2, "bf16": 2, "f32": 4, "tf32": 4, "f64": 8}
CASES = [(type, value) for type in BITS for value in VALUES]

KERNEL = """cuda_tile.module @m {{
entry @k(%x: tile<ptr<{T}>>, %y: tile<ptr<{T}>>, %n: tile<i32>) {{
  %t = make_token : token
  %z = constant <i32: 0> : tile<i32>
  %a = make_tensor_view %x, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?x{T}, strides=[1]>
  %b = make_tensor_view %y, shape = [64], strides = [1] : tensor_view<64x{T}, strides=[1]>
  %p = make_partition_view %a : partition_view<tile=(64), padding_value = {P}, tensor_view<?x{T}, strides=[1]>>
  %q = make_partition_view %b : partition_view<tile=(64), tensor_view<64x{T}, strides=[1]>>
  %l, %lt = load_view_tko weak %p[%z] token = %t : partition_view<tile=(64), padding_value = {P}, tensor_view<?x{T}, strides=[1]>>, tile<i32> -> tile<64x{T}>, token
  %s = store_view_tko weak %l, %q[%z] token = %t : tile<64x{T}>, partition_view<tile=(64), tensor_view<64x{T}, strides=[1]>>, tile<i32> -> token
  return
}}
}}"""


def bytecode(type: str, value: str) -> bytes:
    return write_module(parse_text(KERNEL.format(T=type, P=value), "k"))


def launched(launch, memory, size: int, type: str) -> np.ndarray:
    """The bytes of 64 elements of which 32 lie in the array, all zero."""
    half = 4 if type == "f4E2M1FN" else 8
    length = 64 * size * half // 8
    source, target = aligned(np.zeros(length, np.uint8)), aligned(np.full(length, 9, np.uint8))
    params = [int(memory.map_array(array)).to_bytes(8, "little") for array in (source, target)]
    launch([*params, (32).to_bytes(4, "little")], memory)
    return target


def run_everywhere(type: str, value: str, code: bytes) -> list[np.ndarray]:
    size = SIZES.get(type, 1)
    made = compile(code, "sm_107" if type == "fnv8E5M3FNU" else "sm_100", stop_at="ptx")
    return [
        launched(
            lambda params, memory: interpreter.launch(code, "k", 1, params, memory=memory),
            interpreter.Memory(),
            size,
            type,
        ),
        launched(
            lambda params, memory: emulator.launch(made, "k", (1, 1, 1), params, memory=memory),
            emulator.Memory(),
            size,
            type,
        ),
    ]


@pytest.mark.parametrize(("type", "value"), [(t, v) for t, v in CASES if BITS[t][VALUES.index(v)] is not None])
def test_what_a_type_holds(type, value):
    size, bits = SIZES.get(type, 1), BITS[type][VALUES.index(value)]
    for found in run_everywhere(type, value, bytecode(type, value)):
        half = len(found) // 2
        assert not found[:half].any()
        assert (found[half:] == np.tile(np.frombuffer(bits.to_bytes(size, "little"), np.uint8), half // size)).all()


@pytest.mark.parametrize(("type", "value"), [(t, v) for t, v in CASES if BITS[t][VALUES.index(v)] is None])
def test_a_type_cannot_represent_the_value(type, value):
    code = bytecode(type, value)
    with pytest.raises(InvalidInput, match=f"{type} cannot represent the padding value {value}") as caught:
        compile(code, "sm_107", stop_at="ptx")
    assert caught.value.id == "padding-value"
    memory = interpreter.Memory()
    arrays = [aligned(np.zeros(64, np.uint8)) for _ in range(2)]
    params = [int(memory.map_array(array)).to_bytes(8, "little") for array in arrays]
    with pytest.raises(InvalidInput, match=f"cannot represent the padding value {value}") as caught:
        interpreter.launch(code, "k", 1, [*params, (32).to_bytes(4, "little")], memory=memory)
    assert caught.value.id == "padding-value"
