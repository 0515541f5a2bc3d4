"""f8E5M3FNU (bytecode 13.4): no sign, exponent bias 15, subnormal numbers, one NaN; interpreter and compiled code."""

import numpy as np
import pytest

import tileiras_build
from tests.simulate.interpreter.kernels import kernel, load, store
from tileiras_build.ir.bytecode import disassemble
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.simulate import emulator, interpreter

F8 = "fnv8E5M3FNU"
CODES = np.arange(256, dtype=np.uint8)
# From the definition: exponent field 0 has the spacing of field 1; the last pattern is NaN.
DECODED = np.array([(c % 8 / 8 + (c >= 8)) * 2.0 ** (max(c >> 3, 1) - 15) for c in range(255)] + [np.nan], np.float32)


def both(text: str, sm: str, *arrays) -> list[np.ndarray]:
    """What the last array holds after the compiled kernel, and after the interpreter."""
    module, found = parse_text(text), []
    artifacts = tileiras_build.compile(write_module(module), sm, stop_at="ptx")
    for package, code in ((emulator, artifacts), (interpreter, module)):
        copies, memory = [array.copy() for array in arrays], package.Memory()
        params = [memory.map_array(copy).to_bytes(8, "little") for copy in copies]
        package.launch(code, "k", (1, 1, 1), params, memory=memory)
        found.append(copies[-1])
    return found


def converted(source: str, target: str) -> str:
    body = load("x", "px", (256,), source) + f"\n  %r = ftof %x : tile<256x{source}> -> tile<256x{target}>"
    return kernel({"px": source, "pr": target}, body + store("r", "pr", (256,), target))


@pytest.mark.parametrize("sm", ["sm_80", "sm_107"])
def test_every_code_is_its_number(sm):
    for out in both(converted(F8, "f32"), sm, CODES, np.zeros(256, np.float32)):
        np.testing.assert_array_equal(out, DECODED)


@pytest.mark.parametrize("sm", ["sm_80", "sm_107"])
def test_values_are_rounded_to_nearest_even_and_saturate(sm):
    middles = (DECODED[1:255] + DECODED[:254]) / 2
    x = np.concatenate([middles, [1e9, np.inf]]).astype(np.float32)
    even = np.arange(254) + np.arange(254) % 2
    for out in both(converted("f32", F8), sm, x, np.zeros(256, np.uint8)):
        np.testing.assert_array_equal(out, [*even, 254, 254])
    for near, codes in (
        (np.nextafter(x[:254], np.float32(0)), CODES[:254]),
        (np.nextafter(x[:254], x[254]), CODES[1:255]),
    ):
        padded = np.concatenate([near, [0, np.nan]]).astype(np.float32)
        for out in both(converted("f32", F8), sm, padded, np.zeros(256, np.uint8)):
            np.testing.assert_array_equal(out, [*codes, 0, 255])


CONSTANT = kernel(
    {"pr": "f32"},
    f"  %c = constant <{F8}: [0x3C, 0x0, 0xF8, 0x7]> : tile<4x{F8}>\n  %s = constant <{F8}: 0x78> : tile<4x{F8}>\n"
    f"  %x = ftof %c : tile<4x{F8}> -> tile<4xf32>\n  %y = ftof %s : tile<4x{F8}> -> tile<4xf32>\n"
    "  %r = mulf %x, %y : tile<4xf32>" + store("r", "pr", (4,), "f32"),
)  # fmt: skip


def test_constants():
    for out in both(CONSTANT, "sm_90", np.zeros(4, np.float32)):
        np.testing.assert_array_equal(out, DECODED[[0x3C, 0, 0xF8, 7]])


def test_text_is_read_back():
    text = disassemble(write_module(parse_text(CONSTANT)))
    assert disassemble(write_module(parse_text(text))) == text and F8 in text
