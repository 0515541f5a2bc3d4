"""What LLVM and libNVVM would compile to wrong code: the values of the PTX are right, or the module is refused."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import aligned
from tileiras_build.core.errors import TileirasError
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx import libnvvm, lower
from tileiras_build.simulate import emulator
from tileiras_build.target.targets import find_target

TYPES = {"half": np.float16, "bfloat": ml_dtypes.bfloat16, "float": np.float32, "double": np.float64}
SERIALIZERS = [
    "nvptx",
    pytest.param("libnvvm", marks=pytest.mark.skipif(not libnvvm.is_installed(), reason="libNVVM is not installed")),
]
THREAD = "%t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()"


def compiled(body: str, sm: str = "90", serializer: str = "nvptx", declared: str = "") -> str:
    text = (
        'target triple = "nvptx64-nvidia-cuda"\n'
        "define ptx_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q, ptr addrspace(1) %o) {\n"
        f"{THREAD}\n{body}\nret void\n}}\ndeclare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n{declared}\n"
    )
    return lower(text, Job(find_target(sm), serializer=serializer))


def _at(pointer: str, type: str) -> str:
    return f"%at.{pointer} = getelementptr {type}, ptr addrspace(1) %{pointer}, i32 %t\n"


def read(value: str, pointer: str, type: str) -> str:
    return f"{_at(pointer, type)}%{value} = load {type}, ptr addrspace(1) %at.{pointer}\n"


def written(value: str, type: str) -> str:
    return f"{_at('o', type)}store {type} {value}, ptr addrspace(1) %at.o\n"


def computed(ptx: str, result: type, *operands: np.ndarray) -> np.ndarray:
    """What one thread for each element writes."""
    memory, out = emulator.Memory(), aligned(np.zeros(len(operands[0]), result))
    arrays = [aligned(array) for array in (*operands, *[operands[0]] * (2 - len(operands)))]
    arguments = [memory.map_array(array).to_bytes(8, "little") for array in (*arrays, out)]
    emulator.run_ptx(ptx, "k", 1, (len(out), 1, 1), arguments, memory=memory)
    return out


# Remainders -----------------------------------------------------------------------------------------------------------


def pairs(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Numbers with quotients of every size, and those at the ends of the type."""
    limits = ml_dtypes.finfo(dtype)
    ends = [float(limits.max), float(limits.smallest_subnormal), float(limits.smallest_normal), 3.0, 7.0, 0.5]
    some = [0.0, 1e9, 1e20, math.inf, math.nan, *ends]
    with np.errstate(over="ignore"):
        values = np.array([[sign * a, b] for a in some for b in some for sign in (1, -1)]).astype(dtype)
    return values[:, 0], values[:, 1]


def fmod(a: float, b: float) -> float:
    is_none = math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0
    return math.nan if is_none else math.fmod(a, b)


@pytest.mark.parametrize("serializer", SERIALIZERS)
@pytest.mark.parametrize("type", TYPES)
def test_a_remainder_is_exact(type, serializer):
    a, b = pairs(TYPES[type])
    body = read("a", "p", type) + read("b", "q", type) + f"%c = frem {type} %a, %b\n" + written("%c", type)
    got = computed(compiled(body, "100", serializer), TYPES[type], a, b).astype(np.float64)
    expected = np.array([fmod(float(x), float(y)) for x, y in zip(a, b, strict=True)])
    np.testing.assert_array_equal(got, expected)
    assert np.array_equal(np.signbit(got[~np.isnan(got)]), np.signbit(a[~np.isnan(got)]))


def test_the_lanes_of_a_vector_and_an_approximation():
    load = "%a = load <2 x float>, ptr addrspace(1) %p\n"
    store = "store <2 x float> %c, ptr addrspace(1) %o\n"
    ptx = compiled(f"{load}%c = frem <2 x float> %a, <float 3.0, float 7.0>\n{store}")
    memory, out = emulator.Memory(), aligned(np.zeros(2, np.float32))
    given = aligned(np.array([1e9, 1e20], np.float32))
    arguments = [memory.map_array(array).to_bytes(8, "little") for array in (given, given, out)]
    emulator.run_ptx(ptx, "k", 1, (1, 1, 1), arguments, memory=memory)
    assert out.tolist() == [1, math.fmod(float(given[1]), 7)]
    loop = "bra"
    assert loop in ptx and loop not in compiled(f"{load}%c = frem afn <2 x float> %a, <float 3.0, float 7.0>\n{store}")


# Conversions ----------------------------------------------------------------------------------------------------------


def nearest(value: int) -> float:
    """A bfloat16, to even."""
    if value == 0:
        return 0.0
    size = abs(value)
    unit = Fraction(2) ** (size.bit_length() - 8)
    quotient, rest = divmod(Fraction(size), unit)
    quotient += rest > unit / 2 or (rest == unit / 2 and quotient % 2 == 1)
    return float(math.copysign(1, value) * quotient * unit)


def integers(bits: int, signed: bool) -> np.ndarray:
    """Halfway between two values of 8 bits, and next to that, at every size."""
    found = {0, 1, 5, (1 << bits) - 1, 1 << (bits - 1)}
    for top in range(9, bits):
        half = (1 << top) + (1 << (top - 8))
        found |= {half, half + 1, half - 1, half + (1 << (top - 7)), half + (1 << max(0, top - 25))}
    values = (
        np.array(sorted(found), np.uint64).astype(f"u{bits // 8}").view(f"i{bits // 8}" if signed else f"u{bits // 8}")
    )
    return np.concatenate([values, -values]) if signed else values


@pytest.mark.parametrize("sm", ["80", "90"])
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("word", ["sitofp", "uitofp"])
def test_an_integer_is_rounded_to_bfloat_once(word, bits, sm):
    given = integers(bits, word == "sitofp")
    body = read("a", "p", f"i{bits}") + f"%c = {word} i{bits} %a to bfloat\n" + written("%c", "bfloat")
    got = computed(compiled(body, sm), ml_dtypes.bfloat16, given)
    np.testing.assert_array_equal(got.astype(np.float64), [nearest(int(value)) for value in given])


@pytest.mark.parametrize("sm", ["80", "90"])
@pytest.mark.parametrize("type", ["i40", "i60"])
def test_integers_of_odd_widths_too(type, sm):
    given = integers(64, True) >> (64 - int(type[1:]))
    body = (
        read("w", "p", "i64")
        + f"%a = trunc i64 %w to {type}\n%c = sitofp {type} %a to bfloat\n"
        + written("%c", "bfloat")
    )
    got = computed(compiled(body, sm), ml_dtypes.bfloat16, given)
    np.testing.assert_array_equal(got.astype(np.float64), [nearest(int(value)) for value in given])


@pytest.mark.parametrize("serializer", SERIALIZERS)
@pytest.mark.parametrize(
    ("word", "values"), [("fptosi", [0, -1, -0.0, -1.5, 0.9]), ("fptoui", [0, 1, -0.0, 1.5, -0.9])]
)
@pytest.mark.parametrize("type", TYPES)
def test_a_number_becomes_a_bit(type, word, values, serializer):
    given = np.array(values, TYPES[type])
    body = read("a", "p", type) + f"%b = {word} {type} %a to i1\n%c = zext i1 %b to i8\n" + written("%c", "i8")
    got = computed(compiled(body, "100", serializer), np.uint8, given)
    assert got.tolist() == [int(abs(float(value))) for value in given]


@pytest.mark.parametrize("serializer", SERIALIZERS)
def test_a_bit_becomes_minus_one(serializer):
    body = read("a", "p", "i8") + "%b = trunc i8 %a to i1\n%c = sitofp i1 %b to bfloat\n" + written("%c", "bfloat")
    got = computed(compiled(body, "90", serializer), ml_dtypes.bfloat16, np.array([0, 1, 1], np.uint8))
    assert got.tolist() == [0, -1, -1]


@pytest.mark.parametrize("type", ["i16", "<2 x i16>"])
def test_a_saturating_difference_is_taken_in_more_bits(type):
    name = "llvm.ssub.sat.i16" if type == "i16" else "llvm.ssub.sat.v2i16"
    zero = "0" if type == "i16" else "zeroinitializer"
    body = f"%a = load {type}, ptr addrspace(1) %p\n%c = call {type} @{name}({type} {zero}, {type} %a)\n"
    ptx = compiled(f"{body}store {type} %c, ptr addrspace(1) %o", declared=f"declare {type} @{name}({type}, {type})")
    # ptxas compares in 32 bits what a negation in 16 has left.
    negated = re.findall(r"neg\.s16\s+(%rs\d+)", ptx)
    assert not any(re.search(rf"setp\.\w+\.s16[^;]*{value}\b", ptx) for value in negated)
    memory, out = emulator.Memory(), aligned(np.zeros(2, np.int16))
    given = aligned(np.array([-32768, 5], np.int16))
    arguments = [memory.map_array(array).to_bytes(8, "little") for array in (given, given, out)]
    emulator.run_ptx(ptx, "k", 1, (1, 1, 1), arguments, memory=memory)
    assert out.tolist() == [32767, -5][: 1 if type == "i16" else 2] + [0] * (type == "i16")


def test_names_and_places_are_kept():
    text = (
        'target triple = "nvptx64-nvidia-cuda"\n'
        "define ptx_kernel void @k(ptr addrspace(1) %0, float %1) !dbg !4 {\n"
        '  %3 = frem float %1, 3.0, !dbg !7\n  %"a b" = frem float %3, 2.0, !dbg !7\n'
        '  store float %"a b", ptr addrspace(1) %0, !dbg !7\n  ret void, !dbg !7\n}\n'
        "!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!2}\n"
        '!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: DebugDirectivesOnly)\n'
        '!1 = !DIFile(filename: "k.c", directory: "/")\n!2 = !{i32 2, !"Debug Info Version", i32 3}\n'
        "!3 = !DISubroutineType(types: !{null})\n"
        '!4 = distinct !DISubprogram(name: "k", file: !1, line: 1, type: !3, unit: !0, spFlags: DISPFlagDefinition)\n'
        "!7 = !DILocation(line: 9, column: 2, scope: !4)\n"
    )
    ptx = lower(text, Job(find_target("90")))
    assert ".loc\t1 9 2" in ptx or ".loc 1 9 2" in ptx.replace("\t", " ")


@pytest.mark.parametrize(
    "line",
    ["%r = sitofp i128 %v to float", "%r = uitofp i65 %w to double", "%r = fptosi float %f to i128", "%r = fptoui float %f to i65",
     "%r = call i128 @llvm.fptosi.sat.i128.f32(float %f)"],
)  # fmt: skip
def test_a_conversion_that_ends_the_process_is_refused(line):
    text = f"define void @f(i128 %v, i65 %w, float %f) {{\n{line}\nret void\n}}\ndeclare i128 @llvm.fptosi.sat.i128.f32(float)\n"
    with pytest.raises(TileirasError, match="wide-conversion"):
        lower(text, Job(find_target("90")))


@pytest.mark.parametrize(("group", "sm", "refused"), [(2, "90", True), (2, "100", False), (0, "90", False)])
def test_a_copy_of_a_pair_of_ctas_needs_pairs(group, sm, refused):
    types = "ptr addrspace(7), ptr addrspace(3), ptr, i32, i16, i64, i1, i1, i32"
    values = f"ptr addrspace(7) %d, ptr addrspace(3) %b, ptr %m, i32 0, i16 0, i64 0, i1 false, i1 false, i32 {group}"
    name = "llvm.nvvm.cp.async.bulk.tensor.g2s.tile.1d"
    text = (
        f"define void @f(ptr addrspace(7) %d, ptr addrspace(3) %b, ptr %m) {{\ncall void @{name}({values})\nret void\n}}\n"
        f"declare void @{name}({types})\n"
    )
    if not refused:
        assert "cp.async.bulk.tensor.1d" in lower(text, Job(find_target(sm)))
        return
    with pytest.raises(TileirasError, match="needs tma_cta_group"):
        lower(text, Job(find_target(sm)))


@pytest.mark.skipif(not libnvvm.is_installed(), reason="libNVVM is not installed")
@pytest.mark.parametrize(
    ("body", "declared", "message"),
    [
        ("%a = load i32, ptr addrspace(1) %p\n%b = bitcast i32 %a to <32 x i1>\n%c = insertelement <32 x i1> %b, i1 true, i32 0\n"
         "%d = bitcast <32 x i1> %c to i32\nstore i32 %d, ptr addrspace(1) %o", "", "to wrong code"),
        ("%a = load i32, ptr addrspace(1) %p\n%d = call i32 @llvm.ssub.sat.i32(i32 %a, i32 7)\nstore i32 %d, ptr addrspace(1) %o",
         "declare i32 @llvm.ssub.sat.i32(i32, i32)", r"does not support llvm\.s(add|sub)\.sat\.i32"),
    ],
)  # fmt: skip
def test_what_the_older_libnvvm_gets_wrong_is_refused(body, declared, message):
    with pytest.raises(TileirasError, match=message):
        compiled(body, "90", "libnvvm", declared)
