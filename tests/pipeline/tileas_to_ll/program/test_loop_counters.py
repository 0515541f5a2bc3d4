"""Loops whose counters come to the end of their type: interpreter and compiled code count as Python's integers say."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tileiras_build import compile
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.simulate import emulator, interpreter

BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}

# A loop in a loop: bounds and step of both come from memory. What is left: how often the bodies ran, and the sum of the
# inner counters.
KERNEL = """cuda_tile.module @m {{
entry @k(%in: tile<ptr<{T}>>, %out: tile<ptr<i32>>, %total: tile<ptr<{T}>>) {{
  %t = make_token : token
  %where = iota : tile<4x{T}>
  %n0 = constant <i32: 0> : tile<i32>
  %n1 = constant <i32: 1> : tile<i32>
  %n2 = constant <i32: 2> : tile<i32>
  %p1 = offset %in, %n1 : tile<ptr<{T}>>, tile<i32> -> tile<ptr<{T}>>
  %p2 = offset %in, %n2 : tile<ptr<{T}>>, tile<i32> -> tile<ptr<{T}>>
  %lo, %t0 = load_ptr_tko weak %in token=%t : tile<ptr<{T}>> -> tile<{T}>, token
  %up, %t1 = load_ptr_tko weak %p1 token=%t : tile<ptr<{T}>> -> tile<{T}>, token
  %st, %t2 = load_ptr_tko weak %p2 token=%t : tile<ptr<{T}>> -> tile<{T}>, token
  %zero = constant <{T}: 0> : tile<{T}>
  %end = constant <{T}: 2> : tile<{T}>
  %one = constant <{T}: 1> : tile<{T}>
  %n, %s = for %j in (%zero to %end, step %one) : tile<{T}> iter_values(%a = %n0, %b = %zero) -> (tile<i32>, tile<{T}>) {{
    %c, %d = for {cmp}%i in (%lo to %up, step %st) : tile<{T}> iter_values(%e = %a, %f = %b) -> (tile<i32>, tile<{T}>) {{
      %g = addi %e, %n1 : tile<i32>
      %h = addi %f, %i : tile<{T}>
      continue %g, %h : tile<i32>, tile<{T}>
    }}
    continue %c, %d : tile<i32>, tile<{T}>
  }}
  %t3 = store_ptr_tko weak %out, %n token=%t2 : tile<ptr<i32>>, tile<i32> -> token
  %t4 = store_ptr_tko weak %total, %s token=%t2 : tile<ptr<{T}>>, tile<{T}> -> token
  return
}}
}}"""

# Type, signed, lower bound, upper bound, step.
LOOPS = [
    ("i8", True, 0, 120, 50), ("i8", True, -128, 127, 77), ("i8", True, 0, 10, -1),
    ("i8", True, 10, 0, -1), ("i8", True, 5, 5, 0), ("i8", True, 127, 127, 1), ("i8", True, -128, -128, 1),
    ("i8", False, 10, 250, 50), ("i8", False, 200, 256 - 3, 49), ("i8", False, 250, 10, 1), ("i8", False, 0, 255, 255),
    ("i16", True, 0, 32000, 30000), ("i16", True, 32000, 32700, 300), ("i16", False, 0, 65000, 30000),
    ("i32", True, 2**31 - 6, 2**31 - 1, 1), ("i32", True, -5, 5, 3),
    ("i32", True, -(2**31), -(2**31) + 9, 4), ("i32", False, 2**32 - 9, 2**32 - 1, 4), ("i32", False, 2**31 - 2, 2**31 + 2, 1),
    ("i64", True, 2**63 - 6, 2**63 - 1, 1), ("i64", False, 2**64 - 9, 2**64 - 1, 4),
    ("i32", True, 288545018, 2013265920, 1222356006), ("i32", False, 506456969, 4026531840, 1063938750),
    ("i64", True, 4145823292899356484, 8646911284551352320, 6009884435798102114), ("i64", False, 4219918144720109109, 17293822569102704640, 8718583300439266498),
]  # fmt: skip


def counted(bits: int, signed: bool, low: int, high: int, step: int) -> list[int]:
    """The counters of a loop, each the one before plus the step in arithmetic modulo 2 ** bits."""
    counter, found = low, []
    while counter < high:
        found.append(counter)
        counter = (counter + step) % (1 << bits)
        if signed and counter >> bits - 1:
            counter -= 1 << bits
    return found


@cache
def kernel(type: str, signed: bool) -> bytes:
    text = KERNEL.format(T=type, cmp="" if signed else "unsigned ")
    return write_module(parse_text(text, "k"))


@cache
def artifacts(type: str, signed: bool, sm: str):
    return compile(kernel(type, signed), sm, stop_at="ptx")


def arrays(type: str, *bounds: int) -> list[np.ndarray]:
    dtype = np.dtype(type.replace("i", "uint"))
    given = np.array([number % (1 << BITS[type]) for number in bounds], dtype)
    return [given, np.full(1, 99, np.int32), np.full(1, 99, dtype)]


def left(launch, memory, given: list[np.ndarray]) -> tuple[int, int]:
    launch([int(memory.map_array(array)).to_bytes(8, "little") for array in given], memory)
    return int(given[1][0]), int(given[2][0])


@pytest.mark.parametrize(("type", "signed", "low", "high", "step"), LOOPS)
def test_counters_wrap(type, signed, low, high, step):
    want = counted(BITS[type], signed, low, high, step)
    expected = 2 * len(want), 2 * sum(want) % (1 << BITS[type])
    code = kernel(type, signed)
    interpreted = lambda params, memory: interpreter.launch(code, "k", 1, params, memory=memory)
    assert left(interpreted, interpreter.Memory(), arrays(type, low, high, step)) == expected
    made = artifacts(type, signed, "sm_80")
    emulated = lambda params, memory: emulator.launch(made, "k", (1, 1, 1), params, memory=memory)
    assert left(emulated, emulator.Memory(), arrays(type, low, high, step)) == expected
