"""Facts of the conversion beyond its golden text: slots, tables, bit layouts, round trips."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import split_file
from tileiras_build.ir.dialects.nvgpu.dialect import NVGPU
from tileiras_build.ir.dialects.nvvm.ops_copy import TensorLoadOp, TensorStoreOp
from tileiras_build.ir.layouts.matrix_descriptor import wgmma_descriptor
from tileiras_build.libdevice import find_libdevice
from tileiras_build.libdevice.split_library import Library
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.opt import find_pass, parse_module
from tileiras_build.pipeline.tileas_to_ll.convert_nvgpu_and_gpu_to_nvvm.libdevice_math import CALLEES, FAST
from tileiras_build.pipeline.tileas_to_ll.convert_nvgpu_and_gpu_to_nvvm.passes import device_operations, import_rewrites
from tileiras_build.pipeline.tileas_to_ll.convert_nvgpu_and_gpu_to_nvvm.rewriter import REWRITES
from tileiras_build.target.targets import find_target

DOCUMENT = "nvgpu-gpu-to-nvvm"
PASS = "convert-nvgpu-and-gpu-to-nvvm"
CASES = [case for path in sorted(Path(__file__).parent.glob("*.mlir")) for case in split_file(path.read_text())[1]]
CONVERTED = [case for case in CASES if PASS in case.passes and not case.expected.startswith("// ")]


def convert(text: str, sm: str = "90", name: str = PASS):
    module = parse_module(text)
    find_pass(name)().run(module, Job(find_target(sm)))
    module.verify()
    return module


@pytest.mark.seed(DOCUMENT, "no-executable-gpu", "module-container", "legal-leftovers")
@pytest.mark.parametrize("case", CONVERTED, ids=lambda case: case.title)
def test_what_comes_out_has_nothing_of_gpu_but_the_container(case):
    """``tests/golden.py`` sees that it reads back."""
    names = {op.name for op in device_operations(parse_module(case.expected))}
    assert {name for name in names if name.startswith(("gpu.", "nvgpu."))} <= {"gpu.module"}


@pytest.mark.seed(DOCUMENT, "pattern-per-root")
def test_every_nvgpu_operation_has_one_rewrite():
    import_rewrites()
    assert {op.name for op in NVGPU.operations} <= REWRITES.keys()
    rewrites = [function for root, function in REWRITES.items() if root.startswith("nvgpu.")]
    assert len(set(rewrites)) == len(rewrites)


MAP = "!nvgpu.tensormap.descriptor<tensor = memref<2x4x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>"
BAR = "!nvgpu.mbarrier.group<memorySpace = 3 : i64>"


def _copy(line: str):
    arguments = f"%m: {MAP}, %b: {BAR}, %s: memref<2x4x64xf16, 3>, %x: index, %y: index, %z: index, %k: i16, %h: i64"
    text = f"gpu.module @m {{ gpu.func @k({arguments}) kernel {{\n{line}\ngpu.return }} }}"
    return next(op for op in convert(text).walk() if isinstance(op, TensorLoadOp | TensorStoreOp))


def _slots(op) -> list[str]:
    """The hint of each operand's name; coordinates come through a cast of theirs."""
    return [value.name_hint or value.owner.operands[0].name_hint for value in op.operands]


@pytest.mark.seed(
    DOCUMENT, "load-slot-destination", "load-slot-descriptor", "load-slot-coordinates", "load-slot-barrier",
    "load-slot-multicast", "load-slot-hint", "tma-absent",
)  # fmt: skip
@pytest.mark.parametrize(
    ("options", "tail"),
    [("", []), ("multicast_mask = %k", ["k"]), ("l2_cache_hint = %h", ["h"]),
     ("multicast_mask = %k l2_cache_hint = %h", ["k", "h"])],
)  # fmt: skip
def test_the_slots_of_a_load(options, tail):
    op = _copy(f"nvgpu.tma.async.load %m[%x, %y, %z], %b[%x] to %s {options} : {MAP}, {BAR} -> memref<2x4x64xf16, 3>")
    assert _slots(op) == ["s", "m", "x", "y", "z", "b", *tail]
    assert (op.multicastEnable is not None, op.cacheHintEnable is not None) == ("k" in tail, "h" in tail)


@pytest.mark.seed(DOCUMENT, "store-slot-descriptor", "store-slot-coordinates", "store-slot-source", "store-slot-hint")
@pytest.mark.parametrize(("options", "tail"), [("", []), ("l2_cache_hint = %h", ["h"])])
def test_the_slots_of_a_store(options, tail):
    op = _copy(f"nvgpu.tma.async.store %s to %m[%x, %y, %z] {options} : memref<2x4x64xf16, 3> -> {MAP}")
    assert _slots(op) == ["m", "x", "y", "z", "s", *tail]


@pytest.mark.seed(DOCUMENT, "math-table", "math-fast")
def test_every_callee_is_a_function_of_libdevice():
    symbols = Library.from_file(Path(find_libdevice())).symbols
    callees = {name for row in CALLEES.values() for name in row.values()} | {name for _, name in FAST.values()}
    assert callees - symbols == set()


@pytest.mark.seed(DOCUMENT, "wgmma-descriptor-bits", "warpgroup-generate-descriptor")
@pytest.mark.parametrize(
    ("field", "low", "width", "unit"),
    [("address", 0, 14, 16), ("leading", 16, 14, 16), ("stride", 32, 14, 16), ("base_offset", 49, 3, 1)],
)
def test_a_descriptor_field_has_its_bits(field, low, width, unit):
    # PTX ISA, "Matrix-descriptor layout": bits 13-0, 29-16, 45-32, 51-49.
    largest = (1 << width) - 1
    fields = {"leading": 0, "stride": 0, "base_offset": 0, "swizzle": 0, field: largest * unit}
    assert wgmma_descriptor(**fields) == largest << low


@pytest.mark.seed(DOCUMENT, "wgmma-descriptor-bits")
@pytest.mark.parametrize(("swizzle", "code"), [(0, 0), (128, 1), (64, 2), (32, 3)])
def test_the_swizzle_is_in_the_top_bits(swizzle, code):
    assert wgmma_descriptor(0, 0, 0, swizzle) == code << 62
